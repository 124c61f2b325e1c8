"""What a session tells about the use of its devices: figures of each holder, and idling by kernel and device."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from jupyter_dra.sessions import Sessions
from jupyter_dra.sessions.leasing import UNKNOWN, UNUSED, USED
from jupyter_dra.sessions.usage import device_use, idle_since, usage_of
from tests.sessions.place import Place, end_of
from tests.sessions.test_launch import H100, launched


@dataclass
class Holder:
    id: str
    usage: dict[str, Any] | None = None
    device_use: str = UNKNOWN
    idle_since: float | None = None
    gone: bool = False


def sample(at: str, held: int, own: int | None, peak: int, *, complete: bool = True) -> dict[str, Any]:
    part = None if own is None else [{"memory_used_bytes": own}]
    return {
        "at": at,
        "source": "nvml",
        "memory_used_bytes": held,
        "peak_bytes": peak,
        "by_kernel": part,
        "complete": complete,
        "cell": None,
    }


def test_two_holders_of_one_device_show_its_figures_once_and_their_own_parts() -> None:
    first = Holder("a", sample("2026-11-30T12:00:00Z", 30, 10, 40))
    second = Holder("b", sample("2026-11-30T12:00:05Z", 32, None, 35))
    usage = usage_of([first, second])
    assert usage is not None
    assert usage["memory_used_bytes"] == 32
    assert usage["peak_bytes"] == 40
    assert [(part["kernel"], part["memory_used_bytes"]) for part in usage["by_kernel"]] == [
        ("a", 10),
        ("b", None),
    ]


def test_without_figures_nothing_is_told_and_one_gap_makes_the_whole_incomplete() -> None:
    assert usage_of([Holder("a")]) is None
    gap = Holder("b", sample("2026-11-30T12:00:00Z", 1, 1, 1, complete=False))
    usage = usage_of([Holder("a", sample("2026-11-30T12:00:00Z", 1, 1, 1)), gap])
    assert usage is not None
    assert usage["complete"] is False


def test_a_holder_that_left_counts_neither_for_idling_nor_for_use() -> None:
    idle = Holder("a", device_use=UNUSED, idle_since=5.0)
    left = Holder("b", device_use=USED, idle_since=None, gone=True)
    assert device_use([idle, left]) == UNUSED
    assert idle_since([idle, left]) == 5.0
    assert idle_since([idle, Holder("c")]) is None
    assert device_use([idle, Holder("c")]) == UNKNOWN
    assert device_use([idle, Holder("c", device_use=USED)]) == USED


def _usage(service: Sessions, session_id: str) -> dict[str, Any]:
    return service.loop.call(service.get(session_id)).as_dict()["usage"] or {}


def test_a_simulated_session_tells_plausible_figures_per_device_and_holder(place: Place) -> None:
    service = place.service()
    session_id = launched(service)
    service.loop.call(service.attach(session_id))
    second = service.loop.call(service.get(session_id)).kernels[-1]
    service.loop.call(service.ready(session_id, second.id), 60)

    def shared() -> dict[str, Any] | None:
        usage = _usage(service, session_id)
        parts = [part["memory_used_bytes"] for part in usage.get("by_kernel") or []]
        both = len(parts) == 2 and None not in parts
        return usage if both and usage["memory_used_bytes"] >= sum(parts) * 0.9 else None

    usage = place.cluster.wait(shared, deadline=30)
    assert usage["simulated"] is True
    assert usage["memory_total_bytes"] == 81559 << 20
    assert usage["utilisation_percent"] is not None
    (device,) = usage["devices"]
    record = service.loop.call(service.get(session_id))
    assert device["device"] == record.devices[0].device
    assert device["peak_bytes"] >= device["memory_used_bytes"]
    lease = record.as_dict()["lease"]
    assert lease["device_use"] in (USED, UNUSED)


def test_a_device_whose_use_nobody_can_tell_is_kept_though_its_kernel_idles(place: Place) -> None:
    card = {"tier": "rdma-nic"}
    service = place.service()
    session_id = launched(service, {**card, "idle_timeout": "1s", "lease": "6s"})
    kept = launched(service, {**card, "idle_timeout": "1s", "lease": "60s"}, idle_by="kernel")
    assert end_of(service, session_id, 40).code == "lease-over"
    assert service.loop.call(service.get(session_id)).as_dict()["lease"]["device_use"] == UNKNOWN
    assert end_of(service, kept, 40).code == "idle"


def test_the_last_figures_stay_with_an_ended_session(place: Place) -> None:
    service = place.service()
    session_id = launched(service, H100)
    place.cluster.wait(lambda: _usage(service, session_id).get("peak_bytes"), deadline=20)
    service.loop.call(service.stop(session_id))
    service.loop.call(service.ended(session_id), 30)
    assert _usage(service, session_id)["peak_bytes"] > 0


def test_who_asks_for_a_device_sees_how_long_their_own_idle_session_holds_one(place: Place) -> None:
    service = place.service()
    session_id = launched(service, {**H100, "count": 8})

    def idle() -> int | None:
        plan = service.loop.call(service.plan(H100, detail="full"))
        holder = next(one for one in plan["holders"] if one["session"] == session_id)
        found: int | None = holder["idle_seconds"]
        return found

    place.cluster.wait(lambda: (idle() or 0) >= 1, deadline=20)
    assert service.loop.call(service.idle())[session_id] >= 1


def test_who_keeps_an_idle_session_begins_its_idle_time_anew(place: Place) -> None:
    service = place.service()
    session_id = launched(service, {**H100, "idle_timeout": "5s"})
    place.cluster.wait(lambda: service.loop.call(service.idle()).get(session_id, 0) >= 3, deadline=30)
    before = service.loop.call(service.get(session_id)).lease
    kept_at = time.monotonic()
    after = service.loop.call(service.extend(session_id, idle_seconds=5)).lease
    assert before is not None
    assert after is not None
    assert after.ends_at == before.ends_at, "the lease stays as it is"
    assert end_of(service, session_id, 40).code == "idle"
    assert time.monotonic() - kept_at >= 4.9
