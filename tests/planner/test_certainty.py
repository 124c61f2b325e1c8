"""How sure an answer is, and what may be launched."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_dra.planner import Inventory
from jupyter_dra.planner.permission import refusal_words

from .build import NVIDIA_CLASS, claim, device, device_class, h100, held, node, request, slice_of

EXAMPLE = 'device.driver == "gpu.example.com"'


def doubts(plan: Any) -> list[str]:
    return [entry["code"] for entry in plan.certainty["reasons"]]


def four_devices() -> list[dict[str, Any]]:
    return [
        device_class("gpu", EXAMPLE),
        slice_of("node-a", [device("gpu-0"), device("gpu-1")], "gpu.example.com"),
        slice_of("node-b", [device("gpu-0"), device("gpu-1")], "gpu.example.com"),
        held("mine", ("gpu.example.com", "node-a", "gpu-0"), namespace="team-a"),
    ]


def test_with_rights_on_one_namespace_a_free_count_is_at_most() -> None:
    inventory = Inventory.from_objects(four_devices(), {"claims": "namespace", "namespaces": ["team-a"]})
    plan = inventory.plan({"tier": "gpu"}, namespace="team-a")
    assert plan.verdict == "unknown"
    assert doubts(plan) == ["claims-not-visible"]
    assert plan.counts["free"] is None and plan.counts["free_at_most"] == 3
    assert plan.launch["can"] == "yes"
    [tier] = inventory.tiers()
    assert (tier["devices"], tier["free"], tier["free_at_most"]) == (4, None, 3)
    states = sorted(entry["state"] for entry in inventory.devices())
    assert states == ["unknown", "unknown", "unknown", "yours"]


def test_with_rights_everywhere_it_is_exact() -> None:
    others = [
        held("theirs-1", ("gpu.example.com", "node-a", "gpu-1"), namespace="team-b"),
        held("theirs-2", ("gpu.example.com", "node-b", "gpu-0"), namespace="team-c"),
    ]
    inventory = Inventory.from_objects(four_devices() + others)
    plan = inventory.plan({"tier": "gpu"})
    assert plan.verdict == "fits" and plan.certainty["sure"]
    assert plan.counts["free"] == plan.counts["free_at_most"] == 1


def test_without_rights_on_slices_nothing_is_counted_and_launching_still_works() -> None:
    inventory = Inventory.from_objects([device_class("gpu", NVIDIA_CLASS)], {"slices": False})
    plan = inventory.plan({"tier": "gpu"})
    assert plan.verdict == "unknown"
    assert doubts(plan) == ["slices-not-visible"]
    assert set(plan.counts.values()) == {None}
    assert plan.launch["can"] == "yes"
    assert inventory.tiers()[0]["devices"] is None


def test_taken_stays_taken_when_others_cannot_be_seen() -> None:
    objects = [
        device_class("gpu", NVIDIA_CLASS),
        slice_of("n1", [h100("gpu-0")]),
        held("x", ("gpu.nvidia.com", "n1", "gpu-0"), namespace="team-a"),
    ]
    inventory = Inventory.from_objects(objects, {"claims": "namespace", "namespaces": ["team-a"]})
    assert inventory.plan({"tier": "gpu"}, namespace="team-a").verdict == "busy"


def test_a_device_plugin_on_the_only_fitting_node_leaves_it_open() -> None:
    objects = [
        device_class("gpu", NVIDIA_CLASS),
        node("node-a", status={"allocatable": {"cpu": "32", "nvidia.com/gpu": "2"}}),
        slice_of("node-a", [h100("gpu-0"), h100("gpu-1")]),
    ]
    inventory = Inventory.from_objects(objects)
    plan = inventory.plan({"tier": "gpu", "count": 2})
    assert plan.verdict == "unknown"
    assert doubts(plan) == ["device-plugin"]
    assert plan.certainty["reasons"][0]["params"]["devices"] == 2
    assert len(plan.nodes[0]["devices"]) == 2
    inventory.apply({"type": "ADDED", "object": node("node-b")})
    inventory.apply({"type": "ADDED", "object": slice_of("node-b", [h100("gpu-0"), h100("gpu-1")])})
    assert inventory.plan({"tier": "gpu", "count": 2}).verdict == "fits"


def test_a_plugin_of_another_vendor_does_not_matter() -> None:
    objects = [
        device_class("gpu", NVIDIA_CLASS),
        node("node-a", status={"allocatable": {"amd.com/gpu": "2", "example.com/fpga": "1"}}),
        slice_of("node-a", [h100("gpu-0")]),
    ]
    assert Inventory.from_objects(objects).plan({"tier": "gpu"}).verdict == "fits"


def test_a_pool_being_updated_leaves_it_open_only_if_it_could_help() -> None:
    half = slice_of("n1", [h100("gpu-0")], pool={"name": "n1", "generation": 1, "resourceSliceCount": 2})
    inventory = Inventory.from_objects([device_class("gpu", NVIDIA_CLASS), half])
    plan = inventory.plan({"tier": "gpu"})
    assert plan.verdict == "unknown"
    assert doubts(plan) == ["incomplete-pools"]
    assert inventory.plan({"tier": "gpu", "architecture": "Blackwell"}).verdict == "impossible"


def test_a_tier_that_scales_from_zero_is_not_impossible() -> None:
    objects = [device_class("gpu", EXAMPLE, scales_from_zero="true"), node("cpu-only")]
    plan = Inventory.from_objects(objects).plan({"tier": "gpu"})
    assert plan.verdict == "unknown"
    assert doubts(plan) == ["scales-from-zero"]
    assert plan.launch["can"] == "yes"
    without = Inventory.from_objects([device_class("gpu", EXAMPLE), node("cpu-only")]).plan({"tier": "gpu"})
    assert without.verdict == "impossible" and without.launch["can"] == "no"


def test_an_admin_tier_may_say_that_it_scales_from_zero() -> None:
    tier = {
        "name": "gpu-large",
        "device_class": "gpu",
        "requirement": {"vram": "40Gi"},
        "scales_from_zero": True,
    }
    inventory = Inventory.from_objects([device_class("gpu", EXAMPLE), node("cpu-only")])
    assert inventory.plan({"tier": "gpu-large"}, tiers=[tier]).verdict == "unknown"
    assert inventory.tiers([tier])[-1]["available"] is True


def quota(**hard: str) -> dict[str, Any]:
    resource = "gpu.deviceclass.resource.k8s.io/devices"
    return {
        "kind": "ResourceQuota",
        "metadata": {"name": "team", "namespace": "team-a"},
        "spec": {"hard": {resource: hard["devices"]}},
        "status": {"used": {resource: hard["used"]}},
    }


def test_a_full_quota_forbids_the_launch_without_changing_the_verdict() -> None:
    objects = [
        device_class("gpu", NVIDIA_CLASS),
        slice_of("n1", [h100("gpu-0")]),
        quota(devices="8", used="8"),
    ]
    inventory = Inventory.from_objects(objects)
    plan = inventory.plan({"tier": "gpu"}, namespace="team-a")
    assert plan.verdict == "fits"
    assert plan.launch["can"] == "no" and plan.launch["code"] == "quota"
    assert plan.launch["params"]["hard"] == 8 and plan.launch["params"]["used"] == 8
    assert inventory.plan({"tier": "gpu"}, namespace="team-b").launch["can"] == "yes"


def test_quota_charges_every_class_of_the_alternatives_and_thirty_two_for_all() -> None:
    objects = [
        device_class("gpu", NVIDIA_CLASS),
        device_class("other", NVIDIA_CLASS),
        slice_of("n1", [h100("g")]),
    ]
    inventory = Inventory.from_objects(objects)
    plan = inventory.plan({"tier": "gpu", "count": 2, "or_else": [{"tier": "other", "count": 4}]})
    assert plan.charges["gpu.deviceclass.resource.k8s.io/devices"] == 2
    assert plan.charges["other.deviceclass.resource.k8s.io/devices"] == 4
    everything = inventory.plan(claim("c", request("r", "gpu", allocationMode="All")))
    assert everything.charges["gpu.deviceclass.resource.k8s.io/devices"] == 32


def test_the_users_own_limit_and_the_admins_policy_are_told_apart() -> None:
    inventory = Inventory.from_objects([device_class("gpu", NVIDIA_CLASS), slice_of("n1", [h100("gpu-0")])])
    limited = inventory.plan(
        {"tier": "gpu"}, limits={"devices": {"limit": 2, "held": 2, "names": ["a", "b"]}}
    )
    assert limited.launch["code"] == "limit" and limited.launch["params"]["names"] == ["a", "b"]
    policy = {"policy": {"allowed": False, "message": "Only group vision may use gpu."}}
    assert inventory.plan({"tier": "gpu"}, limits=policy).launch["code"] == "policy"
    assert inventory.plan({"tier": "gpu", "count": 3}, limits={"counts": [1, 2]}).launch["can"] == "no"


def test_a_quota_that_cannot_be_seen_is_said() -> None:
    objects = [device_class("gpu", NVIDIA_CLASS), slice_of("n1", [h100("gpu-0")])]
    plan = Inventory.from_objects(objects, {"quota": False}).plan({"tier": "gpu"})
    assert plan.verdict == "fits"
    assert doubts(plan) == ["quota-unknown"]


def test_a_cluster_that_does_not_tell_its_version_leaves_a_doubt() -> None:
    objects = [device_class("gpu", NVIDIA_CLASS), slice_of("n1", [h100("gpu-0")])]
    plan = Inventory.from_objects(objects, {"version": None}).plan({"tier": "gpu"})
    assert plan.verdict == "fits"
    assert doubts(plan) == ["version-unknown"]
    assert doubts(Inventory.from_objects(objects).plan({"tier": "gpu"})) == []


def test_features_follow_the_version_of_the_cluster() -> None:
    tainted = h100("gpu-0")
    tainted["taints"] = [{"key": "example.com/broken", "effect": "NoSchedule"}]
    objects = [device_class("gpu", NVIDIA_CLASS), slice_of("n1", [tainted])]
    # Device taints are off by default before 1.36: the scheduler does not look at them.
    verdicts = {
        version: Inventory.from_objects(objects, {"version": version}).plan({"tier": "gpu"}).verdict
        for version in ("1.35", "1.36")
    }
    assert verdicts == {"1.35": "fits", "1.36": "impossible"}


def test_a_tier_of_another_group_is_not_offered_and_not_allowed() -> None:
    objects = [
        device_class("gpu", NVIDIA_CLASS, groups="vision, nlp"),
        device_class("open", NVIDIA_CLASS),
        slice_of("n1", [h100("gpu-0")]),
    ]
    inventory = Inventory.from_objects(objects, {"groups": ["audio"]})
    named = inventory.plan({"tier": "gpu"})
    assert named.launch["code"] == "policy"
    assert named.launch["params"]["message"] == "Only group nlp or vision may use gpu."
    unnamed = inventory.plan({"vram": "10GB"})
    assert unnamed.launch["can"] == "yes"
    assert set(unnamed.charges) == {
        "count/resourceclaims.resource.k8s.io",
        "open.deviceclass.resource.k8s.io/devices",
    }
    assert Inventory.from_objects(objects, {"groups": ["nlp"]}).plan({"tier": "gpu"}).launch["can"] == "yes"


def test_a_tier_whose_quota_is_used_up_is_left_out_of_any_gpu() -> None:
    objects = [
        device_class("gpu", NVIDIA_CLASS),
        device_class("open", NVIDIA_CLASS),
        slice_of("n1", [h100("gpu-0")]),
        quota(devices="8", used="8"),
    ]
    plan = Inventory.from_objects(objects).plan({"vram": "10GB"}, namespace="team-a")
    assert "gpu.deviceclass.resource.k8s.io/devices" not in plan.charges
    assert plan.launch["can"] == "yes"


def test_a_literal_size_that_shuts_cards_out_is_warned_about() -> None:
    inventory = Inventory.from_objects([device_class("gpu", NVIDIA_CLASS), slice_of("n1", [h100("gpu-0")])])
    [finding] = inventory.plan({"tier": "gpu", "vram": "80Gi"}).findings
    assert (finding["code"], finding["severity"]) == ("literal-size", "warning")
    assert finding["fix"] == "Write 80GB to mean what is on the card."
    assert inventory.plan({"tier": "gpu", "vram": "80GB"}).findings == []


def test_a_decimal_upper_bound_says_that_it_leaves_out_the_cards_sold_under_it() -> None:
    inventory = Inventory.from_objects([device_class("gpu", NVIDIA_CLASS), slice_of("n1", [h100("gpu-0")])])
    plan = inventory.plan({"tier": "gpu", "max_vram": "80GB"})
    assert plan.verdict == "impossible"
    [finding] = [one for one in plan.findings if one["code"] == "decimal-limit"]
    assert (finding["path"], finding["fix"]) == ("max_vram", "Write 80Gi to take them in.")
    assert inventory.plan({"tier": "gpu", "max_vram": "80Gi"}).verdict == "fits"


def test_aligning_on_what_a_driver_does_not_state_is_warned_about() -> None:
    objects = [device_class("gpu", NVIDIA_CLASS), slice_of("n1", [h100("gpu-0"), h100("gpu-1")])]
    plan = Inventory.from_objects(objects).plan({"tier": "gpu", "count": 2, "align": "numaNode"})
    assert plan.verdict == "impossible"
    assert [finding["code"] for finding in plan.findings] == ["attribute-missing"]


@pytest.mark.parametrize(
    ("code", "params", "words"),
    [
        ("limit", {"limit": 1, "held": 1, "names": ["a"]}, "You may hold 1 device and hold 1: a."),
        ("limit", {"limit": 2, "held": 2, "names": []}, "You may hold 2 devices and hold 2."),
        ("policy", {"message": "Only group vision may use x."}, "Only group vision may use x."),
        ("policy", {}, "The policy does not allow it."),
    ],
)
def test_what_is_not_allowed_is_told_in_a_sentence(code: str, params: dict[str, Any], words: str) -> None:
    told = refusal_words({"can": "no", "code": code, "params": params})
    assert told is not None and told[1] == words
    assert refusal_words({"can": "wait", "code": None, "params": {}}) is None
