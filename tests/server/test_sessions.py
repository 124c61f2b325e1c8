"""The main job over REST, on the local cluster: plan, launch, run, look, share, stop, nothing left."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.localcluster_fixture import LocalCluster

from .conftest import Fetch, options_of


@pytest.fixture
def cluster_options(shared_cluster: LocalCluster) -> dict[str, str]:
    return options_of(shared_cluster)


async def until(fetch: Fetch, session_id: str, *states: str, seconds: float = 30) -> dict[str, Any]:
    """The session once it is in one of *states*."""
    async with asyncio.timeout(seconds):
        while True:
            record: dict[str, Any] = (await fetch("GET", f"sessions/{session_id}")).json
            if record["state"] in states:
                return record
            assert record["state"] != "ended", record["ended"]
            await asyncio.sleep(0.05)


async def run(jp_serverapp: Any, kernel_id: str, code: str) -> str:
    """What *code* prints in a kernel of the server, through its own channels."""
    manager = jp_serverapp.kernel_manager.get_kernel(kernel_id)
    client = manager.client()
    client.start_channels()
    try:
        printed: list[str] = []
        await client.execute_interactive(
            code,
            allow_stdin=False,
            timeout=30,
            output_hook=lambda message: printed.append(message["content"].get("text", "")),
        )
        return "".join(printed)
    finally:
        client.stop_channels()


async def test_documents_have_the_form_the_description_gives(fetch: Fetch) -> None:
    for path in ("status", "tiers", "devices", "contexts", "doctor", "waiting", "sessions"):
        answer = await fetch("GET", path)
        assert answer.status == 200, (path, answer.body)
    plan = await fetch("POST", "plan", body={"requirement": {"vram": "80GB"}})
    assert plan.json["verdict"] == "fits"


@pytest.mark.threat("T01")
async def test_a_session_is_launched_used_and_given_back(
    fetch: Fetch, jp_serverapp: Any, shared_cluster: LocalCluster
) -> None:
    begun = await fetch(
        "POST",
        "sessions",
        body={"requirement": {"tier": "high-memory-gpu", "product": "H100"}, "notebook": "train.ipynb"},
    )
    assert begun.status == 202, begun.body
    session_id = begun.json["id"]
    assert begun.headers["Location"].endswith(f"/jupyter-dra/sessions/{session_id}")
    record = await until(fetch, session_id, "running")
    assert [step["code"] for step in record["steps"]] == [
        "checked", "claim-created", "allocated", "scheduled", "image-pulled", "kernel-starting", "connected",
    ]  # fmt: skip
    (device,) = record["devices"]
    assert device["label"] == "H100 80 GB"
    (kernel,) = record["kernels"]
    assert kernel["encrypted"] is True
    assert kernel["id"] in jp_serverapp.kernel_manager
    assert "42" in await run(jp_serverapp, kernel["id"], "print(6 * 7)")
    held = await run(jp_serverapp, kernel["id"], "%load_ext jupyter_dra\n%dra")
    assert held == "" or "H100" in held

    logs = await fetch("GET", f"sessions/{session_id}/logs")
    assert logs.headers["Content-Type"].startswith("text/plain")
    assert logs.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in logs.headers["Content-Security-Policy"]

    stopped = await fetch("DELETE", f"sessions/{session_id}")
    assert stopped.status == 202
    await until(fetch, session_id, "ended")
    for kind, name in (("pods", f"{session_id}-0"), ("resourceclaims", session_id)):
        shared_cluster.wait_gone(kind, name)
    assert not [
        one for one in shared_cluster.list("secrets") if one["metadata"]["name"].startswith(session_id)
    ]
    assert kernel["id"] not in jp_serverapp.kernel_manager


async def test_the_same_key_and_the_same_notebook_begin_one_session(fetch: Fetch) -> None:
    body = {"requirement": {"tier": "small-gpu"}, "notebook": "twice.ipynb", "key": "k-1"}
    first, second = await asyncio.gather(
        fetch("POST", "sessions", body=body), fetch("POST", "sessions", body=body)
    )
    assert {first.status, second.status} == {200, 202}
    assert first.json["id"] == second.json["id"]
    await until(fetch, first.json["id"], "running")
    await fetch("DELETE", f"sessions/{first.json['id']}")
    await until(fetch, first.json["id"], "ended")


async def test_a_second_kernel_joins_and_a_restart_keeps_the_device(fetch: Fetch, jp_serverapp: Any) -> None:
    begun = await fetch(
        "POST", "sessions", body={"requirement": {"tier": "small-gpu"}, "notebook": "one.ipynb"}
    )
    session_id = begun.json["id"]
    device = (await until(fetch, session_id, "running"))["devices"]
    joined = await fetch("POST", f"sessions/{session_id}/kernels", body={"notebook": "two.ipynb"})
    assert joined.status == 202
    second = joined.json["id"]
    async with asyncio.timeout(30):
        while second not in jp_serverapp.kernel_manager:
            await asyncio.sleep(0.05)
    assert "7" in await run(jp_serverapp, second, "x = 7; print(x)")
    restarted = await fetch("POST", f"sessions/{session_id}/kernels/{second}/restart")
    assert restarted.status == 202
    assert "NameError" in await run(
        jp_serverapp, second, "try:\n    x\nexcept NameError as e:\n    print(type(e).__name__)"
    )
    ended = await fetch("DELETE", f"sessions/{session_id}/kernels/{second}")
    assert ended.status == 202
    record = await until(fetch, session_id, "running")
    assert record["devices"] == device
    await fetch("DELETE", f"sessions/{session_id}")
    await until(fetch, session_id, "ended")


async def test_a_launch_can_be_cancelled_and_leaves_nothing(
    fetch: Fetch, shared_cluster: LocalCluster
) -> None:
    begun = await fetch("POST", "sessions", body={"requirement": {"tier": "small-gpu"}})
    session_id = begun.json["id"]
    assert (await fetch("DELETE", f"sessions/{session_id}")).status == 202
    record = await until(fetch, session_id, "ended")
    assert record["ended"]["code"] == "cancelled"
    shared_cluster.wait_gone("resourceclaims", session_id)


async def test_refusals_say_what_and_why(fetch: Fetch) -> None:
    missing = await fetch("POST", "sessions", body={"requirement": {"tier": "no-such-tier"}})
    assert missing.status in (409, 422)
    assert "no-such-tier" in missing.json["detail"]
    never = await fetch("POST", "sessions", body={"requirement": {"tier": "small-gpu", "vram": "800GB"}})
    assert never.status == 409
    assert never.json["code"] == "impossible"
    unknown = await fetch("POST", "sessions", body={"requirement": {"memory": "8GB"}})
    assert unknown.status == 422
    assert unknown.json["detail"] == "memory: vram or host_memory?"
    for path in ("sessions/nobody-22222", "sessions/nobody-22222/logs"):
        assert (await fetch("GET", path)).status == 404


async def test_a_request_without_a_number_gets_what_its_tier_is_offered_in(fetch: Fetch) -> None:
    node = {"tier": "tpu-v6e-node", "host_memory": "1Gi", "cpu": "1"}
    (tier,) = [one for one in (await fetch("GET", "tiers")).json["tiers"] if one["name"] == "tpu-v6e-node"]
    assert tier["usual_count"] == 8
    plan = (await fetch("POST", "plan", {"requirement": node})).json
    assert (plan["launch"]["can"], plan["requirement"]) == ("yes", node)
    preview = (await fetch("POST", "claims/preview", {"requirement": node})).json
    assert preview["claim"]["spec"]["devices"]["requests"][0]["exactly"]["count"] == 8
    assert preview["shell"] == "jupyter dra launch --tier tpu-v6e-node --cpu 1 --host-memory 1Gi"

    refused = await fetch("POST", "sessions", {"requirement": {**node, "count": 1}})
    assert (refused.status, refused.json["path"], refused.json["next"]) == (403, "count", "Ask for 8.")
    begun = (await fetch("POST", "sessions", {"requirement": node})).json
    try:
        running = await until(fetch, begun["id"], "running")
        assert len(running["devices"]) == 8 and running["requirement"] == node
    finally:
        await fetch("DELETE", f"sessions/{begun['id']}")


async def test_the_lease_can_be_extended_but_not_beyond_the_longest(fetch: Fetch) -> None:
    begun = await fetch("POST", "sessions", body={"requirement": {"tier": "small-gpu", "lease": "1h"}})
    session_id = begun.json["id"]
    before = await until(fetch, session_id, "running")
    longer = await fetch("PATCH", f"sessions/{session_id}", body={"lease": {"extend_seconds": 3600}})
    assert longer.status == 200
    assert longer.json["lease"]["ends_at"] > before["lease"]["ends_at"]
    too_long = await fetch("PATCH", f"sessions/{session_id}", body={"lease": {"extend_seconds": 10**6}})
    assert (too_long.status, too_long.json["code"]) == (409, "longest-lease")
    await fetch("DELETE", f"sessions/{session_id}")
    await until(fetch, session_id, "ended")


@pytest.mark.threat("T50")
async def test_changes_arrive_as_events_without_names(fetch: Fetch, jp_serverapp: Any) -> None:
    seen: list[dict[str, Any]] = []

    async def listen(logger: Any, schema_id: str, data: dict[str, Any]) -> None:
        seen.append({"schema": schema_id, **data})

    for name in ("session", "inventory"):
        jp_serverapp.event_logger.add_listener(
            schema_id=f"https://events.jupyter-dra.dev/{name}/v1", listener=listen
        )
    begun = await fetch(
        "POST", "sessions", body={"requirement": {"tier": "small-gpu"}, "notebook": "secret-name.ipynb"}
    )
    session_id = begun.json["id"]
    await until(fetch, session_id, "running")
    await fetch("DELETE", f"sessions/{session_id}")
    await until(fetch, session_id, "ended")
    async with asyncio.timeout(5):
        while not {"created", "ended"} <= {one["change"] for one in seen if one.get("id") == session_id}:
            await asyncio.sleep(0.02)
    assert "secret-name.ipynb" not in json.dumps(seen)


async def test_manifests_are_checked_and_asked_of_the_server(fetch: Fetch) -> None:
    text = (
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\n"
        "spec: {devices: {requests: [{name: g, deviceClassName: small-gpu}]}}\n"
    )
    answer = await fetch("POST", "check", body={"text": text, "fix": True, "server": True})
    assert answer.status == 200
    assert answer.json["server_says"][0]["accepted"] is False
    assert answer.json["differs"] is False
    assert "exactly" in answer.json["fixed"]


async def test_the_next_launch_tells_how_long_its_image_took_the_last_time(fetch: Fetch) -> None:
    told: list[float | None] = []
    for _ in range(2):
        body = {"requirement": {"tier": "small-gpu"}, "notebook": "timed.ipynb"}
        begun = (await fetch("POST", "sessions", body=body)).json
        assert begun["notebook"] == "timed.ipynb"
        record = await until(fetch, begun["id"], "running")
        (step,) = [one for one in record["steps"] if one["code"] == "image-pulled"]
        told.append(step["params"]["last_seconds"])
        await fetch("DELETE", f"sessions/{begun['id']}")
        await until(fetch, begun["id"], "ended")
    assert told[0] is None
    assert isinstance(told[1], float)


async def test_the_session_of_a_part_is_told_how_many_other_parts_of_its_card_are_in_use(
    fetch: Fetch,
) -> None:
    wish = {"tier": "gpu-slice", "share": {"profile": "1g.5gb"}}
    ids = []
    for name in ("first", "second"):
        ids.append((await fetch("POST", "sessions", body={"requirement": wish, "name": name})).json["id"])
    for one in ids:
        await until(fetch, one, "running")
    records = [(await fetch("GET", f"sessions/{one}")).json for one in ids]
    cards = [record["devices"][0]["device"].rpartition("-mig-")[0] for record in records]
    together = 1 if cards[0] == cards[1] else 0
    assert [record["devices"][0]["neighbours"] for record in records] == [{"parts": together}] * 2
    assert all(record["devices"][0]["slots"] for record in records)
    for one in ids:
        await fetch("DELETE", f"sessions/{one}")
        await until_ended(fetch, one)


async def until_ended(fetch: Fetch, session_id: str) -> None:
    async with asyncio.timeout(30):
        while (await fetch("GET", f"sessions/{session_id}")).json["state"] != "ended":
            await asyncio.sleep(0.05)
