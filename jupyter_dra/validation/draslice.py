"""Rules for ResourceSlice. Follows ``k8s.io/kubernetes/pkg/apis/resource/validation/validation.go``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from jupyter_dra.model import limits
from jupyter_dra.model.names import dns_label_problems, dns_subdomain_problems
from jupyter_dra.validation.dracapacity import validate_capacity
from jupyter_dra.validation.draclaim import check_list, check_set, validate_taint
from jupyter_dra.validation.dranames import check_driver_name, check_pool_name, check_qualified_name
from jupyter_dra.validation.dranodes import validate_allocatable_resources
from jupyter_dra.validation.fielderrors import Report
from jupyter_dra.validation.metadata import validate_label_key
from jupyter_dra.validation.nodeselector import validate_node_selector
from jupyter_dra.validation.paths import Path, root

Struct = Mapping[str, Any]
LISTS = ("bools", "ints", "strings", "versions")
MEMBERS = ("int", "bool", "string", "version", "ints", "bools", "strings", "versions")
ONE_NODE_FIELD = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
PER_DEVICE = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to "
    "true in the ResourceSlice spec"
)
NOT_PER_DEVICE = (
    "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the "
    "ResourceSlice spec"
)
_NUMBER = r"(0|[1-9]\d*)"
_PRE = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
SEMVER = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_PRE}(\.{_PRE})*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?", re.ASCII
)


def validate_slice(report: Report, obj: Struct, old: Struct | None = None) -> None:
    """The spec of a ResourceSlice."""
    spec, path = obj.get("spec") or {}, root("spec")
    check_driver_name(report, spec.get("driver") or "", path.child("driver"))
    _validate_pool(report, spec.get("pool") or {}, path.child("pool"))
    if old is not None:
        _validate_fixed(report, spec, old.get("spec") or {}, path)
    _validate_where(report, spec, path)
    devices = spec.get("devices")
    counters = spec.get("sharedCounters")
    if report.minor >= 35 and devices is not None and counters is not None:
        report.invalid(
            path, "", "only one of `sharedCounters` or `devices` is allowed", rule="counters-apart"
        )
    per_device = spec.get("perDeviceNodeSelection") is True
    check_set(
        report,
        devices or [],
        max_devices(spec),
        path.child("devices"),
        lambda device, at: _validate_device(report, device, at, per_device),
        key=lambda device: device.get("name") or "",
        declarative=False,
    )
    check_set(
        report,
        counters or [],
        limits.SLICE_COUNTER_SETS_MAX,
        path.child("sharedCounters"),
        lambda entry, at: _validate_counter_set(report, entry, at),
        key=lambda entry: entry.get("name") or "",
        bad_value=lambda _, entry: dict(entry) if report.minor >= 37 else entry.get("name") or "",
    )
    validate_skipped(report, spec.get("skipNodeOperations") or [], path.child("skipNodeOperations"))


def max_devices(spec: Struct) -> int:
    """How many devices one slice may hold, by what its devices use."""
    for device in spec.get("devices") or ():
        lists = any(
            name in attribute for attribute in (device.get("attributes") or {}).values() for name in LISTS
        )
        if device.get("taints") or device.get("consumesCounters") or lists:
            return limits.SLICE_DEVICES_WITH_EXTRAS_MAX
    return limits.SLICE_DEVICES_MAX


def _validate_pool(report: Report, pool: Struct, path: Path) -> None:
    check_pool_name(report, pool.get("name") or "", path.child("name"))
    count, generation = pool.get("resourceSliceCount") or 0, pool.get("generation") or 0
    if count <= 0:
        report.invalid(path.child("resourceSliceCount"), count, "must be greater than zero")
    if generation < 0:
        report.invalid(path.child("generation"), generation, "must be greater than or equal to zero")


def _validate_fixed(report: Report, spec: Struct, old: Struct, path: Path) -> None:
    new_pool, old_pool = spec.get("pool") or {}, old.get("pool") or {}
    report.immutable(path.child("pool", "name"), new_pool.get("name"), old_pool.get("name"))
    for name in ("driver", "nodeName"):
        report.immutable(path.child(name), spec.get(name), old.get(name))


def _validate_where(report: Report, spec: Struct, path: Path) -> None:
    """Exactly one of the four ways to say which nodes have the devices."""
    used = []
    if (node := spec.get("nodeName")) is not None:
        if node:
            used.append("`nodeName`")
            report.problems(path.child("nodeName"), node, dns_subdomain_problems(node))
        else:
            text = "must be either unset or set to a non-empty string"
            report.invalid(path.child("nodeName"), node, text)
    if (selector := spec.get("nodeSelector")) is not None:
        used.append("`nodeSelector`")
        where = path.child("nodeSelector")
        validate_node_selector(report, selector, where)
        terms = selector.get("nodeSelectorTerms") or []
        if len(terms) != 1:
            text = "must have exactly one node selector term"
            report.invalid(where.child("nodeSelectorTerms"), list(terms), text)
    for name in ("allNodes", "perDeviceNodeSelection"):
        if (value := spec.get(name)) is not None:
            if value:
                used.append(f"`{name}`")
            else:
                report.invalid(path.child(name), value, "must be either unset or set to true")
    if not used:
        report.required(path, ONE_NODE_FIELD)
    elif len(used) > 1:
        text = f"{ONE_NODE_FIELD}, but multiple fields are set"
        report.invalid(path, f"{{{', '.join(used)}}}", text)


def _validate_device(report: Report, device: Struct, path: Path, per_device: bool) -> None:
    report.problems(
        path.child("name"), device.get("name") or "", dns_label_problems(device.get("name") or "")
    )
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    total = len(attributes) + len(capacity)
    if total > limits.ATTRIBUTES_AND_CAPACITIES_MAX:
        text = f"the total number of attributes and capacities must not exceed {limits.ATTRIBUTES_AND_CAPACITIES_MAX}"
        report.invalid(path, total, text)
    values = sum(_value_count(attribute) for attribute in attributes.values())
    if report.minor >= 36 and values > limits.ATTRIBUTE_VALUES_MAX:
        text = f"the total number of attribute values must not exceed {limits.ATTRIBUTE_VALUES_MAX}"
        report.invalid(path, values, text)
    for name, attribute in sorted(attributes.items()):
        check_qualified_name(report, name, path.child("attributes"))
        _validate_attribute(report, attribute, path.child("attributes").key(name))
    shared = device.get("allowMultipleAllocations") is True
    for name, entry in sorted(capacity.items()):
        check_qualified_name(report, name, path.child("capacity"))
        validate_capacity(report, entry, path.child("capacity").key(name), shared=shared)
    check_list(
        report,
        device.get("taints") or [],
        limits.DEVICE_TAINTS_MAX if report.minor >= 35 else limits.DEVICE_TAINTS_MAX_BEFORE_1_35,
        path.child("taints"),
        lambda taint, at: validate_taint(report, taint, at),
        declarative=False,
    )
    check_set(
        report,
        device.get("consumesCounters") or [],
        limits.DEVICE_COUNTER_SETS_MAX,
        path.child("consumesCounters"),
        lambda entry, at: _validate_consumption(report, entry, at),
        key=lambda entry: entry.get("counterSet") or "",
        bad_value=lambda _, entry: dict(entry) if report.minor >= 37 else entry.get("counterSet") or "",
    )
    _validate_device_nodes(report, device, path, per_device)
    validate_binding(report, device, path)
    resources = device.get("nodeAllocatableResources") or {}
    validate_allocatable_resources(report, resources, capacity, path.child("nodeAllocatableResources"))


def _value_count(attribute: Struct) -> int:
    return sum(len(attribute.get(name) or ()) for name in LISTS) or 1


def _validate_attribute(report: Report, attribute: Struct, path: Path) -> None:
    used = [name for name in ("bool", "int", "string", "version", *LISTS) if attribute.get(name) is not None]
    for name in used:
        value = attribute[name]
        if name in LISTS and not value:
            report.invalid(path.child(name), value, "must not be empty if specified")
    for name, at, value in _texts(attribute, path):
        if name.startswith("version") and not SEMVER.fullmatch(value):
            report.invalid(at, value, "must be a string compatible with semver.org spec 2.0.0")
        if len(value.encode()) > limits.ATTRIBUTE_STRING_MAX:
            report.too_long(at, limits.ATTRIBUTE_STRING_MAX)
    if len(used) != 1:
        _one_value(report, attribute, used, path)


def _one_value(report: Report, attribute: Struct, used: Sequence[str], path: Path) -> None:
    value: Any = "" if not used else dict(attribute)
    text = "exactly one value must be specified"
    if report.minor >= 37:
        members = ", ".join(f"`{name}`" for name in MEMBERS)
        text = f"must specify {'exactly one' if used else 'one'} of: {members}"
        value = "" if not used else f"{{{', '.join(sorted(used, key=MEMBERS.index))}}}"
    report.invalid(path, value, text, declarative=True, rule="one-value")


def _texts(attribute: Struct, path: Path) -> list[tuple[str, Path, str]]:
    found = []
    for name in ("string", "version"):
        if attribute.get(name) is not None:
            found.append((name, path.child(name), attribute[name]))
    for name in ("strings", "versions"):
        for index, value in enumerate(attribute.get(name) or ()):
            found.append((name, path.child(name).index(index), value))
    return found


def _validate_device_nodes(report: Report, device: Struct, path: Path, per_device: bool) -> None:
    node, selector, everywhere = (device.get(name) for name in ("nodeName", "nodeSelector", "allNodes"))
    if not per_device:
        if node is not None or selector is not None or everywhere is not None:
            report.invalid(path, None, NOT_PER_DEVICE)
        return
    used = []
    if node is not None:
        if node:
            used.append("`nodeName`")
            report.problems(path.child("nodeName"), node, dns_subdomain_problems(node))
        else:
            report.invalid(path.child("nodeName"), node, "must not be empty")
    if selector is not None:
        used.append("`nodeSelector`")
        validate_node_selector(report, selector, path.child("nodeSelector"))
    if everywhere is not None:
        if everywhere:
            used.append("`allNodes`")
        else:
            report.invalid(path.child("allNodes"), everywhere, "must be either unset or set to true")
    if not used:
        report.required(path, PER_DEVICE)
    elif len(used) > 1:
        report.invalid(path, f"{{{', '.join(used)}}}", PER_DEVICE)


def validate_binding(report: Report, entry: Struct, path: Path) -> None:
    """Binding conditions of a device or an allocation result."""
    wanted = entry.get("bindingConditions") or []
    failures = entry.get("bindingFailureConditions") or []
    for name, conditions in (("bindingConditions", wanted), ("bindingFailureConditions", failures)):
        check_list(
            report,
            conditions,
            limits.BINDING_CONDITIONS_MAX,
            path.child(name),
            lambda condition, at: validate_label_key(report, condition, at),
        )
    _binding_duplicates(report, wanted, path.child("bindingConditions"))
    _binding_duplicates(report, failures, path.child("bindingFailureConditions"), overlap=wanted)
    if failures and not wanted:
        text = "bindingConditions are required to use bindingFailureConditions"
        report.invalid(path.child("bindingConditions"), None, text)
    if wanted and not failures:
        text = "bindingFailureConditions are required to use bindingConditions"
        report.invalid(path.child("bindingFailureConditions"), None, text)


def _binding_duplicates(
    report: Report, conditions: Sequence[str], path: Path, overlap: Sequence[str] = ()
) -> None:
    for index, condition in enumerate(conditions):
        if condition in conditions[:index]:
            report.duplicate(path.index(index), condition)
        if condition in overlap:
            text = "bindingFailureConditions must not overlap with bindingConditions"
            report.invalid(path.index(index), condition, text)


def validate_skipped(report: Report, operations: Sequence[str], path: Path) -> None:
    """``skipNodeOperations`` of a slice or a result (1.37, alpha)."""
    chosen = set(operations)
    if "NodePrepareResources" in chosen and not chosen & {"NodeUnprepareResources", "*"}:
        text = "NodePrepareResources cannot be skipped unless NodeUnprepareResources is also skipped"
        report.invalid(path, list(operations), text)


def _validate_counter_set(report: Report, entry: Struct, path: Path) -> None:
    name = entry.get("name") or ""
    if not name:
        report.required(path.child("name"), declarative=True)
    else:
        report.problems(path.child("name"), name, dns_label_problems(name), declarative=True)
    _validate_counters(
        report, entry.get("counters") or {}, path.child("counters"), limits.COUNTERS_PER_SET_MAX
    )


def _validate_consumption(report: Report, entry: Struct, path: Path) -> None:
    name = entry.get("counterSet") or ""
    if not name:
        report.required(path.child("counterSet"), declarative=True)
    else:
        report.problems(path.child("counterSet"), name, dns_label_problems(name), declarative=True)
    _validate_counters(
        report, entry.get("counters") or {}, path.child("counters"), limits.DEVICE_COUNTERS_MAX
    )


def _validate_counters(report: Report, counters: Struct, path: Path, limit: int) -> None:
    if not counters:
        report.required(path, declarative=True)
    elif len(counters) > limit:
        report.too_many(path, len(counters), limit)
    else:
        for name in sorted(counters):
            report.problems(path, name, dns_label_problems(name), declarative=True)
