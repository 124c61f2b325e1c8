"""Locks on this machine's devices between local clusters: cooperative, by files that everybody may see.

Two accounts on one workstation each run a cluster of their own; a device is handed out by one of them at a time.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

from jupyter_dra.errors import ConflictError

try:
    import fcntl
except ImportError:  # Windows: one account per machine is assumed there
    fcntl = None  # type: ignore[assignment]


class DeviceLocks:
    """Holds at most one lock per device for this process; the system drops them all when the process ends."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or Path(tempfile.gettempdir()) / "jupyter-dra-devices"
        self._held: dict[str, tuple[int, set[str]]] = {}

    def take(self, device: str, user: str, holder: str) -> None:
        """Lock a device for a user (a pod's uid); more users of one process share the lock.

        Raises:
            ConflictError: another cluster holds it; the message names the holder.
        """
        if device in self._held:
            self._held[device][1].add(user)
            return
        if fcntl is None:
            self._held[device] = (-1, {user})
            return
        descriptor = self._open(device)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            owner = os.pread(descriptor, 200, 0).decode("utf-8", "replace").strip()
            os.close(descriptor)
            raise ConflictError(
                f"device {device} is in use: {owner or 'holder unknown'}", code="in-use"
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"uid {os.getuid()}, {holder}\n".encode(), 0)
        self._held[device] = (descriptor, {user})

    def release(self, user: str) -> None:
        """Drop what a user holds; a device without users is free for others."""
        for device, (descriptor, users) in list(self._held.items()):
            users.discard(user)
            if not users:
                del self._held[device]
                if descriptor >= 0:
                    os.ftruncate(descriptor, 0)
                    os.close(descriptor)

    def _open(self, device: str) -> int:
        try:
            self._folder.mkdir(mode=0o1777)
            self._folder.chmod(0o1777)
        except FileExistsError:
            pass
        if self._folder.is_symlink() or not self._folder.is_dir():
            raise ConflictError(
                f"{self._folder} is no folder of locks; an admin has to look at it.", code="in-use"
            )
        name = re.sub(r"[^A-Za-z0-9-]", "_", device)
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            descriptor = self._open_or_make(self._folder / name, flags)
        except OSError as error:
            raise ConflictError(
                f"the lock of device {device} cannot be used: {error}", code="in-use"
            ) from error
        if os.fstat(descriptor).st_uid == os.getuid():
            os.fchmod(descriptor, 0o666)
        return descriptor

    @staticmethod
    def _open_or_make(path: Path, flags: int) -> int:
        """Linux refuses O_CREAT on an existing file of another account in such a folder (fs.protected_regular)."""
        try:
            return os.open(path, flags)
        except FileNotFoundError:
            pass
        try:
            return os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:
            return os.open(path, flags)
