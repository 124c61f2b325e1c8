"""Who we are: the user, this server's random identity, and the key that seals our objects."""

from __future__ import annotations

import getpass
import os
import secrets
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from ..claims import hashed_slug
from .store import data_folder as data_folder
from .store import unusable

_KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class Identity:
    """The owner of sessions.

    Attributes:
        user: the user's name in full; labels carry its slug.
        server: random, kept in the data folder.
        key: seals objects (threat T29); never leaves this process.
        folder: the data folder; None when nothing lasts (then re-attach asks first).
    """

    user: str
    server: str
    key: bytes = field(repr=False)
    folder: Path | None = None

    @property
    def user_label(self) -> str:
        return hashed_slug(self.user)

    @property
    def server_label(self) -> str:
        return hashed_slug(self.server)


def load_identity(
    folder: Path | None = None, *, user: str | None = None, key: bytes | None = None
) -> Identity:
    """Read the identity from ``folder``, making it on first use (0600 in 0700).

    Args:
        folder: None uses `data_folder` of this process.
        user: None takes the account's name.
        key: given by a hub; None uses the one in the folder.

    Raises:
        DRAError: ``data-folder``: the folder cannot be read or written.
    """
    place = folder or data_folder(os.environ, Path.home())
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        server = _keep(place / "server-id", secrets.token_hex(16).encode()).decode()
        sealing = key or _keep(place / "seal-key", secrets.token_hex(_KEY_BYTES).encode())
    except OSError as error:
        raise unusable(place, error) from error
    return Identity(user or getpass.getuser(), server, sealing, place)


def _keep(path: Path, fresh: bytes) -> bytes:
    """The file's content; written once, atomically, so that two processes agree on one value."""
    try:
        found = path.read_bytes().strip()
        if found:
            return found
    except FileNotFoundError:
        pass
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(fresh)
        try:
            os.link(temporary, path)
        except FileExistsError:
            pass
        except OSError:
            os.replace(temporary, path)
    finally:
        Path(temporary).unlink(missing_ok=True)
    return path.read_bytes().strip() or fresh
