"""One container of a pod: its runs, their outcomes, and the status the API shows."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jupyter_dra.localcluster.agent import tree
from jupyter_dra.localcluster.agent.logs import LogFile
from jupyter_dra.localcluster.agent.process import Command, RunningProcess, start
from jupyter_dra.localcluster.agent.sweeping import Sweeper
from jupyter_dra.localcluster.recorder import now_text

Object = dict[str, Any]

OUT_OF_MEMORY = "OOMKilled"
_MESSAGE_LINES, _MESSAGE_BYTES, _MESSAGE_FILE_BYTES = 80, 2048, 4096


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one run of a container ended."""

    exit_code: int
    reason: str
    message: str = ""
    started_at: float | None = None
    finished_at: float = 0.0
    signal: int = 0
    container_id: str = ""

    def as_status(self) -> Object:
        state: Object = {
            "exitCode": self.exit_code,
            "reason": self.reason,
            "finishedAt": now_text(self.finished_at),
            "startedAt": now_text(self.started_at if self.started_at is not None else self.finished_at),
        }
        if self.container_id:
            state["containerID"] = self.container_id
        if self.message:
            state["message"] = self.message
        if self.signal:
            state["signal"] = self.signal
        return {"terminated": state}


class Container:
    """The life of one container: at most one process at a time, its log of this and of the last run."""

    def __init__(
        self, spec: Mapping[str, Any], pod_uid: str, mark: str, logs: Path, sweeper: Sweeper
    ) -> None:
        self.spec = spec
        self.name: str = spec["name"]
        self.mark = mark
        self.restarts = 0
        self.last: Outcome | None = None
        self.outcome: Outcome | None = None
        self.waiting: tuple[str, str] = ("ContainerCreating", "")
        self.process: RunningProcess | None = None
        self.started_at: float | None = None
        self.log: LogFile | None = None
        self.previous_log: LogFile | None = None
        self.out_of_memory = False
        self.message_file: Path | None = None
        self._logs = logs
        self._sweeper = sweeper
        self._pod_uid = pod_uid
        self._runs = 0

    @property
    def container_id(self) -> str:
        return f"process://{self._pod_uid}-{self.name}-{self._runs}" if self._runs else ""

    @property
    def running(self) -> bool:
        return self.process is not None and self.outcome is None

    def open_log(self) -> LogFile:
        """Begin a new run's log; the log before the previous one goes."""
        if self.log is not None:
            if self.previous_log is not None:
                self.previous_log.close()
            self.previous_log = self.log
        self._runs += 1
        self.log = LogFile(self._logs / f"{self.name}-{self._runs}.log")
        return self.log

    def start(self, program: str, argv: list[str], env: Mapping[str, str], folder: str) -> None:
        """Start the container's process.

        Raises:
            OSError: it cannot be executed; ``fail_to_start`` says so in the status.
        """
        log = self.open_log()
        if self.outcome is not None:
            self.last, self.restarts = self.outcome, self.restarts + 1
        self.outcome, self.process, self.out_of_memory = None, None, False
        environment = {**env, tree.MARK: self.mark}
        self.process = start(Command(program, argv, environment, folder, log.descriptor))
        self.started_at = time.time()

    def fail_to_start(self, message: str) -> None:
        if self.outcome is not None:
            self.last, self.restarts = self.outcome, self.restarts + 1
        self.process, self.started_at = None, None
        if self.log is not None:
            self.log.finish()
        self.outcome = Outcome(
            128, "StartError", message, finished_at=time.time(), container_id=self.container_id
        )

    async def wait(self) -> Outcome:
        """Wait for the process, end what it left behind, and note the outcome."""
        if self.process is None:
            raise RuntimeError(f"container {self.name} has no process")
        code = await self.process.wait()
        await self._sweeper.clean(self.process.pid, self.mark)
        if self.log is not None:
            self.log.finish()
        reason = "Completed" if code == 0 else "Error"
        if self.out_of_memory:
            code, reason = 128 + signal.SIGKILL, OUT_OF_MEMORY
        self.outcome = Outcome(
            exit_code=code,
            reason=reason,
            message=self._termination_message(code),
            started_at=self.started_at,
            finished_at=time.time(),
            container_id=self.container_id,
        )
        return self.outcome

    def _termination_message(self, code: int) -> str:
        message = _file_text(self.message_file) if self.message_file is not None else ""
        falls_back = self.spec.get("terminationMessagePolicy") == "FallbackToLogsOnError"
        if message or not falls_back or code == 0 or self.log is None:
            return message
        return self.log.tail(lines=_MESSAGE_LINES, limit=_MESSAGE_BYTES)

    def terminate(self, number: int = signal.SIGTERM) -> None:
        """Signal the process and its group."""
        if self.process is not None:
            self.process.signal(number)

    def kill(self) -> None:
        """End the process; ``wait`` then ends everything it started."""
        if self.process is not None:
            self.process.signal(signal.SIGKILL)

    def freeze(self, *, stop: bool = True) -> None:
        """Stop or continue all processes of the container: what a hung node looks like."""
        if self.process is not None:
            number = signal.SIGSTOP if stop else signal.SIGCONT
            tree.end(tree.members(self.process.pid, self.mark), number)

    def members(self) -> set[int]:
        return tree.members(self.process.pid) if self.running and self.process is not None else set()

    def close(self) -> None:
        for log in (self.log, self.previous_log):
            if log is not None:
                log.close()

    def status(self, image: str) -> Object:
        """Return this container's entry of containerStatuses."""
        state: Object
        if self.outcome is not None and self.waiting[0] != "CrashLoopBackOff":
            state = self.outcome.as_status()
        elif self.running:
            state = {"running": {"startedAt": now_text(self.started_at)}}
        else:
            reason, message = self.waiting
            state = {"waiting": {"reason": reason, **({"message": message} if message else {})}}
        last = self.outcome if "waiting" in state and self.outcome is not None else self.last
        return {
            "name": self.name,
            "image": image,
            "imageID": f"process://{image}" if self._runs else "",
            "containerID": self.container_id,
            "restartCount": self.restarts,
            "ready": self.running,
            "started": self.running,
            "state": state,
            "lastState": last.as_status() if last is not None else {},
        }


def _file_text(path: Path) -> str:
    """Return the start of a termination message; a link is not followed, a pod may have left one."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb") as file:
        return file.read(_MESSAGE_FILE_BYTES).decode("utf-8", "replace")


def working_folder(spec: Mapping[str, Any], rewritten: str, default: Path) -> str:
    """Return where a container starts: the folder its spec names if it exists here, else the default."""
    if spec.get("workingDir") and os.path.isdir(rewritten):
        return rewritten
    return str(default)
