"""Tier statistics, the list of devices, and the expression assistant."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_dra.claims import Requirement
from jupyter_dra.planner import Inventory
from jupyter_dra.planner.naming import size_label

from .build import NVIDIA_CLASS, a100, device, device_class, h100, held, l4, node, slice_of


def lab() -> Inventory:
    return Inventory.from_objects(
        [
            device_class(
                "large",
                NVIDIA_CLASS,
                'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("64G")) >= 0',
                display_name="High-memory GPU",
                price_per_hour="2.90 EUR",
                defaults='{"lease": "4h"}',
                limits='{"lease": "12h", "counts": {"min": 1, "max": 4}}',
            ),
            device_class("any", NVIDIA_CLASS),
            device_class("mig", "device.attributes['gpu.nvidia.com'].?type.orValue('') == 'mig'"),
            device_class("tpu", 'device.driver == "tpu.google.com"'),
            device_class("broken", NVIDIA_CLASS, defaults="{not json", price_per_hour="much"),
            slice_of("n1", [h100("gpu-0"), h100("gpu-1")]),
            slice_of("n2", [l4("gpu-0"), a100("gpu-1")]),
            slice_of("n3", [device("0", tpuGen="v6e")], "tpu.google.com"),
            held("x", ("gpu.nvidia.com", "n1", "gpu-0"), namespace="team-b"),
        ]
    )


def test_a_tier_tells_devices_sizes_products_price_and_limits() -> None:
    tier = next(entry for entry in lab().tiers() if entry["name"] == "large")
    assert tier["display_name"] == "High-memory GPU"
    assert (tier["device_kind"], tier["drivers"], tier["devices"], tier["nodes"]) == (
        "gpu",
        ["gpu.nvidia.com"],
        2,
        1,
    )
    assert (tier["free"], tier["free_at_most"]) == (1, 1)
    assert tier["sizes"] == [
        {
            "label": "80 GB",
            "min_bytes": 85520809984,
            "max_bytes": 85520809984,
            "devices": 2,
            "free": 1,
            "out_of_service": 0,
            "free_at_most": 1,
        }
    ]
    assert tier["products"] == [{"name": "NVIDIA H100 80GB HBM3", "devices": 2}]
    assert tier["price"] == {"amount": "2.90", "currency": "EUR", "per": "hour"}
    assert tier["defaults"] == {"lease": "4h"}
    assert tier["limits"]["lease_seconds"] == 43200 and tier["limits"]["counts"] == [1, 2, 3, 4]
    assert tier["available"] and tier["why_not"] is None
    assert tier["most_on_one_node"] == 2


def test_what_the_admin_says_of_single_tiers_is_what_the_list_says() -> None:
    own = {"name": "lab", "device_class": "large", "price_per_hour": "1 EUR", "limits": {"idle": "10m"}}
    listed = {row["name"]: row for row in lab().tiers([own])}
    words = lab().tier_words(["large", "lab", "nobody"], [own])
    assert set(words) == {"large", "lab"}
    for name, told in words.items():
        assert told == {key: listed[name][key] for key in told}
    assert words["lab"]["limits"]["idle_seconds"] == 600


def test_any_gpu_counts_each_device_once_that_a_visible_gpu_tier_offers() -> None:
    marked = h100("gpu-9", extra={"taints": [{"key": "k", "effect": "NoSchedule"}]})
    secret = device_class("secret", 'device.driver == "gpu.secret.com"', hidden="true")
    inventory = lab()
    for item in (slice_of("n4", [marked]), secret, slice_of("n5", [h100("gpu-0")], "gpu.secret.com")):
        inventory.apply({"type": "ADDED", "object": item})
    offer = inventory.offer()
    assert (offer["devices"], offer["nodes"]) == (7, 5)
    any_gpu = offer["any_gpu"]
    assert (any_gpu["devices"], any_gpu["nodes"]) == (5, 3)
    assert (any_gpu["free"], any_gpu["out_of_service"], any_gpu["most_on_one_node"]) == (3, 1, 2)
    assert [
        (size["label"], size["devices"], size["free"], size["out_of_service"]) for size in any_gpu["sizes"]
    ] == [
        ("24 GB", 1, 1, 0),
        ("40 GB", 1, 1, 0),
        ("80 GB", 3, 1, 1),
    ]


def test_any_gpu_leaves_out_tiers_of_other_groups_and_is_nothing_without_a_gpu_tier() -> None:
    vision = device_class("vision", NVIDIA_CLASS, groups="vision")
    objects = [vision, slice_of("n1", [h100("gpu-0")])]
    assert Inventory.from_objects(objects, {"groups": ["nlp"]}).offer()["any_gpu"] is None
    seen = Inventory.from_objects(objects, {"groups": ["vision"]}).offer()["any_gpu"]
    assert seen is not None and seen["devices"] == 1


def test_without_the_right_to_see_claims_any_gpu_says_at_most() -> None:
    objects = [device_class("any", NVIDIA_CLASS), slice_of("n1", [h100("gpu-0")])]
    any_gpu = Inventory.from_objects(objects, {"claims": "namespace"}).offer()["any_gpu"]
    assert (any_gpu["free"], any_gpu["free_at_most"]) == (None, 1)


def test_generations_tell_their_vendor_and_the_compute_capability_drivers_state() -> None:
    stated = h100("gpu-0", cudaComputeCapability={"version": "9.0.0"})
    offer = Inventory.from_objects(
        [device_class("any", NVIDIA_CLASS), slice_of("n1", [stated, l4("gpu-1")])]
    ).offer()
    assert offer["tiers"][0]["architectures"] == [
        {"name": "Ada Lovelace", "vendor": "nvidia.com", "compute_capability": None, "devices": 1},
        {"name": "Hopper", "vendor": "nvidia.com", "compute_capability": "9.0", "devices": 1},
    ]


def test_tiers_are_ordered_by_memory_and_not_by_what_is_free() -> None:
    assert [entry["name"] for entry in lab().tiers()] == ["any", "broken", "large", "mig", "tpu"]


def test_an_unreadable_annotation_never_breaks_the_list() -> None:
    tier = next(entry for entry in lab().tiers() if entry["name"] == "broken")
    assert tier["defaults"] == {} and tier["price"] is None


@pytest.mark.parametrize(
    "text", ["[" * 50_000, "[]", "null", '{"lease": 1e400}', '{"vram": {}, "counts": [[]]}']
)
def test_nonsense_in_an_annotation_reads_as_nothing(text: str) -> None:
    broken = device_class("gpu", NVIDIA_CLASS, defaults=text, limits=text, groups=text, price_per_hour=text)
    inventory = Inventory.from_objects([broken, slice_of("n1", [h100("gpu-0")])])
    [tier] = inventory.tiers()
    assert (tier["defaults"], tier["price"], tier["limits"]["lease_seconds"]) == ({}, None, None)
    assert inventory.plan({"tier": "gpu"}).verdict in ("fits", "impossible")


@pytest.mark.parametrize(
    "text", ["9" * 5000 + " EUR", "1e999999 EUR", "-1 EUR", "\u0661 EUR", "NaN EUR", "1 " + "E" * 99]
)
def test_a_price_that_nobody_can_reckon_with_is_none(text: str) -> None:
    [tier] = Inventory.from_objects([device_class("gpu", NVIDIA_CLASS, price_per_hour=text)]).tiers()
    assert tier["price"] is None


def test_a_tier_without_devices_is_shown_as_unavailable_with_its_reason() -> None:
    tier = next(entry for entry in lab().tiers() if entry["name"] == "mig")
    assert tier["available"] is False
    assert tier["why_not"] == "No node publishes a device of this class."
    lost = lab().tiers([{"name": "old", "device_class": "gone"}])
    entry = next(one for one in lost if one["name"] == "old")
    assert entry["available"] is False
    assert "The class gone does not exist" in entry["why_not"]


def test_an_admin_tier_narrows_its_class() -> None:
    tier = {
        "name": "hopper",
        "device_class": "any",
        "requirement": {"architecture": "Hopper"},
        "display_name": "Hopper",
    }
    inventory = lab()
    entry = next(one for one in inventory.tiers([tier]) if one["name"] == "hopper")
    assert (entry["devices"], entry["device_class"], entry["display_name"]) == (2, "any", "Hopper")
    plan = inventory.plan({"tier": "hopper"}, tiers=[tier])
    assert plan.claim is not None
    assert plan.claim["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"] == "any"
    assert plan.counts["matching"] == 2
    assert plan.requirement == {"tier": "hopper"}


def test_conditions_of_an_admin_tier_hold_in_alternatives_too() -> None:
    tier = {"name": "hopper", "device_class": "any", "requirement": {"where": ["1 == 1"], "vram": "40GB"}}
    plan = lab().plan({"tier": "any", "or_else": [{"tier": "hopper", "where": "2 == 2"}]}, tiers=[tier])
    assert plan.claim is not None
    alternative = plan.claim["spec"]["devices"]["requests"][0]["firstAvailable"][1]
    expressions = [one["cel"]["expression"] for one in alternative["selectors"]]
    assert expressions[-2:] == ["1 == 1", "2 == 2"]
    assert "40G" in expressions[0]


@pytest.mark.parametrize(
    ("published", "product", "label"),
    [
        (81559, "NVIDIA H100 80GB HBM3", "80 GB"),
        (81920, "NVIDIA A100-SXM4-80GB", "80 GB"),
        (23034, "NVIDIA L4", "24 GB"),
        (15360, "Tesla T4", "16 GB"),
        (46068, "NVIDIA L40S", "48 GB"),
        (143771, "NVIDIA H200", "141 GB"),
        (196592, "AMD Instinct MI300X", "192 GB"),
        (4864, None, "5 GB"),
        (40192, None, "40 GB"),
        (30000, None, "31 GB"),
        (0, None, None),
    ],
)
def test_sizes_are_labelled_as_on_the_card_and_never_promise_more(
    published: int, product: str, label: str
) -> None:
    found = size_label(published << 20, product)
    assert found == label
    if found is not None:
        assert int(found.split()[0]) * 10**9 <= published << 20


def test_a_device_tells_state_place_tiers_and_holders() -> None:
    devices = {(entry["pool"], entry["name"]): entry for entry in lab().devices()}
    taken = devices["n1", "gpu-0"]
    assert taken["state"] == "taken"
    assert taken["nodes"] == ["n1"] and taken["label"] == "H100 80 GB"
    assert taken["memory_bytes"] == 85520809984 and taken["memory_published"] == "81559Mi"
    assert taken["tiers"] == ["large", "any", "broken"]
    assert taken["attributes"]["gpu.nvidia.com/architecture"] == {"string": "Hopper"}
    assert taken["capacity"] == {"gpu.nvidia.com/memory": {"value": "81559Mi"}}
    assert taken["holders"][0]["claim"] == "x" and taken["holders"][0]["who"] == "namespace"
    assert devices["n1", "gpu-1"]["state"] == "free"
    assert devices["n3", "0"]["memory_bytes"] is None


def test_states_of_devices_out_of_service_incomplete_and_being_given_back() -> None:
    marked = h100("gpu-0", extra={"taints": [{"key": "k", "effect": "NoExecute"}]})
    leaving = held("x", ("gpu.nvidia.com", "n2", "gpu-0"), deletionTimestamp="2026-11-30T12:00:00Z")
    inventory = Inventory.from_objects(
        [
            slice_of("n1", [marked]),
            slice_of("n2", [h100("gpu-0")]),
            slice_of("n3", [h100("gpu-0")], pool={"name": "n3", "generation": 1, "resourceSliceCount": 2}),
            leaving,
        ]
    )
    assert [entry["state"] for entry in inventory.devices()] == ["out-of-service", "releasing", "incomplete"]


def test_a_slice_marked_as_simulated_makes_its_devices_so() -> None:
    marked = slice_of("n1", [h100("gpu-0")])
    marked["metadata"]["annotations"] = {"jupyter-dra.dev/simulated": "true"}
    inventory = Inventory.from_objects([marked, slice_of("n2", [h100("gpu-0")])])
    assert [entry["simulated"] for entry in inventory.devices()] == [True, False]
    inventory.apply({"type": "MODIFIED", "object": slice_of("n1", [h100("gpu-0")])})
    assert [entry["simulated"] for entry in inventory.devices()] == [False, False]


def test_devices_can_be_narrowed_to_a_tier_or_a_node() -> None:
    inventory = lab()
    assert {entry["pool"] for entry in inventory.devices(tier="tpu")} == {"n3"}
    assert {entry["name"] for entry in inventory.devices(node="n2")} == {"gpu-0", "gpu-1"}


def test_a_device_of_every_node_has_no_node_list() -> None:
    shared = slice_of("fabric", [device("d0")], "fabric.example.com", allNodes=True)
    [entry] = Inventory.from_objects([shared, node("a"), node("b")]).devices()
    assert entry["nodes"] is None


def test_unique_attributes_come_back_as_published() -> None:
    inventory = Inventory.from_objects(
        [slice_of("n1", [h100("gpu-0", uuid="GPU-1"), h100("gpu-1", uuid="GPU-2")])]
    )
    found = [entry["attributes"]["gpu.nvidia.com/uuid"] for entry in inventory.devices()]
    assert found == [{"string": "GPU-1"}, {"string": "GPU-2"}]


def test_the_assistant_points_at_the_error_while_typing() -> None:
    found = lab().assist('device.attributes["gpu.nvidia.com"].productName == ')
    assert found["valid"] is False and found["matching"] is None
    assert found["error"]["line"] == 1 and found["error"]["column"] > 1


def test_the_assistant_counts_what_matches_and_what_would_stop() -> None:
    inventory = lab()
    found = inventory.assist('device.attributes["gpu.nvidia.com"].architecture == "Hopper"', tier="any")
    assert (found["matching"], found["free"], found["failing"]) == (2, 1, 0)
    everywhere = inventory.assist('device.attributes["tpu.google.com"].tpuGen == "v6e"')
    assert (everywhere["matching"], everywhere["failing"]) == (1, 4)
    assert everywhere["failing_device"][0] == "gpu.nvidia.com"
    assert "no such key" in everywhere["failing_message"]


def test_the_assistant_evaluates_unique_attributes_device_by_device() -> None:
    inventory = Inventory.from_objects(
        [slice_of("n1", [h100("gpu-0", uuid="GPU-1"), h100("gpu-1", uuid="GPU-2")])]
    )
    found = inventory.assist('device.attributes["gpu.nvidia.com"].uuid == "GPU-2"')
    assert found["matching"] == 1


def test_the_assistant_offers_the_attributes_that_exist() -> None:
    texts = {entry["text"]: entry for entry in lab().assist("")["suggestions"]}
    assert "Hopper" in texts['device.attributes["gpu.nvidia.com"].architecture']["values"]
    assert 'device.capacity["gpu.nvidia.com"].memory' in texts


@pytest.mark.parametrize(
    ("wish", "path", "asked", "step"),
    [
        ({"tier": "large", "count": 5}, "count", 5, "Ask for 1 to 4."),
        (
            {"tier": "any", "or_else": [{"tier": "large", "count": 8}]},
            "or_else[0].count",
            8,
            "Ask for 1 to 4.",
        ),
        ({"tier": "pair", "count": 1}, "count", 1, "Ask for 2 or 4."),
        ({"tier": "node", "count": 2}, "count", 2, "Ask for all devices of a node."),
        ({"tier": "own", "count": 3}, "count", 3, "Ask for 1 or 2."),
    ],
    ids=str,
)
def test_a_number_that_a_tier_is_not_offered_in_is_refused_with_what_is(
    wish: dict[str, Any], path: str, asked: int, step: str
) -> None:
    offered = {"large": '{"min": 1, "max": 4}', "pair": "[2, 4]", "node": '"all"'}
    classes = [
        device_class(name, NVIDIA_CLASS, limits=f'{{"counts": {counts}}}') for name, counts in offered.items()
    ]
    devices = slice_of("n1", [h100(f"gpu-{number}") for number in range(8)])
    inventory = Inventory.from_objects([*classes, device_class("any", NVIDIA_CLASS), devices])
    own = {"name": "own", "device_class": "any", "limits": {"counts": [1, 2]}}
    launch = inventory.plan(wish, tiers=[own]).launch
    assert (launch["can"], launch["code"]) == ("no", "policy")
    assert (launch["params"]["path"], launch["params"]["asked"]) == (path, asked)
    assert launch["params"]["next"] == step


def test_a_number_that_nobody_asked_for_is_the_one_the_tier_is_offered_in() -> None:
    classes = [
        device_class("node", NVIDIA_CLASS, limits='{"counts": [8]}', defaults='{"count": 8}'),
        device_class("pairs", NVIDIA_CLASS, limits='{"counts": [4, 2]}'),
        device_class("fours", NVIDIA_CLASS, limits='{"counts": [2, 4]}', defaults='{"count": 4}'),
        device_class("odd", NVIDIA_CLASS, limits='{"counts": [2, 4]}', defaults='{"count": 3}'),
        device_class("twos", NVIDIA_CLASS, defaults='{"count": 2}'),
        device_class("whole", NVIDIA_CLASS, limits='{"counts": "all"}'),
        device_class("any", NVIDIA_CLASS),
    ]
    devices = slice_of("n1", [h100(f"gpu-{number}") for number in range(8)])
    inventory = Inventory.from_objects([*classes, devices])
    own = {"name": "own", "device_class": "any", "requirement": {"count": 3}, "limits": {"counts": [3]}}
    usual = {row["name"]: row["usual_count"] for row in inventory.tiers([own])}
    assert usual == {
        "node": 8, "pairs": 2, "fours": 4, "odd": 2, "twos": 2, "whole": "all", "any": 1, "own": 3,
    }  # fmt: skip
    for tier, count in usual.items():
        plan = inventory.plan({"tier": tier}, tiers=[own])
        assert (plan.verdict, plan.launch["can"], plan.requirement) == ("fits", "yes", {"tier": tier})
        asked = plan.claim["spec"]["devices"]["requests"][0]["exactly"] if plan.claim else {}
        assert asked.get("allocationMode", asked.get("count", 1)) == ("All" if count == "all" else count)


def test_each_choice_and_companion_gets_the_usual_number_of_its_own_tier() -> None:
    node = device_class("node", NVIDIA_CLASS, limits='{"counts": [8]}')
    cards = device_class("pairs", NVIDIA_CLASS, limits='{"counts": [2]}')
    inventory = Inventory.from_objects([node, cards, device_class("any", NVIDIA_CLASS)])

    def counts(wish: dict[str, Any]) -> list[Any]:
        requests = inventory.claim_for(Requirement.from_dict(wish))["spec"]["devices"]["requests"]
        bodies = [body for one in requests for body in one.get("firstAvailable") or [one["exactly"]]]
        return [body.get("count", 1) for body in bodies]

    assert counts({"tier": "any", "or_else": [{"tier": "node"}, {"vram": "80GB"}]}) == [1, 8, 1]
    assert counts({"tier": "node", "or_else": [{"tier": "any"}, {"vram": "80GB"}]}) == [8, 1, 8]
    assert counts({"tier": "node", "count": 2, "or_else": [{"tier": "any"}]}) == [2, 2]
    assert counts({"tier": "any", "near": [{"tier": "pairs"}, {"tier": "pairs", "count": 1}]}) == [1, 2, 1]


def test_a_wish_for_any_gpu_leaves_out_tiers_that_are_not_offered_one_by_one() -> None:
    node = device_class("node", NVIDIA_CLASS, limits='{"counts": [8]}')
    devices = slice_of("n1", [h100(f"gpu-{number}") for number in range(8)])
    inventory = Inventory.from_objects([node, devices])
    plan = inventory.plan({})
    assert (plan.verdict, plan.findings[0]["code"]) == ("impossible", "tier-needed")
    assert plan.findings[0]["message"] == "No tier can meet this (node: only 8 at a time)."
    assert inventory.offer()["any_gpu"] is None
    assert inventory.plan({"count": 8}).verdict == "fits"
