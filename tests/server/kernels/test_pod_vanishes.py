"""A deleted pod is followed by another; a deleted claim is the end, and a restart takes a device anew."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.localcluster_fixture import LocalCluster, object_path

from ..test_sessions import until
from .notebook import WISH, allocated, listen, nothing_left, run, save, start


async def delete(cluster: LocalCluster, kind: str) -> str:
    """Delete the only object of a kind; its name."""
    (found,) = cluster.list(kind)
    name, namespace = str(found["metadata"]["name"]), found["metadata"]["namespace"]
    await asyncio.to_thread(cluster.request, "DELETE", object_path(kind, namespace, name))
    return name


async def test_a_kernel_whose_pod_is_deleted_comes_back_under_its_id_and_works(
    jp_fetch: Any, jp_serverapp: Any, jp_root_dir: Path, cluster: LocalCluster, tier_kernel: str
) -> None:
    save(jp_root_dir, None)
    kernel_id = (await start(jp_fetch, tier_kernel))["kernel"]["id"]
    told = listen(jp_serverapp, kernel_id)
    await run(jp_serverapp, kernel_id, "x = 1")
    before = allocated(cluster)
    pod = await delete(cluster, "pods")
    await until_told(told)
    assert told == ["restart"]
    assert await run(jp_serverapp, kernel_id, "print('x' in globals())") == "False\n"
    (session,) = json.loads((await jp_fetch("jupyter-dra", "sessions")).body)["sessions"]
    assert [one["event"] for one in session["history"]] == ["pod-lost", "replaced"]
    assert session["kernels"][0]["pod"] != pod
    assert allocated(cluster) == before
    # Choosing Restart in the menu afterwards is an ordinary restart in place.
    reply = await jp_fetch("api", "kernels", kernel_id, "restart", method="POST", body="", request_timeout=60)
    assert json.loads(reply.body)["id"] == kernel_id
    assert await run(jp_serverapp, kernel_id, "print(1 + 1)") == "2\n"
    await jp_fetch("api", "kernels", kernel_id, method="DELETE", request_timeout=60)
    await nothing_left(cluster)


async def test_the_kernel_of_a_deleted_claim_is_dead_with_its_reason_and_the_notebook_starts_again(
    jp_fetch: Any, jp_serverapp: Any, jp_root_dir: Path, cluster: LocalCluster, tier_kernel: str
) -> None:
    save(jp_root_dir, None)
    kernel_id = (await start(jp_fetch, tier_kernel))["kernel"]["id"]
    told = listen(jp_serverapp, kernel_id)
    await delete(cluster, "resourceclaims")
    await until_told(told)
    assert told == ["dead"]
    (ended,) = json.loads((await jp_fetch("jupyter-dra", "sessions", params={"ended": "1"})).body)["sessions"]
    assert ended["ended"]["code"] == "claim-deleted"
    assert "deleted" in ended["ended"]["message"]
    await nothing_left(cluster)
    # What Restart in JupyterLab does once the dead kernel is gone from the server's list.
    again = (await start(jp_fetch, tier_kernel))["kernel"]["id"]
    assert await run(jp_serverapp, again, "print(1 + 1)") == "2\n"
    assert len(allocated(cluster)) == len(cluster.list("pods")) == 1
    await jp_fetch("api", "kernels", again, method="DELETE", request_timeout=60)
    await nothing_left(cluster)


async def until_told(told: list[str]) -> None:
    async with asyncio.timeout(20):
        while not told:
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("attached", [False, True], ids=["tier kernel", "kernel of a session"])
async def test_a_restart_before_anybody_noticed_begins_a_session_with_the_same_wish(
    attached: bool,
    jp_fetch: Any,
    fetch: Any,
    jp_serverapp: Any,
    jp_root_dir: Path,
    cluster: LocalCluster,
    tier_kernel: str,
) -> None:
    save(jp_root_dir, None)
    if attached:
        begun = await fetch("POST", "sessions", body={"requirement": WISH, "notebook": "train.ipynb"})
        ready = await until(fetch, begun.json["id"], "running")
        kernel_id = ready["kernels"][0]["id"]
    else:
        kernel_id = (await start(jp_fetch, tier_kernel))["kernel"]["id"]
    manager = jp_serverapp.kernel_manager.get_kernel(kernel_id)
    manager.stop_restarter()
    (first,) = json.loads((await jp_fetch("jupyter-dra", "sessions")).body)["sessions"]
    (pod,) = (one["metadata"]["name"] for one in cluster.list("pods"))
    await delete(cluster, "resourceclaims")
    await nothing_left(cluster)
    reply = await jp_fetch("api", "kernels", kernel_id, "restart", method="POST", body="", request_timeout=60)
    assert json.loads(reply.body)["id"] == kernel_id
    assert await run(jp_serverapp, kernel_id, "print(1 + 1)") == "2\n"
    assert [one["metadata"]["name"] for one in cluster.list("pods")] != [pod]
    assert len(allocated(cluster)) == len(cluster.list("pods")) == 1
    second, *_ = json.loads((await jp_fetch("jupyter-dra", "sessions")).body)["sessions"]
    assert second["id"] != first["id"]
    assert second["requirement"] == first["requirement"]
    assert [one["notebook"] for one in second["kernels"]] == ["train.ipynb"]
    await jp_fetch("api", "kernels", kernel_id, method="DELETE", request_timeout=60)
    await nothing_left(cluster)
