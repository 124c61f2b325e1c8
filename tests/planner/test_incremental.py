"""An inventory kept up change by change says what one read afresh would say."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_dra.planner import Inventory, plan
from tests.allocator.clusters import classes, cluster, wanted

from .build import NVIDIA_CLASS, adds_up, device, device_class, h100, node, slice_of

ASKED: list[dict[str, Any]] = [
    {"tier": "gpu"},
    {"tier": "gpu", "vram": "20GB", "count": 2},
    {"tier": "gpu", "near": [{"tier": "nic"}], "align": "example.com/root"},
    {"tier": "part"},
    {"tier": "gpu", "where": ['device.attributes["gpu.example.com"].uuid.startsWith("a")']},
]


def kind(name: str, item: dict[str, Any]) -> dict[str, Any]:
    return {"kind": name, "apiVersion": "resource.k8s.io/v1", **item}


def objects_of(world: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    found = [kind("DeviceClass", item) for item in world["classes"]]
    found += [kind("ResourceSlice", item) for item in world["slices"]]
    found += [kind("ResourceClaim", item) for item in world["held"]]
    return {(item["kind"], item["metadata"]["name"]): item for item in found}


def said(inventory: Inventory) -> Any:
    plans = []
    for asked in ASKED:
        answer = inventory.plan(asked, detail="full").as_dict()
        answer["nodes"] = sorted(answer["nodes"], key=lambda entry: entry["name"])
        for entry in answer["nodes"]:
            del entry["likely"]
        answer["reasons"] = sorted((r["code"], r["devices"]) for r in answer["reasons"])
        answer["findings"] = [f["code"] for f in answer["findings"]]
        plans.append(answer)
    devices = sorted(inventory.devices(), key=lambda entry: (entry["driver"], entry["pool"], entry["name"]))
    return plans, inventory.tiers(), devices


@given(st.integers(min_value=0, max_value=10**9))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_any_order_of_changes_leads_to_the_same_answers(seed: int) -> None:
    rnd = Random(seed)
    first, second = objects_of(cluster(rnd, 4)), objects_of(cluster(rnd, 4))
    inventory = Inventory.from_objects(first.values())
    said(inventory)
    now = dict(first)
    for key in rnd.sample(sorted({*first, *second}), k=min(12, len({*first, *second}))):
        if key in second and (key not in now or rnd.random() < 0.6):
            event = "MODIFIED" if key in now else "ADDED"
            inventory.apply({"type": event, "object": second[key]})
            now[key] = second[key]
        elif key in now and key[0] != "DeviceClass":
            inventory.apply({"type": "DELETED", "object": now.pop(key)})
        if rnd.random() < 0.3:
            inventory.plan(ASKED[0])
    fresh = Inventory.from_objects(now.values())
    assert said(inventory)[0] == said(fresh)[0]
    assert said(inventory)[2] == said(fresh)[2]


@given(st.integers(min_value=0, max_value=10**9))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_reasons_always_add_up_to_all_devices(seed: int) -> None:
    rnd = Random(seed)
    world = cluster(rnd, 4)
    inventory = Inventory.from_objects(objects_of(world).values())
    for asked in (*ASKED, wanted(rnd)[0]):
        answer = inventory.plan(asked)
        if answer.verdict in ("fits", "busy", "impossible"):
            assert adds_up(answer), answer.as_dict()


@pytest.mark.threat("T36")
def test_a_slice_that_cannot_be_read_does_not_break_the_others() -> None:
    bad = slice_of("n2", [device("gpu-0", "80 GB")])
    inventory = Inventory.from_objects(
        [device_class("gpu", NVIDIA_CLASS), slice_of("n1", [h100("gpu-0")]), bad]
    )
    assert inventory.plan({"tier": "gpu"}).verdict == "fits"
    assert list(inventory.unreadable) == ["0-gpu.nvidia.com-n2"]
    inventory.apply({"type": "MODIFIED", "object": slice_of("n2", [h100("gpu-0")])})
    assert inventory.unreadable == {} and inventory.plan({"tier": "gpu"}).counts["matching"] == 2


def test_lists_of_any_nesting_are_read() -> None:
    typed = {
        "kind": "ResourceSliceList",
        "items": [{k: v for k, v in slice_of("n1", [h100("g")]).items() if k != "kind"}],
    }
    whole = {"kind": "List", "items": [typed, device_class("gpu", NVIDIA_CLASS), {"kind": "ConfigMap"}]}
    assert plan({"tier": "gpu"}, whole).verdict == "fits"


def test_nodes_are_read_off_the_slices_when_none_are_given() -> None:
    everywhere = slice_of("fabric", [device("d0")], "gpu.example.com", allNodes=True)
    rack = slice_of(
        "rack",
        [device("d1")],
        "gpu.example.com",
        nodeSelector={
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "rack", "operator": "In", "values": ["a"]}]}]
        },
    )
    some = device_class("gpu", 'device.driver == "gpu.example.com"')
    assert plan({"tier": "gpu"}, [some, everywhere]).verdict == "fits"
    assert plan({"tier": "gpu"}, [some, rack]).verdict == "fits"
    both = plan({"tier": "gpu", "count": 2}, [some, everywhere, rack])
    assert both.verdict == "fits" and both.counts["nodes"] == 1
    inventory = Inventory.from_objects([some, everywhere, node("n1"), rack])
    assert inventory.plan({"tier": "gpu", "count": 2}).verdict == "impossible"


def test_the_revision_counts_changes() -> None:
    inventory = Inventory.from_objects(kind("DeviceClass", item) for item in classes())
    before = inventory.revision
    inventory.apply({"type": "ADDED", "object": slice_of("n1", [h100("gpu-0")])})
    inventory.apply({"type": "BOOKMARK", "object": {"kind": "ResourceSlice"}})
    assert inventory.revision == before + 1
