"""What a plan over REST knows of the asking user: their own limit, and what they hold and do not use."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.localcluster_fixture import LocalCluster

from .conftest import Fetch, options_of

L4 = {"tier": "small-gpu", "host_memory": "1Gi", "cpu": "1"}


@pytest.fixture
def cluster_options(shared_cluster: LocalCluster) -> dict[str, Any]:
    return {**options_of(shared_cluster), "max_devices": 1}


async def test_a_plan_says_that_the_limit_is_reached_apart_from_whether_it_would_fit(fetch: Fetch) -> None:
    begun = (await fetch("POST", "sessions", {"requirement": L4})).json
    try:
        plan = (await fetch("POST", "plan", {"requirement": L4})).json
        assert plan["verdict"] == "fits"
        assert (plan["launch"]["can"], plan["launch"]["code"]) == ("no", "limit")
        assert plan["launch"]["params"]["names"] == [begun["id"]]
        assert (await fetch("POST", "sessions", {"requirement": L4})).status == 403

        async with asyncio.timeout(40):
            while await _idle(fetch, begun["id"]) is None:
                await asyncio.sleep(0.1)
    finally:
        await fetch("DELETE", f"sessions/{begun['id']}")


async def _idle(fetch: Fetch, session_id: str) -> int | None:
    """How long the session holds its device unused, as the list of devices tells it."""
    devices = (await fetch("GET", "devices")).json["devices"]
    holders = [holder for device in devices for holder in device["holders"]]
    found = (one["idle_seconds"] for one in holders if one["session"] == session_id)
    return next(found, None)
