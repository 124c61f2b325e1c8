"""What a tier's terms do to a session: defaults, lease and idle limits, price, and the hint afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from jupyter_dra.claims import Requirement
from jupyter_dra.errors import ConflictError, RefusedError
from jupyter_dra.sessions import SessionPolicy, Sessions
from jupyter_dra.sessions.live import WAITED
from jupyter_dra.sessions.prices import Prices, classes_of, with_cost
from jupyter_dra.sessions.record import DeviceRecord, epoch
from jupyter_dra.sessions.rightsize import right_size
from jupyter_dra.sessions.terms import TierTerms, lease_of, with_defaults
from tests.sessions.conftest import Place
from tests.sessions.test_launch import launched

HOUR = 3600
POLICY = SessionPolicy()


def test_what_the_user_sets_wins_over_the_tiers_defaults() -> None:
    defaults = {"image": "lab:1", "cpu": "2", "name": "no", "nonsense": 1, "host_memory": "huge"}
    wish = with_defaults(Requirement(tier="big", cpu="6"), TierTerms(defaults))
    assert (wish.image, wish.cpu, wish.name, wish.host_memory) == ("lab:1", "6", None, None)


@pytest.mark.parametrize(
    ("defaults", "lease", "idle"),
    [
        ({"lease": "1h", "idle_timeout": "5m"}, HOUR, 300),
        ({"lease": "48h", "idle_timeout": "48h"}, 12 * HOUR, 48 * HOUR),
        ({"lease": "soon", "idle_timeout": []}, 4 * HOUR, HOUR // 2),
    ],
    ids=["less", "more-is-cut", "unreadable"],
)
def test_a_tiers_own_lease_counts_as_far_as_the_server_allows(
    defaults: dict[str, Any], lease: int, idle: int
) -> None:
    found = lease_of(Requirement(), POLICY, TierTerms(defaults), now=0)
    assert (found.ends_at, found.idle_seconds) == (lease, idle)


@pytest.mark.parametrize(
    ("wish", "terms", "lease", "longest", "idle"),
    [
        ({}, {}, 4 * HOUR, 12 * HOUR, HOUR // 2),
        ({}, {"lease": HOUR}, HOUR, HOUR, HOUR // 2),
        ({}, {"idle": 300}, 4 * HOUR, 12 * HOUR, 300),
        ({"lease": "30m", "idle_timeout": "2m"}, {"lease": HOUR, "idle": 300}, 1800, HOUR, 120),
        ({"idle_timeout": "3h"}, {}, 4 * HOUR, 12 * HOUR, 3 * HOUR),
        ({}, {"lease": 48 * HOUR}, 4 * HOUR, 12 * HOUR, HOUR // 2),
    ],
    ids=["server", "tier-lease", "tier-idle", "less", "more-idle", "server-is-less"],
)
def test_the_lease_is_the_least_that_user_tier_and_server_allow(
    wish: dict[str, Any], terms: dict[str, Any], lease: int, longest: int, idle: int
) -> None:
    found = lease_of(Requirement(**wish), POLICY, TierTerms(**terms), now=0)
    assert (found.ends_at, found.longest_until, found.idle_seconds) == (lease, longest, idle)


@pytest.mark.parametrize(
    ("wish", "path"), [({"lease": "2h"}, "lease"), ({"idle_timeout": "20m"}, "idle_timeout")]
)
def test_more_than_the_tier_allows_is_refused_with_its_field(wish: dict[str, Any], path: str) -> None:
    with pytest.raises(RefusedError) as caught:
        lease_of(Requirement(**wish), POLICY, TierTerms(lease=HOUR, idle=600), now=0)
    assert (caught.value.code, caught.value.path) == ("limit", path)


def device(request: str) -> DeviceRecord:
    return DeviceRecord(request, "gpu.nvidia.com", "n", "gpu-0")


SPEC = {
    "devices": {
        "requests": [
            {"name": "gpu", "firstAvailable": [{"name": "0", "deviceClassName": "small"}]},
            {"name": "near-1", "exactly": {"deviceClassName": "nic"}},
        ]
    }
}


def test_the_price_is_that_of_the_alternative_that_was_given_and_of_each_device() -> None:
    classes = classes_of(SPEC)
    assert classes == {"gpu/0": "small", "near-1": "nic"}
    euros = {"amount": "2.90", "currency": "EUR", "per": "hour"}
    prices = Prices(classes, {"small": euros})
    assert prices.per_hour([device("gpu/0"), device("gpu/0"), device("near-1")]) == {
        **euros,
        "amount": "5.80",
    }
    assert prices.per_hour([device("near-1")]) is None
    assert Prices.from_dict(prices.as_dict()) == prices
    mixed = Prices(classes, {"small": euros, "nic": {**euros, "currency": "USD"}})
    assert mixed.per_hour([device("gpu/0"), device("near-1")]) is None


def test_the_cost_so_far_is_rounded_down_and_absent_without_a_price() -> None:
    euros = {"amount": "2.90", "currency": "EUR", "per": "hour"}
    here = {"since": "1970-01-01T00:00:10Z", "counted_with": None}
    assert with_cost(euros, 10.0, 1809.9) == {**euros, "so_far": "1.44", **here}
    assert with_cost(euros, None, 1809.9) == {**euros, "so_far": "0.00", **here, "since": None}
    elsewhere = {"since": None, "counted_with": "a"}
    assert with_cost(euros, 10.0, 1809.9, counted_with="a") == {**euros, "so_far": "0.00", **elsewhere}
    assert with_cost(None, 0.0, 3600) is None


def tier(name: str, label: str, low: int, high: int, **more: Any) -> dict[str, Any]:
    sizes = [{"label": label, "min_bytes": low, "max_bytes": high}]
    row = {"name": name, "device_class": name, "device_kind": "gpu", "hidden": False, "available": True}
    return {**row, "sizes": sizes, "price": None, **more}


GIB = 1 << 30
TIERS = [
    tier("l4", "24 GB", 22 * GIB, 22 * GIB, price={"amount": "0.60", "currency": "EUR", "per": "hour"}),
    tier("a100", "40 GB", 40 * GIB, 40 * GIB),
    tier("h100", "80 GB", 79 * GIB, 80 * GIB, price={"amount": "2.90", "currency": "EUR", "per": "hour"}),
]


def usage(peak: int, *, complete: bool = True) -> dict[str, Any]:
    figures = {"peak_bytes": peak, "memory_total_bytes": 80 * GIB}
    return {"complete": complete, "devices": [{"peak_bytes": 1, "memory_total_bytes": 80 * GIB}, figures]}


def test_the_hint_names_the_smallest_tier_that_would_have_held_the_peak() -> None:
    hint = right_size(usage(9 * GIB), TIERS, held="h100")
    assert hint is not None
    assert (hint["tier"], hint["label"], hint["peak_bytes"]) == ("l4", "24 GB", 9 * GIB)
    assert hint["price"]["amount"] == "0.60"
    roomy = right_size(usage(19 * GIB), TIERS, held="h100")
    assert roomy is not None
    assert roomy["tier"] == "a100", "22 GiB would be filled to more than 85 %"


def test_the_hint_names_a_tier_that_users_see_and_the_cheapest_of_equal_ones() -> None:
    cheap = {"amount": "0.10", "currency": "EUR", "per": "hour"}
    rows = [
        tier("gpu.nvidia.com", "24 GB", 22 * GIB, 80 * GIB),
        tier("dear", "24 GB", 22 * GIB, 22 * GIB, display_name="Dear"),
        tier("cheap", "24 GB", 22 * GIB, 22 * GIB, display_name="Cheap", price=cheap),
        tier("plain", "24 GB", 22 * GIB, 22 * GIB, price={**cheap, "amount": "0.01"}),
    ]
    hint = right_size(usage(9 * GIB), rows, held="h100")
    assert hint is not None
    assert hint["tier"] == "cheap"


@pytest.mark.parametrize(
    ("told", "tiers"),
    [
        (usage(9 * GIB, complete=False), TIERS),
        (usage(60 * GIB), TIERS),
        (None, TIERS),
        ({"complete": True, "devices": [{"peak_bytes": 9 * GIB, "memory_total_bytes": None}]}, TIERS),
        (usage(9 * GIB), [{**TIERS[0], "hidden": True}, {**TIERS[0], "available": False}]),
        (usage(9 * GIB), [TIERS[2], {**TIERS[0], "price": {"amount": "3", "currency": "EUR"}}]),
    ],
    ids=["not-all-measured", "needed", "no-figures", "no-total", "not-on-offer", "dearer"],
)
def test_there_is_no_hint_without_proof_or_gain(told: dict[str, Any] | None, tiers: list[Any]) -> None:
    assert right_size(told, tiers, held="h100") is None


LAB = {
    "name": "lab",
    "device_class": "high-memory-gpu",
    "price_per_hour": "3600 EUR",
    "limits": {"lease": "2h", "idle": "10m"},
    "defaults": {"lease": "1h", "cpu": "2"},
}


def shown(service: Sessions, session_id: str) -> dict[str, Any]:
    record: dict[str, Any] = service.loop.call(service.get(session_id)).as_dict()
    return record


def test_a_session_of_a_tier_has_its_terms_its_price_and_its_limits(place: Place) -> None:
    service = place.service(tiers=(LAB,))
    session_id = launched(service, {"tier": "lab", "count": 2})
    record = shown(service, session_id)
    assert record["requirement"] == {"tier": "lab", "count": 2}, "what was asked, without the defaults"
    limits = place.object("pods", f"{session_id}-0")["spec"]["containers"][0]["resources"]["limits"]
    assert limits["cpu"] == "2"
    assert record["lease"]["idle_limit_seconds"] == 600
    assert record["price"]["amount"] == "7200"
    with pytest.raises(ConflictError) as beyond:
        service.loop.call(service.extend(session_id, extend_seconds=2 * HOUR))
    assert beyond.value.code == "longest-lease"
    with pytest.raises(RefusedError) as idle:
        service.loop.call(service.extend(session_id, idle_seconds=700))
    assert idle.value.path == "idle_timeout"
    with pytest.raises(RefusedError):
        service.loop.call(service.launch({"tier": "lab", "lease": "3h"}))


def test_who_waits_learns_when_the_holders_lease_ends_also_after_it_was_extended(place: Place) -> None:
    service = place.service()
    holder = launched(service, {"tier": "high-memory-gpu", "count": 8})
    waiting = service.loop.call(service.launch({"tier": "high-memory-gpu"}, wait=60))

    def expected() -> bool:
        change = (shown(service, waiting.id)["wait"] or {}).get("next_change")
        if not change or change["code"] != "lease-ends":
            return False
        ends = epoch(shown(service, holder)["lease"]["ends_at"])
        # The lease counts from the device, a little after the claim that tells its end was made.
        return abs((epoch(change["at"]) or 0) - (ends or 0)) <= WAITED

    place.cluster.wait(expected, deadline=15)
    service.loop.call(service.extend(holder, extend_seconds=HOUR))
    place.cluster.wait(expected, deadline=15)


def test_the_lease_counts_from_the_device_and_not_from_the_waiting_for_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jupyter_dra.sessions.live.WAITED", 1.0)
    service = place.service()
    holder = launched(service, {"tier": "high-memory-gpu", "count": 8})
    waiting = service.loop.call(service.launch({"tier": "high-memory-gpu", "lease": "10s"}, wait=60))
    place.cluster.wait(lambda: shown(service, waiting.id)["wait"], deadline=15)
    place.cluster.wait(
        lambda: service._clock() > service._registry.live[waiting.id].created_at + 3, deadline=10
    )
    service.loop.call(service.stop(holder))
    service.loop.call(service.ready(waiting.id), 60)
    live = service._registry.live[waiting.id]
    assert live.lease.ends_at is not None
    assert live.lease.ends_at - live.created_at >= 13
    claim = place.object("resourceclaims", waiting.id)
    record = shown(service, waiting.id)
    assert claim["metadata"]["annotations"]["jupyter-dra.dev/lease-ends"] == record["lease"]["ends_at"]


def test_an_ended_session_and_its_reason_are_shown_by_the_next_process(place: Place) -> None:
    first = place.service(tiers=(LAB,))
    session_id = launched(first, {"tier": "lab"}, name="train")
    first.loop.call(first.stop(session_id))
    before = first.loop.call(first.ended(session_id), 30).as_dict()
    first.close()

    second = place.service()
    (record,) = second.loop.call(second.list(ended=True))
    after = record.as_dict()
    assert after["ended"]["code"] == "stopped"
    same = ("id", "name", "price", "devices", "ready_at", "simulated", "claim", "steps")
    assert {key: after[key] for key in same} == {key: before[key] for key in same}
    assert second.loop.call(second.list()) == []
    assert shown(second, session_id)["state"] == "ended"
    second.loop.call(second.forget(session_id))
    assert second.loop.call(second.list(ended=True)) == []


@pytest.fixture
def pairs(place: Place) -> Iterator[str]:
    """A tier that is offered in twos only."""
    path = "/apis/resource.k8s.io/v1/deviceclasses"
    notes = {"jupyter-dra.dev/limits": '{"counts": [2]}'}
    tier = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": place.namespace, "annotations": notes},
        "spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}]},
    }
    assert place.cluster.request("POST", path, tier)["kind"] == "DeviceClass"
    yield place.namespace
    place.cluster.request("DELETE", f"{path}/{place.namespace}")


@pytest.mark.parametrize("sees", [True, False], ids=["sees devices", "sees classes only"])
def test_a_tiers_number_is_given_where_nobody_says_one_and_another_is_refused(
    place: Place, pairs: str, sees: bool
) -> None:
    service = place.service(max_devices=2)
    context = service._opening.current
    assert context is not None
    service.loop.call(service.inventory())
    context.inventory.rights = {**context.inventory.rights, "read_slices": sees}
    with pytest.raises(RefusedError) as caught:
        service.loop.call(service.launch({"tier": pairs, "count": 1}))
    error = caught.value
    assert (error.code, error.path, error.next_step) == ("policy", "count", "Ask for 2.")
    assert error.message == f"1 device of {pairs} is not offered."
    assert place.empty()

    record = service.loop.call(service.launch({"tier": pairs}))
    service.loop.call(service.ready(record.id), 60)
    session = shown(service, record.id)
    assert len(session["devices"]) == 2 and session["requirement"] == {"tier": pairs}
    with pytest.raises(RefusedError) as over:
        service.loop.call(service.launch({"tier": pairs}))
    assert over.value.code == "limit", "both devices of the first count"
    service.loop.call(service.stop(record.id))
    service.loop.call(service.ended(record.id), 30)
