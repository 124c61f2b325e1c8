"""The verdict on whole stories: what a user asks, what the cluster has, what is said."""

from __future__ import annotations

import time
from typing import Any

import pytest

from jupyter_dra.planner import Inventory

from .build import (
    NVIDIA_CLASS,
    Json,
    a100,
    adds_up,
    claim,
    codes,
    device,
    device_class,
    h100,
    held,
    l4,
    node,
    request,
    slice_of,
)

EXAMPLE = 'device.driver == "gpu.example.com"'


def example_class(name: str = "gpu.example.com") -> Json:
    return device_class(name, EXAMPLE)


def example_slice(where: str, *names: str, **fields: Any) -> Json:
    return slice_of(where, [device(name, **fields) for name in names], driver="gpu.example.com")


def test_a_free_device_fits_and_is_named() -> None:
    inventory = Inventory.from_objects([device_class("gpu", NVIDIA_CLASS), slice_of("n1", [h100("gpu-0")])])
    plan = inventory.plan({"tier": "gpu", "vram": "80GB"})
    assert plan.verdict == "fits"
    assert plan.launch == {"can": "yes", "code": None, "params": {}}
    assert plan.certainty == {"sure": True, "reasons": []}
    [best] = plan.nodes
    assert (best["name"], best["likely"], best["verdict"]) == ("n1", True, "fits")
    assert best["devices"] == [
        {
            "claim": 0,
            "request": "gpu",
            "driver": "gpu.nvidia.com",
            "pool": "n1",
            "device": "gpu-0",
            "label": "H100 80 GB",
            "share": None,
        }
    ]


def test_the_plan_has_all_fields_of_the_contract() -> None:
    inventory = Inventory.from_objects([device_class("gpu", NVIDIA_CLASS), slice_of("n1", [h100("gpu-0")])])
    plan = inventory.plan({"tier": "gpu"}, detail="full").as_dict()
    assert plan["kind"] == "Plan" and plan["version"] == 1
    assert set(plan["counts"]) == {"devices", "nodes", "matching", "free", "free_at_most", "matching_nodes"}
    assert plan["claim"]["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"] == "gpu"
    assert plan["charges"] == {
        "count/resourceclaims.resource.k8s.io": 1,
        "gpu.deviceclass.resource.k8s.io/devices": 1,
    }


def test_a_taken_device_is_busy_and_the_one_that_would_be_had_is_shown() -> None:
    inventory = Inventory.from_objects(
        [
            device_class("gpu", NVIDIA_CLASS),
            slice_of("n1", [h100("gpu-0")]),
            held("training", ("gpu.nvidia.com", "n1", "gpu-0")),
        ]
    )
    plan = inventory.plan({"tier": "gpu"}, detail="full")
    assert plan.verdict == "busy"
    assert plan.launch["can"] == "wait"
    assert plan.nodes[0]["verdict"] == "busy"
    assert plan.nodes[0]["devices"][0]["device"] == "gpu-0"
    assert codes(plan) == {"taken": 1}
    assert plan.holders[0]["claim"] == "training" and plan.holders[0]["devices"] == 1


def test_what_no_node_has_is_impossible_even_with_everything_free() -> None:
    inventory = Inventory.from_objects([device_class("gpu", NVIDIA_CLASS), slice_of("n1", [l4("gpu-0")])])
    plan = inventory.plan({"tier": "gpu", "vram": "80GB"})
    assert plan.verdict == "impossible"
    assert plan.launch["can"] == "no"
    assert plan.nodes == []


def test_a_condition_that_stops_with_an_error_makes_the_request_invalid() -> None:
    inventory = Inventory.from_objects([device_class("gpu", NVIDIA_CLASS), slice_of("n1", [h100("gpu-0")])])
    plan = inventory.plan({"tier": "gpu", "where": ['device.attributes["gpu.nvidia.com"].index == 0']})
    assert plan.verdict == "invalid"
    assert "gpu-0 of n1" in plan.findings[0]["message"]
    assert codes(plan) == {"condition-error": 1}


def test_a_faulty_condition_that_no_free_device_meets_does_no_harm() -> None:
    objects = [
        device_class("gpu", NVIDIA_CLASS),
        slice_of("n1", [h100("gpu-0"), h100("gpu-1", index=0)]),
        held("x", ("gpu.nvidia.com", "n1", "gpu-0")),
    ]
    plan = Inventory.from_objects(objects).plan(
        {"tier": "gpu", "where": ['device.attributes["gpu.nvidia.com"].index == 0']}
    )
    assert plan.verdict == "fits"


def test_memory_read_as_an_attribute_is_a_failing_condition_not_a_lack_of_devices() -> None:
    inventory = Inventory.from_objects(
        [
            example_class(),
            slice_of("n1", [device("gpu-0", "8Gi"), device("gpu-1", "24Gi")], "gpu.example.com"),
        ]
    )
    asked = request("gpu", "gpu.example.com", 'device.attributes["gpu.example.com"].memory == "16Gi"')
    plan = inventory.plan(claim("c", asked))
    assert plan.verdict == "invalid"
    assert "no such key: memory" in plan.findings[0]["message"]


def test_an_expression_that_does_not_compile_is_found_before_any_device() -> None:
    inventory = Inventory.from_objects([device_class("gpu", NVIDIA_CLASS)])
    plan = inventory.plan(claim("c", request("gpu", "gpu", "device.name == 'gpu-0'")))
    assert plan.verdict == "invalid"
    assert plan.findings[0]["path"] == "spec.devices.requests[0].exactly.selectors[0].cel.expression"


def test_an_attribute_without_a_domain_in_a_constraint_is_an_error_of_its_own() -> None:
    inventory = Inventory.from_objects([example_class(), example_slice("n1", "gpu-0", "gpu-1")])
    pair = claim(
        "pair", request("gpu", "gpu.example.com", count=2), constraints=[{"matchAttribute": "pcieRoot"}]
    )
    plan = inventory.plan(pair)
    assert plan.verdict == "invalid"
    assert plan.findings[0]["path"] == "spec.devices.constraints[0].matchAttribute"


def test_fields_at_the_level_of_older_versions_are_invalid() -> None:
    inventory = Inventory.from_objects([example_class()])
    flat = claim("c", {"name": "gpu", "deviceClassName": "gpu.example.com"})
    plan = inventory.plan(flat)
    assert plan.verdict == "invalid"
    assert plan.findings[0]["path"] == "spec.devices.requests[0]"


def test_a_class_that_does_not_exist_is_named_with_those_that_do() -> None:
    inventory = Inventory.from_objects(
        [device_class("domain-channel", 'device.driver == "domain.example.com"'), node("n1")]
    )
    plan = inventory.plan(claim("c", request("gpu", "gpu.nvidia.com")))
    assert plan.verdict == "impossible"
    assert plan.findings[0]["code"] == "class-missing"
    assert "gpu.nvidia.com does not exist" in plan.findings[0]["message"]
    assert "domain-channel" in plan.findings[0]["message"]


def test_without_any_class_the_answer_stays_open() -> None:
    inventory = Inventory.from_objects([slice_of("n1", [h100("gpu-0")])])
    plan = inventory.plan({"tier": "gpu"})
    assert plan.verdict == "unknown"
    assert [reason["code"] for reason in plan.certainty["reasons"]] == ["classes-not-given"]


def test_all_on_a_node_without_devices_is_refused_and_the_other_node_gives_both() -> None:
    objects = [node("node-a"), node("node-b"), example_class(), example_slice("node-b", "gpu-0", "gpu-1")]
    everything = claim("all", request("gpu", "gpu.example.com", allocationMode="All"))
    plan = Inventory.from_objects(objects).plan(everything)
    assert plan.verdict == "fits"
    assert [entry["name"] for entry in plan.nodes] == ["node-b"]
    assert len(plan.nodes[0]["devices"]) == 2
    alone = Inventory.from_objects([objects[0], objects[2]]).plan(everything)
    assert alone.verdict == "impossible"
    assert "No node publishes a device of class gpu.example.com" in alone.findings[0]["message"]


def test_all_with_one_busy_device_is_busy_and_two_would_do() -> None:
    objects = [
        example_class(),
        example_slice("node-a", "gpu-0", "gpu-1", "gpu-2"),
        held("training", ("gpu.example.com", "node-a", "gpu-1"), namespace="team-b"),
    ]
    everything = claim("everything", request("gpu", "gpu.example.com", allocationMode="All"))
    plan = Inventory.from_objects(objects).plan(everything, detail="full")
    assert plan.verdict == "busy"
    assert codes(plan) == {"taken": 1, "one-node": 2}
    assert adds_up(plan)
    assert plan.holders[0]["namespace"] == "team-b" and plan.holders[0]["claim"] == "training"
    assert plan.relaxations[0]["code"] == "fewer-devices"
    assert plan.relaxations[0]["change"] == {"count": 2}


def test_all_that_breaks_a_constraint_only_while_its_match_is_taken_is_busy() -> None:
    """The scheduler ends its whole attempt on what is left; with the matching device free it succeeds."""
    devices = [device("gpu-0", root="r0"), device("gpu-1", root="r0", uuid="a1"), device("gpu-2", root="r2")]
    objects = [example_class(), slice_of("node-a", devices, driver="gpu.example.com")]
    first = request("first", "gpu.example.com")
    rest = request(
        "rest",
        "gpu.example.com",
        'device.attributes["gpu.example.com"].?uuid.orValue("") == "a1"',
        allocationMode="All",
    )
    wish = claim("pair", first, rest, constraints=[{"matchAttribute": "gpu.example.com/root"}])
    assert Inventory.from_objects(objects).plan(wish).verdict == "fits"
    taken = held("one", ("gpu.example.com", "node-a", "gpu-0"))
    plan = Inventory.from_objects([*objects, taken]).plan(wish, detail="full")
    assert (plan.verdict, plan.launch["can"]) == ("busy", "wait")
    assert adds_up(plan) and codes(plan)["taken"] == 1
    assert [one["device"] for one in plan.nodes[0]["devices"]] == ["gpu-0", "gpu-1"]


def test_all_that_would_break_a_constraint_once_free_is_not_worth_waiting_for() -> None:
    """The scheduler ends its whole attempt when All takes devices that must match and do not."""
    mixed = [device("gpu-0", model="a"), device("gpu-1", model="b")]
    alike = [device("gpu-0", model="c"), device("gpu-1", model="c")]
    objects = [
        example_class(),
        slice_of("node-a", mixed, driver="gpu.example.com"),
        slice_of("node-b", alike, driver="gpu.example.com"),
        held("one", ("gpu.example.com", "node-a", "gpu-1")),
        held("other", ("gpu.example.com", "node-b", "gpu-1")),
    ]
    match = [{"matchAttribute": "gpu.example.com/model"}]
    everything = request("gpu", "gpu.example.com", allocationMode="All")
    plan = Inventory.from_objects(objects).plan(claim("everything", everything, constraints=match))
    assert plan.verdict == "impossible"
    assert "a claim constraint would not be satisfied" in plan.findings[0]["message"]
    without = Inventory.from_objects(objects).plan(claim("everything", everything))
    assert without.verdict == "busy"


def test_a_driver_that_publishes_no_device_is_told_from_one_that_is_not_there() -> None:
    plan = Inventory.from_objects([device_class("gpu", NVIDIA_CLASS), slice_of("node-a", [])]).plan(
        {"tier": "gpu"}
    )
    assert plan.verdict == "impossible"
    assert "publishes for node-a, but 0 devices" in plan.findings[0]["message"]
    assert "admin" in plan.findings[0]["fix"]


def test_four_devices_on_four_nodes_are_not_called_taken() -> None:
    objects = [example_class(), *(example_slice(f"node-{n}", "gpu-0") for n in "abcd")]
    plan = Inventory.from_objects(objects).plan(
        claim("four", request("gpu", "gpu.example.com", count=4)), detail="full"
    )
    assert plan.verdict == "impossible"
    assert codes(plan) == {"one-node": 4}
    assert plan.reasons[0]["params"]["most_on_one_node"] == 1
    assert plan.reasons[0]["message"] == (
        "4 devices match, but no node has more than 1. A notebook runs on one node."
    )
    assert plan.relaxations[0]["change"] == {"count": 1}


def test_network_devices_are_counted_for_every_node_that_reaches_them() -> None:
    objects = [
        example_class(),
        slice_of("fabric", [device(f"d{n}") for n in range(4)], "gpu.example.com", allNodes=True),
        node("node-a"),
        node("node-b"),
    ]
    plan = Inventory.from_objects(objects).plan(claim("four", request("gpu", "gpu.example.com", count=4)))
    assert plan.verdict == "fits"
    assert plan.counts["matching"] == 4 and plan.counts["matching_nodes"] == 2
    assert [entry["matching"] for entry in plan.nodes] == [4, 4]


def island(count: int, requests: int, in_one: bool) -> tuple[Inventory, Json]:
    devices = [device(f"gpu-{n:02}", island=n % 2) for n in range(count)]
    inventory = Inventory.from_objects([example_class(), slice_of("node-a", devices, "gpu.example.com")])
    if in_one:
        parts = [request("gpu", "gpu.example.com", count=requests)]
    else:
        parts = [request(f"r{n:02}", "gpu.example.com") for n in range(requests)]
    return inventory, claim("c", *parts, constraints=[{"matchAttribute": "gpu.example.com/island"}])


@pytest.mark.threat("T36")
def test_seventeen_of_one_island_of_sixteen_is_answered_at_once() -> None:
    for in_one in (False, True):
        inventory, asked = island(31, 17, in_one)
        started = time.perf_counter()
        plan = inventory.plan(asked)
        assert time.perf_counter() - started < 1
        assert plan.verdict == "impossible"
        assert plan.reasons[0]["params"]["largest"] == 16
        assert "17 are needed, the largest group has 16" in plan.reasons[0]["message"]
        inventory, asked = island(31, 16, in_one)
        assert inventory.plan(asked).verdict == "fits"


@pytest.mark.threat("T36")
def test_a_search_without_end_is_said_to_be_undecided() -> None:
    # Parts of different sizes on one card: no shortcut sees that 15 odd sizes never add up to the rest.
    sizes = [3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53]
    parts = [
        device(
            f"p{size}",
            extra={"consumesCounters": [{"counterSet": "card", "counters": {"slots": {"value": str(size)}}}]},
        )
        for size in reversed(sizes)
    ]
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 2}
    card = [{"name": "card", "counters": {"slots": {"value": str(sum(sizes[:9]) - 1)}}}]
    inventory = Inventory.from_objects(
        [
            example_class(),
            slice_of("n1", [], "gpu.example.com", name="counters", pool=pool, sharedCounters=card),
            slice_of("n1", parts, "gpu.example.com", name="parts", pool=pool),
        ]
    )
    asked = claim("c", request("r", "gpu.example.com", count=9))
    plan = inventory.plan(asked, budget_ms=5)
    assert plan.verdict == "unknown"
    assert [reason["code"] for reason in plan.certainty["reasons"]] == ["search-budget"]
    assert plan.launch["can"] == "yes"


def test_the_larger_of_two_cards_is_had_where_the_request_leaves_it_open() -> None:
    inventory = Inventory.from_objects(
        [device_class("gpu", NVIDIA_CLASS), slice_of("n1", [h100("gpu-0"), l4("gpu-1")])]
    )
    plan = inventory.plan({"tier": "gpu", "vram": "20GB"})
    assert plan.nodes[0]["devices"][0]["label"] == "H100 80 GB"


def test_a_requirement_without_tier_takes_the_smallest_that_fits() -> None:
    objects = [
        device_class("big", NVIDIA_CLASS, 'device.attributes["gpu.nvidia.com"].architecture == "Hopper"'),
        device_class("small", NVIDIA_CLASS, 'device.attributes["gpu.nvidia.com"].architecture == "Ampere"'),
        slice_of("n1", [h100("gpu-0")]),
        slice_of("n2", [a100("gpu-0")]),
    ]
    plan = Inventory.from_objects(objects).plan({"vram": "20GB"})
    assert plan.verdict == "fits"
    assert plan.nodes[0]["name"] == "n2" and plan.nodes[0]["likely"]
    assert plan.nodes[0]["devices"][0]["request"] == "gpu/1"
    assert {entry["name"] for entry in plan.nodes} == {"n1", "n2"}


def test_the_likely_node_is_listed_first_however_many_others_have_more_devices_free() -> None:
    slices = [slice_of("a-first", [h100("gpu-0")])]
    slices += [slice_of(f"n{number:03}", [h100("gpu-0"), h100("gpu-1")]) for number in range(80)]
    inventory = Inventory.from_objects([device_class("gpu", NVIDIA_CLASS), *slices])
    plan = inventory.plan({"tier": "gpu"})
    assert (plan.nodes[0]["name"], plan.nodes[0]["likely"]) == ("a-first", True)
    assert len(plan.nodes) == 50 and plan.nodes_left_out == 31
    assert sum(node["likely"] for node in plan.nodes) == 1


def test_an_outlook_says_what_the_plan_says_without_its_reasons() -> None:
    inventory = Inventory.from_objects(
        [device_class("gpu", NVIDIA_CLASS), slice_of("n1", [h100("gpu-0"), a100("gpu-1")])]
    )
    for wish in ({"tier": "gpu"}, {"tier": "gpu", "vram": "80GB"}, {"tier": "gpu", "vram": "1TB"}):
        plan = inventory.plan(wish).as_dict()
        assert inventory.outlook(wish) == {
            **{key: plan[key] for key in ("verdict", "counts", "nodes", "nodes_left_out")},
            "sure": plan["certainty"]["sure"],
        }


def test_a_requirement_no_tier_can_meet_still_gets_a_reason_per_device() -> None:
    plan = Inventory.from_objects([device_class("gpu", NVIDIA_CLASS), slice_of("n1", [h100("gpu-0")])]).plan(
        {"vram": "500GB"}, detail="full"
    )
    assert plan.verdict == "impossible"
    assert codes(plan) == {"memory": 1}
    assert plan.relaxations[0]["change"] == {"vram": "80GB"}


def test_nodes_that_take_no_pods_do_not_count() -> None:
    objects = [
        device_class("gpu", NVIDIA_CLASS),
        slice_of("n1", [h100("gpu-0")]),
        slice_of("n2", [h100("gpu-0")]),
        node("n1", spec={"unschedulable": True}),
        node("n2", status={"conditions": [{"type": "Ready", "status": "False"}]}),
    ]
    inventory = Inventory.from_objects(objects)
    plan = inventory.plan({"tier": "gpu"})
    assert plan.verdict == "impossible"
    assert codes(plan) == {"node": 2}
    inventory.apply({"type": "MODIFIED", "object": node("n1")})
    assert inventory.plan({"tier": "gpu"}).verdict == "fits"


def test_a_claim_that_is_allocated_already_fits_where_its_devices_are() -> None:
    objects = [
        device_class("gpu", NVIDIA_CLASS),
        slice_of("n1", [h100("gpu-0")]),
        slice_of("n2", [h100("gpu-0")]),
        node("n1"),
        node("n2"),
    ]
    mine = held("mine", ("gpu.nvidia.com", "n2", "gpu-0"), namespace="team-a")
    mine["status"]["allocation"]["nodeSelector"] = {
        "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}]
    }
    plan = Inventory.from_objects([*objects, mine]).plan({"claim": "mine"}, namespace="team-a")
    assert plan.verdict == "fits"
    assert [entry["name"] for entry in plan.nodes] == ["n2"]
    assert plan.nodes[0]["devices"][0]["label"] == "H100 80 GB"
    withdrawn = Inventory.from_objects([*objects[:2], *objects[3:], mine])
    assert withdrawn.plan({"claim": "mine"}, namespace="team-a").nodes[0]["devices"][0]["label"] == "gpu-0"


def test_a_claim_that_is_being_deleted_is_not_used_again_and_says_what_it_still_holds() -> None:
    going = held(
        "kernel-7-gpu",
        ("gpu.nvidia.com", "n1", "gpu-0"),
        namespace="team-a",
        deletionTimestamp="2026-11-29T20:00:00Z",
        finalizers=["resource.kubernetes.io/delete-protection"],
    )
    objects = [device_class("gpu", NVIDIA_CLASS), slice_of("n1", [h100("gpu-0")]), node("n1"), going]
    inventory = Inventory.from_objects(objects)
    plan = inventory.plan({"claim": "kernel-7-gpu"}, namespace="team-a")
    assert (plan.verdict, plan.findings[0]["code"]) == ("impossible", "claim-deleting")
    assert "since 2026-11-29T20:00:00Z and still holds n1/gpu-0" in plan.findings[0]["message"]
    assert "look at kernel-7-gpu-0, which still reserves it" in plan.findings[0]["fix"]
    assert inventory.plan({"tier": "gpu"}).verdict == "busy"
    assert inventory.devices()[0]["state"] == "releasing"


def test_a_claim_nobody_made_is_said_to_be_missing() -> None:
    plan = Inventory.from_objects([device_class("gpu", NVIDIA_CLASS)]).plan(
        {"claim": "nope"}, namespace="team-a"
    )
    assert plan.verdict == "impossible"
    assert plan.findings[0]["code"] == "claim-not-found"


def test_a_template_is_planned_as_the_claim_made_from_it() -> None:
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "own", "namespace": "team-a"},
        "spec": {"spec": {"devices": {"requests": [request("gpu", "gpu")]}}},
    }
    inventory = Inventory.from_objects(
        [device_class("gpu", NVIDIA_CLASS), slice_of("n1", [h100("g")]), template]
    )
    assert inventory.plan({"claim": "template/own"}, namespace="team-a").verdict == "fits"
    assert inventory.plan(template).verdict == "fits"


def test_how_many_devices_all_or_an_alternative_means_is_known_before_the_start() -> None:
    objects = [
        example_class(),
        device_class(
            "large", f'{EXAMPLE} && device.attributes["gpu.example.com"].?size.orValue("") == "large"'
        ),
        example_slice("node-a", *(f"gpu-{n}" for n in range(8))),
    ]
    inventory = Inventory.from_objects(objects)
    everything = inventory.plan(claim("c", request("gpu", "gpu.example.com", allocationMode="All")))
    assert len(everything.nodes[0]["devices"]) == 8
    one_or_four = claim(
        "c",
        {
            "name": "gpu",
            "firstAvailable": [
                {"name": "large", "deviceClassName": "large", "count": 1},
                {"name": "small", "deviceClassName": "gpu.example.com", "count": 4},
            ],
        },
    )
    taken = inventory.plan(one_or_four).nodes[0]["devices"]
    assert [entry["request"] for entry in taken] == ["gpu/small"] * 4


def test_the_only_device_in_use_names_the_claim_that_holds_it() -> None:
    objects = [
        example_class(),
        example_slice("node-a", "gpu-0"),
        held("gpu-sharing", ("gpu.example.com", "node-a", "gpu-0"), namespace="team-a"),
    ]
    own = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "own-gpu", "namespace": "team-a"},
        "spec": {"spec": {"devices": {"requests": [request("gpu", "gpu.example.com")]}}},
    }
    inventory = Inventory.from_objects([*objects, own])
    plan = inventory.plan({"claim": "template/own-gpu"}, namespace="team-a", detail="full")
    assert plan.verdict == "busy" and plan.launch["can"] == "wait"
    assert plan.holders[0]["claim"] == "gpu-sharing"
    joined = inventory.plan({"claim": "gpu-sharing"}, namespace="team-a")
    assert joined.verdict == "fits" and joined.nodes[0]["devices"][0]["device"] == "gpu-0"


def test_a_wait_ends_as_soon_as_somebody_outside_gives_the_device_back() -> None:
    outside = held("batch", ("gpu.example.com", "node-a", "gpu-0"), namespace="elsewhere")
    inventory = Inventory.from_objects([example_class(), example_slice("node-a", "gpu-0"), outside])
    busy = inventory.plan({"tier": "gpu.example.com"}, detail="full")
    assert busy.verdict == "busy"
    assert (busy.holders[0]["who"], busy.holders[0]["namespace"]) == ("namespace", "elsewhere")
    inventory.apply({"type": "DELETED", "object": outside})
    assert inventory.plan({"tier": "gpu.example.com"}).verdict == "fits"
