"""Who waits and why, as far as rights and policy show."""

from __future__ import annotations

from typing import Any

from jupyter_dra.planner import Inventory
from jupyter_dra.server.waiting import waiting_rows
from tests.planner.build import NVIDIA_CLASS, claim, device_class, h100, held, request, slice_of

Json = dict[str, Any]
HOPPER = 'device.attributes["gpu.nvidia.com"].architecture == "Hopper"'
RUBIN = 'device.attributes["gpu.nvidia.com"].architecture == "Rubin"'


def waits(name: str, minute: int, *requests: Json, user: str | None = None, **more: str) -> Json:
    found = claim(name, *requests, namespace="team-b")
    metadata = {**found["metadata"], "creationTimestamp": f"2026-11-30T12:{minute:02}:00Z"}
    if user is not None:
        metadata["annotations"] = {"jupyter-dra.dev/user": user}
    metadata.setdefault("annotations", {}).update(more)
    return {**found, "metadata": metadata}


def cluster(*claims: Json, **visibility: Any) -> Inventory:
    taken = held("train", ("gpu.nvidia.com", "n1", "gpu-0"), namespace="team-c")
    objects = [device_class("gpu", NVIDIA_CLASS), slice_of("n1", [h100("gpu-0")]), taken, *claims]
    return Inventory.from_objects(objects, {"claims": "all", **visibility})


def test_each_waiting_claim_is_told_with_its_group_and_reasons_oldest_first() -> None:
    rows = waiting_rows(
        cluster(
            waits("young", 20, request("gpu", "gpu", HOPPER)),
            waits("old", 10, request("gpu", "gpu", RUBIN), user="mira"),
            waits("lost", 30, request("gpu", "no-such-class")),
        )
    )
    assert [(row["claim"], row["group"], row["who"]) for row in rows] == [
        ("old", "never", "user"),
        ("young", "taken", "namespace"),
        ("lost", "never", "namespace"),
    ]
    assert rows[0]["user"] == "mira"
    assert [reason["code"] for reason in rows[1]["reasons"]] == ["taken"]


def test_a_claim_that_was_allocated_or_is_being_deleted_does_not_wait() -> None:
    leaving = waits("leaving", 1, request("gpu", "gpu"))
    leaving["metadata"]["deletionTimestamp"] = "2026-11-30T12:30:00Z"
    assert waiting_rows(cluster(leaving)) == []


def test_a_claim_made_by_hand_is_told_as_the_request_it_amounts_to() -> None:
    (row,) = waiting_rows(cluster(waits("by-hand", 1, request("gpu", "gpu", count=4))))
    assert row["requirement"] == {"tier": "gpu", "count": 4}


def test_the_recorded_request_wins_and_a_strangers_nonsense_does_not_break_the_list() -> None:
    note = "jupyter-dra.dev/requirement"
    rows = waiting_rows(
        cluster(
            waits("ours", 1, request("gpu", "gpu"), **{note: '{"vram": "80GB"}'}),
            waits("odd", 2, request("gpu", "gpu"), **{note: "[1, 2"}),
        )
    )
    assert rows[0]["requirement"] == {"vram": "80GB"}
    assert rows[1]["requirement"] == {"tier": "gpu"}


def test_names_of_others_are_withheld_by_policy_but_not_ones_own() -> None:
    claims = [
        waits("a", 1, request("gpu", "gpu"), user="mira"),
        waits("b", 2, request("gpu", "gpu"), user="ada"),
    ]
    rows = waiting_rows(cluster(*claims, names=False, user="ada"))
    assert [(row["who"], row["user"], row["claim"]) for row in rows] == [
        ("hidden", None, None),
        ("you", "ada", "b"),
    ]
    assert rows[0]["group"] == "taken"


def gated(name: str, claim_name: str, **labels: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "team-b", "labels": labels},
        "spec": {
            "schedulingGates": [{"name": "kueue.x-k8s.io/admission"}],
            "resourceClaims": [{"name": "gpu", "resourceClaimName": claim_name}],
        },
    }


def test_a_claim_whose_pod_a_queue_holds_back_waits_for_a_limit_of_that_queue() -> None:
    queued = gated("sweep-pod", "sweep", **{"kueue.x-k8s.io/queue-name": "team-b"})
    other = gated("odd-pod", "odd")
    over = {**gated("over-pod", "over"), "status": {"phase": "Failed"}}
    claims = [
        waits(name, minute, request("gpu", "gpu")) for minute, name in enumerate(("sweep", "odd", "over"))
    ]
    rows = waiting_rows(cluster(*claims, queued, other, over))
    assert [(row["claim"], row["group"], row["queue"]) for row in rows] == [
        ("sweep", "limit", "team-b"),
        ("odd", "limit", "kueue.x-k8s.io/admission"),
        ("over", "taken", None),
    ]
    withheld = waiting_rows(cluster(*claims, queued, names=False, user="ada"))
    assert withheld[0]["group"] == "limit" and withheld[0]["queue"] is None


def quota(name: str, hard: Json, used: Json) -> Json:
    metadata = {"name": name, "namespace": "team-b"}
    return {"kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": hard}, "status": {"used": used}}


def test_quotas_on_claims_and_devices_are_told_with_what_is_used_fullest_first() -> None:
    devices = "gpu.deviceclass.resource.k8s.io/devices"
    hard = {"count/resourceclaims.resource.k8s.io": "10", devices: "8", "pods": "5", "cpu": "much"}
    inventory = cluster(quota("all", hard, {devices: "8", "pods": "5"}))
    assert inventory.quota_use() == [
        {"namespace": "team-b", "quota": "all", "tier": "gpu", "used": 8, "hard": 8},
        {"namespace": "team-b", "quota": "all", "tier": None, "used": 0, "hard": 10},
    ]
    assert cluster().quota_use() == []
