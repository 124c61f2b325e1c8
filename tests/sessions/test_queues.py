"""When a queue is in charge it is said: which one, what it says, the place in it."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from jupyter_dra.cluster import KubeClient
from jupyter_dra.errors import NotFoundError, RefusedError, SessionEnded
from jupyter_dra.sessions import making
from jupyter_dra.sessions.pods import build_pod
from jupyter_dra.sessions.queues import KUEUE_GATE, KUEUE_QUEUE, Gate, QueueNews, gate_of
from tests.sessions.conftest import Place
from tests.sessions.test_launch import H100

CREATED = {"reason": "CreatedWorkload", "message": "Created Workload: lab/pod-train-0-1a2b3"}


def pod(*gates: str, queue: str | None = "team-a") -> dict[str, Any]:
    labels = {KUEUE_QUEUE: queue} if queue else {}
    return {"metadata": {"labels": labels}, "spec": {"schedulingGates": [{"name": gate} for gate in gates]}}


def test_a_pod_without_gates_waits_at_none() -> None:
    assert gate_of(pod(), [CREATED]) is None


def test_kueues_gate_tells_its_queue_and_the_event_its_workload() -> None:
    assert gate_of(pod("example.com/quota", KUEUE_GATE), [CREATED]) == Gate(
        "team-a", True, "pod-train-0-1a2b3"
    )
    assert gate_of(pod(KUEUE_GATE, queue=None)) == Gate("Kueue", True, None)


def test_a_gate_of_somebody_else_is_named_as_it_is() -> None:
    assert gate_of(pod("example.com/approval")) == Gate("example.com/approval")


class Api:
    """Answers paths; a missing one is not found."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers, self.asked = answers, list[str]()

    async def request(self, method: str, path: str, **_: Any) -> Any:
        self.asked.append(path)
        answer = self.answers.get(path)
        if isinstance(answer, Exception):
            raise answer
        if answer is None:
            raise NotFoundError(path)
        return answer


WORKLOAD = "/apis/kueue.x-k8s.io/v1beta1/namespaces/lab/workloads/pod-train-0-1a2b3"
PLACE = "/apis/visibility.kueue.x-k8s.io/v1beta2/namespaces/lab/localqueues/team-a/pendingworkloads"
REASON = "couldn't assign flavors: insufficient unused quota for gpu, 1 more needed"
CONDITIONS = {"conditions": [{"type": "QuotaReserved", "status": "False", "message": REASON}]}


def pending(name: str, place: int) -> dict[str, Any]:
    """A row as Kueue writes it (apis/visibility/v1beta2, PendingWorkload); positions count from 0."""
    owner = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": name.rpartition("-")[0].removeprefix("pod-"),
        "uid": "u",
    }
    metadata = {
        "name": name,
        "namespace": "lab",
        "creationTimestamp": "2026-11-30T12:00:00Z",
        "ownerReferences": [owner],
    }
    where = {"localQueueName": "team-a", "positionInClusterQueue": 5 + place, "positionInLocalQueue": place}
    return {"metadata": metadata, "priority": 0, **where}


LINE = {
    "kind": "PendingWorkloadsSummary",
    "apiVersion": "visibility.kueue.x-k8s.io/v1beta2",
    "metadata": {},
    "items": [pending("pod-other-0-77777", 1), pending("pod-train-0-1a2b3", 2)],
}


def news(api: Api, gate: Gate, times: int = 1) -> dict[str, Any]:
    async def ask() -> dict[str, Any]:
        asking = QueueNews(cast(KubeClient, api), "lab")
        return [await asking.of(gate, "2026-11-30T12:04:00Z") for _ in range(times)][-1]

    return asyncio.run(ask())


def test_the_queue_is_asked_for_reason_and_place_and_not_again_at_once() -> None:
    api = Api({WORKLOAD: {"status": CONDITIONS}, PLACE: LINE})
    told = news(api, Gate("team-a", True, "pod-train-0-1a2b3"), times=5)
    assert told == {
        "name": "team-a",
        "position": 3,
        "message": REASON,
        "as_of": "2026-11-30T12:04:00Z",
    }
    assert api.asked.count(WORKLOAD) == 1


@pytest.mark.parametrize("answer", [None, RefusedError("no", code="forbidden"), [], {"items": [{}]}])
def test_what_the_queue_does_not_tell_is_not_known(answer: Any) -> None:
    api = Api({WORKLOAD: answer, PLACE: answer})
    told = news(api, Gate("team-a", True, "pod-train-0-1a2b3"))
    assert (told["name"], told["position"], told["message"]) == ("team-a", None, None)


def gated(monkeypatch: pytest.MonkeyPatch) -> None:
    """What Kueue's webhook does to a pod with a queue's name when it is created."""

    def with_gate(*arguments: Any) -> dict[str, Any]:
        made = build_pod(*arguments)
        made["spec"]["schedulingGates"] = [{"name": KUEUE_GATE}]
        return made

    monkeypatch.setattr(making, "build_pod", with_gate)


def test_a_session_in_a_queue_says_so_and_starts_when_it_is_admitted(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    gated(monkeypatch)
    service = place.service(pod_labels={KUEUE_QUEUE: "team-a"})
    record = service.loop.call(service.launch(H100, wait=60))

    def queue() -> Any:
        wait = service.loop.call(service.get(record.id)).as_dict()["wait"]
        return wait and wait["queue"]

    told = place.cluster.wait(queue, deadline=10)
    assert told["name"] == "team-a"
    assert told["position"] is None
    assert service.loop.call(service.get(record.id)).state == "waiting"

    path = f"/api/v1/namespaces/{place.namespace}/pods/{record.id}-0"
    place.cluster.request(
        "PATCH", path, {"spec": {"schedulingGates": []}}, content_type="application/merge-patch+json"
    )
    service.loop.call(service.ready(record.id), 60)
    assert service.loop.call(service.get(record.id)).as_dict()["wait"] is None


def test_a_wait_in_a_queue_that_is_over_names_the_queue(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    gated(monkeypatch)
    service = place.service(pod_labels={KUEUE_QUEUE: "team-a"})
    record = service.loop.call(service.launch(H100, wait=2))
    with pytest.raises(SessionEnded) as caught:
        service.loop.call(service.ready(record.id), 30)
    assert caught.value.code == "wait-over"
    assert caught.value.params["queue"] == "team-a"
