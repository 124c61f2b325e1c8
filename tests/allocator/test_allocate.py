"""The seam on plain dicts: what is asked, what comes back, what is switched."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_dra import allocate
from jupyter_dra.allocator import FIRST_RELEASE, PULL_REQUEST, ClusterState, Features, Repairs
from jupyter_dra.errors import AllocationError, BudgetExceeded

CLASSES = [{"metadata": {"name": "gpu"}, "spec": {"selectors": [{"cel": {"expression": "true"}}]}}]


def slice_of(*devices: dict[str, Any], node: str = "n1", **spec: Any) -> dict[str, Any]:
    pool = {"name": node, "generation": 1, "resourceSliceCount": spec.pop("count", 1)}
    return {
        "metadata": {"name": spec.pop("name", f"s-{node}")},
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": node,
            "pool": pool,
            "devices": list(devices),
            **spec,
        },
    }


def claim(name: str = "c", **exactly: Any) -> dict[str, Any]:
    request = {"name": "r", "exactly": {"deviceClassName": "gpu", **exactly}}
    return {"metadata": {"name": name, "namespace": "ns"}, "spec": {"devices": {"requests": [request]}}}


def test_an_allocation_is_what_the_scheduler_would_write_into_the_status() -> None:
    tolerated = [{"key": "k", "operator": "Exists"}]
    [found] = (
        allocate(
            {"name": "n1"}, [claim(tolerations=tolerated)], slices=[slice_of({"name": "d"})], classes=CLASSES
        )
        or []
    )
    assert found == {
        "devices": {
            "results": [
                {
                    "request": "r",
                    "driver": "gpu.example.com",
                    "pool": "n1",
                    "device": "d",
                    "tolerations": tolerated,
                }
            ]
        },
        "nodeSelector": {
            "nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
            ]
        },
    }


def test_a_node_object_does_as_well_and_what_does_not_fit_is_none() -> None:
    node = {"kind": "Node", "metadata": {"name": "n1", "labels": {"a": "b"}}}
    assert allocate(node, [claim(count=2)], slices=[slice_of({"name": "d"})], classes=CLASSES) is None


def test_shares_are_counted_unless_ids_are_made() -> None:
    card = {"name": "d", "allowMultipleAllocations": True, "capacity": {"memory": {"value": "8Gi"}}}
    asked = [
        claim("a", capacity={"requests": {"memory": "2Gi"}}),
        claim("b", capacity={"requests": {"memory": "2Gi"}}),
    ]
    found = allocate({"name": "n1"}, asked, slices=[slice_of(card)], classes=CLASSES) or []
    assert [entry["devices"]["results"][0]["shareID"] for entry in found] == ["share-1", "share-2"]
    made = (
        allocate({"name": "n1"}, asked, slices=[slice_of(card)], classes=CLASSES, share_id=lambda: "x") or []
    )
    assert made[0]["devices"]["results"][0]["consumedCapacity"] == {"memory": "2Gi"}
    assert made[1]["devices"]["results"][0]["shareID"] == "x"


def test_claims_that_are_allocated_hold_their_devices() -> None:
    holder = claim("other")
    results = [{"request": "r", "driver": "gpu.example.com", "pool": "n1", "device": "d"}]
    holder["status"] = {"allocation": {"devices": {"results": results}}}
    node, slices = {"name": "n1"}, [slice_of({"name": "d"})]
    assert allocate(node, [claim()], slices=slices, classes=CLASSES, allocated=[holder]) is None
    administering = claim(adminAccess=True)
    found = allocate(node, [administering], slices=slices, classes=CLASSES, allocated=[holder]) or []
    assert found[0]["devices"]["results"][0]["adminAccess"] is True


def test_a_search_without_end_gives_up_instead_of_hanging() -> None:
    odd = [3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53]
    counters = slice_of(
        name="counters", count=2, sharedCounters=[{"name": "c", "counters": {"x": {"value": "126"}}}]
    )
    del counters["spec"]["devices"]
    parts = [
        {"name": f"p{n}", "consumesCounters": [{"counterSet": "c", "counters": {"x": {"value": str(n)}}}]}
        for n in odd[::-1]
    ]
    with pytest.raises(BudgetExceeded) as error:
        allocate(
            {"name": "n1"},
            [claim(count=9)],
            slices=[counters, slice_of(*parts, name="parts", count=2)],
            classes=CLASSES,
            budget=500,
        )
    assert error.value.code == "search-budget"


def test_gates_follow_the_version_and_can_be_set_one_by_one() -> None:
    assert Features.from_dict(None).device_taints
    old = Features.from_dict({"version": "v1.35.2"})
    assert not old.device_taints and not old.consumable_capacity and old.prioritized_list
    assert Features.from_dict({"version": "1.35", "deviceTaints": True}).device_taints
    tainted = slice_of({"name": "d", "taints": [{"key": "k", "effect": "NoSchedule"}]})
    node, older = {"name": "n1"}, {"version": "1.35"}
    assert allocate(node, [claim()], slices=[tainted], classes=CLASSES) is None
    assert allocate(node, [claim()], slices=[tainted], classes=CLASSES, features=older) is not None


def test_every_repair_has_a_name_a_pull_request_and_a_first_release() -> None:
    assert set(FIRST_RELEASE) == set(PULL_REQUEST)
    for name in FIRST_RELEASE:
        assert Repairs.from_dict({name: False}) != Repairs()
    with pytest.raises(KeyError):
        Repairs.from_dict({"unheard-of": True})


def test_all_beside_a_pool_being_updated_ends_the_attempt_before_the_repair_and_rejects_the_node_after() -> (
    None
):
    half = slice_of({"name": "d"}, count=2)
    for switches, node_only in (({}, True), ({"all-rejects-node-only": False}, False)):
        with pytest.raises(AllocationError) as error:
            allocate(
                {"name": "n1"},
                [claim(allocationMode="All")],
                slices=[half],
                classes=CLASSES,
                features={"repairs": switches},
            )
        assert error.value.kind == "all-incomplete-pool"
        assert error.value.node_only is node_only


def test_an_amount_with_a_fraction_drifts_as_upstream_unless_it_is_to_be_kept() -> None:
    policy = {"requestPolicy": {"default": "6Gi"}}
    cards = [
        {
            "name": f"d{n}",
            "allowMultipleAllocations": True,
            "capacity": {"memory": {"value": "10Gi", **policy}},
        }
        for n in range(2)
    ]
    first = claim("a", capacity={"requests": {"memory": "6Gi"}})
    second = claim("b", capacity={"requests": {"memory": "4.5Gi"}})
    node, slices = {"name": "n1"}, [slice_of(*cards)]
    assert allocate(node, [first, second], slices=slices, classes=CLASSES) is None
    kept = {"repairs": {"fractions-kept": True}}
    found = allocate(node, [first, second], slices=slices, classes=CLASSES, features=kept) or []
    assert found[1]["devices"]["results"][0]["device"] == "d1"


def test_taint_rules_come_and_go_without_the_slice_being_read_again() -> None:
    state = ClusterState()
    state.set_class(CLASSES[0])
    state.set_slice(slice_of({"name": "d", "attributes": {"uuid": {"string": "u"}}}))
    rule = {
        "metadata": {"name": "r"},
        "spec": {"deviceSelector": {"device": "d"}, "taint": {"key": "k", "effect": "NoExecute"}},
    }
    state.set_rule(rule)
    assert state.attempt([claim()]).allocations(state.node("n1")) is None
    state.remove_rule("r")
    assert state.attempt([claim()]).allocations(state.node("n1")) is not None
    assert [device.raw_attributes() for device in state.devices()] == [{"uuid": {"string": "u"}}]
