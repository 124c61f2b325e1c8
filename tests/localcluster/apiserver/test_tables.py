"""What ``kubectl get`` prints."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_dra.localcluster.durations import human_duration
from jupyter_dra.localcluster.pod_rows import pod_cells
from jupyter_dra.localcluster.resources import RESOURCES, named
from jupyter_dra.localcluster.store import Stored
from jupyter_dra.localcluster.tables import table


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (330, "5m30s"),
        (600, "10m"),
        (3 * 3600 + 60, "3h1m"),
        (9 * 3600, "9h"),
        (2 * 86400 + 3 * 3600, "2d3h"),
        (400 * 86400, "400d"),
        (3 * 365 * 86400, "3y"),
    ],
)
def test_ages_are_rounded_as_kubectl_does(seconds: float, text: str) -> None:
    assert human_duration(seconds) == text


def pod(status: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "p", "creationTimestamp": "1970-01-01T00:00:00Z", **metadata},
        "spec": {"containers": [{"name": "a"}], "initContainers": [{"name": "i"}], "nodeName": "n"},
        "status": status,
    }


def container(restarts: int = 0, ready: bool = False, **state: Any) -> dict[str, Any]:
    return {"name": "a", "restartCount": restarts, "ready": ready, "state": state}


@pytest.mark.parametrize(
    ("status", "word"),
    [
        ({"phase": "Pending"}, "Pending"),
        ({"phase": "Running", "containerStatuses": [container(ready=True, running={})]}, "Running"),
        (
            {"phase": "Pending", "containerStatuses": [container(waiting={"reason": "ImagePullBackOff"})]},
            "ImagePullBackOff",
        ),
        (
            {
                "phase": "Failed",
                "containerStatuses": [container(terminated={"reason": "OOMKilled", "exitCode": 137})],
            },
            "OOMKilled",
        ),
        ({"phase": "Failed", "containerStatuses": [container(terminated={"exitCode": 3})]}, "ExitCode:3"),
        ({"phase": "Failed", "reason": "Evicted"}, "Evicted"),
        ({"phase": "Pending", "initContainerStatuses": [container(running={})]}, "Init:0/1"),
        (
            {
                "phase": "Pending",
                "initContainerStatuses": [container(terminated={"exitCode": 1, "reason": "Error"})],
            },
            "Init:Error",
        ),
    ],
)
def test_the_status_of_a_pod_is_one_word(status: dict[str, Any], word: str) -> None:
    assert pod_cells(pod(status), 0)[2] == word


def test_a_pod_that_is_being_deleted_is_terminating_unless_it_has_ended() -> None:
    running = pod({"phase": "Running"}, deletionTimestamp="1970-01-01T00:00:00Z")
    ended = pod({"phase": "Succeeded", "containerStatuses": [container(terminated={"reason": "Completed"})]})
    ended["metadata"]["deletionTimestamp"] = "1970-01-01T00:00:00Z"
    assert pod_cells(running, 0)[2] == "Terminating"
    assert pod_cells(ended, 0)[2] == "Completed"


def test_restarts_say_when_the_last_one_was() -> None:
    one = container(2, True, running={})
    one["lastState"] = {"terminated": {"finishedAt": "1970-01-01T00:01:00Z"}}
    assert pod_cells(pod({"phase": "Running", "containerStatuses": [one]}), 90)[3] == "2 (30s ago)"


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.plural)
def test_every_kind_has_as_many_cells_as_columns(resource: Any) -> None:
    value = {"metadata": {"name": "x", "namespace": "n", "creationTimestamp": "1970-01-01T00:00:00Z"}}
    found = table(resource, [Stored(resource, value, 1)], "", 0, 1)
    assert len(found["rows"][0]["cells"]) == len(found["columnDefinitions"])


def test_the_state_of_a_claim_tells_allocation_and_reservation() -> None:
    resource = named("resourceclaims", "resource.k8s.io")
    value = {
        "metadata": {"name": "c", "namespace": "n", "creationTimestamp": "1970-01-01T00:00:00Z"},
        "status": {"allocation": {}, "reservedFor": [{"uid": "1"}]},
    }
    assert table(resource, [Stored(resource, value, 1)], "", 5, 1)["rows"][0]["cells"] == [
        "c",
        "allocated,reserved",
        "5s",
    ]
