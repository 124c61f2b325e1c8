"""A lost pod is followed by another one on the same claim; two kernels never share the device."""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import Any

import pytest

from jupyter_dra.sessions import KernelChoice, Sessions
from tests.sessions.place import CLAIMS, Place, end_of
from tests.sessions.test_handover import WISH, ClaimWatch, guarded, launched

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="uses flock as the device")
FORCE = {"gracePeriodSeconds": 0}


def delete(place: Place, pod: str, options: dict[str, Any] | None = None) -> None:
    """What ``kubectl delete pod`` does."""
    place.cluster.request("DELETE", f"/api/v1/namespaces/{place.namespace}/pods/{pod}", options)


def replaced(place: Place, service: Sessions, session_id: str, *, deadline: float = 30) -> Any:
    """The session once its kernel runs again, after one loss."""

    def runs() -> Any:
        record = service.loop.call(service.get(session_id))
        assert record.state in ("running", "waiting"), record.as_dict()["ended"]
        happened = [one["event"] for one in record.history]
        return record if "replaced" in happened else None

    return place.cluster.wait(runs, deadline=deadline)


def test_a_deleted_pod_is_followed_by_another_on_the_same_device_that_starts_when_it_is_gone(
    place: Place,
) -> None:
    service, log = place.service(), place.folder / "kernels.log"
    before = launched(service, log)
    seen = ClaimWatch(service, place.namespace, before.id)

    delete(place, f"{before.id}-0")
    after = replaced(place, service, before.id)

    assert log.read_text().split() == ["alone", "alone"]
    assert seen.consumers, "the watch showed the change"
    assert all(seen.consumers), "the claim always had a consumer"
    assert len(seen.devices) == 1
    assert after.devices == before.devices
    assert [one.id for one in after.kernels] == [one.id for one in before.kernels]
    assert [one.pod for one in after.kernels] == [f"{before.id}-1"]
    assert [one["event"] for one in after.history] == ["pod-lost", "replaced"]
    assert [one.get("code") for one in after.history] == ["pod-deleted", None]
    assert after.history[-1]["same_device"] is True
    assert place.objects() == {
        "pods": [f"{before.id}-1"],
        "secrets": [f"{before.id}-1-keys"],
        "claims": [before.id],
    }


def test_a_pod_removed_by_force_takes_its_claim_along_and_the_wish_is_met_anew(place: Place) -> None:
    service, log = place.service(), place.folder / "kernels.log"
    before = launched(service, log)
    delete(place, f"{before.id}-0", FORCE)
    after = replaced(place, service, before.id)
    assert log.read_text().split() == ["alone", "alone"]
    assert len(after.devices) == 1
    assert place.objects()["claims"] == [before.id]
    owners = place.object("resourceclaims", before.id)["metadata"]["ownerReferences"]
    assert f"{before.id}-1" in [owner["name"] for owner in owners]


def test_a_claim_of_the_user_serves_the_next_pod_as_well(place: Place) -> None:
    request = {"name": "gpu", "exactly": {"deviceClassName": "high-memory-gpu"}}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "mine", "namespace": place.namespace},
        "spec": {"devices": {"requests": [request]}},
    }
    path = CLAIMS.format(place.namespace)
    made = place.cluster.request("POST", path, claim)
    service, log = place.service(), place.folder / "kernels.log"
    before = launched(service, log, tier=None, claim="mine")
    delete(place, f"{before.id}-0", FORCE)
    replaced(place, service, before.id)
    assert log.read_text().split() == ["alone", "alone"]
    service.loop.call(service.stop(before.id))
    assert end_of(service, before.id).code == "stopped"
    assert place.object("resourceclaims", "mine")["metadata"]["uid"] == made["metadata"]["uid"]
    place.cluster.request("DELETE", f"{path}/mine")


def test_the_other_kernel_of_a_session_goes_on_undisturbed(place: Place) -> None:
    service = place.service()
    session_id = launched(service, place.folder / "first.log").id
    second = service.loop.call(service.attach(session_id, kernel=guarded(place.folder / "second.log")))
    handle = service.loop.call(service.ready(session_id, second.kernels[1].id))
    delete(place, f"{session_id}-0")
    after = replaced(place, service, session_id)
    assert [one.pod for one in after.kernels] == [f"{session_id}-2", f"{session_id}-1"]
    assert service.loop.call(service.ready(session_id, handle.kernel_id)).pod_uid == handle.pod_uid
    assert (place.folder / "second.log").read_text().split() == ["alone"]


def test_the_fourth_loss_within_ten_minutes_is_the_end_with_its_reason(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jupyter_dra.sessions.replacement.LIMIT", 1)
    service, log = place.service(), place.folder / "kernels.log"
    session_id = launched(service, log).id
    delete(place, f"{session_id}-0")
    replaced(place, service, session_id)
    delete(place, f"{session_id}-1")
    assert end_of(service, session_id).code == "pod-deleted"
    place.cluster.wait(place.empty)


def test_a_session_that_another_process_stops_is_not_brought_back(place: Place) -> None:
    server, shell = place.service(keep_on_stop=True), place.service(keep_on_stop=True)
    session_id = launched(server, place.folder / "kernels.log").id
    shell.loop.call(shell.stop(session_id))
    assert end_of(server, session_id).code == "stopped"
    place.cluster.wait(place.empty)


def test_a_session_whose_claim_goes_with_its_pod_by_hand_is_over(place: Place) -> None:
    service = place.service()
    session_id = launched(service, place.folder / "kernels.log").id
    place.cluster.request("DELETE", f"{CLAIMS.format(place.namespace)}/{session_id}")
    delete(place, f"{session_id}-0")
    assert end_of(service, session_id).code in ("pod-deleted", "claim-deleted")
    place.cluster.wait(place.empty)


def test_a_session_that_is_stopped_while_its_kernel_comes_back_leaves_nothing(place: Place) -> None:
    service, log = place.service(), place.folder / "kernels.log"
    session_id = launched(service, log).id
    delete(place, f"{session_id}-0")
    place.cluster.wait(lambda: f"{session_id}-1" in place.objects()["pods"])
    service.loop.call(service.stop(session_id))
    assert end_of(service, session_id).code == "stopped"
    assert place.empty()
    assert "overlap" not in log.read_text()


def test_a_kernel_that_comes_back_stays_with_its_next_pod_when_the_server_is_gone_meanwhile(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jupyter_dra.sessions import replacement

    reached = threading.Event()

    async def stuck(*_: Any) -> None:
        reached.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(replacement, "_until_gone", stuck)
    maker, log = place.service(keep_on_stop=True), place.folder / "kernels.log"
    session_id = launched(maker, log).id
    delete(place, f"{session_id}-0")
    assert reached.wait(20)
    maker.close(keep=True)

    heir = place.service()
    (handle,) = heir.loop.call(heir.reattach(session_id), 30)

    assert handle.pod_name == f"{session_id}-1"
    assert log.read_text().split() == ["alone", "alone"]


def test_a_launch_whose_pod_is_deleted_before_the_kernel_runs_is_over(place: Place) -> None:
    service = place.service()
    silent = KernelChoice(argv=("python", "-c", "import time; time.sleep(60)"))
    session_id = service.loop.call(service.launch(WISH, kernel=silent)).id
    place.cluster.wait(lambda: f"{session_id}-0" in place.objects()["pods"])
    delete(place, f"{session_id}-0")
    assert end_of(service, session_id).code == "pod-deleted"
    place.cluster.wait(place.empty)
