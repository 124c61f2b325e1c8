"""What the administrator restricts is said by the plan, before anything is launched."""

from __future__ import annotations

from typing import Any

import pytest

from tests.localcluster_fixture import LocalCluster

from .conftest import Fetch, options_of
from .test_sessions import until


@pytest.fixture
def cluster_options(shared_cluster: LocalCluster) -> dict[str, Any]:
    return {**options_of(shared_cluster), "max_devices": 1, "allow_where": False}


async def launch_of(fetch: Fetch, requirement: dict[str, Any]) -> Any:
    answer = await fetch("POST", "plan", body={"requirement": requirement})
    return answer.json["launch"]


async def test_a_plan_says_when_the_own_limit_is_reached_and_by_what(fetch: Fetch) -> None:
    wish = {"tier": "high-memory-gpu"}
    assert (await launch_of(fetch, wish))["can"] == "yes"
    body = {"requirement": wish, "name": "bert train"}
    session = (await fetch("POST", "sessions", body=body)).json
    await until(fetch, session["id"], "running")
    refused = await launch_of(fetch, wish)
    assert (refused["can"], refused["code"]) == ("no", "limit")
    assert refused["params"] == {"limit": 1, "held": 1, "asked": 1, "names": [session["name"]]}
    await fetch("DELETE", f"sessions/{session['id']}")
    await until(fetch, session["id"], "ended")
    assert (await launch_of(fetch, wish))["can"] == "yes"


async def test_a_plan_says_what_the_policy_does_not_allow(fetch: Fetch) -> None:
    wish = {"tier": "high-memory-gpu", "where": ['device.driver == "gpu.nvidia.com"']}
    refused = await launch_of(fetch, wish)
    assert (refused["can"], refused["code"]) == ("no", "policy")
    assert refused["params"]["message"] == "Own CEL conditions are not allowed here."
