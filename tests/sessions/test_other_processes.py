"""Sessions seen, extended, stopped and taken over by another process; and those that only pretend to be ours."""

from __future__ import annotations

import itertools
import json
import time
from typing import Any

import pytest

from jupyter_dra.claims import labels
from jupyter_dra.errors import ClusterError, ConflictError, NotFoundError
from jupyter_dra.sessions import SessionRecord
from tests.sessions.place import Place, end_of
from tests.sessions.test_launch import H100, launched


def test_another_process_lists_describes_and_stops_a_session(place: Place) -> None:
    server, shell = place.service(), place.service()
    session_id = launched(server, name="shown", notebook="a.ipynb")
    record = next(r for r in shell.loop.call(shell.list()) if r.id == session_id).as_dict()
    assert record["name"] == "shown"
    assert record["state"] == "running"
    assert record["mine"] is True
    assert record["orphan"] is False
    assert record["devices"][0]["driver"] == "gpu.nvidia.com"
    assert record["kernels"][0]["notebook"] == "a.ipynb"
    assert record["requirement"] == H100
    assert [step["state"] for step in record["steps"]] == ["done"] * 7

    shell.loop.call(shell.stop(session_id))
    assert end_of(shell, session_id).code == "stopped"
    assert end_of(server, session_id).code == "stopped"
    place.cluster.wait(place.empty, deadline=5)


def test_what_another_process_made_meanwhile_stays_on_record_and_ends_with_the_session(place: Place) -> None:
    server, shell = place.service(keep_on_stop=True), place.service()
    session_id = launched(server)
    shell.loop.call(shell.extend(session_id, extend_seconds=600), 30)  # the shell knows one pod from here on
    joined = server.loop.call(server.attach(session_id)).kernels[-1]
    server.loop.call(server.ready(session_id, joined.id), 30)
    shell.loop.call(shell.extend(session_id, extend_seconds=600), 30)
    server.close(keep=True)

    [seen] = [one for one in place.service().loop.call(place.services[-1].list()) if one.id == session_id]
    assert (seen.orphan, [kernel.pod for kernel in seen.kernels]) == (
        False,
        [f"{session_id}-0", f"{session_id}-1"],
    )
    shell.loop.call(shell.stop(session_id))
    assert end_of(shell, session_id).code == "stopped"
    place.cluster.wait(place.empty, deadline=5)


def lease_end(record: SessionRecord) -> float:
    assert record.lease is not None and record.lease.ends_at is not None
    return record.lease.ends_at


def test_another_process_extends_the_lease(place: Place) -> None:
    server, shell = place.service(), place.service()
    session_id = launched(server, {**H100, "lease": "1h"})
    begun = server.loop.call(server.get(session_id)).created_at
    after = lease_end(shell.loop.call(shell.extend(session_id, extend_seconds=1800), 30))
    # A short wait for the device lengthens the lease for its own process only; others read whole seconds.
    assert after == pytest.approx(begun + 3600 + 1800, abs=2)
    place.cluster.wait(
        lambda: lease_end(server.loop.call(server.get(session_id))) == pytest.approx(after, abs=1)
    )
    with pytest.raises(ConflictError) as caught:
        server.loop.call(server.extend(session_id, extend_seconds=100 * 3600))
    assert caught.value.code == "longest-lease"


def test_a_new_server_takes_over_running_sessions(place: Place) -> None:
    server = place.service()
    session_id = launched(server)
    kernel_id = server.loop.call(server.get(session_id)).kernels[0].id
    server.close(keep=True)

    again = place.service()
    handles = again.loop.call(again.reattach(session_id), 30)
    assert [handle.kernel_id for handle in handles] == [kernel_id]
    assert handles[0].kernel.argv[0] == "python"
    assert again.loop.call(again.get(session_id)).state == "running"
    again.loop.call(again.stop(session_id))
    assert end_of(again, session_id).code == "stopped"


@pytest.mark.threat("T29")
def test_nonsense_in_a_neighbours_annotations_hides_nobodys_sessions(place: Place) -> None:
    service, identity = place.service(), place.identity()
    mine = {
        labels.MANAGED_BY: labels.MANAGED_BY_VALUE,
        labels.COMPONENT: labels.COMPONENT_KERNEL,
        labels.USER: identity.user_label,
        labels.KERNEL_ID: "k",
    }
    values = ["[" * 20_000, "5", "null", "inf", "nan", "1e308", '{"name": []}']
    for number, (key, value) in enumerate(
        itertools.product(("kernel", "created", "requirement", "stopped-by"), values)
    ):
        tags = {**mine, labels.SESSION: f"fake-{number}"}
        meta = {"name": f"fake-{number}-0", "namespace": place.namespace, "labels": tags}
        meta["annotations"] = {labels.PREFIX + key: value}
        spec = {"nodeSelector": {"there": "is-none"}, "containers": [{"name": "main", "image": "python"}]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
        answer = place.cluster.request("POST", f"/api/v1/namespaces/{place.namespace}/pods", pod)
        assert answer["kind"] == "Pod", answer

    def shown() -> list[dict[str, Any]]:
        return [one.as_dict() for one in service.loop.call(service.list(everyone=True))]

    place.cluster.wait(lambda: len(shown()) == 4 * len(values))
    assert all(one["orphan"] for one in json.loads(json.dumps(shown())))
    assert service.loop.call(service.reconcile()) == []
    for number in range(4 * len(values)):
        place.cluster.request("DELETE", f"/api/v1/namespaces/{place.namespace}/pods/fake-{number}-0")


@pytest.mark.threat("T28")
def test_another_user_cannot_see_stop_or_attach_to_a_session(place: Place) -> None:
    ada, eve = place.service(user="ada"), place.service(user="eve", folder="other")
    session_id = launched(ada)
    assert eve.loop.call(eve.list()) == []
    for attempt in (eve.get, eve.stop, eve.extend, eve.attach, eve.ready, eve.restart_kernel):
        with pytest.raises(NotFoundError):
            eve.loop.call(attempt(session_id))
    shown = eve.loop.call(eve.list(everyone=True))
    assert [(record.id, record.mine) for record in shown] == [(session_id, False)]
    assert ada.loop.call(ada.get(session_id)).state == "running"


@pytest.mark.threat("T29")
@pytest.mark.parametrize("disguise", ["no-seal", "copied-seal", "edited-label", "other-key"])
def test_what_only_carries_our_labels_is_never_deleted(place: Place, disguise: str) -> None:
    service = place.service()
    session_id = launched(service)
    pod = place.object("pods", f"{session_id}-0")
    meta = pod["metadata"]
    fake: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "fake-0",
            "namespace": place.namespace,
            "labels": {**meta["labels"], "jupyter-dra.dev/session": "fake"},
            "annotations": dict(meta["annotations"]),
        },
        "spec": {"containers": [{"name": "main", "image": "python", "command": ["python", "-c", "input()"]}]},
    }
    other = service
    if disguise == "no-seal":
        del fake["metadata"]["annotations"]["jupyter-dra.dev/seal"]
    elif disguise == "edited-label":
        fake["metadata"]["labels"]["jupyter-dra.dev/kernel-id"] = "other"
    elif disguise == "other-key":
        service.close(keep=True)
        other = place.service(folder="lost")
    pods = f"/api/v1/namespaces/{place.namespace}/pods"
    place.cluster.request("POST", pods, fake)
    wanted = session_id if disguise == "other-key" else "fake"

    def listed() -> object:
        return next((r for r in other.loop.call(other.list()) if r.id == wanted), None)

    record = place.cluster.wait(listed)
    assert record.orphan is True
    with pytest.raises(ConflictError) as caught:
        other.loop.call(other.stop(wanted))
    assert caught.value.code == "not-proven"
    assert "fake-0" in place.objects()["pods"]
    place.cluster.request("DELETE", f"{pods}/fake-0", {"gracePeriodSeconds": 0})
    cleaner = place.service() if disguise == "other-key" else service
    cleaner.loop.call(cleaner.stop(session_id))
    cleaner.loop.call(cleaner.ended(session_id), 30)


@pytest.mark.threat("T17")
def test_the_servers_environment_reaches_neither_pod_nor_secret(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HUB_TOKEN", "sentinel-4711")
    service = place.service()
    session_id = launched(service)
    texts = [place.object("pods", f"{session_id}-0"), place.object("secrets", f"{session_id}-0-keys")]
    assert "sentinel-4711" not in json.dumps(texts)


def test_ended_sessions_are_remembered_on_disk_for_a_day(place: Place) -> None:
    now = [time.time()]
    service = place.service()
    session_id = launched(service)
    service.loop.call(service.stop(session_id))
    service.loop.call(service.ended(session_id), 30)
    context = service._opening.current
    assert context is not None
    kept = context.store.read(session_id)
    assert kept is not None and kept["ended"]["code"] == "stopped"
    context.store.sweep(now[0] - 24 * 3600)
    assert context.store.read(session_id) is not None
    context.store.sweep(now[0] + 60)
    assert context.store.read(session_id) is None


def test_a_session_that_could_not_be_taken_over_is_shown_as_the_cluster_has_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = place.service(keep_on_stop=True)
    session_id = launched(first)
    first.close(keep=True)

    async def nobody_answers(*args: Any, **options: Any) -> None:
        raise ClusterError("nobody answers", code="unreachable")

    monkeypatch.setattr("jupyter_dra.sessions.life.dial", nobody_answers)
    again = place.service()
    with pytest.raises(ClusterError):
        again.loop.call(again.reattach(session_id))
    assert again.loop.call(again.get(session_id)).state == "running"
    place.cluster.request("DELETE", f"/api/v1/namespaces/{place.namespace}/pods/{session_id}-0")

    def gone() -> bool:
        try:
            return again.loop.call(again.get(session_id)).state != "running"
        except NotFoundError:
            return True

    place.cluster.wait(gone, deadline=10)
    place.cluster.wait(lambda: again.loop.call(again.list()) == [], deadline=10)


def test_a_command_that_looks_in_for_a_moment_is_no_takeover_in_the_history(place: Place) -> None:
    server, shell = place.service(keep_on_stop=True), place.service(keep_on_stop=True)
    session_id = launched(server)
    shell.loop.call(shell.extend(session_id, extend_seconds=60))
    shell.loop.call(shell.restart_kernel(session_id))
    shell.close(keep=True)
    events = [one["event"] for one in server.loop.call(server.get(session_id)).history]
    assert "reattached" not in events
