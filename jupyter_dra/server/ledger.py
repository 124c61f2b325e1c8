"""What this server's kernels are attached to, on disk, so that the next server of the same user can take over."""

from __future__ import annotations

import json
import os
import secrets
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..sessions.store import data_folder

_LIMIT = 4 * 2**20


@dataclass(frozen=True, slots=True)
class Entry:
    """One kernel of a session that a server held.

    ``client`` is the session of the web socket of an open page; None while no page is open.
    ``page`` is the id of its Jupyter session (what an open notebook knows), with ``path``, ``title`` and ``type`` of
    the document; None for a kernel that no document used.
    """

    kernel: str
    session: str
    kernel_name: str
    page: str | None = None
    path: str | None = None
    title: str | None = None
    type: str | None = None
    client: str | None = None


class Ledger:
    """One file per living server in ``servers`` of the data folder, held by a lock that ends with the process.

    A file whose lock is free belongs to a server that is gone: its entries may be taken over, by one successor only.
    Two living servers of one user therefore never touch each other's kernels. Where the system has no such locks
    (Windows) nothing is taken over.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "servers"
        self._name = secrets.token_hex(8)
        self._lock: int | None = None
        self._written: tuple[Entry, ...] = ()

    @property
    def used(self) -> bool:
        """Whether a server of this user ever had a kernel of ours."""
        return self._folder.is_dir()

    def take_over(self) -> list[Entry]:
        """The entries of servers that are gone; they are ours from now on."""
        if not self._folder.is_dir():
            return []
        found: list[Entry] = []
        for path in sorted(self._folder.glob("*.lock")):
            if path.stem == self._name:
                continue
            lock = _lock(path)
            if lock is None:
                continue
            try:
                kernels = path.with_suffix(".json")
                found += _read(kernels, lock)
                # Ours before theirs goes: a crash between the two leaves the entries twice, never lost.
                self.write({entry.kernel: entry for entry in [*self._written, *found]}.values())
                kernels.unlink(missing_ok=True)
                path.unlink(missing_ok=True)
            finally:
                os.close(lock)
        return list({entry.kernel: entry for entry in found}.values())

    def write(self, entries: Iterable[Entry]) -> None:
        """Replace what is written, atomically; nothing is made for a server that never had a kernel."""
        wanted = tuple(sorted(entries, key=lambda entry: entry.kernel))
        if wanted == self._written:
            return
        if self._lock is None:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = _lock(self._folder / f"{self._name}.lock", make=True)
        handle, temporary = tempfile.mkstemp(dir=self._folder, prefix=".new-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                kernels = [asdict(entry) for entry in wanted]
                json.dump({"version": 1, "lock": _file_of(self._lock), "kernels": kernels}, file)
            os.replace(temporary, self._folder / f"{self._name}.json")
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        self._written = wanted

    def close(self, *, keep: bool) -> None:
        """Let go; with ``keep`` the entries wait for the next server."""
        lock, self._lock = self._lock, None
        if lock is None:
            return
        if not (keep and self._written):
            for suffix in (".json", ".lock"):
                (self._folder / f"{self._name}{suffix}").unlink(missing_ok=True)
        os.close(lock)


def _lock(path: Path, *, make: bool = False) -> int | None:
    """The open file while nobody else holds its lock; None otherwise."""
    try:
        import fcntl
    except ImportError:
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o600) if make else None
    try:
        handle = os.open(path, os.O_RDWR | (os.O_CREAT if make else 0), 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(handle).st_nlink:  # else somebody took this one over just now
            return handle
    except OSError:
        pass
    os.close(handle)
    return None


def _file_of(lock: int | None) -> int | None:
    """The number of the lock's file on its disk, which a copy does not have."""
    return None if lock is None else os.fstat(lock).st_ino


def _read(path: Path, lock: int) -> list[Entry]:
    """The entries beside an open lock; none where both were copied: their server may well be alive elsewhere."""
    try:
        if path.stat().st_size > _LIMIT:
            return []
        document: Any = json.loads(path.read_text(encoding="utf-8"))
        if document["lock"] != _file_of(lock):
            return []
        return [Entry(**entry) for entry in document["kernels"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def ledger_of_this_user() -> Ledger:
    """The ledger in the user's data folder; nothing is made there yet."""
    return Ledger(data_folder(os.environ, Path.home()))
