"""What differs between the releases we know."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_dra.validation import apply_defaults, decode, to_v1, validate, versions


def claim(request: dict[str, Any], version: str = "v1") -> dict[str, Any]:
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "default"},
        "spec": {"devices": {"requests": [request]}},
    }


@pytest.mark.parametrize(
    ("version", "kind", "target", "stand"),
    [
        ("v1", "ResourceClaim", "1.34", "on"),
        ("v1", "DeviceTaintRule", "1.36", "unknown"),
        ("v1", "DeviceTaintRule", "1.37", "on"),
        ("v1beta1", "ResourceClaim", "1.37", "off"),
        ("v1beta2", "DeviceTaintRule", "1.35", "unknown"),
        ("v1beta2", "DeviceTaintRule", "1.36", "off"),
        ("v1alpha2", "ResourceClaim", "1.37", "gone"),
        ("v1alpha3", "ResourceClaim", "1.37", "gone"),
        ("v1alpha3", "DeviceTaintRule", "1.37", "off"),
    ],
)
def test_served_versions_follow_the_release(version: str, kind: str, target: str, stand: str) -> None:
    assert versions.served(version, kind, target) == stand


def test_fields_of_a_disabled_feature_are_named_with_their_gate() -> None:
    wish = {"deviceClassName": "x", "capacity": {"requests": {"memory": "1Gi"}}, "adminAccess": True}
    dropped = list(versions.dropped_fields(claim({"name": "gpu", "exactly": wish}), "1.35"))
    assert [(entry.steps[-1], entry.gate.name) for entry in dropped] == [
        ("capacity", "DRAConsumableCapacity")
    ]
    assert list(versions.dropped_fields(claim({"name": "gpu", "exactly": wish}), "1.36")) == []


def test_an_attribute_called_like_a_field_is_no_field() -> None:
    slice_ = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "spec": {
            "devices": [{"name": "a", "attributes": {"taints": {"string": "x"}, "bools": {"bool": True}}}]
        },
    }
    assert list(versions.dropped_fields(slice_, "1.34")) == []


def test_a_flat_claim_of_v1beta1_reads_as_v1() -> None:
    flat = claim({"name": "gpu", "deviceClassName": "x", "count": 2}, "v1beta1")
    assert to_v1(flat) == claim({"name": "gpu", "exactly": {"deviceClassName": "x", "count": 2}})


def test_devices_of_v1beta1_lose_their_basic_level() -> None:
    old = {
        "apiVersion": "resource.k8s.io/v1beta1",
        "kind": "ResourceSlice",
        "spec": {"devices": [{"name": "a", "basic": {"capacity": {"memory": {"value": "1Gi"}}}}]},
    }
    assert to_v1(old)["spec"]["devices"] == [{"name": "a", "capacity": {"memory": {"value": "1Gi"}}}]


def test_a_flat_claim_is_refused_with_the_paths_of_v1() -> None:
    flat = claim({"name": "gpu", "deviceClassName": "x", "count": -1}, "v1beta1")
    errors = validate(apply_defaults(decode(flat).value))
    assert [error.path for error in errors] == ["spec.devices.requests[0].exactly.count"]


def test_duplicate_requests_are_worded_by_release() -> None:
    twice = claim({"name": "gpu", "exactly": {"deviceClassName": "x"}})
    twice["spec"]["devices"]["requests"] *= 2
    stored = apply_defaults(twice)
    assert [error.text() for error in validate(stored, target="1.36")] == [
        'spec.devices.requests[1]: Duplicate value: "gpu"'
    ]
    assert (
        validate(stored, target="1.37")[0]
        .text()
        .startswith(
            'spec.devices.requests[1]: Duplicate value: {"name":"gpu","exactly":{"deviceClassName":"x"'
        )
    )


def test_admin_access_asks_for_the_label_of_its_release() -> None:
    stored = apply_defaults(claim({"name": "gpu", "exactly": {"deviceClassName": "x", "adminAccess": True}}))
    allowed = {"resource.kubernetes.io/admin-access": "true"}
    assert validate(stored, namespace_labels=allowed) == []
    assert validate(stored, namespace_labels=None) == []
    refused = validate(stored, namespace_labels={})
    assert [error.path for error in refused] == ["spec.devices.requests[0].adminAccess"]


@pytest.mark.parametrize("target", versions.TARGETS)
def test_every_release_accepts_a_plain_claim(target: str) -> None:
    stored = apply_defaults(claim({"name": "gpu", "exactly": {"deviceClassName": "x"}}))
    assert validate(stored, target=target) == []
