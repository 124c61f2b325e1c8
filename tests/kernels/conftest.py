"""A kernel pod as a plain local process, and everything that speaks to it on one background loop."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from jupyter_dra.errors import ClusterError
from jupyter_dra.kernels.credentials import PodCredentials
from jupyter_dra.kernels.runtime import MOUNT, RUN_DIR, KernelPods
from jupyter_dra.sessions.loop import BackgroundLoop
from jupyter_dra.sessions.ports import KernelChoice, PodMaterials, Streams


def eventually(condition: Callable[[], Any], seconds: float = 15.0) -> Any:
    """Wait until a condition holds and return its value; fails after the deadline."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "the condition did not come true"
        time.sleep(0.01)
    return value


@dataclass
class LocalPod:
    """podside as a child process; also a `Target`."""

    folder: Path
    materials: PodMaterials
    process: subprocess.Popen[bytes]
    pod_uid: str = field(default_factory=lambda: os.urandom(8).hex())
    transport: str = "direct"
    dials: int = 0

    @property
    def credentials(self) -> PodCredentials:
        assert isinstance(self.materials.credentials, PodCredentials)
        return self.materials.credentials

    @property
    def run(self) -> Path:
        return self.folder / "run"

    @property
    def port(self) -> int:
        path = self.run / "podside.port"
        return int(eventually(lambda: path.exists() and path.read_text()))

    async def open(self) -> Streams:
        self.dials += 1
        try:
            return await asyncio.open_connection("127.0.0.1", int((self.run / "podside.port").read_text()))
        except (OSError, ValueError) as error:
            raise ClusterError("nobody listens yet") from error

    def log(self) -> str:
        return (self.folder / "log").read_text()

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)


@dataclass
class Pods:
    """Makes pods for a test and ends them with it."""

    root: Path
    made: list[LocalPod] = field(default_factory=list)

    def start(
        self,
        *,
        argv: tuple[str, ...] | None = None,
        python: str = sys.executable,
        env: dict[str, str] | None = None,
        runtime: KernelPods | None = None,
        **options: Any,
    ) -> LocalPod:
        folder = self.root / f"pod{len(self.made)}"
        secret = folder / "secret"
        secret.mkdir(parents=True)
        runtime = runtime or KernelPods(python=python, port=0, usage_seconds=0.5)
        kernel = KernelChoice(argv=argv) if argv else KernelChoice()
        materials = runtime.materials(
            session_id="s-1",
            pod_name=f"pod-{len(self.made)}",
            facts=options.pop("facts", {}),
            kernel=kernel,
            **options,
        )
        for name, content in materials.secret_data.items():
            (secret / name).write_bytes(content)
        command = [
            part.replace(MOUNT, str(secret)).replace(RUN_DIR, str(folder / "run"))
            for part in materials.command
        ]
        clean = {"PATH": os.environ["PATH"], "HOME": str(folder), "POD_IP": "127.0.0.1", **(env or {})}
        with open(folder / "log", "wb") as log:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=clean,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        pod = LocalPod(folder, materials, process)
        self.made.append(pod)
        return pod


@pytest.fixture
def pods(tmp_path: Path) -> Iterator[Pods]:
    made = Pods(tmp_path)
    yield made
    for pod in made.made:
        pod.stop()


@pytest.fixture
def background() -> Iterator[BackgroundLoop]:
    loop = BackgroundLoop("test")
    yield loop
    loop.close()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


SIGKILL = signal.SIGKILL
