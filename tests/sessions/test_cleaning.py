"""What is left behind by dead processes is given back; what is adopted or detached changes hands."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from jupyter_dra.cluster import ensure_created
from jupyter_dra.errors import ConflictError, NotFoundError
from jupyter_dra.sessions import Sessions, making
from tests.sessions.place import Place, end_of
from tests.sessions.test_launch import H100, launched


def _no_second_pod(real: Any) -> Any:
    """Creations as ever, but a session's second pod is never made."""

    async def create(client: Any, obj: Any, **options: Any) -> Any:
        if obj["kind"] == "Pod" and obj["metadata"]["name"].endswith("-1"):
            await asyncio.Event().wait()
        return await real(client, obj, **options)

    return create


def die(service: Sessions) -> None:
    """End the service as kill -9 would, as far as the cluster sees."""
    service.close(keep=True)


def test_what_a_dead_launch_made_without_a_pod_is_given_back(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never_a_pod(client: Any, obj: Any, **options: Any) -> Any:
        if obj["kind"] == "Pod":
            await asyncio.Event().wait()
        return await ensure_created(client, obj, **options)

    monkeypatch.setattr(making, "ensure_created", never_a_pod)
    dead = place.service()
    record = dead.loop.call(dead.launch(H100))
    place.cluster.wait(lambda: place.objects()["secrets"])
    die(dead)
    assert place.objects() == {"pods": [], "secrets": [f"{record.id}-0-keys"], "claims": [record.id]}

    early = place.service()
    assert early.loop.call(early.reconcile(), 20) == []
    cleaner = place.service(launch=0)
    cleaner.loop.call(cleaner.reconcile(), 20)
    place.cluster.wait(place.empty, deadline=10)


def test_a_pod_that_finished_while_nobody_looked_is_given_back_with_its_reason(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jupyter_dra.sessions.reconcile.SETTLED", 0.0)
    dead = place.service()
    session_id = launched(dead, {**H100, "lease": "4s"})
    die(dead)

    def finished() -> bool:
        return (place.object("pods", f"{session_id}-0").get("status") or {}).get("phase") == "Succeeded"

    place.cluster.wait(finished, deadline=20)
    cleaner = place.service()
    cleaner.loop.call(cleaner.reconcile(), 20)
    assert end_of(cleaner, session_id, 20).code == "lease-over"
    place.cluster.wait(place.empty, deadline=5)


def test_running_sessions_of_another_process_are_left_alone(place: Place) -> None:
    server, other = place.service(), place.service(launch=0)
    session_id = launched(server)
    assert other.loop.call(other.reconcile(), 20) == []
    assert server.loop.call(server.get(session_id)).state == "running"


@pytest.mark.threat("T29")
def test_an_orphan_can_be_adopted_after_the_key_was_lost(place: Place) -> None:
    first = place.service()
    session_id = launched(first)
    die(first)
    stranger = place.service(folder="new-machine")
    record = place.cluster.wait(lambda: stranger.loop.call(stranger.list()))[0]
    assert record.orphan is True
    with pytest.raises(ConflictError):
        stranger.loop.call(stranger.stop(session_id))
    stranger.loop.call(stranger.adopt(session_id), 20)
    stranger.loop.call(stranger.stop(session_id), 20)
    stranger.loop.call(stranger.ended(session_id), 30)


def test_a_claim_made_with_kubectl_can_be_adopted_and_is_never_deleted(place: Place) -> None:
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "by-hand", "namespace": place.namespace},
        "spec": {
            "devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "high-memory-gpu"}}]}
        },
    }
    path = f"/apis/resource.k8s.io/v1/namespaces/{place.namespace}/resourceclaims"
    place.cluster.request("POST", path, claim)
    service = place.service()
    record = service.loop.call(service.adopt("by-hand"), 20)
    service.loop.call(service.ready(record.id), 30)
    service.loop.call(service.stop(record.id))
    service.loop.call(service.ended(record.id), 30)
    assert place.objects()["claims"] == ["by-hand"]
    place.cluster.request("DELETE", f"{path}/by-hand")
    with pytest.raises(NotFoundError):
        service.loop.call(service.adopt("no-such-claim"), 20)


def test_a_detached_session_goes_on_without_us(place: Place) -> None:
    service = place.service()
    session_id = launched(service)
    service.loop.call(service.detach(session_id), 20)
    place.cluster.wait(lambda: service.loop.call(service.list()) == [])
    pod = place.object("pods", f"{session_id}-0")
    assert pod["status"]["phase"] == "Running"
    assert "jupyter-dra.dev/session" not in (pod["metadata"].get("labels") or {})
    place.cluster.request("DELETE", f"/api/v1/namespaces/{place.namespace}/pods/{session_id}-0")
    place.cluster.wait(place.empty, deadline=15)


def test_a_launch_that_nobody_follows_and_that_cannot_succeed_is_given_back(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jupyter_dra.sessions.reconcile.SETTLED", 0.0)

    async def not_followed(*args: Any, **options: Any) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr("jupyter_dra.sessions.launch.wait_running", not_followed)
    dead = place.service(keep_on_stop=True)
    record = dead.loop.call(dead.launch({**H100, "image": "registry.example/kernel:missing"}))
    place.cluster.wait(lambda: place.objects()["pods"])
    die(dead)
    assert given_back(place.service(), record.id).code == "image"
    assert place.empty()


def given_back(cleaner: Sessions, session_id: str) -> Any:
    """How the session ended, once the clean-up found it."""

    async def look() -> Any:
        while True:
            await cleaner.reconcile()
            try:
                return (await cleaner.ended(session_id)).ended
            except NotFoundError:
                await asyncio.sleep(0.05)

    return cleaner.loop.call(asyncio.wait_for(look(), 20))


def test_a_launch_that_nobody_follows_is_given_back_when_its_wait_and_its_launch_time_are_over(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jupyter_dra.sessions.reconcile.SETTLED", 0.0)
    holder, dead = place.service(), place.service(keep_on_stop=True)
    launched(holder, {**H100, "count": 8})
    waiting = dead.loop.call(dead.launch(H100, wait=3))
    place.cluster.wait(lambda: f"{waiting.id}-0" in place.objects()["pods"])
    die(dead)
    patient = place.service(launch=600)
    assert patient.loop.call(patient.reconcile(), 20) == []
    ended = given_back(place.service(launch=0), waiting.id)
    assert ended.code == "server-stopped"
    assert ended.at >= waiting.created_at + 3, "not before the wait was over"


def test_a_pod_that_ends_while_its_own_process_is_gone_is_given_back_soon(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jupyter_dra.sessions.reconcile.SETTLED", 0.0)
    monkeypatch.setattr("jupyter_dra.sessions.reconcile.PERIOD", 600.0)
    dead, other = place.service(keep_on_stop=True), place.service()
    session_id = launched(dead, {**H100, "lease": "5s"})
    die(dead)
    assert place.objects()["pods"], "it still runs"
    place.cluster.wait(place.empty, deadline=20)
    assert [(one.id, one.ended.code) for one in other.loop.call(other.list(ended=True)) if one.ended] == [
        (session_id, "lease-over")
    ]


def test_the_secret_of_a_pod_that_was_never_made_goes_with_its_session(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "ensure_created", _no_second_pod(vars(making)["ensure_created"]))
    dead = place.service(keep_on_stop=True)
    session_id = launched(dead)
    dead.loop.call(dead.attach(session_id))
    place.cluster.wait(lambda: f"{session_id}-1-keys" in place.objects()["secrets"])
    die(dead)
    heir = place.service()
    heir.loop.call(heir.stop(session_id))
    heir.loop.call(heir.ended(session_id), 20)
    assert place.empty()


def test_a_kernel_that_joins_after_a_crash_meets_no_secret_of_one_that_was_never_made(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = place.service(keep_on_stop=True)
    session_id = launched(dead)
    with monkeypatch.context() as patch:
        patch.setattr(making, "ensure_created", _no_second_pod(vars(making)["ensure_created"]))
        dead.loop.call(dead.attach(session_id))
        place.cluster.wait(lambda: f"{session_id}-1-keys" in place.objects()["secrets"])
        die(dead)
    heir = place.service()
    joined = heir.loop.call(heir.attach(session_id)).kernels[-1]
    assert joined.pod == f"{session_id}-2"
    heir.loop.call(heir.ready(session_id, joined.id), 30)
    heir.loop.call(heir.stop(session_id))
    heir.loop.call(heir.ended(session_id), 20)
    assert place.empty()


def test_the_secret_of_a_pod_that_was_never_made_goes_after_an_end_that_was_cut_short(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = place.service(keep_on_stop=True)
    session_id = launched(dead)
    with monkeypatch.context() as patch:
        patch.setattr(making, "ensure_created", _no_second_pod(vars(making)["ensure_created"]))
        dead.loop.call(dead.attach(session_id))
        place.cluster.wait(lambda: f"{session_id}-1-keys" in place.objects()["secrets"])
    keeps_secrets(dead, monkeypatch)
    monkeypatch.setattr("jupyter_dra.sessions.release._CREATE_PATIENCE", 0.1)
    dead.loop.call(dead.stop(session_id))
    place.cluster.wait(lambda: not place.objects()["pods"] and not place.objects()["claims"], deadline=20)
    monkeypatch.setattr("jupyter_dra.sessions.life.CLOSE_PATIENCE", 0.1)  # who is killed waits for no end
    die(dead)
    assert place.objects()["secrets"] == [f"{session_id}-1-keys"]
    heir = place.service()
    heir.loop.call(heir.reconcile(), 20)
    assert place.empty()
    [shown] = heir.loop.call(heir.list(ended=True))
    assert shown.ended is not None
    assert shown.ended.code == "stopped"


def keeps_secrets(service: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on the cluster does not hear this service delete Secrets."""
    client = service.loop.call(service.open())
    real: Any = client.delete

    async def deaf(kind: str, *args: Any, **options: Any) -> None:
        if kind == "Secret":
            await asyncio.Event().wait()
        await real(kind, *args, **options)

    monkeypatch.setattr(client, "delete", deaf)
