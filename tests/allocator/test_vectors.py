"""The recorded answers of Kubernetes' own allocator, node by node (data: tests/allocator/data/README.md)."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from jupyter_dra.allocator import ClusterState, Repairs, allocate
from jupyter_dra.errors import AllocationError
from jupyter_dra.model import Quantity

DATA = Path(__file__).parent / "data"
RANDOM_PARTS = 12
# Not merged upstream when the vectors were recorded: its answer is not ours.
OPEN_PULL_REQUEST = "#140729"


def named() -> Iterator[dict[str, Any]]:
    with (DATA / "named.jsonl").open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def recorded(part: int) -> Iterator[dict[str, Any]]:
    with gzip.open(DATA / "random.jsonl.gz", "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            if number % RANDOM_PARTS == part:
                yield json.loads(line)


def right_answer(case: Mapping[str, Any]) -> Mapping[str, Any]:
    if "later" in case and OPEN_PULL_REQUEST not in case.get("changedBy", ""):
        return {**case["expect"], **case["later"]}
    expected: Mapping[str, Any] = case["expect"]
    return expected


def ask(case: Mapping[str, Any], node: Mapping[str, Any], features: Mapping[str, Any] | None) -> Any:
    claims = {claim["metadata"]["name"]: claim for claim in case["claims"]}
    return allocate(
        node,
        [claims[name] for name in case["pod"]],
        slices=case["slices"],
        classes=case["classes"],
        allocated=[claim for claim in case["claims"] if "status" in claim],
        features=features,
        share_id=lambda: "share",
    )


def answer(case: Mapping[str, Any], node: Mapping[str, Any], features: Mapping[str, Any] | None) -> Any:
    try:
        found = ask(case, node, features)
    except AllocationError as error:
        return {"kind": error.kind, **({"node": True} if error.node_only else {})}
    return "no" if found is None else [short(allocation, node["name"]) for allocation in found]


def short(allocation: Mapping[str, Any], node: str) -> dict[str, Any]:
    """An allocation in the words of the vectors."""
    devices = []
    for result in allocation["devices"]["results"]:
        entry = {
            key: value
            for key, value in result.items()
            if key not in ("tolerations", "bindingFailureConditions")
        }
        if "consumedCapacity" in entry:
            entry["consumedCapacity"] = amounts(entry["consumedCapacity"])
        devices.append(entry)
    selector = allocation.get("nodeSelector")
    pinned = {
        "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]
    }
    found: dict[str, Any] = {"devices": devices, "nodeSelector": "node" if selector == pinned else selector}
    if allocation["devices"].get("config"):
        found["config"] = [
            {"source": e["source"], **({"requests": e["requests"]} if "requests" in e else {}), **e["opaque"]}
            for e in allocation["devices"]["config"]
        ]
    return found


def amounts(consumed: Mapping[str, str]) -> dict[str, int]:
    return {key: Quantity.parse(value).nanos for key, value in consumed.items()}


def expected(result: Any) -> Any:
    if isinstance(result, dict):
        broken = result["kind"] in ("all-incomplete-pool", "all-invalid-pool")
        return {"kind": result["kind"], **({"node": True} if result.get("node") or broken else {})}
    if isinstance(result, list):
        return [
            {
                **claim,
                "devices": [
                    {
                        **d,
                        **(
                            {"consumedCapacity": amounts(d["consumedCapacity"])}
                            if "consumedCapacity" in d
                            else {}
                        ),
                    }
                    for d in claim["devices"]
                ],
            }
            for claim in result
        ]
    return result


def by_faults(result: Any) -> Any:
    """As recorded, also where All over a broken pool ended the whole attempt."""
    if isinstance(result, dict):
        return {"kind": result["kind"], **({"node": True} if result.get("node") else {})}
    return expected(result)


@pytest.mark.parametrize("case", list(named()), ids=lambda case: case["id"])
def test_a_named_rule_is_answered_with_every_repair_applied(case: dict[str, Any]) -> None:
    for node in case["nodes"]:
        wanted = right_answer(case)[node["name"]]
        assert answer(case, node, case.get("features")) == expected(wanted), node["name"]


@pytest.mark.parametrize("case", list(named()), ids=lambda case: case["id"])
def test_a_named_rule_is_answered_as_recorded_with_the_repairs_switched_off(case: dict[str, Any]) -> None:
    features = {**case.get("features", {}), "repairs": Repairs.none()}
    for node in case["nodes"]:
        assert answer(case, node, features) == by_faults(case["expect"][node["name"]]), node["name"]


@pytest.mark.parametrize("part", range(RANDOM_PARTS))
def test_random_clusters_are_answered_as_recorded(part: int) -> None:
    for case in recorded(part):
        for node in case["nodes"]:
            found = answer(case, node, case.get("features"))
            assert found == expected(case["expect"][node["name"]]), (case["id"], node["name"])


def test_errors_have_the_words_of_kubernetes_1_37() -> None:
    wanted, found = [], []
    for case in [*named(), *(case for part in range(RANDOM_PARTS) for case in recorded(part))]:
        for node in case["nodes"]:
            expect = case["expect"][node["name"]]
            if isinstance(expect, dict) and not case.get("changedBy", "").endswith("#140431"):
                wanted.append(expect["error"])
                with pytest.raises(AllocationError) as error:
                    ask(case, node, case.get("features"))
                found.append(error.value.message)
    assert len(wanted) > 500
    assert found == wanted


@pytest.mark.parametrize("part", range(RANDOM_PARTS))
def test_one_state_asked_for_all_nodes_answers_as_one_node_asked_alone(part: int) -> None:
    for case in recorded(part):
        state = ClusterState()
        for device_class in case["classes"]:
            state.set_class(device_class)
        for slice in case["slices"]:
            state.set_slice(slice)
        for node in case["nodes"]:
            state.set_node(node["name"], node.get("labels", {}))
        claims = {claim["metadata"]["name"]: claim for claim in case["claims"]}
        for claim in claims.values():
            state.set_claim(claim)
        attempt = state.attempt([claims[name] for name in case["pod"]])
        for node in case["nodes"]:
            try:
                found = attempt.allocations(state.node(node["name"]), lambda: "share")
            except AllocationError as error:
                shared: Any = {"kind": error.kind, **({"node": True} if error.node_only else {})}
            else:
                shared = "no" if found is None else [short(a, node["name"]) for a in found]
            assert shared == expected(case["expect"][node["name"]]), (case["id"], node["name"])
