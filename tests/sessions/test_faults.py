"""Sessions while the API server is in trouble: nothing is lost, nothing is left behind."""

from __future__ import annotations

import pytest

from jupyter_dra.errors import SessionEnded
from tests.sessions.place import CLAIMS, Place, end_of
from tests.sessions.test_launch import H100, launched


@pytest.mark.local_only("trouble on demand")
@pytest.mark.parametrize("resource", ["resourceclaims", "secrets", "pods"])
@pytest.mark.parametrize(
    "fault",
    [
        {"status": 500, "after": True},
        {"status": 503},
        {"status": 429},
    ],
    ids=["answer-lost", "unavailable", "slow-down"],
)
def test_a_launch_survives_one_failed_creation(place: Place, resource: str, fault: dict[str, object]) -> None:
    service = place.service()
    place.faults(fail={**fault, "count": 1, "verb": "create", "resource": resource})
    session_id = launched(service)
    assert place.objects()["pods"] == [f"{session_id}-0"]
    service.loop.call(service.stop(session_id))
    service.loop.call(service.ended(session_id), 30)
    place.cluster.wait(place.empty, deadline=5)


@pytest.mark.local_only("trouble on demand")
@pytest.mark.parametrize("resource", ["resourceclaims", "secrets", "pods"])
def test_a_launch_that_cannot_be_made_is_undone(
    place: Place, resource: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jupyter_dra.cluster.client.CREATE_PATIENCE", 1.0)
    service = place.service()
    place.faults(fail={"status": 500, "after": True, "count": 50, "verb": "create", "resource": resource})
    place.faults(fail={"status": 403, "count": 50, "verb": "get", "resource": resource})
    record = service.loop.call(service.launch(H100))
    with pytest.raises(SessionEnded):
        service.loop.call(service.ready(record.id), 60)
    place.clear_faults()
    service.loop.call(service.ended(record.id), 60)
    place.cluster.wait(place.empty, deadline=5)


@pytest.mark.local_only("trouble on demand")
def test_deletion_is_repeated_until_the_server_hears_it(place: Place) -> None:
    service = place.service()
    session_id = launched(service)
    place.faults(fail={"status": 500, "count": 9, "verb": "delete"})
    service.loop.call(service.stop(session_id))
    service.loop.call(service.ended(session_id), 60)
    place.cluster.wait(place.empty, deadline=5)


def test_quota_refuses_in_its_own_words_and_leaves_nothing(place: Place) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few", "namespace": place.namespace},
        "spec": {"hard": {"count/resourceclaims.resource.k8s.io": "0"}},
    }
    place.cluster.request("POST", f"/api/v1/namespaces/{place.namespace}/resourcequotas", quota)
    service = place.service()
    context = service._opening.current
    assert context is not None
    assert context.inventory.visibility["version"].startswith("1.")
    context.inventory.rights = {**context.inventory.rights, "read_quota": False}
    record = service.loop.call(service.launch(H100))
    with pytest.raises(SessionEnded) as caught:
        service.loop.call(service.ready(record.id), 30)
    assert caught.value.code == "quota"
    ended = end_of(service, record.id)
    assert "exceeded quota" in ended.params["detail"]


def test_a_claim_deleted_from_outside_ends_the_session_with_that_reason(place: Place) -> None:
    service = place.service()
    session_id = launched(service)
    path = f"/apis/resource.k8s.io/v1/namespaces/{place.namespace}/resourceclaims/{session_id}"
    place.cluster.request("DELETE", path)
    assert end_of(service, session_id).code == "claim-deleted"
    place.cluster.wait(place.empty, deadline=5)


def test_a_lease_that_is_over_ends_the_session_by_itself(place: Place) -> None:
    service = place.service()
    session_id = launched(service, {**H100, "lease": "3s"})
    ended = end_of(service, session_id)
    assert ended.code == "lease-over"
    place.cluster.wait(place.empty, deadline=5)


def test_an_idle_session_ends_by_itself(place: Place) -> None:
    service = place.service()
    session_id = launched(service, {**H100, "idle_timeout": "2s"})
    ended = end_of(service, session_id, 40)
    assert ended.code == "idle"


@pytest.mark.local_only("trouble on demand")
def test_watches_that_are_cut_do_not_hide_an_end(place: Place) -> None:
    service = place.service()
    session_id = launched(service)
    place.faults(fail={"status": 503, "count": 4, "verb": "watch"})
    place.faults(drop_watches=True)
    place.cluster.request("DELETE", f"{CLAIMS.format(place.namespace)}/{session_id}")
    assert end_of(service, session_id).code == "claim-deleted"
