"""A session is joined by other users only if the administrator allows it and its owner names them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from jupyter_dra.errors import NotFoundError, RefusedError
from jupyter_dra.sessions import Sessions
from jupyter_dra.sessions.record import epoch
from jupyter_dra.sessions.sharing import shared_with
from tests.sessions.place import Place, end_of
from tests.sessions.test_launch import H100, launched


def people(place: Place, *, allowed: bool = True) -> tuple[Sessions, Sessions]:
    return (
        place.service(user="ada", allow_sharing=allowed),
        place.service(user="mira", folder="other", allow_sharing=allowed),
    )


@pytest.mark.threat("T28")
def test_without_the_administrators_word_nothing_is_shared(place: Place) -> None:
    ada, mira = people(place, allowed=False)
    session_id = launched(ada)
    with pytest.raises(RefusedError) as refused:
        ada.loop.call(ada.share(session_id, ["mira"]))
    assert refused.value.code == "policy"
    place.cluster.request(
        "PATCH",
        f"/apis/resource.k8s.io/v1/namespaces/{place.namespace}/resourceclaims/{session_id}",
        {"metadata": {"annotations": {"jupyter-dra.dev/shared-with": '["mira"]'}}},
        content_type="application/merge-patch+json",
    )
    assert mira.loop.call(mira.list()) == []
    context = mira._opening.current
    assert context is not None
    claims = context.caches.claims(place.namespace)

    def heard() -> bool:
        return any("mira" in shared_with(claim) for claim in list(claims))

    place.cluster.wait(heard)
    with pytest.raises(NotFoundError):
        mira.loop.call(mira.attach(session_id))


@pytest.mark.threat("T28")
def test_the_claim_of_anothers_session_cannot_be_used_by_its_name(place: Place) -> None:
    ada, mira = people(place)
    session_id = launched(ada)
    with pytest.raises(NotFoundError):
        mira.loop.call(mira.launch({"claim": session_id}))
    assert mira.loop.call(mira.list()) == []


@pytest.mark.threat("T28")
def test_who_is_named_joins_on_the_same_device_and_cannot_stop_the_owner(place: Place) -> None:
    ada, mira = people(place)
    session_id = launched(ada, {**H100, "name": "together"})
    shared = ada.loop.call(ada.share(session_id, ["mira", "ada"]))
    assert shared.shared_with == ("mira",)

    shown = place.cluster.wait(lambda: mira.loop.call(mira.list()))
    assert [(one.id, one.mine) for one in shown] == [(session_id, False)]
    for attempt in (mira.stop, mira.extend, mira.restart_kernel):
        with pytest.raises(NotFoundError):
            mira.loop.call(attempt(session_id))
    joined = mira.loop.call(mira.attach(session_id))
    assert (joined.name, joined.requirement) == ("together", {"claim": session_id})
    handle = mira.loop.call(mira.ready(joined.id))
    own = mira.loop.call(mira.get(joined.id))
    assert own.id != session_id
    assert own.mine and not own.made_by_us
    assert _devices(own) == _devices(ada.loop.call(ada.get(session_id)))
    assert handle.pod_name == f"{joined.id}-0"

    mira.loop.call(mira.stop(joined.id))
    mira.loop.call(mira.ended(joined.id), 20)
    assert ada.loop.call(ada.get(session_id)).state == "running", "the owner's session goes on"


@pytest.mark.threat("T28")
def test_it_can_be_taken_back_and_ends_with_the_owners_session(place: Place) -> None:
    ada, mira = people(place)
    session_id = launched(ada)
    ada.loop.call(ada.share(session_id, ["mira"]))
    place.cluster.wait(lambda: mira.loop.call(mira.list()))
    joined = mira.loop.call(mira.attach(session_id))
    mira.loop.call(mira.ready(joined.id))

    assert ada.loop.call(ada.share(session_id, [])).shared_with == ()

    def taken_back() -> bool:
        return session_id not in [one.id for one in mira.loop.call(mira.list())]

    place.cluster.wait(taken_back)
    with pytest.raises(NotFoundError):
        mira.loop.call(mira.attach(session_id))

    ada.loop.call(ada.stop(session_id))
    assert end_of(mira, joined.id, 20).code == "claim-deleted"
    ada.loop.call(ada.ended(session_id), 20)
    place.cluster.wait(place.empty)


@pytest.fixture
def priced(place: Place) -> Iterator[str]:
    """A tier with a price that can be watched as it grows."""
    path, name = "/apis/resource.k8s.io/v1/deviceclasses", f"priced-{place.namespace}"
    made = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name, "annotations": {"jupyter-dra.dev/price-per-hour": "7200.00 EUR"}},
        "spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}]},
    }
    place.cluster.request("POST", path, made)
    yield name
    place.cluster.request("DELETE", f"{path}/{name}")


def test_what_a_joined_session_costs_is_counted_with_its_owners(place: Place, priced: str) -> None:
    ada, mira = people(place)
    session_id = launched(ada, {"tier": priced})
    ada.loop.call(ada.share(session_id, ["mira"]))
    place.cluster.wait(lambda: mira.loop.call(mira.list()))
    joined = mira.loop.call(mira.attach(session_id))
    mira.loop.call(mira.ready(joined.id))
    place.cluster.wait(lambda: float(_cost(ada, session_id)["so_far"]) >= 2)
    assert _cost(ada, session_id)["counted_with"] is None
    counted = _cost(mira, joined.id)
    assert (counted["counted_with"], counted["so_far"], counted["since"]) == (session_id, "0.00", None)


def test_of_two_sessions_on_a_claim_of_kubectls_the_second_counts_once_the_first_has_ended(
    place: Place, priced: str
) -> None:
    path = f"/apis/resource.k8s.io/v1/namespaces/{place.namespace}/resourceclaims"
    request = {"name": "gpu", "exactly": {"deviceClassName": priced}}
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "mine"}}
    place.cluster.request("POST", path, {**claim, "spec": {"devices": {"requests": [request]}}})
    service, other = place.service(), place.service()
    first = launched(service, {"claim": "mine"})
    place.cluster.wait(lambda: time.time() > service.loop.call(service.get(first)).created_at + 1)
    second = launched(service, {"claim": "mine"})
    place.cluster.wait(lambda: len(other.loop.call(other.list())) == 2)
    for process in (service, other):
        assert _cost(process, second)["counted_with"] == first
        assert _cost(process, first)["counted_with"] is None

    service.loop.call(service.stop(first))
    service.loop.call(service.ended(first), 30)
    place.cluster.wait(lambda: _cost(service, second)["counted_with"] is None)
    started = epoch(_cost(service, first)["since"])
    counts_from = epoch(_cost(service, second)["since"])
    assert started is not None and counts_from is not None and counts_from > started
    place.cluster.wait(lambda: float(_cost(service, second)["so_far"]) >= 2)
    assert _cost(other, second)["since"] == _cost(service, second)["since"], "other processes read it"
    service.loop.call(service.stop(second))
    service.loop.call(service.ended(second), 30)
    place.cluster.request("DELETE", f"{path}/mine")


def _cost(service: Sessions, session_id: str) -> dict[str, Any]:
    price: dict[str, Any] = service.loop.call(service.get(session_id)).as_dict()["price"]
    return price


@pytest.mark.parametrize("text", [None, "mira", '{"mira": 1}', "[1, null]", "[" * 9000])
def test_a_strange_annotation_shares_with_nobody(text: str | None) -> None:
    claim: dict[str, Any] = {"metadata": {"annotations": {"jupyter-dra.dev/shared-with": text}}}
    assert shared_with(claim) == ()


def _devices(record: Any) -> list[tuple[str, str]]:
    return [(device.pool, device.device) for device in record.devices]
