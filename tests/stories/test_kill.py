"""What is left, and what goes on, when something is killed without warning: cluster, agent, kernel, Jupyter server."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_dra.localcluster import lifecycle
from jupyter_dra.localcluster.agent import tree
from jupyter_dra.sessions import SessionPolicy, Sessions, Where
from jupyter_dra.sessions.identity import load_identity
from tests.localcluster_fixture import LocalCluster, start_local_cluster
from tests.server_fixture import RunningServer, eventually, start_server

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
H100 = {"tier": "high-memory-gpu", "product": "H100"}
PRINT_PID = "import os; print(os.getpid())"


def begin(server: RunningServer, **body: Any) -> dict[str, Any]:
    """A running session, begun over REST."""
    begun = server.dra("POST", "sessions", {"requirement": H100, **body})
    return server.session(begun["id"], "running")


def run(server: RunningServer, kernel_id: str, code: str) -> str:
    """What code prints in a kernel, through a web socket of its own."""

    async def main() -> str:
        socket = await server.connect(kernel_id)
        try:
            return await socket.execute(code)
        finally:
            await socket.close()

    return asyncio.run(main())


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    running = start_local_cluster(None, ["dgx-h100"])
    yield running
    running.stop()


@pytest.fixture
def server(cluster: LocalCluster, tmp_path: Path) -> Iterator[RunningServer]:
    running = start_server(tmp_path, cluster)
    yield running
    running.stop()


@pytest.mark.parametrize("victim", ["server", "agent"])
def test_a_killed_cluster_takes_its_kernels_along_and_starts_anew_clean(tmp_path: Path, victim: str) -> None:
    cluster = start_local_cluster(None, ["dgx-h100"])
    service = Sessions(
        Where(kubeconfig=str(cluster.kubeconfig)),
        identity=load_identity(tmp_path / "data", user="ada"),
        policy=SessionPolicy(keep_on_stop=True),
    )
    again = None
    try:
        record = service.loop.call(service.launch(H100), 60)
        service.loop.call(service.ready(record.id), 60)
        facts = json.loads((cluster.dir / "cluster.json").read_text())
        pids = [facts["pid"], *facts["pids"].values()]
        mark = json.loads((cluster.dir / "plan.json").read_text())["mark"]
        assert tree.marked(f"{mark}/"), "podside and kernel run"

        os.kill(facts["pids"][victim], signal.SIGKILL)

        eventually(lambda: not any(map(tree.identity, pids)) and not tree.marked(f"{mark}/"), 20)
        again = _start_again(cluster)
        assert [again.list(kind) for kind in ("pods", "resourceclaims", "secrets")] == [[], [], []]
    finally:
        service.close(keep=True)
        if again is not None:
            again.stop()
        cluster.stop()


def _start_again(cluster: LocalCluster) -> LocalCluster:
    """The next start of the same cluster, in its folder."""
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    folder = str(cluster.dir)
    options = lifecycle.UpOptions(
        devices=("dgx-h100",), folder=folder, workdir=folder, allow_root=root, attached=True
    )
    status = lifecycle.up(options)
    return LocalCluster(Path(status["kubeconfig"]), cluster.dir, status)


def test_a_killed_kernel_is_restarted_in_place_on_its_device(
    server: RunningServer, cluster: LocalCluster
) -> None:
    session = begin(server)
    kernel_id = session["kernels"][0]["id"]
    pod = cluster.get("pods", f"{session['id']}-0")
    first = int(run(server, kernel_id, PRINT_PID))

    os.kill(first, signal.SIGKILL)

    eventually(lambda: tree.identity(first) is None)
    second = eventually(lambda: _pid_of_kernel(server, kernel_id, other_than=first))
    assert second != first
    now = cluster.get("pods", f"{session['id']}-0")
    assert pod is not None
    assert now is not None
    assert now["metadata"]["uid"] == pod["metadata"]["uid"]
    assert server.session(session["id"], "running")["devices"] == session["devices"]
    server.dra("DELETE", f"sessions/{session['id']}")
    cluster.wait_gone("resourceclaims", session["id"])


def _pid_of_kernel(server: RunningServer, kernel_id: str, *, other_than: int) -> int | None:
    """The kernel's process once it is another one; None while it restarts."""

    async def ask() -> str:
        socket = await server.connect(kernel_id)
        try:
            return await socket.execute(PRINT_PID, timeout=2)
        finally:
            await socket.close()

    try:
        found = int(asyncio.run(ask()))
    except TimeoutError:
        return None
    return found if found != other_than else None


def test_kernels_outlive_a_killed_jupyter_server_and_the_next_one_lists_and_stops_them(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    server = start_server(tmp_path, cluster)
    try:
        session = begin(server, notebook="train.ipynb", name="train")
        kernel = int(run(server, session["kernels"][0]["id"], PRINT_PID))
        alive = tree.identity(kernel)
        assert alive

        server.kill()

        pod = cluster.get("pods", f"{session['id']}-0")
        assert pod is not None
        assert pod["status"]["phase"] == "Running"
        assert tree.identity(kernel) == alive, "the kernel goes on"

        server = start_server(tmp_path, cluster)
        listed = {one["id"]: one for one in server.dra("GET", "sessions")["sessions"]}
        assert listed[session["id"]]["name"] == "train"
        assert listed[session["id"]]["mine"] is True
        assert [one["device"] for one in listed[session["id"]]["devices"]] == [
            one["device"] for one in session["devices"]
        ]
        assert tree.identity(kernel) == alive, "listing it restarts nothing"

        server.dra("DELETE", f"sessions/{session['id']}")
        for kind, name in (("pods", f"{session['id']}-0"), ("resourceclaims", session["id"])):
            cluster.wait_gone(kind, name)
        eventually(lambda: tree.identity(kernel) is None)
        assert cluster.list("secrets") == []
    finally:
        server.stop()
