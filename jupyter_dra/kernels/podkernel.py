"""The kernel as podside's child: start, signals, reason of death, and what its status messages say.

Runs inside the user's image: standard library only, Python 3.8 and later.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

CHANNELS = {"shell": 1, "iopub": 2, "stdin": 3, "hb": 4, "control": 5}
SOCKET_PATH_LIMIT = 100  # sun_path holds 108 bytes on Linux, 104 on macOS
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
# Requests that front ends send by themselves; they are no sign that anybody uses the device.
HOUSEKEEPING = frozenset(
    ["", "kernel_info_request", "comm_info_request", "history_request", "debug_request", "usage_request"]
)
# Set for processes of a server on the same machine; in a pod they would end or confuse the kernel.
NOT_FOR_KERNEL = ("JPY_PARENT_PID", "JPY_INTERRUPT_EVENT", "IPY_INTERRUPT_EVENT", "POD_IP")


def utc(at: float | None = None) -> str:
    """RFC 3339 text of a moment (seconds since the epoch; None is now)."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def private_folder(path: str) -> str:
    """Make a folder that only this account may enter; an existing one of our own is closed to others.

    The mounted memory volume belongs to root and stays as it is: what we put into it is private by itself.
    """
    os.makedirs(path, mode=0o700, exist_ok=True)
    if os.stat(path).st_uid == os.getuid():
        os.chmod(path, 0o700)
    return path


def write_private(path: str, text: str) -> None:
    """Replace a file at once, so that a reader never sees half of it; mode 0600."""
    temporary = path + ".new"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(temporary, path)


def install_module(source: str, run: str) -> None:
    """Lay out the small ``jupyter_dra`` package for images that lack the real one."""
    files = [name for name in os.listdir(source) if name.startswith("module-") and name.endswith(".py")]
    if not files:
        return
    package = os.path.join(private_folder(os.path.join(run, "modules")), "jupyter_dra")
    private_folder(package)
    for name in files:
        with open(os.path.join(source, name), encoding="utf-8") as file:
            write_private(os.path.join(package, name[len("module-") :]), file.read())


def _prctl() -> Callable[[int, int], None] | None:
    if not sys.platform.startswith("linux"):
        return None
    try:
        function = ctypes.CDLL(None, use_errno=True).prctl
    except (OSError, AttributeError):
        return None

    def call(option: int, value: int) -> None:
        function(option, value, 0, 0, 0)

    return call


PRCTL = _prctl()


def adopt_orphans() -> None:
    """Become the parent of orphaned grandchildren (what PID 1 is by nature), so that they can be ended."""
    if PRCTL is not None and os.getpid() != 1:
        PRCTL(PR_SET_CHILD_SUBREAPER, 1)


def oom_kills() -> int:
    """How many processes of this container the kernel killed for memory; 0 where it is not told."""
    for path in ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"):
        try:
            with open(path, encoding="ascii") as file:
                for line in file:
                    if line.startswith("oom_kill "):
                        return int(line.split()[1])
        except (OSError, ValueError):
            continue
    return 0


def children_of(pid: int) -> list[int]:
    """Process ids of the direct children; empty where the system does not tell."""
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                found.extend(int(word) for word in file.read().split())
    except (OSError, ValueError):
        pass
    return found


def tree_of(pid: int) -> list[int]:
    """The process and all its descendants."""
    found: list[int] = []
    waiting = [pid]
    while waiting and len(found) < 4096:
        current = waiting.pop()
        found.append(current)
        waiting.extend(children_of(current))
    return found


class Kernel:
    """One kernel process at a time, on ipc sockets in a folder of its own.

    ``on_death(death)`` is called from ``reap`` with ``code`` (crashed, exited, out-of-memory), ``exit_code``,
    ``signal``, ``requested`` (True if we or a client asked for it) and ``at``.
    """

    def __init__(self, config: dict[str, Any], run: str, on_death: Callable[[dict[str, Any]], None]) -> None:
        self.config = config
        self.run = private_folder(run)
        self.on_death = on_death
        self.pid: int | None = None
        self.starts = 0
        self.started_at: float | None = None
        self.requested = False
        self.last_death: dict[str, Any] | None = None
        self.changed = asyncio.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._oom = 0
        self._made = ""
        folder = os.path.join(self.run, "k")
        if len(os.fsencode(folder)) > SOCKET_PATH_LIMIT:
            # In the local cluster relays sweep this, too, when podside was killed.
            folder = self._made = tempfile.mkdtemp(prefix=f"dra-{os.getpid()}-")
        self.folder = private_folder(folder)

    def socket_path(self, channel: str) -> str:
        return os.path.join(self.folder, f"s-{CHANNELS[channel]}")

    def connection_file(self) -> str:
        """Write the connection file into the memory-backed folder and return its path."""
        content: dict[str, Any] = {
            "transport": "ipc",
            "ip": os.path.join(self.folder, "s"),
            "key": self.config["key"],
            "signature_scheme": self.config.get("signature_scheme", "hmac-sha256"),
            "kernel_name": self.config.get("kernel_name", ""),
        }
        content.update({channel + "_port": port for channel, port in CHANNELS.items()})
        content.update(self.config.get("curve") or {})
        path = os.path.join(self.run, "kernel.json")
        write_private(path, json.dumps(content))
        return path

    def command(self) -> list[str]:
        path = self.connection_file()
        argv = [
            part.replace("{connection_file}", path).replace("{resource_dir}", self.run)
            for part in self.config["argv"]
        ]
        if argv[0] in ("python", "python3"):
            argv[0] = sys.executable  # the image's Python is the one that runs podside
        return argv

    def environment(self) -> dict[str, str]:
        env = {name: value for name, value in os.environ.items() if name not in NOT_FOR_KERNEL}
        env.update({str(name): str(value) for name, value in (self.config.get("env") or {}).items()})
        modules = os.path.join(self.run, "modules")
        if os.path.isdir(modules):
            env["PYTHONPATH"] = os.pathsep.join(filter(None, [env.get("PYTHONPATH"), modules]))
        env["JUPYTER_DRA_RUN_DIR"] = self.run
        return env

    def start(self) -> None:
        """Start the kernel; does nothing while one is alive. Raises OSError where it cannot be executed."""
        if self.pid is not None:
            return
        for channel in CHANNELS:
            try:
                os.unlink(self.socket_path(channel))
            except FileNotFoundError:
                pass
        self._oom = oom_kills()
        self.requested = False
        parent, prctl, mask = os.getpid(), PRCTL, int(self.config.get("umask", 0o022))

        def die_with_parent() -> None:
            os.umask(mask)
            if prctl is not None:
                prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
                if os.getppid() != parent:
                    os._exit(1)

        self._process = subprocess.Popen(
            self.command(),
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=die_with_parent,
            cwd=self.config.get("cwd") or None,
        )
        self.pid = self._process.pid
        self.starts += 1
        self.started_at = time.time()
        self.changed.set()

    def signal(self, number: int) -> bool:
        """Send a signal to the kernel's process group; False if no kernel runs."""
        if self.pid is None:
            return False
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def reap(self) -> None:
        """Collect every ended child (we are PID 1 or sub-reaper) and report the kernel's own death."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.pid:
                self._died(status)

    def _died(self, status: int) -> None:
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        reason = "exited" if code == 0 or self.requested else "crashed"
        if number == signal.SIGKILL and not self.requested and oom_kills() > self._oom:
            reason = "out-of-memory"
        group, self.pid = self.pid, None
        if self._process is not None:
            self._process.returncode = code if code is not None else -(number or 0)
            self._process = None
        if group is not None:
            try:
                os.killpg(group, signal.SIGKILL)  # what the kernel left behind would keep the device's memory
            except (ProcessLookupError, PermissionError):
                pass
        self.last_death = {
            "code": reason,
            "exit_code": code if code is not None else 128 + (number or 0),
            "signal": signal.Signals(number).name if number else None,
            "requested": self.requested,
            "at": utc(),
        }
        self.changed.set()
        self.on_death(self.last_death)

    async def stop(self, patience: float = 1.0) -> None:
        """End the kernel: SIGTERM, after ``patience`` seconds SIGKILL; returns when it is gone."""
        self.requested = True
        self.signal(signal.SIGTERM)
        if not await self._gone(patience):
            self.signal(signal.SIGKILL)
            await self._gone(5.0)

    async def _gone(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self.pid is not None:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self.changed.clear()
            self.reap()
            if self.pid is None:
                break
            try:
                await asyncio.wait_for(self.changed.wait(), min(left, 0.05))
            except asyncio.TimeoutError:  # noqa: UP041 (the same from Python 3.11 on)
                pass
        return True

    def end_everything(self) -> None:
        """Kill whatever is still our child or grandchild; used once, at the end."""
        for pid in tree_of(os.getpid())[1:]:
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
        self.reap()
        if self._made:
            shutil.rmtree(self._made, ignore_errors=True)


# --- what the kernel says about itself: a subscriber to its status messages ---------------------------------
# ZMTP 3.0 (rfc.zeromq.org/spec/23), NULL mechanism, SUB side only: enough to read small messages of one topic.

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
READY = b"\x05READY\x0bSocket-Type" + (3).to_bytes(4, "big") + b"SUB"
FRAME_LIMIT = 64 * 1024
DELIMITER = b"<IDS|MSG>"


async def _frame(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Read one frame; the body of an oversized one is dropped while reading and comes back empty."""
    flags = (await reader.readexactly(1))[0]
    size = int.from_bytes(await reader.readexactly(8 if flags & 2 else 1), "big")
    if size <= FRAME_LIMIT:
        return flags, await reader.readexactly(size)
    while size:
        chunk = await reader.read(min(size, 1 << 18))
        if not chunk:
            raise asyncio.IncompleteReadError(b"", size)
        size -= len(chunk)
    return flags, b""


def status_of(frames: list[bytes]) -> tuple[str, str, str] | None:
    """(execution_state, type and id of the request) of a status message; None for every other message."""
    try:
        start = frames.index(DELIMITER)
        header, parent, content = (json.loads(frames[start + i] or b"null") for i in (2, 3, 5))
        if header["msg_type"] != "status":
            return None
        parent = parent or {}
        return str(content["execution_state"]), str(parent.get("msg_type", "")), str(parent.get("msg_id", ""))
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, RecursionError):
        return None


async def watch_status(path: str, topic: bytes, tell: Callable[[str, str, str], None]) -> None:
    """Follow a kernel's iopub socket until it closes; ``tell(state, request, id)`` for every status message."""
    reader, writer = await asyncio.open_unix_connection(path, limit=1 << 20)
    try:
        writer.write(GREETING + bytes([4, len(READY)]) + READY)
        await reader.readexactly(64)
        await _frame(reader)
        writer.write(bytes([0, 1 + len(topic)]) + b"\x01" + topic)
        tell("subscribed", "", "")
        frames: list[bytes] = []
        while True:
            flags, body = await _frame(reader)
            if flags & 4:
                continue
            if len(frames) < 12:
                frames.append(body)
            if not flags & 1:
                found = status_of(frames)
                frames = []
                if found is not None:
                    tell(*found)
    finally:
        writer.close()
