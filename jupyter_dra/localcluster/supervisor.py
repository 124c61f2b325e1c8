"""The parent of one local cluster's processes: both live, or none does.

Standard library only, so that it starts at once and stays small. It starts the API server and the node agent, says on
a descriptor when both are ready, and ends what is left as soon as one of them, its caller or itself is gone.
"""

from __future__ import annotations

import argparse
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jupyter_dra.localcluster.agent.process import die_with_parent
from jupyter_dra.localcluster.agent.tree import identity, send, sweep

READY_SECONDS = 60.0
_STOP_SECONDS = {"agent": 12.0, "server": 5.0}
_TAIL_BYTES = 4096


@dataclass(slots=True)
class Child:
    """One process of the cluster and what it has said so far."""

    name: str
    popen: subprocess.Popen[bytes]
    log: Path
    text: bytes = b""
    said: dict[str, Any] | None = None
    facts: dict[str, Any] = field(default_factory=dict)


class Supervisor:
    """Runs the cluster in ``folder`` as ``plan`` says: commands by name, mark of the pods, facts to publish."""

    def __init__(self, folder: Path, plan: dict[str, Any], ready: int, lifeline: int) -> None:
        self._folder = folder
        self._plan = plan
        self._ready = ready
        self._lifeline = lifeline
        self._children: list[Child] = []
        self._selector = selectors.DefaultSelector()
        self._ending = False

    def run(self) -> int:
        """Start, watch, end; returns the exit status."""
        self._listen_to_signals()
        if self._lifeline >= 0:
            self._selector.register(self._lifeline, selectors.EVENT_READ, "lifeline")
        try:
            for name, command in self._plan["commands"].items():
                self._start(name, command)
            self._note_processes()
            failure = self._wait_until_ready()
            if failure is not None:
                self._say({"error": failure})
                return 1
            if not self._ending:
                self._publish()
                self._watch()
            return 0
        finally:
            self._end()

    def _listen_to_signals(self) -> None:
        here, there = socket.socketpair()
        here.setblocking(False)
        there.setblocking(False)
        signal.set_wakeup_fd(there.fileno(), warn_on_full_buffer=False)
        self._wake, self._wake_end = here, there
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: setattr(self, "_ending", True))
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._selector.register(here, selectors.EVENT_READ, "signal")

    def _start(self, name: str, command: Sequence[str]) -> None:
        path = self._folder / f"{name}.log"
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as log:
            popen = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=self._folder,
                preexec_fn=die_with_parent,
                start_new_session=True,
            )
        self._children.append(Child(name, popen, path))
        if popen.stdout is not None:
            self._selector.register(popen.stdout, selectors.EVENT_READ, self._children[-1])

    def _note_processes(self) -> None:
        """Leave behind what the next start needs to sweep, should all of this be killed at once."""
        found = {child.name: identity(child.popen.pid) for child in self._children}
        found["supervisor"] = identity(os.getpid())
        _write(self._folder / "processes.json", {"identities": found, "mark": self._plan["mark"]})

    def _wait_until_ready(self) -> str | None:
        deadline = time.monotonic() + READY_SECONDS
        while not self._ending and any(child.said is None for child in self._children):
            if time.monotonic() > deadline:
                waiting = ", ".join(child.name for child in self._children if child.said is None)
                return f"The {waiting} was not ready within {READY_SECONDS:.0f} s."
            self._turn(deadline - time.monotonic())
            for child in self._children:
                if child.popen.poll() is not None and child.said is None:
                    return f"The {child.name} ended with status {child.popen.returncode}: {_tail(child.log)}"
        return None

    def _publish(self) -> None:
        said = {child.name: child.said or {} for child in self._children}
        facts = {
            **self._plan["facts"],
            **{key: said["server"].get(key) for key in ("server", "kubeconfig", "kubernetes_version")},
            **{key: said["agent"].get(key) for key in ("nodes", "devices")},
            "pid": os.getpid(),
            "identity": identity(os.getpid()),
            "pids": {child.name: child.popen.pid for child in self._children},
        }
        _write(self._folder / "cluster.json", facts)
        self._say({"ready": True})

    def _say(self, message: dict[str, Any]) -> None:
        if self._ready >= 0:
            try:
                os.write(self._ready, json.dumps(message).encode() + b"\n")
                os.close(self._ready)
            except OSError:
                pass
            self._ready = -1

    def _watch(self) -> None:
        while not self._ending and all(child.popen.poll() is None for child in self._children):
            self._turn(None)

    def _turn(self, timeout: float | None) -> None:
        for key, _ in self._selector.select(timeout):
            if key.data == "signal":
                try:
                    self._wake.recv(4096)
                except BlockingIOError:
                    pass
            elif key.data == "lifeline":
                if not os.read(self._lifeline, 4096):
                    self._selector.unregister(self._lifeline)
                    self._ending = True
            else:
                self._read(key.data)

    def _read(self, child: Child) -> None:
        if child.popen.stdout is None:
            return
        chunk = os.read(child.popen.stdout.fileno(), 65536)
        if not chunk:
            self._selector.unregister(child.popen.stdout)
            return
        child.text = (child.text + chunk)[-65536:]
        line, newline, _ = child.text.partition(b"\n")
        if child.said is None and newline:
            try:
                child.said = json.loads(line)
            except ValueError:
                child.text = child.text.partition(b"\n")[2]

    def _end(self) -> None:
        """End the agent first, so that it can say goodbye to the API server."""
        for name in ("agent", "server"):
            for child in self._children:
                if child.name == name:
                    _stop(child, _STOP_SECONDS[name])
        sweep(f"{self._plan['mark']}/")
        for name in ("cluster.json", "processes.json", *self._plan["remove"]):
            (self._folder / name).unlink(missing_ok=True)
        self._say({"error": "The local cluster ended while it was starting."})


def _stop(child: Child, seconds: float) -> None:
    if child.popen.poll() is None:
        child.popen.terminate()
        try:
            child.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            child.popen.kill()
            child.popen.wait()
    for stream in (child.popen.stdin, child.popen.stdout):
        if stream is not None:
            stream.close()


def sweep_leftovers(folder: Path) -> int:
    """End what an earlier, killed cluster in this folder left behind; return how many processes there were.

    A process is only touched when its pid and start time are those that were noted, or when it carries the mark.
    """
    try:
        noted = json.loads((folder / "processes.json").read_text())
        mark, identities = str(noted["mark"]), dict(noted["identities"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0
    count = 0
    for known in identities.values():
        if isinstance(known, str) and identity(pid := int(known.split(":")[0])) == known:
            count += send(pid, signal.SIGKILL, expected=known)
    if len(mark) >= 8 and mark.isalnum():
        count += sweep(f"{mark}/")
    (folder / "processes.json").unlink(missing_ok=True)
    return count


def _write(path: Path, content: dict[str, Any]) -> None:
    draft = path.with_suffix(".new")
    draft.unlink(missing_ok=True)
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(content, file)
    draft.replace(path)


def _tail(path: Path) -> str:
    with open(path, "rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        lines = file.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", type=Path, required=True)
    parser.add_argument("--ready", type=int, default=-1, help="descriptor to announce readiness on")
    parser.add_argument(
        "--lifeline", type=int, default=-1, help="descriptor whose end means the caller is gone"
    )
    arguments = parser.parse_args()
    plan = json.loads((arguments.dir / "plan.json").read_text())
    return Supervisor(arguments.dir, plan, arguments.ready, arguments.lifeline).run()


if __name__ == "__main__":
    sys.exit(main())
