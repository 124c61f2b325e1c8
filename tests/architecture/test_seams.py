"""The functions other people's programs call, with plain data in and out."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from jupyter_dra.allocator import allocate
from jupyter_dra.cel import compile_selector
from jupyter_dra.checker import check
from jupyter_dra.claims import Requirement, build_claim
from jupyter_dra.errors import AllocationError, CELCompileError, CELRuntimeError, RequirementError
from jupyter_dra.planner import Inventory

VECTORS = Path(__file__).parents[1] / "allocator" / "data"
KINDS = {
    "cel-runtime",
    "cel-compile",
    "class-missing",
    "too-many-devices",
    "all-incomplete-pool",
    "all-invalid-pool",
    "all-constraint",
    "invalid-pools",
    "feature-disabled",
}
CLASS = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu.example.com"},
    "spec": {"selectors": [{"cel": {"expression": 'device.driver == "gpu.example.com"'}}]},
}


def a_slice(node: str, *devices: str) -> dict[str, Any]:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    entries = [{"name": name, "capacity": {"memory": {"value": "40Gi"}}} for name in devices]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-slice"},
        "spec": {"driver": "gpu.example.com", "nodeName": node, "pool": pool, "devices": entries},
    }


def a_claim(name: str, count: int = 1, device: str | None = None) -> dict[str, Any]:
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com", "count": count}}
    claim: dict[str, Any] = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"devices": {"requests": [request]}},
    }
    if device:
        result = {"request": "gpu", "driver": "gpu.example.com", "pool": "node-a", "device": device}
        claim["status"] = {"allocation": {"devices": {"results": [result]}}}
    return claim


def vectors() -> Iterator[dict[str, Any]]:
    with (VECTORS / "named.jsonl").open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)
    with gzip.open(VECTORS / "random.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, islice(lines, 30))


def test_a_selector_takes_its_text_and_a_version_and_judges_a_plain_device() -> None:
    device = {"driver": "d.example.com", "attributes": {"m": {"string": "x"}}}
    assert compile_selector('device.attributes["d.example.com"].m == "x"').evaluate(device) is True
    assert compile_selector('device.driver == "e.example.com"', version="1.36").evaluate(device) is False
    with pytest.raises(CELRuntimeError):
        compile_selector('device.attributes["d.example.com"].n == "x"').evaluate(device)
    with pytest.raises(CELCompileError) as error:
        compile_selector("device.driver ==", "1.37")
    assert (error.value.line, error.value.column) >= (1, 1)


def test_allocation_answers_in_whole_allocations_none_or_an_error_of_a_known_kind() -> None:
    seen: set[str] = set()
    only: set[object] = set()
    for case in vectors():
        claims = {claim["metadata"]["name"]: claim for claim in case["claims"]}
        held = [claim for claim in case["claims"] if "status" in claim]
        for node in case["nodes"]:
            try:
                found = allocate(
                    node,
                    [claims[name] for name in case["pod"]],
                    slices=case["slices"],
                    classes=case["classes"],
                    allocated=held,
                    features={"version": "1.37", **case.get("features", {})},
                )
            except AllocationError as error:
                seen.add(error.kind)
                only.add(error.node_only)
                continue
            seen.add("no" if found is None else "fits")
            for allocation in found or []:
                assert isinstance(allocation["devices"]["results"], list)
    assert {"no", "fits", "cel-runtime", "all-constraint"} <= seen <= {"no", "fits", *KINDS}
    assert only == {True, False}


def test_shares_get_their_ids_from_the_caller_and_count_otherwise() -> None:
    shared = a_slice("node-a", "gpu-0")
    shared["spec"]["devices"][0]["allowMultipleAllocations"] = True

    def ids(claims: list[dict[str, Any]], **more: Any) -> list[str]:
        node = {"name": "node-a", "labels": {}}
        found = allocate(node, claims, slices=[shared], classes=[CLASS], **more)
        assert found is not None
        return [result["shareID"] for one in found for result in one["devices"]["results"]]

    halves = [a_claim("one"), a_claim("two")]
    for half in halves:
        half["spec"]["devices"]["requests"][0]["exactly"]["capacity"] = {"requests": {"memory": "20Gi"}}
    shared["spec"]["devices"][0]["capacity"]["memory"]["requestPolicy"] = {
        "default": "20Gi",
        "validRange": {"min": "1Gi"},
    }
    assert len(set(ids(halves))) == 2
    assert ids(halves[:1], share_id=lambda: "mine") == ["mine"]


def test_an_inventory_takes_any_kinds_and_lists_and_infers_nodes() -> None:
    listed = {"kind": "List", "items": [CLASS, {"kind": "ConfigMap", "metadata": {"name": "other"}}]}
    slices = {"kind": "ResourceSliceList", "items": [a_slice("node-a", "gpu-0", "gpu-1")]}
    inventory = Inventory.from_objects([listed, slices])
    plan = inventory.plan(a_claim("new"))
    assert plan.verdict == "fits"
    assert [node["name"] for node in plan.as_dict()["nodes"]] == ["node-a"]
    assert inventory.plan([a_claim("one"), a_claim("two")]).verdict == "fits"
    assert inventory.plan([a_claim("one"), a_claim("two", 2)]).verdict == "impossible"
    assert inventory.plan(Requirement(tier="gpu.example.com")).verdict == "fits"


def test_an_inventory_follows_watch_events() -> None:
    inventory = Inventory.from_objects([CLASS, a_slice("node-a", "gpu-0")])
    wanted = a_claim("new")
    assert inventory.plan(wanted).verdict == "fits"
    inventory.apply({"type": "ADDED", "object": a_claim("other", device="gpu-0")})
    plan = inventory.plan(wanted, namespace="default", detail="full", budget_ms=2_000)
    assert plan.verdict == "busy"
    answer = plan.as_dict()
    assert "context" not in answer
    assert {"kind", "version", "verdict", "launch", "certainty", "claim", "counts"} <= answer.keys()
    assert {
        "nodes",
        "nodes_left_out",
        "reasons",
        "holders",
        "relaxations",
        "charges",
        "findings",
    } <= answer.keys()
    assert sum(reason["devices"] for reason in answer["reasons"]) == answer["counts"]["devices"]
    inventory.apply({"type": "DELETED", "object": a_claim("other", device="gpu-0")})
    inventory.apply({"type": "MODIFIED", "object": a_slice("node-a", "gpu-0", "gpu-1")})
    assert inventory.plan(a_claim("new", 2)).verdict == "fits"
    inventory.apply({"type": "BOOKMARK", "object": {"kind": "ResourceSlice", "metadata": {}}})
    inventory.apply({"type": "DELETED", "object": a_slice("node-a")})
    assert inventory.plan(wanted).verdict == "impossible"


def test_findings_count_documents_from_zero_and_keep_the_servers_path() -> None:
    flat = (
        "kind: ResourceClaim\nspec: {devices: {requests: [{name: gpu, deviceClassName: gpu.example.com}]}}\n"
    )
    text = "".join(
        f"---\napiVersion: resource.k8s.io/v1\nmetadata: {{name: {name}}}\n{flat}" for name in ("a", "b")
    )
    found = [finding for finding in check(text).as_dict()["findings"] if finding["code"] == "field-moved"]
    assert [finding["document"] for finding in found] == [0, 1]
    assert {finding["path"] for finding in found} == {"spec.devices.requests[0].deviceClassName"}


def test_a_claim_without_tier_and_classes_asks_for_a_tier() -> None:
    with pytest.raises(RequirementError) as error:
        build_claim(Requirement(), name="any")
    assert error.value.code == "tier-needed"
