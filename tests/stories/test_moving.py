"""A notebook's kernel gets another size: another pod, the same device, and the open page goes on."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.localcluster_fixture import LocalCluster, start_local_cluster
from tests.server_fixture import RunningServer, eventually, start_server

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
PID = "import os; print(os.getpid())"


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    running = start_local_cluster(None, ["dgx-h100"])
    yield running
    running.stop()


@pytest.fixture
def server(cluster: LocalCluster, tmp_path: Path) -> Iterator[RunningServer]:
    running = start_server(tmp_path, cluster)
    yield running
    running.stop()


async def _use(server: RunningServer, session: str, kernel: str) -> tuple[str, str, str]:
    """Process ids seen by a page before and after the move, and by Jupyter's own restart after it."""
    page = await server.connect(kernel)
    before = await page.execute(PID)
    path = f"sessions/{session}/kernels/{kernel}/restart"
    await asyncio.to_thread(server.dra, "POST", path, {"cpu": "2", "host_memory": "2Gi"})
    await page.told("restarting")  # at this word JupyterLab opens its socket anew
    await page.close()
    page = await server.connect(kernel)
    after = await page.execute(PID)
    await asyncio.to_thread(server.request, "POST", f"/api/kernels/{kernel}/restart")
    again = await page.execute(PID)
    await page.close()
    return before, after, again


def test_an_open_page_goes_on_in_the_larger_pod_and_can_restart_there(
    server: RunningServer, cluster: LocalCluster
) -> None:
    begun = server.dra(
        "POST",
        "sessions",
        {"requirement": {"tier": "high-memory-gpu", "cpu": "1", "host_memory": "1Gi"}, "notebook": "a.ipynb"},
    )
    session = server.session(begun["id"], "running")
    kernel = session["kernels"][0]["id"]

    pids = asyncio.run(_use(server, session["id"], kernel))

    assert len(set(pids)) == 3, "each is a kernel of its own"
    moved = server.session(session["id"], "running")
    assert moved["devices"] == session["devices"]
    [now] = moved["kernels"]
    assert (now["id"], now["pod"]) == (kernel, f"{session['id']}-1")
    assert (now["cpu"], now["host_memory"], now["next_pod"]) == ("2", "2Gi", None)
    assert [one["event"] for one in moved["history"]][:2] == ["moving", "moved"]
    models = server.request("GET", "/api/kernels")
    assert [one["id"] for one in models] == [kernel]
    eventually(lambda: server.request("GET", f"/api/kernels/{kernel}")["execution_state"] == "idle", 10)
    server.dra("DELETE", f"sessions/{session['id']}")
    cluster.wait_gone("resourceclaims", session["id"])
    assert [cluster.list(kind) for kind in ("pods", "secrets")] == [[], []]
