"""What people read while a server starts and when it fails."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_dra.hub import words
from jupyter_dra.hub.charging import Reservations, charge, devices_of, held_by


def plan(
    total: int | None, free: int | None, *holders: tuple[str, str, int], sure: bool = True
) -> dict[str, Any]:
    return {
        "counts": {"matching": total, "free": free, "free_at_most": free},
        "certainty": {"sure": sure, "reasons": []},
        "holders": [{"namespace": space, "claim": name, "devices": count} for space, name, count in holders],
    }


def test_waiting_says_how_many_are_held_here_and_elsewhere() -> None:
    found = plan(12, 0, ("hub", "ours", 3), ("batch", "batch-7", 9))
    assert words.waiting(found, "High-memory GPU", [("hub", "ours")], 7200) == (
        "Waiting: 12 of 12 High-memory GPUs are taken. 3 are held in this hub, 9 outside it. "
        "It goes on by itself when one is free; at most 2 h."
    )
    told = words.waiting(found, "GPU", [("hub", "ours")], 60, show_holders=True)
    assert "Outside: batch-7 in batch." in told and "at most 1 min" in told


def test_a_holder_out_of_sight_is_outside_the_hub() -> None:
    # The hub's rights show all as free, yet the scheduler finds none.
    told = words.waiting(plan(1, 1, sure=False), "GPU", [], 7200)
    assert told.startswith("Waiting: 1 of 1 GPU is taken. 0 are held in this hub, 1 outside it.")
    assert "cannot be seen" in words.waiting(plan(None, None), "GPU", [], 7200)


def test_since_when_all_is_taken_is_said_where_every_holder_is_seen() -> None:
    found = plan(3, 0, ("hub", "ours", 1), ("batch", "batch-7", 2))
    assert words.taken_since(found) == ""
    for row, since in zip(found["holders"], ("2026-11-30T10:01:00Z", "2026-11-29T08:00:00Z"), strict=True):
        row["since"] = since
    assert words.taken_since(found) == "The last one was taken on 2026-11-30 at 10:01 UTC."
    found["counts"]["matching"] = 4
    assert words.taken_since(found) == "", "one is held by somebody out of sight"


@pytest.mark.parametrize(
    ("reason", "start"),
    [
        ("TriggeredScaleUp", "A node is being started for you (for 2 min now). gpu-pool 0->1"),
        ("NotTriggerScaleUp", "No node can be added; ask the operator (for 2 min now)."),
        ("FailedScaleUp", "A node could not be added; ask the operator (for 2 min now)."),
    ],
)
def test_what_the_scaler_said_last_is_shown_with_the_time_passed(reason: str, start: str) -> None:
    events = [
        {"reason": "FailedScheduling", "message": "0/4"},
        {"reason": reason, "message": "gpu-pool 0->1"},
    ]
    told = words.scaling(events, 130)
    assert told is not None and told.startswith(start)
    assert words.scaling(events[:1], 130) is None


def waiting_pod(reason: str, message: str = "", **more: Any) -> dict[str, Any]:
    state = {"waiting": {"reason": reason, "message": message}}
    return {
        "status": {
            "phase": "Pending",
            "containerStatuses": [{"name": "notebook", "image": "reg/notebok:1", "state": state, **more}],
        }
    }


def test_an_image_is_given_up_after_some_failures_not_after_the_first() -> None:
    pod = waiting_pod("ErrImagePull", "not found")
    first = [
        {"reason": "Pulling", "message": 'Pulling image "reg/notebok:1"'},
        {"reason": "Failed", "message": 'Failed to pull image "reg/notebok:1": not found'},
        {"reason": "Failed", "message": "Error: ErrImagePull"},
        {"reason": "BackOff", "message": 'Back-off pulling image "reg/notebok:1"'},
        {"reason": "Failed", "message": "Error: ImagePullBackOff"},
    ]
    assert words.hopeless(pod, first) is None
    third = [{**event, "count": 3} for event in first]
    told = words.hopeless(pod, third)
    assert told is not None and "There is no image reg/notebok:1" in told and "not found" in told
    # A slow pull of an image that exists.
    assert words.hopeless(waiting_pod("ContainerCreating"), first[:1] * 5) is None


def test_other_dead_ends_are_named() -> None:
    assert "Check its name" in str(words.hopeless(waiting_pod("InvalidImageName"), []))
    assert "secret" in str(words.hopeless(waiting_pod("CreateContainerConfigError", "no secret"), []))
    crashed = waiting_pod(
        "CrashLoopBackOff", lastState={"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
    )
    assert "out of host memory" in str(words.hopeless(crashed, []))
    events = [{"reason": "FailedPrepareDynamicResources", "message": "no driver", "count": 5}]
    assert "no driver" in str(words.hopeless(waiting_pod("ContainerCreating"), events))
    made = [{"reason": "FailedResourceClaimCreation", "message": "quota"}]
    assert "quota" in str(words.hopeless(waiting_pod("ContainerCreating"), made))


def test_an_end_has_its_reason() -> None:
    evicted = {
        "spec": {"nodeName": "node-a"},
        "status": {"reason": "Evicted", "message": "low on resource: memory."},
    }
    assert words.ended(evicted).startswith("The node node-a ran low on memory and ended the server.")
    taint = [{"type": "DisruptionTarget", "status": "True", "reason": "DeletionByDeviceTaintManager"}]
    assert "taken out of service" in words.ended({"status": {"conditions": taint}})
    assert "not answered" in words.ended({"spec": {"nodeName": "n"}, "status": {"reason": "NodeLost"}})
    assert words.exit_code({"status": {}}) == 1


def test_a_refusal_names_the_limit_range() -> None:
    text = 'pods "x" is forbidden: maximum memory usage per Container is 8Gi, but limit is 16Gi'
    told = words.refusal(text, 403, [{"metadata": {"name": "caps"}}])
    assert told.startswith(
        "The namespace does not allow a server of this size (LimitRange caps): maximum memory"
    )
    assert "quota" in words.refusal('claims "x" is forbidden: exceeded quota: q, requested: 1', 403)
    assert words.refusal("no", 422) == "The cluster did not accept it: no"


def test_durations_are_rounded_down() -> None:
    assert [words.duration(one) for one in (48, 119, 3600, 7199)] == ["48 s", "1 min", "1 h", "1 h 59 min"]


def exactly(count: int = 1, **more: Any) -> dict[str, Any]:
    return {"name": "gpu", "exactly": {"deviceClassName": "a", "count": count, **more}}


@pytest.mark.threat("T33")
def test_the_charge_is_that_of_quota() -> None:
    assert charge({"requests": [exactly(2), exactly(3)]}) == 5
    assert charge({"requests": [exactly(allocationMode="All")]}) == 32
    several = {"name": "gpu", "firstAvailable": [{"name": "1", "count": 1}, {"name": "2", "count": 4}]}
    assert charge({"requests": [several]}) == 4
    allocated: dict[str, Any] = {"status": {"allocation": {"devices": {"results": [{}, {}]}}}, "spec": {}}
    assert devices_of(allocated) == 2


def claim(name: str, **metadata: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "hub", **metadata},
        "spec": {"devices": {"requests": [exactly()]}},
    }


@pytest.mark.threat("T33")
def test_all_ways_to_hold_a_device_count() -> None:
    pod = {
        "metadata": {
            "uid": "u1",
            "namespace": "hub",
            "annotations": {"hub.jupyter.org/username": "ada", "hub.jupyter.org/servername": "b"},
        },
        "spec": {"resourceClaims": [{"name": "device", "resourceClaimName": "team"}]},
    }
    ours = claim(
        "ours", labels={"jupyter-dra.dev/user": "ada-1"}, annotations={"jupyter-dra.dev/server": "a"}
    )
    claims = [
        ours,
        claim("of-template", ownerReferences=[{"uid": "u1"}]),
        claim("team"),
        claim("somebody-elses"),
        {**ours, "metadata": {**ours["metadata"], "deletionTimestamp": "now"}},
    ]
    assert held_by("ada", "ada-1", [pod], claims) == {"a": 1, "b": 2}
    assert held_by("bob", "bob-1", [pod], claims) == {}


@pytest.mark.threat("T33")
def test_reservations_count_until_they_are_given_back() -> None:
    reserved = Reservations()
    reserved.take("ada", "a", 2)
    reserved.take("ada", "a", 1)
    reserved.take("ada", "b", 2)
    assert reserved.over("ada", {"a": 1, "c": 1}) == {"a": 1, "b": 2, "c": 1}
    reserved.give_back("ada", "b")
    assert reserved.over("ada", {}) == {"a": 1}
    assert reserved.over("bob", {}) == {}


@pytest.mark.threat("T48")
def test_an_impossible_request_names_nobody() -> None:
    reasons = [
        {"code": "memory", "message": "6 less than 80 GB"},
        {"code": "taken", "message": "2 taken · 2 by sentinel"},
    ]
    told = words.impossible({"findings": [], "reasons": reasons}, "Small GPU")
    assert told.endswith("6 less than 80 GB") and "sentinel" not in told
