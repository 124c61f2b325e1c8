"""Every idea of a device is launched from the command line: companions, parts, TPUs, shares, alternatives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_dra.cli.main import main
from tests.localcluster_fixture import LocalCluster, start_local_cluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    running = start_local_cluster(inventories=["default", "shared"])
    yield running
    running.stop()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ("--tier", "high-memory-gpu", "--near", "rdma-nic", "--align", "numaNode"),
            [("gpu", "gpu.nvidia.com"), ("near-1", "dra.net")],
        ),
        (("--tier", "gpu-slice", "--share", "profile=1g.5gb"), [("gpu", "gpu.nvidia.com")]),
        (("--tier", "tpu-v6e-node", "--count", "8"), [("device", "tpu.google.com")] * 8),
        (("--tier", "gpu.nvidia.com", "--share", "memory=10Gi"), [("gpu", "gpu.nvidia.com")]),
        (
            ("--tier", "high-memory-gpu", "--product", "H200", "--or-else", '{"product": "H100"}'),
            [("gpu/2", "gpu.nvidia.com")],
        ),
    ],
    ids=["gpu-and-nic", "mig-part", "tpu", "shared", "alternatives"],
)
def test_it_is_launched_and_given_back(
    cluster: LocalCluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    expected: list[tuple[str, str]],
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))

    def dra(*arguments: str) -> Any:
        capfd.readouterr()
        status = main([*arguments, "--kubeconfig", str(cluster.kubeconfig), "-o", "json"])
        out, err = capfd.readouterr()
        assert status == 0, err
        return json.loads(out)

    session = dra("launch", *words)
    try:
        found = sorted((device["request"], device["driver"]) for device in session["devices"])
        assert found == sorted(expected)
        if "memory=10Gi" in words:
            assert session["devices"][0]["share"]
    finally:
        dra("stop", session["id"])
    cluster.wait_gone("resourceclaims", session["id"])
