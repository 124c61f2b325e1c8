"""What differs between Kubernetes 1.34 and 1.37: served versions, gates, fields of disabled features.

Sources: the feature-gate tables of ``k8s.io/kubernetes/pkg/features/kube_features.go`` and the ``drop…`` functions of
the resource.k8s.io registry strategies. A field of a disabled feature is dropped silently on create.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jupyter_dra.validation.schemas import minor_of

OLDEST, NEWEST = 34, 37
TARGETS = tuple(f"1.{minor}" for minor in range(OLDEST, NEWEST + 1))
GROUP = "resource.k8s.io"

# Since which minor version a version of the group is served without extra flags.
V1_SINCE = {"DeviceTaintRule": 37}
REMOVED = {"v1beta1": 38, "v1beta2": 39, "v1alpha3": 38}
NEVER_AGAIN = {"v1alpha1", "v1alpha2"}
BETA_SINCE = {"v1beta1": 32, "v1beta2": 33}
KINDS = {"DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice", "DeviceTaintRule"}
OLD_KINDS = {
    "ResourceClass",
    "ResourceClaimParameters",
    "ResourceClassParameters",
    "PodSchedulingContext",
    "PodScheduling",
}


@dataclass(frozen=True, slots=True)
class Gate:
    """A feature gate: the first minor version that knows it, and the first where it is on by default."""

    name: str
    known: int
    on: int | None


GATES: Mapping[str, Gate] = {
    gate.name: gate
    for gate in (
        Gate("DRAAdminAccess", 32, 34),
        Gate("DRAPrioritizedList", 33, 34),
        Gate("DRADeviceTaints", 33, 36),
        Gate("DRAPartitionableDevices", 33, 36),
        Gate("DRAConsumableCapacity", 34, 36),
        Gate("DRADeviceBindingConditions", 34, 36),
        Gate("DRAExtendedResource", 34, 36),
        Gate("DRAListTypeAttributes", 36, None),
        Gate("DRANodeAllocatableResources", 36, None),
        Gate("DRADerivedAttributes", 37, None),
        Gate("DRADeviceCompatibilityGroups", 37, None),
        Gate("DRAPartitionableDevicesType", 37, None),
        Gate("DRAOptionalNodeOperations", 37, None),
    )
}

# Field (name of its parent, own name) -> gate. The parent keeps unrelated fields of the same name apart.
GATED_FIELDS: Mapping[tuple[str, str], str] = {
    ("exactly", "adminAccess"): "DRAAdminAccess",
    ("requests", "firstAvailable"): "DRAPrioritizedList",
    ("exactly", "tolerations"): "DRADeviceTaints",
    ("firstAvailable", "tolerations"): "DRADeviceTaints",
    ("devices", "taints"): "DRADeviceTaints",
    ("spec", "sharedCounters"): "DRAPartitionableDevices",
    ("devices", "consumesCounters"): "DRAPartitionableDevices",
    ("spec", "perDeviceNodeSelection"): "DRAPartitionableDevices",
    ("exactly", "capacity"): "DRAConsumableCapacity",
    ("firstAvailable", "capacity"): "DRAConsumableCapacity",
    ("constraints", "distinctAttribute"): "DRAConsumableCapacity",
    ("devices", "allowMultipleAllocations"): "DRAConsumableCapacity",
    ("capacity", "requestPolicy"): "DRAConsumableCapacity",
    ("devices", "bindsToNode"): "DRADeviceBindingConditions",
    ("devices", "bindingConditions"): "DRADeviceBindingConditions",
    ("devices", "bindingFailureConditions"): "DRADeviceBindingConditions",
    ("spec", "extendedResourceName"): "DRAExtendedResource",
    ("attributes", "bools"): "DRAListTypeAttributes",
    ("attributes", "ints"): "DRAListTypeAttributes",
    ("attributes", "strings"): "DRAListTypeAttributes",
    ("attributes", "versions"): "DRAListTypeAttributes",
    ("devices", "nodeAllocatableResources"): "DRANodeAllocatableResources",
    ("exactly", "derivedAttributes"): "DRADerivedAttributes",
    ("firstAvailable", "derivedAttributes"): "DRADerivedAttributes",
    ("consumesCounters", "compatibilityGroups"): "DRADeviceCompatibilityGroups",
    ("spec", "partitionTypeAttribute"): "DRAPartitionableDevicesType",
    ("spec", "skipNodeOperations"): "DRAOptionalNodeOperations",
}


MAPS = {"attributes", "capacity"}


def admin_label(target: str) -> str:
    """The namespace label that allows admin access."""
    domain = "resource.kubernetes.io" if minor_of(target) >= 34 else "resource.k8s.io"
    return f"{domain}/admin-access"


def served(version: str, kind: str, target: str) -> str:
    """How a version of resource.k8s.io stands in a release: ``on``, ``off`` (needs a flag), ``gone``, ``unknown``."""
    minor = minor_of(target)
    if version == "v1":
        return "on" if minor >= V1_SINCE.get(kind, 34) else "unknown"
    if version in NEVER_AGAIN:
        return "gone"
    if version in REMOVED and minor >= REMOVED[version]:
        return "gone"
    if version == "v1alpha3":
        return "off" if kind == "DeviceTaintRule" else "gone"
    if version in BETA_SINCE:
        if kind == "DeviceTaintRule" and (version == "v1beta1" or minor < 36):
            return "unknown"
        return "off" if minor >= BETA_SINCE[version] else "unknown"
    return "unknown"


@dataclass(frozen=True, slots=True)
class DroppedField:
    """A field the API server of the target removes without a word, because its feature is off by default."""

    steps: tuple[str | int, ...]
    gate: Gate


def dropped_fields(obj: Mapping[str, Any], target: str) -> Iterator[DroppedField]:
    """The fields of a v1-shaped object that the target's default configuration drops."""
    if str(obj.get("apiVersion") or "").partition("/")[0] == GROUP:
        yield from _dropped(obj.get("spec"), ("spec",), minor_of(target))


def _dropped(value: Any, steps: tuple[str | int, ...], minor: int) -> Iterator[DroppedField]:
    if isinstance(value, list):
        for index, entry in enumerate(value):
            yield from _dropped(entry, (*steps, index), minor)
    elif isinstance(value, Mapping) and steps[-1] in MAPS and isinstance(steps[-2], int):
        # The keys of a device's attributes and capacity are names of its own, not fields.
        for name, entry in value.items():
            yield from _fields(entry, (*steps, name), str(steps[-1]), minor)
    else:
        parent = next((step for step in reversed(steps) if isinstance(step, str)), "")
        yield from _fields(value, steps, parent, minor)


def _fields(value: Any, steps: tuple[str | int, ...], parent: str, minor: int) -> Iterator[DroppedField]:
    if not isinstance(value, Mapping):
        return
    for name, entry in value.items():
        gate = GATES.get(GATED_FIELDS.get((parent, name), ""))
        if gate is not None and entry not in (None, [], {}) and (gate.on is None or minor < gate.on):
            yield DroppedField((*steps, name), gate)
        elif name != "opaque":
            yield from _dropped(entry, (*steps, name), minor)
