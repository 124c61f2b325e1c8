"""The local cluster as two processes that can be ended and started again one by one."""

from __future__ import annotations

import http.client
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from jupyter_dra.kernels.folders import PrivateFolder
from jupyter_dra.localcluster.agent import tree
from tests.localcluster_fixture import LocalCluster

ROOT = Path(__file__).resolve().parents[2]
READY_SECONDS = 40.0


class BreakableCluster:
    """API server (with its state in a file) and node agent, each with a life of its own.

    Unlike the product's local cluster, which ends as a whole when one part is killed, this one is repaired: that is
    how a real control plane and a real node come back.
    """

    def __init__(self, nodes: Sequence[str] = ("dgx-h100", "dgx-h100")) -> None:
        self._own = PrivateFolder(tempfile.gettempdir())
        self.folder = Path(self._own.path)
        self._marks: list[str] = []
        self._inventories = nodes
        self._log: IO[bytes] = open(self.folder / "cluster.log", "ab")  # noqa: SIM115 (closed by stop)
        self._port = 0
        self._server: subprocess.Popen[bytes] | None = None
        self._agent: subprocess.Popen[bytes] | None = None
        self.start_server()
        self.start_agent()

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    @property
    def api(self) -> LocalCluster:
        """Requests as the administrator."""
        return LocalCluster(self.kubeconfig, self.folder, {"server": f"https://127.0.0.1:{self._port}"})

    def start_server(self) -> None:
        command = ["jupyter_dra.localcluster.serve", "--dir", str(self.folder), "--port", str(self._port)]
        self._server = self._start([*command, "--state", str(self.folder / "state.json")])
        said = self._first_line(self._server)
        self._port = int(str(said["server"]).rpartition(":")[2])

    def stop_server(self) -> None:
        """In order: what was acknowledged is in the file, as a store like etcd has it."""
        _end(self._server, signal.SIGTERM)

    def start_agent(self) -> None:
        """Start it again until it stays, as a service manager does: in bad weather it may not reach the API server."""
        end = time.monotonic() + READY_SECONDS
        while True:
            self._agent = self._start(self._agent_command())
            try:
                self._first_line(self._agent)
                return
            except AssertionError:
                if time.monotonic() > end:
                    raise
            _end(self._agent, signal.SIGKILL)
            time.sleep(0.2)  # the service manager's pause between tries

    def _agent_command(self) -> list[str]:
        """With a mark of its own each time: the guard of the one before may still clean up what bears its mark."""
        self._marks.append(secrets.token_hex(4))
        pki = self.folder / "pki"
        command = ["jupyter_dra.localcluster.agent", "--dir", str(self.folder), "--workdir", str(self.folder)]
        command += ["--kubeconfig", str(self.kubeconfig), "--install-kubeconfig", str(self.kubeconfig)]
        command += ["--tls-cert", str(pki / "kubelet.crt"), "--tls-key", str(pki / "kubelet.key")]
        command += ["--client-ca", str(pki / "ca.crt"), "--mark", self._marks[-1]]
        command += ["--missing-image", "*:missing"]
        for name in self._inventories:
            command += ["--inventory", name]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.append("--allow-root")
        return command

    def kill_agent(self) -> None:
        """End the node agent without warning; its guard ends the pods' processes."""
        _end(self._agent, signal.SIGKILL)

    def repair(self) -> None:
        """Start what does not run, and take all faults back."""
        if self._server is None or self._server.poll() is not None:
            self.start_server()
        if self._agent is None or self._agent.poll() is not None:
            self.start_agent()
        self.clear_faults()

    def fault(self, **wish: Any) -> None:
        """Ask for trouble; a server that is away has trouble enough."""
        try:
            self.api.request("POST", "/jupyter-dra/faults", wish)
        except (OSError, urllib.error.URLError):
            return

    def clear_faults(self) -> None:
        self.ask("DELETE", "/jupyter-dra/faults")

    def ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """A request as the administrator, repeated while the API server is away or refuses for a storm's sake."""
        end = time.monotonic() + READY_SECONDS
        while True:
            try:
                answer = self.api.request(method, path, body)
                if int(answer.get("code") or 200) < 429:
                    return answer
            except (OSError, ValueError, http.client.HTTPException):
                if time.monotonic() > end:
                    raise
            time.sleep(0.05)  # between tries

    def processes(self, pod_uid: str = "") -> set[int]:
        """What runs in pods of this cluster, or in one of them."""
        return {pid for mark in self._marks for pid in tree.marked(f"{mark}/{pod_uid}")}

    def stop(self) -> None:
        """End both and remove the folder."""
        _end(self._agent, signal.SIGTERM)
        _end(self._server, signal.SIGTERM)
        self._log.close()
        self._own.close()

    def _start(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )

    def _first_line(self, process: subprocess.Popen[bytes]) -> dict[str, Any]:
        assert process.stdout is not None
        began = time.monotonic()
        while line := process.stdout.readline():
            try:
                return dict(json.loads(line))
            except ValueError:
                continue
        log = (self.folder / "cluster.log").read_text()[-2000:]
        raise AssertionError(f"it ended after {time.monotonic() - began:.1f} s:\n{log}")


def _end(process: subprocess.Popen[bytes] | None, number: signal.Signals) -> None:
    if process is None:
        return
    if process.poll() is None:
        process.send_signal(number)
        try:
            process.wait(READY_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.stdout is not None:
        process.stdout.close()
