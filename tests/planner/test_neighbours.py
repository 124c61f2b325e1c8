"""Who else is on a card, as far as that is known."""

from __future__ import annotations

from typing import Any

from jupyter_dra.planner import Inventory
from jupyter_dra.planner.neighbours import neighbours

from .build import NVIDIA_CLASS, claim, device, device_class, h100, held, request, slice_of

DRIVER = "gpu.example.com"
EVERYTHING: dict[str, Any] = {"claims": "all"}


def part(name: str, card: str, memory: str = "10Gi") -> dict[str, Any]:
    counters = {"memory": {"value": memory}}
    return device(name, memory, extra={"consumesCounters": [{"counterSet": card, "counters": counters}]})


def cards(*claims: dict[str, Any], **visibility: Any) -> Inventory:
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 2}
    counters = [{"name": name, "counters": {"memory": {"value": "40Gi"}}} for name in ("card0", "card1")]
    parts = [part("a", "card0"), part("b", "card0"), part("c", "card0"), part("d", "card1")]
    return Inventory.from_objects(
        [
            device_class("mig", f'device.driver == "{DRIVER}"'),
            slice_of("n1", [], DRIVER, name="counters", pool=pool, sharedCounters=counters),
            slice_of("n1", parts, DRIVER, name="devices", pool=pool),
            *claims,
        ],
        {**EVERYTHING, **visibility},
    )


def test_a_part_is_told_the_other_parts_of_its_card_that_are_in_use() -> None:
    inventory = cards(*(held(name, (DRIVER, "n1", name)) for name in ("a", "b", "d")))
    found = neighbours(inventory, [(DRIVER, "n1", "a"), (DRIVER, "n1", "d")])
    assert found == {(DRIVER, "n1", "a"): {"parts": 1}, (DRIVER, "n1", "d"): {"parts": 0}}


def test_where_claims_are_hidden_nothing_is_said_rather_than_too_little() -> None:
    inventory = cards(held("a", (DRIVER, "n1", "a")), claims="namespace")
    assert neighbours(inventory, [(DRIVER, "n1", "a")]) == {}


def test_a_share_is_told_how_much_of_the_card_is_given_to_how_many() -> None:
    shared = device("gpu-0", "16Gi", extra={"allowMultipleAllocations": True})

    def holding(name: str, amount: str) -> dict[str, Any]:
        found = claim(name, request("r", "mig"))
        result = {"request": "r", "driver": DRIVER, "pool": "n1", "device": "gpu-0", "shareID": name}
        allocation = {"devices": {"results": [{**result, "consumedCapacity": {"memory": amount}}]}}
        return {**found, "status": {"allocation": allocation}}

    inventory = Inventory.from_objects(
        [
            device_class("mig", f'device.driver == "{DRIVER}"'),
            slice_of("n1", [shared], DRIVER),
            holding("one", "4Gi"),
            holding("two", "6Gi"),
        ],
        EVERYTHING,
    )
    found = neighbours(inventory, [(DRIVER, "n1", "gpu-0")])
    assert found[DRIVER, "n1", "gpu-0"] == {
        "shares": 2,
        "given": {"memory": "10Gi"},
        "total": {"memory": "16Gi"},
    }


def test_a_whole_device_has_no_neighbours() -> None:
    objects = [device_class("gpu", NVIDIA_CLASS), slice_of("n1", [h100("gpu-0")])]
    inventory = Inventory.from_objects(objects, EVERYTHING)
    assert neighbours(inventory, [("gpu.nvidia.com", "n1", "gpu-0")]) == {}
