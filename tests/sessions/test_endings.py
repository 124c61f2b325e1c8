"""Pod status and events become end codes in plain words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jupyter_dra.sessions.endings import CODES, hopeless_event, hopeless_start, reason, reason_of_pod


def pod(phase: str = "Running", *, terminated: dict[str, Any] | None = None, **status: Any) -> dict[str, Any]:
    states = [{"state": {"terminated": terminated}}] if terminated else [{"state": {"running": {}}}]
    return {"metadata": {"name": "p"}, "status": {"phase": phase, "containerStatuses": states, **status}}


def disrupted(why: str) -> dict[str, Any]:
    return {"type": "DisruptionTarget", "status": "True", "reason": why, "message": "told"}


@pytest.mark.parametrize(
    ("seen", "code"),
    [
        (pod("Failed", terminated={"exitCode": 137, "reason": "OOMKilled"}), "out-of-memory"),
        (pod("Failed", terminated={"exitCode": 139, "reason": "Error"}), "crashed"),
        (pod("Succeeded", terminated={"exitCode": 0, "reason": "Completed"}), "exited"),
        (pod("Failed", reason="Evicted", message="low on memory"), "evicted"),
        (pod("Failed", reason="DeadlineExceeded"), "lease-over"),
        (pod(conditions=[disrupted("PreemptionByScheduler")]), "preempted"),
        (pod(conditions=[disrupted("DeletionByTaintManager")]), "node-lost"),
        (pod(conditions=[disrupted("EvictionByEvictionAPI")]), "node-drained"),
        (pod(conditions=[disrupted("DeletionByPodGC")]), "node-lost"),
        (pod(conditions=[disrupted("DeletionByDeviceTaintManager")]), "device-unhealthy"),
        (pod("Failed", reason="UnexpectedAdmissionError", message="no device"), "prepare-failed"),
    ],
)
def test_a_pods_end_has_a_code(seen: dict[str, Any], code: str) -> None:
    found = reason_of_pod(seen)
    assert found is not None
    assert found.code == code
    assert found.message
    assert found.next_step


def test_a_healthy_pod_has_no_reason() -> None:
    assert reason_of_pod(pod()) is None


@pytest.mark.parametrize("code", ["idle", "lease-over", "stopped"])
def test_what_podside_wrote_explains_a_finished_pod(code: str) -> None:
    message = json.dumps({"code": code, "message": "told by podside", "exit_code": 0})
    found = reason_of_pod(pod("Succeeded", terminated={"exitCode": 0, "message": message}))
    assert found is not None
    assert found.code == code


@pytest.mark.threat("T29")
@pytest.mark.parametrize(
    "nonsense",
    ["[" * 4096, "5", "null", '"x"', "[]", '{"code": []}', '{"code": "exited", "death": 5, "message": []}'],
)
def test_nonsense_from_a_pod_is_no_reason_and_no_fault(nonsense: str) -> None:
    seen = pod("Failed", terminated={"exitCode": 3, "message": nonsense})
    seen["metadata"] |= {"deletionTimestamp": "2026-11-30T12:00:00Z"}
    seen["metadata"]["annotations"] = {"jupyter-dra.dev/stopped-by": nonsense}
    found = reason_of_pod(seen)
    assert found is not None
    assert found.code in ("exited", "crashed")


def test_a_pod_cannot_invent_end_codes() -> None:
    message = json.dumps({"code": "stopped-by-admin", "message": "<b>"})
    found = reason_of_pod(pod("Failed", terminated={"exitCode": 1, "message": message}))
    assert found is not None
    assert found.code == "crashed"


@pytest.mark.parametrize(
    ("event", "code"),
    [
        (
            {"reason": "FailedScheduling", "message": "request gpu: device class big does not exist"},
            "class-missing",
        ),
        ({"reason": "FailedResourceClaimCreation", "message": "exceeded quota: few"}, "quota"),
        ({"reason": "FailedPrepareDynamicResources", "message": "driver down", "count": 3}, "prepare-failed"),
    ],
)
def test_hopeless_events_end_the_wait(event: dict[str, Any], code: str) -> None:
    found = hopeless_event(event)
    assert found is not None
    assert found.code == code


def test_ordinary_waiting_events_do_not() -> None:
    text = "0/3 nodes are available: 3 cannot allocate all claims."
    assert hopeless_event({"reason": "FailedScheduling", "message": text}) is None
    assert hopeless_event({"reason": "FailedPrepareDynamicResources", "message": "x", "count": 1}) is None


def test_an_image_that_wants_root_says_so() -> None:
    waiting = {
        "reason": "CreateContainerConfigError",
        "message": "container has runAsNonRoot and image will run as root",
    }
    status = {"phase": "Pending", "containerStatuses": [{"state": {"waiting": waiting}}]}
    found = hopeless_start({"spec": {"containers": [{"image": "x"}]}, "status": status})
    assert found is not None
    assert found.code == "image"


CONTRACT = """
stopped cancelled stopped-by-admin idle lease-over out-of-memory evicted preempted node-drained node-lost
device-unhealthy pod-deleted claim-deleted crashed exited image quota limit-range class-missing impossible
prepare-failed wait-over launch-timeout server-stopped
"""


def test_every_code_of_the_contract_has_words() -> None:
    assert sorted(CODES) == sorted(CONTRACT.split())
    for code in CODES:
        assert reason(code).message.endswith(".")


def test_a_first_failed_pull_is_retried_and_repeated_ones_or_a_definite_no_are_not() -> None:
    def waiting(message: str, why: str = "ErrImagePull") -> dict[str, Any]:
        state = {"state": {"waiting": {"reason": why, "message": message}}}
        return {
            "spec": {"containers": [{"image": "x"}]},
            "status": {"phase": "Pending", "containerStatuses": [state]},
        }

    def failed(count: int) -> list[dict[str, Any]]:
        return [{"reason": "Failed", "message": "Failed to pull image: i/o timeout", "count": count}]

    assert hopeless_start(waiting("dial tcp: i/o timeout"), failed(1)) is None
    assert hopeless_start(waiting("dial tcp: i/o timeout", "ImagePullBackOff"), failed(3)) is not None
    assert hopeless_start(waiting("manifest unknown")) is not None
    assert hopeless_start(waiting("", "InvalidImageName")) is not None
