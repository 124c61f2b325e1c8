"""The command line, run in this process against a local cluster of its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jupyter_dra.cli.main import main
from tests.backends import Backend
from tests.localcluster_fixture import LocalCluster


@dataclass(frozen=True)
class Said:
    """What a command answered."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Said]


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Identity, local clusters and kernelspecs of this machine stay out of sight."""
    (tmp_path / "run").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)


@pytest.fixture
def dra(capfd: pytest.CaptureFixture[str]) -> Command:
    """``dra("plan", "--vram", "80GB")`` runs one command."""

    def run(*words: str) -> Said:
        capfd.readouterr()
        try:
            status = main(list(words))
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 2
        out, err = capfd.readouterr()
        return Said(status, out, err)

    return run


@pytest.fixture(scope="package")
def shared_cluster(backend: Backend) -> Iterator[LocalCluster]:
    made = backend.start()
    yield made
    made.stop()


@pytest.fixture
def live(dra: Command, shared_cluster: LocalCluster) -> Command:
    """The same against a cluster, as somebody with the printed rights."""

    def run(*words: str) -> Said:
        return dra(*words, "--kubeconfig", str(shared_cluster.person()))

    return run
