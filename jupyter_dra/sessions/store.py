"""Our own record of each session on disk: what labels alone cannot prove, and how ended ones ended."""

from __future__ import annotations

import json
import logging
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import DRAError, one_line

log = logging.getLogger(__name__)

_LIMIT = 256 * 1024


def data_folder(environ: Mapping[str, str], home: Path) -> Path:
    """Where the identity lives: ``$XDG_DATA_HOME/jupyter-dra``, else ``~/.local/share/jupyter-dra``."""
    base = environ.get("XDG_DATA_HOME")
    return (Path(base) if base else home / ".local" / "share") / "jupyter-dra"


def unusable(folder: Path, error: OSError) -> DRAError:
    """The error of a data folder that cannot be read or written: a full disk, a home that is read-only."""
    return DRAError(
        f"The data folder {folder} cannot be used: {error.strerror or error}.",
        code="data-folder",
        next_step="Make room there or mend its rights, or name another folder in XDG_DATA_HOME.",
    )


class SessionStore:
    """One small JSON file per session (0600 in a 0700 folder), shared by all processes of one data folder.

    With ``folder`` None it keeps everything in memory. What cannot be written raises DRAError ``data-folder``.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder / "sessions" if folder is not None else None
        self._memory: dict[str, dict[str, Any]] = {}
        if self._folder is not None:
            try:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as error:
                raise unusable(self._folder, error) from error

    def _path(self, session_id: str) -> Path | None:
        # Ids are checked names (slug and suffix), so they cannot leave the folder.
        if self._folder is None or "/" in session_id or session_id.startswith("."):
            return None
        return self._folder / f"{session_id}.json"

    def read(self, session_id: str) -> dict[str, Any] | None:
        path = self._path(session_id)
        if path is None:
            return self._memory.get(session_id)
        try:
            if path.stat().st_size > _LIMIT:
                return None
            value = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return value if isinstance(value, dict) else None

    def write(self, session_id: str, value: Mapping[str, Any]) -> None:
        """Replace the session's record atomically."""
        path = self._path(session_id)
        if path is None:
            self._memory[session_id] = dict(value)
            return
        try:
            _replace(path, json.dumps(value))
        except OSError as error:
            raise unusable(path.parent, error) from error

    def update(self, session_id: str, **changes: Any) -> None:
        self.write(session_id, {**(self.read(session_id) or {}), **changes})

    def remove(self, session_id: str) -> None:
        path = self._path(session_id)
        if path is None:
            self._memory.pop(session_id, None)
            return
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise unusable(path.parent, error) from error

    def ids(self) -> list[str]:
        if self._folder is None:
            return list(self._memory)
        return sorted(path.stem for path in self._folder.glob("[!.]*.json"))

    def sweep(self, before: float) -> None:
        """Forget ended sessions whose end lies before ``before`` (epoch seconds)."""
        for session_id in self.ids():
            value = self.read(session_id)
            ended = (value or {}).get("ended_at")
            if isinstance(ended, int | float) and ended < before:
                try:
                    self.remove(session_id)
                except DRAError as error:
                    log.warning("An old record stays: %s", one_line(error))


def _replace(path: Path, text: str) -> None:
    """Write a file so that readers see the old or the new one, whole."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
