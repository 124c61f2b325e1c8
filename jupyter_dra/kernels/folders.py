"""Private folders that end with their process, or with the next one's start when it was killed."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from contextlib import suppress
from types import TracebackType

try:
    import fcntl
except ImportError:  # Windows: nothing is locked there, and nothing swept
    fcntl = None  # type: ignore[assignment]

LEFTOVER = re.compile(r"dra-([0-9]{1,10})-[A-Za-z0-9_]+")
PATH_LIMIT = 100  # sun_path: 108 bytes on Linux, 104 on macOS


def place_of(parent: str | None = None) -> str:
    """Where such folders lie: ``parent``, else XDG_RUNTIME_DIR, else the temporary folder; paths stay short."""
    place = parent or os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    return "/tmp" if len(os.fsencode(place)) + 30 > PATH_LIMIT else place


class PrivateFolder:
    """A new 0700 folder for this process, short enough for sockets in it; a context manager removes it.

    Its name says whose it is and a lock proves it, also to processes that see other process numbers. Making one
    removes those of killed processes beside it.
    """

    def __init__(self, parent: str | None = None) -> None:
        place = place_of(parent)
        sweep(place)
        self.path = tempfile.mkdtemp(prefix=f"dra-{os.getpid()}-", dir=place)
        self._lock = _lock(self.path)

    def close(self) -> None:
        """Remove it; does nothing the second time."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> str:
        return self.path

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def sweep(place: str) -> None:
    """Remove folders of processes of this account that were killed before they could."""
    if fcntl is None:
        return
    for entry in os.scandir(place):
        match = LEFTOVER.fullmatch(entry.name)
        if match is None or not entry.is_dir(follow_symlinks=False):
            continue
        with suppress(FileNotFoundError):  # its owner removed it just now
            if entry.stat(follow_symlinks=False).st_uid == os.getuid() and not _alive(int(match[1])):
                _remove_unlocked(entry.path)


def _remove_unlocked(path: str) -> None:
    lock = _lock(path)
    if lock is not None:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def _lock(path: str) -> int | None:
    """A descriptor that holds the folder's lock; None where somebody else has it or there are no locks."""
    if fcntl is None:
        return None
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
