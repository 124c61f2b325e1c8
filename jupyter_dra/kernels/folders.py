"""The private folders of relays: made for one process, removed by the next one when it was killed."""

from __future__ import annotations

import os
import re
import shutil
import tempfile

LEFTOVER = re.compile(r"dra-([0-9]{1,10})-[A-Za-z0-9_]+")
PATH_LIMIT = 100  # sun_path: 108 bytes on Linux, 104 on macOS


def place_of(parent: str | None = None) -> str:
    """Where such folders lie: ``parent``, else XDG_RUNTIME_DIR, else the temporary folder; paths stay short."""
    place = parent or os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    return "/tmp" if len(os.fsencode(place)) + 30 > PATH_LIMIT else place


def private_folder(parent: str | None) -> str:
    """A new 0700 folder whose sockets' paths are short enough for the system."""
    place = place_of(parent)
    sweep(place)
    return tempfile.mkdtemp(prefix=f"dra-{os.getpid()}-", dir=place)


def sweep(place: str) -> None:
    """Remove folders of processes of this account that were killed before they could."""
    for entry in os.scandir(place):
        match = LEFTOVER.fullmatch(entry.name)
        if match is None or not entry.is_dir(follow_symlinks=False):
            continue
        if entry.stat(follow_symlinks=False).st_uid == os.getuid() and not _alive(int(match[1])):
            shutil.rmtree(entry.path, ignore_errors=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
