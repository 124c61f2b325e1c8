"""What a plan over REST knows of the asking user: their own limit, and what they hold and do not use."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.localcluster_fixture import LocalCluster

from .conftest import Fetch, options_of
from .test_devices import devices_of

L4 = {"tier": "small-gpu", "host_memory": "1Gi", "cpu": "1"}


@pytest.fixture
def cluster_options(shared_cluster: LocalCluster) -> dict[str, Any]:
    closed: dict[str, Any] = {"allow_where": False, "images": ["quay.io/ours/*"], "longest_lease": 3600}
    return {**options_of(shared_cluster), "max_devices": 1, **closed}


async def test_a_plan_says_that_the_limit_is_reached_apart_from_whether_it_would_fit(fetch: Fetch) -> None:
    begun = (await fetch("POST", "sessions", {"requirement": L4})).json
    try:
        plan = (await fetch("POST", "plan", {"requirement": L4})).json
        assert plan["verdict"] == "fits"
        assert (plan["launch"]["can"], plan["launch"]["code"]) == ("no", "limit")
        assert plan["launch"]["params"]["names"] == [begun["id"]]
        assert (await fetch("POST", "sessions", {"requirement": L4})).status == 403

        revision = (await fetch("GET", "devices", params={"compact": "1"})).json["revision"]
        async with asyncio.timeout(40):
            while await _idle(fetch, begun["id"]) is None:
                await asyncio.sleep(0.1)
        for since in ({}, {"since": str(revision)}):
            columns = (await fetch("GET", "devices", params={"compact": "1", **since})).json
            assert _idle_of(devices_of(columns), begun["id"]) is not None
    finally:
        await fetch("DELETE", f"sessions/{begun['id']}")


async def _idle(fetch: Fetch, session_id: str) -> int | None:
    """How long the session holds its device unused, as the list of devices tells it."""
    return _idle_of((await fetch("GET", "devices")).json["devices"], session_id)


def _idle_of(devices: list[dict[str, Any]], session_id: str) -> int | None:
    holders = [holder for device in devices for holder in device["holders"]]
    found: list[int | None] = [one["idle_seconds"] for one in holders if one["session"] == session_id]
    return next(iter(found), None)


@pytest.mark.parametrize(
    ("wish", "code", "params"),
    [
        ({"where": ["true"]}, "policy", {"what": "where", "path": "where"}),
        ({"image": "docker.io/other"}, "policy", {"what": "image", "allowed": ["quay.io/ours/*"]}),
        ({"volumes": ["home"]}, "policy", {"what": "volume", "name": "home", "allowed": []}),
        ({"lease": "2h"}, "limit", {"limit": "longest-lease", "longest_seconds": 3600}),
    ],
    ids=str,
)
async def test_a_plan_says_what_the_launch_would_be_refused_for(
    fetch: Fetch, wish: dict[str, Any], code: str, params: dict[str, Any]
) -> None:
    plan = (await fetch("POST", "plan", {"requirement": {**L4, **wish}})).json
    assert (plan["verdict"], plan["launch"]["can"], plan["launch"]["code"]) == ("fits", "no", code)
    told = plan["launch"]["params"]
    assert {name: told[name] for name in params} == params
    launch = await fetch("POST", "sessions", {"requirement": {**L4, **wish}})
    assert (launch.status, launch.json["code"], launch.json["detail"]) == (403, code, told["message"])


async def test_a_manifest_with_conditions_of_its_own_is_planned_as_not_allowed(fetch: Fetch) -> None:
    body = {"deviceClassName": "small-gpu", "selectors": [{"cel": {"expression": "true"}}]}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "own"},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": body}]}},
    }
    launch = (await fetch("POST", "plan", {"claim": claim})).json["launch"]
    assert (launch["can"], launch["code"], launch["params"]["what"]) == ("no", "policy", "where")
