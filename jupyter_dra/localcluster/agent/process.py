"""Starting a container's process, waiting for it and ending it, without a thread or a poll per process."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Command:
    """What to run: program, arguments, whole environment, working folder, where output goes."""

    program: str
    argv: Sequence[str]
    env: Mapping[str, str]
    folder: str
    output: int


class RunningProcess:
    """A started process; ``exit_code`` becomes a number when it has ended (128 + signal for a killed one)."""

    def __init__(self, popen: subprocess.Popen[bytes]) -> None:
        self.pid = popen.pid
        self._popen = popen
        loop = asyncio.get_running_loop()
        self._done: asyncio.Future[int] = loop.create_future()
        self._poll: asyncio.Task[None] | None = None
        try:
            self._handle = os.pidfd_open(popen.pid)
        except (AttributeError, OSError):
            self._handle = -1
            self._poll = loop.create_task(self._watch())
        else:
            loop.add_reader(self._handle, self._reap)

    @property
    def exit_code(self) -> int | None:
        return self._done.result() if self._done.done() else None

    async def wait(self) -> int:
        return await asyncio.shield(self._done)

    def signal(self, number: int) -> None:
        """Send a signal to the process's whole group, while its leader is not reaped yet."""
        if self._done.done() or self.pid <= 1:
            return
        try:
            os.killpg(self.pid, number)
        except (AttributeError, PermissionError):
            self._popen.send_signal(number)
        except ProcessLookupError:
            pass

    def _reap(self) -> None:
        code = self._popen.poll()
        if code is None:
            return
        asyncio.get_running_loop().remove_reader(self._handle)
        os.close(self._handle)
        self._finish(code)

    async def _watch(self) -> None:
        while (code := self._popen.poll()) is None:
            await asyncio.sleep(_POLL_SECONDS)
        self._finish(code)

    def _finish(self, code: int) -> None:
        if not self._done.done():
            self._done.set_result(128 - code if code < 0 else code)


def start(command: Command) -> RunningProcess:
    """Start a process in its own session that dies with this one, even when this one is killed (Linux).

    Must be called from the thread that lives as long as the agent, because Linux ties the signal to it.

    Raises:
        OSError: the program cannot be executed.
    """
    popen = subprocess.Popen(
        [command.program, *command.argv[1:]],
        executable=command.program,
        env=dict(command.env),
        cwd=command.folder,
        stdin=subprocess.DEVNULL,
        stdout=command.output,
        stderr=command.output,
        start_new_session=True,
        close_fds=True,
        preexec_fn=_die_with(os.getpid()) if sys.platform == "linux" else None,
    )
    return RunningProcess(popen)


def become_subreaper() -> None:
    """Let orphans of our pods become our children, so that none is lost to init (Linux)."""
    if sys.platform == "linux":
        ctypes.PyDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent(number: int = signal.SIGTERM) -> None:
    """Ask the kernel for a signal when the process that started this one ends (Linux)."""
    if sys.platform == "linux":
        ctypes.PyDLL(None).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)


def _die_with(parent: int) -> Callable[[], None]:
    library = ctypes.PyDLL(None)

    def prepare() -> None:
        library.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(137)

    return prepare


def reap_orphans(known: set[int]) -> None:
    """Collect ended processes that were handed to us as subreaper; our own children stay for their watchers."""
    if sys.platform != "linux":
        return
    for name in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{name}/children") as file:
                children = [int(pid) for pid in file.read().split()]
        except OSError:
            continue
        for pid in children:
            if pid not in known:
                try:
                    os.waitpid(pid, os.WNOHANG)
                except OSError:
                    continue
