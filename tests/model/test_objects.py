"""Objects read from JSON keep everything and forgive much."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_dra.model import (
    AttributeValue,
    DeviceClass,
    DeviceID,
    DeviceTaintRule,
    Node,
    NodeSelector,
    Pod,
    Quantity,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceQuota,
    ResourceSlice,
    Toleration,
)
from jupyter_dra.model.taints import DeviceTaint

KINDS = [
    DeviceClass,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
    DeviceTaintRule,
    Node,
    Pod,
    ResourceQuota,
]
json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = [
    "metadata", "spec", "status", "devices", "requests", "exactly", "firstAvailable", "selectors", "taints", "pool",
    "allocation", "results", "name", "labels", "nodeSelector", "nodeSelectorTerms", "containers", "resources", "claims",
]  # fmt: skip
shaped = st.recursive(
    json,
    lambda inner: st.dictionaries(st.sampled_from(FIELDS), inner | st.lists(inner, max_size=2), max_size=4),
)

CLAIM: dict[str, Any] = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "c", "namespace": "team-a", "uid": "u", "x-unknown": 1},
    "spec": {
        "devices": {
            "requests": [
                {
                    "name": "gpu",
                    "exactly": {
                        "deviceClassName": "gpu",
                        "count": 2,
                        "selectors": [{"cel": {"expression": "true"}}],
                        "tolerations": [{"key": "k", "operator": "Exists"}],
                        "capacity": {"requests": {"memory": "10Gi"}},
                        "notYetKnown": {"a": [1]},
                    },
                },
                {"name": "any", "firstAvailable": [{"name": "one", "deviceClassName": "a"}]},
            ],
            "constraints": [{"requests": ["gpu"], "matchAttribute": "d/a"}],
            "config": [{"opaque": {"driver": "d", "parameters": {"kind": "X"}}}],
        }
    },
    "status": {
        "allocation": {
            "devices": {
                "results": [{"request": "gpu", "driver": "d", "pool": "p", "device": "x", "shareID": "s"}]
            },
            "nodeSelector": {
                "nodeSelectorTerms": [
                    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}
                ]
            },
        },
        "reservedFor": [{"resource": "pods", "name": "p", "uid": "u1"}],
    },
}


def test_a_claim_is_typed_and_loses_nothing() -> None:
    claim = ResourceClaim.from_dict(CLAIM)
    (gpu, alternatives) = claim.spec.requests
    assert gpu.exactly is not None
    assert (gpu.exactly.count, gpu.exactly.allocation_mode, gpu.exactly.selectors) == (
        2,
        "ExactCount",
        ("true",),
    )
    assert gpu.exactly.capacity_requests == {"memory": Quantity.parse("10Gi")}
    assert [name for name, _ in alternatives.bodies()] == ["any/one"]
    assert claim.status.allocation is not None
    assert claim.status.allocation.results[0].id == DeviceID("d", "p", "x")
    assert claim.status.allocation.node_selector is not None
    assert claim.status.allocation.node_selector.matches({}, "n")
    assert claim.status.reserved_for[0].name == "p"
    assert claim.key == "team-a/c"
    assert claim.to_dict() == CLAIM


def test_what_to_dict_gives_may_be_changed() -> None:
    claim = ResourceClaim.from_dict(CLAIM)
    claim.to_dict()["metadata"]["name"] = "other"
    assert claim.name == "c"


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30)
@given(raw=st.dictionaries(st.sampled_from(FIELDS), shaped, max_size=4))
def test_any_json_can_be_read_and_comes_back(kind: Any, raw: dict[str, Any]) -> None:
    assert kind.from_dict(raw).to_dict() == raw


def test_attributes_of_all_kinds() -> None:
    assert AttributeValue.from_dict({"bool": False}) == AttributeValue("bool", False)
    assert AttributeValue.from_dict({"ints": [1, 2]}).to_dict() == {"ints": [1, 2]}
    assert str(AttributeValue.from_dict({"bool": True})) == "true"


def test_node_selector_operators() -> None:
    def selected(operator: str, values: list[str], labels: dict[str, str]) -> bool:
        term = {"matchExpressions": [{"key": "k", "operator": operator, "values": values}]}
        return NodeSelector.from_dict({"nodeSelectorTerms": [term]}).matches(labels, "node-a")

    assert selected("In", ["a"], {"k": "a"})
    assert not selected("In", ["a"], {})
    assert selected("NotIn", ["a"], {})
    assert selected("Exists", [], {"k": ""})
    assert selected("DoesNotExist", [], {})
    assert selected("Gt", ["3"], {"k": "10"})
    assert not selected("Gt", ["3"], {"k": "many"})
    assert selected("Lt", ["3"], {"k": "-1"})
    assert not selected("Near", ["3"], {"k": "3"})
    assert not NodeSelector.from_dict({"nodeSelectorTerms": [{}]}).matches({}, "node-a")
    assert not NodeSelector.from_dict({}).matches({}, "node-a")


def test_tolerations() -> None:
    taint = DeviceTaint(key="k", value="v", effect="NoExecute")
    assert Toleration.from_dict({"operator": "Exists"}).tolerates(taint)
    assert Toleration.from_dict({"key": "k", "value": "v"}).tolerates(taint)
    assert not Toleration.from_dict({"key": "k", "value": "w"}).tolerates(taint)
    assert not Toleration.from_dict({"key": "k", "operator": "Exists", "effect": "NoSchedule"}).tolerates(
        taint
    )


def test_a_taint_rule_selects_by_what_it_names() -> None:
    rule = DeviceTaintRule.from_dict(
        {"spec": {"deviceSelector": {"driver": "d", "pool": "p"}, "taint": {"key": "k"}}}
    )
    assert rule.selects(DeviceID("d", "p", "x"))
    assert not rule.selects(DeviceID("d", "q", "x"))
    assert not DeviceTaintRule.from_dict({"spec": {"taint": {"key": "k"}}}).selects(DeviceID("d", "p", "x"))


def test_forty_thousand_devices_are_read_quickly() -> None:
    device = {
        "attributes": {f"a{i}": {"string": "x"} for i in range(10)},
        "capacity": {"memory": {"value": "1Gi"}},
    }
    raw = {
        "metadata": {"name": "s"},
        "spec": {
            "driver": "d",
            "pool": {"name": "p"},
            "devices": [{"name": f"gpu-{i}", **device} for i in range(8)],
        },
    }
    start = time.process_time()
    slices = [ResourceSlice.from_dict(raw) for _ in range(5000)]
    assert sum(len(found.devices) for found in slices) == 40_000
    assert time.process_time() - start < 1.0
