"""Rules for ``nodeAllocatableResources`` of a device (1.37, alpha). Follows ``validation.go`` of resource.k8s.io."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jupyter_dra.model.quantity import Quantity
from jupyter_dra.validation.fielderrors import Report
from jupyter_dra.validation.paths import Path

Struct = Mapping[str, Any]


def is_node_resource(name: str) -> bool:
    """Resources a node itself hands out: cpu, memory, ephemeral-storage, huge pages."""
    return name in {"cpu", "memory", "ephemeral-storage"} or name.startswith("hugepages-")


def validate_allocatable_resources(report: Report, resources: Struct, capacity: Struct, path: Path) -> None:
    for name, entry in sorted(resources.items()):
        where = path.key(name)
        if not is_node_resource(name):
            report.invalid(where, name, "must be a node allocatable resource name")
        mapping, overhead = entry.get("mapping"), entry.get("overhead")
        if mapping is None and overhead is None:
            report.required(where, "at least one of mapping or overhead must be set")
        if mapping is not None:
            _validate_mapping(report, mapping, capacity, where.child("mapping"))
        if overhead is not None:
            _validate_overhead(report, overhead, where.child("overhead"))


def _validate_mapping(report: Report, mapping: Struct, capacity: Struct, path: Path) -> None:
    key, factor = mapping.get("capacityKey"), mapping.get("capacityMultiplier")
    if key is not None:
        if not key:
            report.invalid(path.child("capacityKey"), "", "capacityKey must not be an empty string")
        elif key not in capacity:
            report.not_found(path.child("capacityKey"), key)
        if factor is None:
            text = "capacityMultiplier is required when capacityKey is set"
            report.required(path.child("capacityMultiplier"), text)
        else:
            _positive(report, factor, path.child("capacityMultiplier"))
    if mapping.get("deviceMultiplier") is not None:
        _positive(report, mapping["deviceMultiplier"], path.child("deviceMultiplier"))
    if factor is not None and key is None:
        report.required(path.child("capacityKey"), "capacityKey is required when capacityMultiplier is set")


def _positive(report: Report, text: str, path: Path) -> None:
    value = Quantity.parse(text)
    if value.nanos <= 0:
        report.invalid(path, value.canonical(), "must be positive")


def _validate_overhead(report: Report, overhead: Struct, path: Path) -> None:
    if overhead.get("perPod") is None and overhead.get("perContainer") is None:
        report.invalid(path, "", "at least one of perPod or perContainer must be set")
    for name in ("perPod", "perContainer"):
        if overhead.get(name) is not None:
            value = Quantity.parse(overhead[name])
            if value.nanos < 0:
                report.invalid(path.child(name), value.canonical(), "must be non-negative")
