"""Why not: each device once, with what is asked and what is there."""

from __future__ import annotations

from typing import Any

from jupyter_dra.planner import Inventory

from .build import (
    NVIDIA_CLASS,
    a100,
    adds_up,
    claim,
    codes,
    device,
    device_class,
    gpu,
    h100,
    held,
    l4,
    request,
    slice_of,
)

EXAMPLE = 'device.driver == "gpu.example.com"'


def reason(plan: Any, code: str) -> dict[str, Any]:
    return next(entry for entry in plan.reasons if entry["code"] == code)


def test_every_device_of_a_mixed_cluster_stands_in_exactly_one_reason() -> None:
    broken = slice_of("n6", [h100("gpu-0")], pool={"name": "n6", "generation": 1, "resourceSliceCount": 2})
    tainted = h100(
        "gpu-9", extra={"taints": [{"key": "gpu.nvidia.com/xid", "value": "79", "effect": "NoSchedule"}]}
    )
    objects = [
        device_class("gpu", NVIDIA_CLASS),
        slice_of("n1", [h100("gpu-0"), h100("gpu-1"), tainted]),
        slice_of("n2", [a100("gpu-0"), a100("gpu-1")]),
        slice_of("n3", [gpu("gpu-0", "NVIDIA A100-SXM4-80GB", "81920Mi", "Ampere")]),
        slice_of("n4", [device("0", tpuGen="v6e"), device("1", tpuGen="v6e")], "tpu.google.com"),
        slice_of("n5", [l4("gpu-0")]),
        broken,
        held("one", ("gpu.nvidia.com", "n1", "gpu-0")),
        held("two", ("gpu.nvidia.com", "n1", "gpu-1")),
    ]
    plan = Inventory.from_objects(objects).plan({"tier": "gpu", "vram": "80GB", "architecture": "Hopper"})
    assert codes(plan) == {
        "inventory": 1,
        "kind": 2,
        "memory": 3,
        "condition": 1,
        "out-of-service": 1,
        "taken": 2,
    }
    assert adds_up(plan)
    assert reason(plan, "kind")["message"] == "2 another kind of device · TPUs"
    assert reason(plan, "memory")["message"] == "3 less than 80 GB · nearest: A100, 40 GB"
    assert reason(plan, "memory")["params"]["nearest"] == {
        "label": "A100 40 GB",
        "bytes": 42949672960,
        "published": "40960Mi",
    }
    assert reason(plan, "condition")["message"] == "1 not Hopper · nearest: A100, 80 GB"
    assert reason(plan, "out-of-service")["message"] == "1 out of service · marked by driver: xid=79"
    order = [entry["code"] for entry in plan.reasons]
    assert order == ["inventory", "kind", "memory", "condition", "out-of-service", "taken"]


def test_a_near_miss_is_told_in_the_units_of_the_request() -> None:
    inventory = Inventory.from_objects([device_class("gpu", NVIDIA_CLASS), slice_of("n1", [h100("gpu-0")])])
    plan = inventory.plan({"tier": "gpu", "vram": "80Gi"})
    assert plan.verdict == "impossible"
    assert reason(plan, "memory")["message"] == (
        "1 just short: 79.65 GiB, you ask for 80 GiB. Write 80 GB to mean what is on the card."
    )


def test_a_part_just_below_its_nominal_size_is_a_near_miss_not_no_device() -> None:
    objects = [
        device_class("mig", EXAMPLE),
        slice_of("n1", [device("part-0", "4864Mi", profile="1g.5gb")], "gpu.example.com"),
    ]
    asked = 'device.capacity["gpu.example.com"].memory.compareTo(quantity("5Gi")) >= 0'
    plan = Inventory.from_objects(objects).plan(claim("five", request("r", "mig", asked)))
    params = reason(plan, "memory")["params"]
    assert params["near_miss"] is True
    assert params["short_bytes"] == 256 << 20
    assert params["nearest"]["published"] == "4864Mi"


def test_a_strict_comparison_leaves_out_the_card_of_exactly_that_size() -> None:
    objects = [
        device_class("gpu", EXAMPLE),
        slice_of("n1", [device("gpu-0", "40Gi"), device("gpu-1", "81559Mi")], "gpu.example.com"),
    ]
    asked = 'device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("40Gi"))'
    plan = Inventory.from_objects(objects).plan(claim("forty", request("r", "gpu", asked)))
    assert plan.nodes[0]["devices"][0]["device"] == "gpu-1"
    assert codes(plan) == {"memory": 1}
    at_least = Inventory.from_objects(objects).plan({"tier": "gpu", "vram": "40Gi"})
    assert at_least.nodes[0]["devices"][0]["device"] == "gpu-0"


def test_a_device_that_states_no_memory_is_not_called_too_small() -> None:
    cards = [
        device("gpu-0", "0", type="amdgpu", productName="Card A"),
        device("gpu-1", None, type="amdgpu", productName="Card A"),
        device("gpu-2", "64Gi", type="amdgpu", productName="Card B"),
    ]
    objects = [device_class("amd", 'device.driver == "gpu.amd.com"'), slice_of("n1", cards, "gpu.amd.com")]
    plan = Inventory.from_objects(objects).plan({"tier": "amd", "vram": "16GB"})
    assert plan.verdict == "fits"
    assert plan.nodes[0]["devices"][0]["device"] == "gpu-2"
    assert reason(plan, "memory")["message"] == "2 memory size not known"


def test_a_class_told_by_memory_alone_calls_network_cards_another_kind() -> None:
    large = 'device.capacity[device.driver].?memory.orValue(quantity("0")).compareTo(quantity("30G")) >= 0'
    objects = [
        device_class("large", large),
        slice_of("n1", [h100("gpu-0"), l4("gpu-1"), a100("gpu-2")]),
        slice_of("n2", [device("0", tpuGen="v6e")], "tpu.google.com"),
    ]
    plan = Inventory.from_objects(objects).plan({"tier": "large", "vram": "80GB"})
    assert codes(plan) == {"kind": 1, "memory": 2}
    assert reason(plan, "kind")["message"] == "1 another kind of device · TPUs"
    # What was asked for, not the class's own limit.
    assert reason(plan, "memory")["message"] == "2 less than 80 GB · nearest: A100, 40 GB"


def test_a_product_that_nobody_has_is_answered_with_those_there_are() -> None:
    objects = [
        device_class("gpu", NVIDIA_CLASS),
        slice_of("n1", [a100("gpu-0"), l4("gpu-1")]),
        slice_of("n1", [device("nic-0")], "dra.net", name="net"),
    ]
    asked = "device.attributes['gpu.nvidia.com'].productName == 'A100'"
    plan = Inventory.from_objects(objects).plan(claim("c", request("gpu", "gpu", asked)), detail="full")
    condition = reason(plan, "condition")
    assert condition["devices"] == 2
    assert condition["params"]["selector"] == 0 and condition["params"]["of_class"] is False
    assert condition["params"]["values"] == ["NVIDIA A100-SXM4-40GB", "NVIDIA L4"]
    assert reason(plan, "kind")["devices"] == 1
    assert plan.relaxations[0]["code"] == "more-kinds"


def test_a_device_without_the_constraint_attribute_is_named_for_it() -> None:
    devices = [
        device("gpu-0", resource_DOT_kubernetes_DOT_io__pcieRoot="pci0000:00"),
        device("gpu-1", model="M1"),
    ]
    objects = [device_class("gpu", EXAMPLE), slice_of("n1", devices, "gpu.example.com")]
    pair = claim(
        "pair",
        request("gpu", "gpu", count=2),
        constraints=[{"matchAttribute": "resource.kubernetes.io/pcieRoot"}],
    )
    plan = Inventory.from_objects(objects).plan(pair, detail="full")
    assert plan.verdict == "impossible"
    partner = reason(plan, "partner")
    assert partner["devices"] == 2
    assert partner["params"]["without_attribute"] == 1
    assert partner["params"]["attribute"] == "resource.kubernetes.io/pcieRoot"
    assert plan.relaxations[0]["change"] == {"align": None}
    assert plan.relaxations[0]["verdict"] == "fits"


def test_a_gpu_without_a_network_card_on_its_root_lacks_a_partner() -> None:
    root = "resource_DOT_kubernetes_DOT_io__pcieRoot"
    objects = [
        device_class("gpu", NVIDIA_CLASS),
        device_class("nic", 'device.driver == "dra.net"'),
        slice_of("n1", [h100("gpu-0", **{root: "pci0000:10"})]),
        slice_of("n1", [device("nic-0", **{root: "pci0000:20"})], "dra.net", name="net"),
    ]
    plan = Inventory.from_objects(objects).plan(
        {"tier": "gpu", "near": [{"tier": "nic"}], "align": "pcieRoot"}, detail="full"
    )
    assert plan.verdict == "impossible"
    assert codes(plan) == {"partner": 1, "kind": 1}
    assert reason(plan, "partner")["message"] == "1 no partner on the same pcieRoot · H100 80 GB"
    assert plan.relaxations[0]["code"] == "drop-near"


def shareable(**policy: Any) -> dict[str, Any]:
    capacity = {"memory": {"value": policy.pop("value", "16Gi")}}
    if policy:
        capacity["memory"]["requestPolicy"] = policy
    return device("gpu-0", extra={"allowMultipleAllocations": True, "capacity": capacity})


def share_inventory(card: dict[str, Any]) -> Inventory:
    return Inventory.from_objects(
        [device_class("shared", EXAMPLE), slice_of("n1", [card], "gpu.example.com")]
    )


def test_a_share_is_rounded_up_and_the_fifth_has_no_room() -> None:
    inventory = share_inventory(
        shareable(default="2Gi", validRange={"min": "2Gi", "max": "16Gi", "step": "2Gi"})
    )
    asked = request("r", "shared", capacity={"requests": {"memory": "3Gi"}})
    four = inventory.plan([claim(f"c{n}", asked) for n in range(4)])
    assert four.verdict == "fits"
    assert [entry["share"] for entry in four.nodes[0]["devices"]] == [{"memory": "4Gi"}] * 4
    assert inventory.plan([claim(f"c{n}", asked) for n in range(5)]).verdict == "impossible"
    for number in range(4):
        taken = claim(f"c{number}", asked)
        taken["status"] = {
            "allocation": {
                "devices": {
                    "results": [
                        {
                            "request": "r",
                            "driver": "gpu.example.com",
                            "pool": "n1",
                            "device": "gpu-0",
                            "shareID": f"s{number}",
                            "consumedCapacity": {"memory": "4Gi"},
                        }
                    ]
                }
            }
        }
        inventory.apply({"type": "ADDED", "object": taken})
    fifth = inventory.plan(claim("c5", asked))
    assert fifth.verdict == "busy"
    words = "1 have no room for 4Gi memory (3Gi asked, 4Gi given) · 0 of 16Gi left"
    assert reason(fifth, "share")["message"] == words
    assert reason(fifth, "share")["params"] == {
        "asked": {"memory": "3Gi"},
        "given": {"memory": "4Gi"},
        "why": "full",
        "device": "gpu-0",
        "step": {"memory": "2Gi"},
        "left": {"memory": "0"},
        "total": {"memory": "16Gi"},
    }


def test_more_than_the_policy_allows_is_refused_for_that_not_for_lack_of_room() -> None:
    inventory = share_inventory(
        shareable(value="32Gi", default="2Gi", validRange={"min": "2Gi", "max": "16Gi", "step": "2Gi"})
    )
    plan = inventory.plan(claim("c", request("r", "shared", capacity={"requests": {"memory": "20Gi"}})))
    assert plan.verdict == "impossible"
    assert reason(plan, "share")["params"] == {
        "asked": {"memory": "20Gi"},
        "why": "never",
        "missing": [],
        "at_most": {"memory": "16Gi"},
    }


def test_a_share_without_an_amount_takes_the_whole_device_and_says_so() -> None:
    inventory = share_inventory(shareable(value="24Gi"))
    first = claim("first", request("r", "shared"))
    plan = inventory.plan(first)
    assert plan.nodes[0]["devices"][0]["share"] == {"memory": "24Gi"}
    first["status"] = {
        "allocation": {
            "devices": {
                "results": [
                    {
                        "request": "r",
                        "driver": "gpu.example.com",
                        "pool": "n1",
                        "device": "gpu-0",
                        "shareID": "s",
                        "consumedCapacity": {"memory": "24Gi"},
                    }
                ]
            }
        }
    }
    inventory.apply({"type": "ADDED", "object": first})
    second = inventory.plan(claim("second", request("r", "shared")))
    assert second.verdict == "busy"
    assert "no amount asked: takes the whole device" in reason(second, "share")["message"]


def card(number: int) -> list[dict[str, Any]]:
    found = []
    for profile, memory, compute, places in (
        ("4g.20gb", "20Gi", "4", 1),
        ("2g.10gb", "10Gi", "2", 2),
        ("1g.5gb", "5Gi", "1", 3),
    ):
        for place in range(places):
            counters = {"memory": {"value": memory}, "compute": {"value": compute}}
            found.append(
                device(
                    f"card{number}-{profile.replace('.', '-')}-{place}",
                    memory,
                    type="mig",
                    profile=profile,
                    parentUUID=f"GPU-card-{number}",
                    extra={"consumesCounters": [{"counterSet": f"card{number}", "counters": counters}]},
                )
            )
    return found


def mig_inventory() -> Inventory:
    counters = [
        {"name": f"card{n}", "counters": {"memory": {"value": "40Gi"}, "compute": {"value": "7"}}}
        for n in range(2)
    ]
    pool = {"name": "node-a", "generation": 1, "resourceSliceCount": 2}
    return Inventory.from_objects(
        [
            device_class("mig", f"{EXAMPLE} && device.attributes['gpu.example.com'].type == 'mig'"),
            slice_of("node-a", [], "gpu.example.com", name="counters", pool=pool, sharedCounters=counters),
            slice_of("node-a", [*card(0), *card(1)], "gpu.example.com", name="devices", pool=pool),
        ]
    )


def shape(name: str) -> dict[str, Any]:
    def part(request_name: str, profile: str) -> dict[str, Any]:
        return request(request_name, "mig", f"device.attributes['gpu.example.com'].profile == '{profile}'")

    return claim(
        name,
        part("big", "4g.20gb"),
        part("mid", "2g.10gb"),
        part("small", "1g.5gb"),
        constraints=[{"matchAttribute": "gpu.example.com/parentUUID"}],
    )


def test_a_shape_of_parts_lands_on_one_card_each_and_the_third_names_the_counter() -> None:
    inventory = mig_inventory()
    for number in range(2):
        asked = shape(f"shape-{number}")
        plan = inventory.plan(asked)
        assert plan.verdict == "fits"
        devices = plan.nodes[0]["devices"]
        assert {entry["device"].split("-")[0] for entry in devices} == {f"card{number}"}
        results = [{key: entry[key] for key in ("request", "driver", "pool", "device")} for entry in devices]
        allocated = {**asked, "status": {"allocation": {"devices": {"results": results}}}}
        inventory.apply({"type": "ADDED", "object": allocated})
    third = inventory.plan(shape("third"))
    assert third.verdict == "busy"
    assert adds_up(third)
    smallest = inventory.plan(
        claim("c", request("r", "mig", "device.attributes['gpu.example.com'].profile == '1g.5gb'"))
    )
    part = reason(smallest, "part")
    assert part["params"]["counters"][0] == {
        "set": "card0",
        "counter": "compute",
        "left": 0,
        "total": 7,
        "needed": 1,
    }
    assert part["params"]["cards"] == 2
    assert codes(smallest) == {"condition": 6, "part": 4, "taken": 2}


def test_two_halves_never_land_on_one_card() -> None:
    plan = mig_inventory().plan(
        claim("c", request("r", "mig", "device.attributes['gpu.example.com'].profile == '4g.20gb'", count=2))
    )
    assert {entry["device"] for entry in plan.nodes[0]["devices"]} == {"card0-4g-20gb-0", "card1-4g-20gb-0"}


def test_of_very_many_holders_the_foremost_are_named_and_the_rest_counted() -> None:
    objects = [device_class("any", NVIDIA_CLASS), slice_of("n1", [h100(f"gpu-{n}") for n in range(90)])]
    for number in range(60):
        objects.append(held(f"c{number:02}", ("gpu.nvidia.com", "n1", f"gpu-{number}"), namespace="team-b"))
    big = [("gpu.nvidia.com", "n1", f"gpu-{number}") for number in range(60, 90)]
    objects.append(held("big", *big, namespace="team-b"))
    late = held("zz", ("gpu.nvidia.com", "n1", "gpu-59"), namespace="team-b")
    late["metadata"]["annotations"] = {"jupyter-dra.dev/lease-ends": "2026-11-30T14:30:00Z"}
    plan = Inventory.from_objects([*objects, late]).plan({"tier": "any"}, detail="full")
    assert plan.verdict == "busy"
    assert (len(plan.holders), plan.holders_left_out) == (50, 12)
    assert plan.holders[0]["claim"] == "big" and plan.holders[0]["devices"] == 30
    assert plan.holders[0]["device_names"] == [f"gpu-{number}" for number in range(60, 68)]
    assert any(row["lease_ends"] for row in plan.holders)


def test_holders_are_told_as_far_as_the_user_may_know() -> None:
    objects = [
        device_class("gpu", NVIDIA_CLASS),
        slice_of("n1", [h100(f"gpu-{n}") for n in range(4)]),
        held("mine", ("gpu.nvidia.com", "n1", "gpu-0"), annotations={"jupyter-dra.dev/user": "ada"}),
        held("hers", ("gpu.nvidia.com", "n1", "gpu-1"), annotations={"jupyter-dra.dev/user": "mira"}),
        held("job", ("gpu.nvidia.com", "n1", "gpu-2"), ("gpu.nvidia.com", "n1", "gpu-3"), namespace="team-b"),
    ]
    plan = Inventory.from_objects(objects, {"user": "ada"}).plan({"tier": "gpu"}, detail="full")
    assert reason(plan, "taken")["message"] == "4 taken · 1 by you, 1 by mira, 2 in team-b"
    assert [(row["who"], row["devices"]) for row in plan.holders] == [
        ("you", 1),
        ("namespace", 2),
        ("user", 1),
    ]
    withheld = Inventory.from_objects(objects, {"user": "ada", "names": False}).plan(
        {"tier": "gpu"}, detail="full"
    )
    assert reason(withheld, "taken")["message"] == "4 taken · 1 by you, 3 not visible to you"
    assert [row["who"] for row in withheld.holders] == ["you", "hidden"]
    assert withheld.holders[1]["claim"] is None and withheld.holders[1]["devices"] == 3


def test_a_device_held_without_any_pod_is_noted() -> None:
    objects = [
        device_class("gpu", NVIDIA_CLASS),
        slice_of("n1", [h100("gpu-0")]),
        held("idle", ("gpu.nvidia.com", "n1", "gpu-0"), reserved=False),
    ]
    plan = Inventory.from_objects(objects).plan({"tier": "gpu"}, detail="full")
    assert plan.holders[0]["note"] == "no-pod"


def test_a_taint_rule_of_the_admin_is_said_to_be_the_admins_and_can_be_accepted() -> None:
    rule = {
        "kind": "DeviceTaintRule",
        "metadata": {"name": "maintenance"},
        "spec": {
            "deviceSelector": {"driver": "gpu.nvidia.com", "pool": "n1"},
            "taint": {"key": "example.com/maintenance", "effect": "NoSchedule"},
        },
    }
    inventory = Inventory.from_objects(
        [device_class("gpu", NVIDIA_CLASS), slice_of("n1", [h100("gpu-0")]), rule]
    )
    plan = inventory.plan({"tier": "gpu"}, detail="full")
    assert plan.verdict == "impossible"
    assert reason(plan, "out-of-service")["message"] == "1 out of service · marked by admin: maintenance"
    assert plan.relaxations[-1]["code"] == "tolerate"
    inventory.apply({"type": "DELETED", "object": rule})
    assert inventory.plan({"tier": "gpu"}).verdict == "fits"


def test_a_part_of_a_card_with_numbered_places_is_told_how_many_are_free() -> None:
    places = {f"memory-slice-{n}": {"value": "1"} for n in range(4)}

    def sliced(name: str, first: int, count: int) -> dict[str, Any]:
        used = {f"memory-slice-{first + n}": {"value": "1"} for n in range(count)}
        return device(
            name,
            "10Gi",
            profile=name[:2],
            extra={"consumesCounters": [{"counterSet": "card", "counters": used}]},
        )

    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 2}
    counters = [{"name": "card", "counters": places}]
    inventory = Inventory.from_objects(
        [
            device_class("mig", EXAMPLE),
            slice_of("n1", [], "gpu.example.com", name="counters", pool=pool, sharedCounters=counters),
            slice_of(
                "n1",
                [sliced("2g-0", 0, 2), sliced("2g-2", 2, 2), sliced("3g-0", 0, 3)],
                "gpu.example.com",
                name="devices",
                pool=pool,
            ),
            held("one", ("gpu.example.com", "n1", "2g-0")),
        ]
    )
    asked = request("r", "mig", "device.attributes['gpu.example.com'].profile == '3g'")
    part = reason(inventory.plan(claim("c", asked)), "part")
    assert part["params"]["slots"] == {"left": 2, "total": 4, "needed": 3}
    assert part["message"] == (
        "1 on 1 card with no room left for a 3g part · 2 of 4 slots free, 3 needed in a row"
    )


def test_incomplete_lists_are_counted_beside_their_devices() -> None:
    def broken(where: str, *names: str) -> dict[str, Any]:
        pool = {"name": where, "generation": 1, "resourceSliceCount": 2}
        return slice_of(where, [h100(name) for name in names], pool=pool)

    inventory = Inventory.from_objects(
        [
            device_class("gpu", NVIDIA_CLASS),
            broken("n1", "gpu-0", "gpu-1"),
            broken("n2", "gpu-0"),
            slice_of("n3", [l4("gpu-0")]),
        ]
    )
    found = reason(inventory.plan({"tier": "gpu", "vram": "80GB"}), "inventory")
    assert (found["devices"], found["params"]["lists"]) == (3, 2)
    assert found["message"].startswith("3 on 2 nodes that publish an incomplete list right now")


def test_memory_read_as_an_attribute_comes_with_the_condition_that_was_meant() -> None:
    mistaken = 'device.attributes["gpu.nvidia.com"].memory >= "16Gi"'
    inventory = Inventory.from_objects([device_class("gpu", NVIDIA_CLASS), slice_of("n1", [l4("gpu-0")])])
    plan = inventory.plan({"tier": "gpu", "where": [mistaken]})
    assert plan.verdict == "invalid"
    better = reason(plan, "condition-error")["params"]["rewrite"]
    assert better["code"] == "memory-is-a-capacity"
    assert inventory.plan({"tier": "gpu", "where": [better["text"]]}).verdict == "fits"
