"""Small changes that help: each is tried, one change each, in the order people want them."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_dra.claims import Requirement
from jupyter_dra.planner import Inventory

from .build import NVIDIA_CLASS, a100, device, device_class, gpu, h100, held, l4, slice_of

ORDER = [
    "join-session",
    "drop-near",
    "drop-spread",
    "less-memory",
    "more-kinds",
    "fewer-devices",
    "part",
    "other-tier",
    "tolerate",
]


def lab(*more: dict[str, Any]) -> Inventory:
    return Inventory.from_objects(
        [
            device_class("gpu", NVIDIA_CLASS),
            device_class(
                "large",
                NVIDIA_CLASS,
                'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("64G")) >= 0',
            ),
            device_class("nic", 'device.driver == "dra.net"'),
            device_class(
                "mig",
                'device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].type == "mig"',
                display_name="Part of a GPU",
            ),
            slice_of("n1", [h100("gpu-0"), h100("gpu-1")]),
            slice_of(
                "n2", [a100("gpu-0"), gpu("gpu-1", "NVIDIA A100-SXM4-80GB", "81920Mi", "Ampere"), l4("gpu-2")]
            ),
            slice_of("n3", [device("mig-0", "19968Mi", type="mig", profile="3g.20gb")], name="mig"),
            *more,
        ]
    )


HOPPERS = held("x", ("gpu.nvidia.com", "n1", "gpu-0"), ("gpu.nvidia.com", "n1", "gpu-1"))


@pytest.mark.parametrize(
    "asked",
    [
        {"tier": "gpu", "vram": "80GB", "architecture": "Hopper"},
        {"tier": "gpu", "count": 4},
        {"tier": "large", "count": 2},
        {"tier": "gpu", "vram": "120GB"},
        {"tier": "gpu", "product": "H100", "near": [{"tier": "nic"}], "align": "pcieRoot"},
        {"tier": "gpu", "architecture": "Hopper", "spread": "resource.kubernetes.io/numaNode", "count": 2},
    ],
)
def test_every_suggested_change_really_fits_and_they_come_in_order(asked: dict[str, Any]) -> None:
    inventory = lab(HOPPERS)
    plan = inventory.plan(asked, detail="full")
    assert plan.verdict in ("busy", "impossible")
    codes = [entry["code"] for entry in plan.relaxations]
    assert codes == sorted(codes, key=ORDER.index)
    for entry in plan.relaxations:
        if entry["code"] == "join-session":
            continue
        changed = Requirement.from_dict(asked).changed(**entry["change"])
        again = inventory.plan(changed)
        assert again.verdict == "fits", entry
        assert again.counts["free"] == entry["free"]


def test_taken_hoppers_lead_to_other_kinds() -> None:
    plan = lab(HOPPERS).plan({"tier": "gpu", "vram": "80GB", "architecture": "Hopper"}, detail="full")
    assert plan.verdict == "busy"
    kinds = [entry for entry in plan.relaxations if entry["code"] == "more-kinds"]
    assert kinds[0]["change"] == {"architecture": ["Hopper", "Ampere"]}
    assert kinds[0]["message"] == "Also accept A100 80 GB"
    assert kinds[0]["free"] == 1


def test_too_much_memory_leads_to_the_next_smaller_size_that_exists() -> None:
    plan = lab().plan({"tier": "gpu", "vram": "120GB"}, detail="full")
    assert plan.relaxations[0]["code"] == "less-memory"
    assert plan.relaxations[0]["change"] == {"vram": "80GB"}
    assert plan.relaxations[0]["message"] == "Take 80 GB"


def test_ones_own_session_can_be_joined_and_stands_first() -> None:
    mine = held(
        "bert",
        ("gpu.nvidia.com", "n1", "gpu-0"),
        ("gpu.nvidia.com", "n1", "gpu-1"),
        namespace="team-a",
        labels={"jupyter-dra.dev/session": "bert"},
        annotations={"jupyter-dra.dev/user": "ada"},
    )
    objects = [device_class("gpu", NVIDIA_CLASS), slice_of("n1", [h100("gpu-0"), h100("gpu-1")]), mine]
    plan = Inventory.from_objects(objects, {"user": "ada"}).plan({"tier": "gpu"}, "team-a", detail="full")
    assert plan.verdict == "busy"
    assert plan.relaxations[0]["code"] == "join-session"
    assert plan.relaxations[0]["message"] == "Join your session bert"
    others = Inventory.from_objects(objects, {"user": "bob"}).plan({"tier": "gpu"}, "team-a", detail="full")
    assert "join-session" not in [entry["code"] for entry in others.relaxations]


def test_a_part_is_offered_where_its_memory_is_enough() -> None:
    all_taken = held(
        "all",
        *(("gpu.nvidia.com", "n1", f"gpu-{n}") for n in range(2)),
        *(("gpu.nvidia.com", "n2", f"gpu-{n}") for n in range(3)),
    )
    part = next(
        entry
        for entry in lab(all_taken).plan({"tier": "gpu"}, detail="full").relaxations
        if entry["code"] == "part"
    )
    assert part["change"]["tier"] == "mig" and part["change"]["share"] == {"profile": "3g.20gb"}
    too_big = lab(all_taken).plan({"tier": "gpu", "vram": "40GB"}, detail="full")
    assert "part" not in [entry["code"] for entry in too_big.relaxations]


def test_a_request_that_fits_gets_no_suggestions() -> None:
    assert lab().plan({"tier": "gpu"}, detail="full").relaxations == []


def test_only_the_full_detail_costs_the_search_for_changes() -> None:
    assert lab(HOPPERS).plan({"tier": "gpu", "architecture": "Hopper"}).relaxations == []


def test_fewer_devices_are_suggested_only_in_numbers_that_the_tier_is_offered_in() -> None:
    node = device_class("node", NVIDIA_CLASS, limits='{"counts": [2, 8]}', defaults='{"count": 8}')
    taken = held("x", *(("gpu.nvidia.com", "n1", f"gpu-{number}") for number in range(3)))
    inventory = Inventory.from_objects([node, slice_of("n1", [h100(f"gpu-{n}") for n in range(8)]), taken])
    fewer = [
        one for one in inventory.plan({"tier": "node"}, detail="full").relaxations if "count" in one["change"]
    ]
    assert [(one["change"], one["message"]) for one in fewer] == [({"count": 2}, "2 instead of 8 devices")]


def test_another_tier_is_suggested_only_where_it_is_offered_in_the_number_that_is_asked_for() -> None:
    full = device_class(
        "full", NVIDIA_CLASS, "device.attributes['gpu.nvidia.com'].productName == 'NVIDIA L4'"
    )
    pairs = device_class("pairs", NVIDIA_CLASS, limits='{"counts": [2]}')
    devices = [slice_of("n1", [h100("gpu-0"), h100("gpu-1")]), slice_of("n2", [l4("gpu-0")])]
    inventory = Inventory.from_objects([full, pairs, *devices, held("x", ("gpu.nvidia.com", "n2", "gpu-0"))])

    def tiers(wish: dict[str, Any]) -> list[str]:
        changes = [one["change"] for one in inventory.plan(wish, detail="full").relaxations]
        return [change["tier"] for change in changes if "tier" in change]

    assert tiers({"tier": "full"}) == ["pairs"], "with the number of that tier"
    assert tiers({"tier": "full", "count": 1}) == []
