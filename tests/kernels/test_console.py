"""The terminal console on a device: it shows the device, and ends without leaving anything."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from jupyter_client.kernelspec import KernelSpecManager

from jupyter_dra.kernels.kernelspecs import install
from tests.localcluster_fixture import LocalCluster, start_local_cluster

ROOT = Path(__file__).resolve().parents[2]
LINES = """%load_ext jupyter_dra
%dra
print(6 * 7)
"""


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    made = start_local_cluster(None, ["dgx-h100"])
    yield made
    made.stop()


def console(cluster: LocalCluster, folder: Path, lines: str) -> str:
    """What ``jupyter console`` on a tier's kernelspec prints, fed these lines."""
    env = {
        **os.environ,
        "JUPYTER_DATA_DIR": str(folder / "jupyter"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "XDG_DATA_HOME": str(folder / "data"),
        "KUBECONFIG": str(cluster.kubeconfig),
        "PYTHONPATH": str(ROOT),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_DATA_DIR", env["JUPYTER_DATA_DIR"])
        wish = {"tier": "high-memory-gpu", "cpu": "1", "host_memory": "1Gi"}
        install(wish, name="dra-high-memory-gpu", manager=KernelSpecManager())
    done = subprocess.run(
        [sys.executable, "-m", "jupyter", "console", "--kernel", "dra-high-memory-gpu", "--simple-prompt"],
        input=lines,
        env=env,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=90,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("goodbye", ["exit\n", ""], ids=["exit", "end of input"])
def test_it_shows_the_device_and_has_given_it_back_when_it_ends(
    cluster: LocalCluster, tmp_path: Path, goodbye: str
) -> None:
    said = console(cluster, tmp_path, LINES + goodbye)
    assert "H100" in said, said
    assert "42" in said
    assert "Traceback" not in said
    left = {kind: cluster.list(kind) for kind in ("pods", "secrets", "resourceclaims")}
    assert left == {"pods": [], "secrets": [], "resourceclaims": []}
