"""Quotas and limit ranges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .conftest import eventually

Maker = Callable[..., dict[str, Any]]
DEVICES = "gpu.deviceclass.resource.k8s.io/devices"


@pytest.fixture
def quotas(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/resourcequotas"


@pytest.fixture
def claims(namespace: str) -> str:
    return f"/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims"


@pytest.fixture
def pods(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


def quota(name: str, **hard: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"hard": hard}}


def limit(api: Any, quotas: str, body: dict[str, Any]) -> None:
    """Make a quota and wait until it counts."""
    assert api.post(quotas, body).status_code == 201
    path = f"{quotas}/{body['metadata']['name']}"
    eventually(lambda: api.get(path).json().get("status", {}).get("hard") == body["spec"]["hard"])


def test_devices_of_a_class_are_charged_when_the_claim_is_made(
    api: Any, quotas: str, claims: str, claim: Maker
) -> None:
    limit(api, quotas, quota("devices", **{DEVICES: "3"}))
    assert api.post(claims, claim("two", count=2)).status_code == 201
    refused = api.post(claims, claim("more", count=2))
    assert refused.status_code == 403
    assert refused.json()["message"] == (
        f'resourceclaims.resource.k8s.io "more" is forbidden: exceeded quota: devices, '
        f"requested: {DEVICES}=2, used: {DEVICES}=2, limited: {DEVICES}=3"
    )
    assert api.post(claims, claim("one")).status_code == 201
    assert api.get(f"{quotas}/devices").json()["status"] == {"hard": {DEVICES: "3"}, "used": {DEVICES: "3"}}
    api.delete(f"{claims}/two")
    eventually(lambda: api.post(claims, claim("more", count=2)).status_code == 201)


def test_alternatives_charge_the_greatest_of_each_class(
    api: Any, quotas: str, claims: str, claim: Maker
) -> None:
    limit(api, quotas, quota("devices", **{DEVICES: "2"}))
    body = claim("c")
    choices = [
        {"name": "few", "deviceClassName": "gpu", "count": 1},
        {"name": "many", "deviceClassName": "gpu", "count": 3},
    ]
    body["spec"]["devices"]["requests"] = [{"name": "any", "firstAvailable": choices}]
    answer = api.post(claims, body)
    assert answer.status_code == 403
    assert f"requested: {DEVICES}=3" in answer.json()["message"]


def test_a_request_for_all_devices_costs_thirty_two(api: Any, quotas: str, claims: str, claim: Maker) -> None:
    limit(api, quotas, quota("devices", **{DEVICES: "31"}))
    answer = api.post(claims, claim("c", allocationMode="All"))
    assert answer.status_code == 403
    assert f"requested: {DEVICES}=32" in answer.json()["message"]


def test_objects_are_counted_by_plain_and_by_full_name(
    api: Any, namespace: str, quotas: str, claims: str, claim: Maker
) -> None:
    limit(api, quotas, quota("counts", secrets="1", **{"count/resourceclaims.resource.k8s.io": "1"}))
    secrets = f"/api/v1/namespaces/{namespace}/secrets"
    assert api.post(secrets, {"metadata": {"name": "a"}}).status_code == 201
    assert "exceeded quota: counts" in api.post(secrets, {"metadata": {"name": "b"}}).json()["message"]
    assert api.post(claims, claim("a")).status_code == 201
    assert api.post(claims, claim("b")).status_code == 403


def test_where_compute_is_limited_pods_must_state_it(api: Any, quotas: str, pods: str, pod: Maker) -> None:
    limit(api, quotas, quota("compute", **{"requests.cpu": "1", "limits.memory": "1Gi", "pods": "2"}))
    answer = api.post(pods, pod("p"))
    assert answer.status_code == 403
    expected = "failed quota: compute: must specify limits.memory for: main; requests.cpu for: main"
    assert expected in answer.json()["message"]
    stated = pod("p")
    stated["spec"]["containers"][0]["resources"] = {
        "requests": {"cpu": "600m"},
        "limits": {"memory": "512Mi"},
    }
    assert api.post(pods, stated).status_code == 201
    stated["metadata"]["name"] = "q"
    refused = api.post(pods, stated)
    assert (
        "requested: requests.cpu=600m, used: requests.cpu=600m, limited: requests.cpu=1"
        in refused.json()["message"]
    )


def test_a_pod_that_has_ended_charges_nothing(api: Any, quotas: str, pods: str, pod: Maker) -> None:
    limit(api, quotas, quota("pods", pods="1"))
    api.post(pods, pod("a"))
    assert api.post(pods, pod("b")).status_code == 403
    api.patch(f"{pods}/a/status", {"status": {"phase": "Failed"}})
    eventually(lambda: api.post(pods, pod("b")).status_code == 201)


def test_a_limit_range_fills_in_defaults_and_holds_bounds(
    api: Any, namespace: str, pods: str, pod: Maker
) -> None:
    item = {
        "type": "Container",
        "default": {"memory": "512Mi"},
        "defaultRequest": {"memory": "256Mi"},
        "max": {"memory": "1Gi"},
        "min": {"memory": "100Mi"},
    }
    body = {"metadata": {"name": "l"}, "spec": {"limits": [item]}}
    assert api.post(f"/api/v1/namespaces/{namespace}/limitranges", body).status_code == 201
    resources = api.post(pods, pod("p")).json()["spec"]["containers"][0]["resources"]
    assert resources == {"limits": {"memory": "512Mi"}, "requests": {"memory": "256Mi"}}
    big = pod("big")
    big["spec"]["containers"][0]["resources"] = {"limits": {"memory": "2Gi"}}
    refused = api.post(pods, big)
    assert refused.status_code == 403
    assert "maximum memory usage per Container is 1Gi, but limit is 2Gi" in refused.json()["message"]
