"""When a session is over: the one judgement that server and podside share."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_dra.sessions.leasing import MOVED_BYTES, UNKNOWN, UNUSED, USED, Lease, TooLong, Use

GPU: dict[str, Any] = {"utilisation_percent": 0, "memory_used_bytes": 8 << 30}
SILENT: dict[str, Any] = {"utilisation_percent": None, "memory_used_bytes": None}


def measured(*samples: dict[str, Any] | None) -> Use:
    use = Use(0.0)
    for number, sample in enumerate(samples):
        use.measure(float(number), sample)
    return use


def test_an_unused_device_is_given_back_when_the_idle_limit_is_over() -> None:
    lease, use = Lease(0, seconds=3600, idle_limit=60), measured(GPU, GPU)
    assert lease.over(59, use.due_since(busy=False)) is None
    assert lease.over(60, use.due_since(busy=False)) == "idle"


def test_a_busy_kernel_is_never_idle_but_its_lease_ends() -> None:
    lease, use = Lease(0, seconds=3600, idle_limit=60), measured(GPU)
    assert lease.over(3599, use.due_since(busy=True)) is None
    assert lease.over(3600, use.due_since(busy=True)) == "lease-over"


def test_a_device_at_work_keeps_the_session_of_an_idle_kernel() -> None:
    lease, use = Lease(0, idle_limit=60), measured(GPU)
    use.measure(100.0, {**GPU, "utilisation_percent": 70})
    assert use.device == USED
    assert lease.over(159, use.due_since(busy=False)) is None
    use.measure(160.0, GPU)
    assert lease.over(160, use.due_since(busy=False)) == "idle"


def test_where_no_use_is_told_held_memory_that_moves_counts_as_use() -> None:
    part = {"utilisation_percent": None, "memory_used_bytes": 1 << 30}
    assert measured(part, part).device == UNUSED
    assert measured(part, {**part, "memory_used_bytes": (1 << 30) + MOVED_BYTES}).device == USED


@pytest.mark.parametrize("told", [None, SILENT, {"devices": []}, {"devices": [SILENT]}])
def test_a_device_whose_use_is_not_known_is_kept_until_its_lease_ends(told: dict[str, Any] | None) -> None:
    lease, use = Lease(0, seconds=900, idle_limit=60), measured(told)
    assert use.device == UNKNOWN
    assert use.idle_since(busy=False) == 0
    assert lease.over(899, use.due_since(busy=False)) is None
    assert lease.over(900, use.due_since(busy=False)) == "lease-over"


def test_the_kernels_activity_alone_decides_where_that_was_wanted() -> None:
    use = Use(0.0, by_kernel=True)
    use.measure(0.0, SILENT)
    assert Lease(0, idle_limit=60).over(60, use.due_since(busy=False)) == "idle"


def test_the_busiest_of_several_devices_counts_and_companions_without_figures_do_not() -> None:
    busy = {"utilisation_percent": 30, "memory_used_bytes": 1}
    assert measured({"utilisation_percent": 4, "devices": [*[GPU] * 7, busy]}).device == USED
    assert measured({"devices": [GPU, SILENT]}).device == UNUSED


def test_a_lease_is_never_moved_beyond_the_longest() -> None:
    lease = Lease(0, seconds=60, longest=100)
    lease.end_in(50, 50)
    assert lease.ends == 100
    with pytest.raises(TooLong):
        lease.end_in(50, 60)
    assert lease.ends == 100


def test_activity_in_the_past_does_not_shorten_the_wait() -> None:
    use = Use(0.0)
    use.touch(50.0)
    use.touch(20.0)
    assert use.idle_since(busy=False) == 50
