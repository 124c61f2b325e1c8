"""Sessions by port-forward, over broken connections, and with no more than the printed rights."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_dra.cluster import rbac
from jupyter_dra.sessions import Sessions, Where, load_identity
from tests.localcluster_fixture import LocalCluster, start_local_cluster
from tests.sessions.place import Place, end_of
from tests.sessions.test_launch import H100, launched


def test_a_session_works_by_port_forward_as_well(place: Place) -> None:
    service = place.service(transport="port-forward")
    session_id = launched(service)
    assert service.loop.call(service.get(session_id)).kernels[0].transport == "port-forward"
    handle = service.loop.call(service.ready(session_id))
    assert service.loop.call(handle.control.restart(), 30)["state"] in ("starting", "running")


@pytest.mark.parametrize("transport", ["direct", "port-forward"])
def test_a_broken_control_connection_is_made_again_and_the_kernel_stays(place: Place, transport: str) -> None:
    service = place.service(transport=transport)
    session_id = launched(service)
    before = service.loop.call(service.ready(session_id)).control
    service.loop.call(before.close())

    def again() -> bool:
        record = service.loop.call(service.get(session_id)).as_dict()
        return any(entry["event"] == "connected-again" for entry in record["history"])

    place.cluster.wait(again, deadline=20)
    after = service.loop.call(service.ready(session_id)).control
    assert after is not before
    assert service.loop.call(after.start(), 20)["state"] == "running"
    assert service.loop.call(service.get(session_id)).state == "running"


@pytest.fixture(scope="module")
def strict_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """A cluster with a person who has nothing but what `rbac user` prints."""
    folder = tmp_path_factory.mktemp("tokens")
    tokens = folder / "tokens.csv"
    tokens.write_text('ada-token-4711,ada,ada-uid,"people"\n')
    tokens.chmod(0o600)
    made = start_local_cluster(None, ["dgx-h100"], tokens_file=str(tokens))
    yield made
    made.stop()


def as_ada(cluster: LocalCluster, folder: Path) -> Path:
    config = json.loads(cluster.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": "ada-token-4711"}
    config["contexts"][0]["context"]["namespace"] = "team-a"
    path = folder / "ada.kubeconfig"
    path.write_text(json.dumps(config))
    path.chmod(0o600)
    return path


@pytest.mark.threat("T13")
def test_the_printed_user_role_is_enough_for_the_whole_life_of_a_session(
    strict_cluster: LocalCluster, tmp_path: Path
) -> None:
    strict_cluster.request(
        "POST", "/api/v1/namespaces", {"kind": "Namespace", "metadata": {"name": "team-a"}}
    )
    for item in rbac("user", namespace="team-a", subject={"kind": "User", "name": "ada"})["items"]:
        plural = {"Role": "roles", "RoleBinding": "rolebindings"}.get(item["kind"])
        where = f"/namespaces/team-a/{plural}" if plural else f"/{item['kind'].lower()}s"
        answer = strict_cluster.request("POST", f"/apis/rbac.authorization.k8s.io/v1{where}", item)
        assert answer.get("status") != "Failure", answer

    def service(**where: Any) -> Sessions:
        return Sessions(
            Where(kubeconfig=str(as_ada(strict_cluster, tmp_path)), **where),
            identity=load_identity(tmp_path / "data", user="ada"),
        )

    server = service()
    try:
        plan = server.loop.call(server.plan(H100))
        assert plan["verdict"] in ("fits", "unknown")
        assert plan["counts"]["free"] is None
        assert plan["counts"]["free_at_most"] == 8
        session_id = launched(server)
        server.loop.call(server.extend(session_id, extend_seconds=60), 20)
        record = server.loop.call(server.attach(session_id))
        server.loop.call(server.ready(session_id, record.kernels[1].id), 60)

        async def log() -> bytes:
            return b"".join([chunk async for chunk in server.logs(session_id, tail=5)])

        assert server.loop.call(log())
        server.close(keep=True)
        server = service()
        assert len(server.loop.call(server.reattach(session_id), 30)) == 2
        server.loop.call(server.stop(session_id))
        assert end_of(server, session_id).code == "stopped"
    finally:
        server.close()
    assert strict_cluster.list("secrets", "team-a") == []


def test_a_service_that_cannot_reach_the_cluster_says_so_and_recovers(tmp_path: Path) -> None:
    from jupyter_dra.errors import ClusterError
    from tests.cluster.test_kubeconfig import config

    path = config(tmp_path / "config", "gone", current="gone")
    path.write_text(path.read_text().replace("https://gone.example:6443", "http://127.0.0.1:9"))
    service = Sessions(Where(kubeconfig=str(path)), identity=load_identity(tmp_path / "d", user="ada"))

    async def quick() -> Any:
        async with asyncio.timeout(40):
            return await service.context()

    with pytest.raises(ClusterError) as caught:
        service.loop.call(quick())
    assert caught.value.code == "unreachable"
    service.close()
