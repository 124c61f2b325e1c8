"""What is said of a device, read from the slice that publishes it."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_dra.model import Device
from jupyter_dra.sessions.device_facts import DeviceBook, slots_of


def consuming(**counters: str) -> dict[str, Any]:
    used = {name.replace("_", "-"): {"value": amount} for name, amount in counters.items()}
    return {"name": "part", "consumesCounters": [{"counterSet": "card", "counters": used}]}


@pytest.mark.parametrize(
    ("counters", "slots"),
    [
        ({"memory_slice_4": "1", "memory_slice_5": "1", "memory": "9856Mi"}, [4, 5]),
        ({"memory_slice_6": "1"}, [6, 6]),
        ({"memory_slice_1": "1", "memory_slice_3": "1"}, None),
        ({"memory_slice_1": "2"}, None),
        ({"multiprocessors": "14"}, None),
        ({}, None),
    ],
)
def test_places_on_a_card_are_told_where_the_driver_numbers_them_in_a_row(
    counters: dict[str, str], slots: list[int] | None
) -> None:
    assert slots_of(Device.from_dict(consuming(**counters))) == slots


def test_a_whole_card_that_takes_every_place_has_no_slots() -> None:
    part = {**consuming(memory_slice_0="1"), "attributes": {"type": {"string": "mig"}}}
    whole = {**consuming(memory_slice_0="1"), "name": "whole", "attributes": {"type": {"string": "gpu"}}}
    spec = {"driver": "gpu.nvidia.com", "pool": {"name": "n"}, "devices": [part, whole]}
    slices = [{"metadata": {"name": "s"}, "spec": spec}]
    book = DeviceBook()
    assert book.describe(slices, "gpu.nvidia.com", "n", "part")[1]["slots"] == [0, 0]
    assert book.describe(slices, "gpu.nvidia.com", "n", "whole")[1]["slots"] is None
