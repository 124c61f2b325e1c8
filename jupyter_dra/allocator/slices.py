"""Slices as the allocator keeps them: without the JSON they came from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jupyter_dra.allocator.kinds import DeviceEntry, KindTable, NodeScope
from jupyter_dra.model import DeviceID, DeviceTaintRule, NodeSelector, Quantity

__all__ = ["SliceEntry", "read_slice"]

Counters = dict[str, dict[str, int]]


class SliceEntry:
    """One ResourceSlice: where it is, what it publishes, which counters it shares."""

    __slots__ = (
        "count",
        "counter_sets",
        "devices",
        "distinct",
        "driver",
        "generation",
        "kinds",
        "name",
        "per_device",
        "pool",
        "scope",
    )

    def __init__(self, name: str, spec: Mapping[str, Any]) -> None:
        pool = spec.get("pool") or {}
        self.name = name
        self.driver: str = spec.get("driver", "")
        self.pool: str = pool.get("name", "")
        self.generation: int = pool.get("generation") or 0
        self.count: int = pool.get("resourceSliceCount") or 0
        self.per_device = spec.get("perDeviceNodeSelection") is True
        self.scope = NodeScope(
            spec.get("nodeName") or None,
            spec.get("allNodes") is True,
            NodeSelector.optional(spec.get("nodeSelector")),
        )
        self.counter_sets: tuple[tuple[str, dict[str, int]], ...] = tuple(
            (
                entry.get("name", ""),
                {
                    name: Quantity.parse(value["value"]).nanos
                    for name, value in entry.get("counters", {}).items()
                },
            )
            for entry in spec.get("sharedCounters") or ()
        )
        self.devices: tuple[DeviceEntry, ...] = ()
        self.kinds: tuple[int, ...] = ()
        # Whether no two devices share a name.
        self.distinct = True

    def fill(
        self, devices: Iterable[Mapping[str, Any]], kinds: KindTable, rules: Iterable[DeviceTaintRule]
    ) -> None:
        """Intern the devices; taint rules that select one are merged into its taints."""
        rules = [
            rule for rule in rules if rule.driver in (None, self.driver) and rule.pool in (None, self.pool)
        ]
        found = []
        for device in devices:
            id = DeviceID(self.driver, self.pool, kinds.text(device.get("name", "")))
            extra = tuple(dict(rule.taint.raw) for rule in rules if rule.selects(id))
            kind, own = kinds.intern(self.driver, device, extra)
            found.append(DeviceEntry(id, kind, own, self))
        self.devices = tuple(found)
        self.kinds = tuple(device.kind.number for device in found)
        self.distinct = len({device.id.device for device in found}) == len(found)

    @property
    def key(self) -> tuple[str, str]:
        """Driver and pool: what groups slices."""
        return self.driver, self.pool

    def relevant(self, node: str, labels: Mapping[str, str]) -> bool:
        """Tell whether the slice concerns a node (``pools_incubating.go``)."""
        if not self.per_device:
            return self.scope.includes(node, labels)
        return any(device.kind.scope.includes(node, labels) for device in self.devices)


def read_slice(raw: Mapping[str, Any], kinds: KindTable, rules: Iterable[DeviceTaintRule] = ()) -> SliceEntry:
    """Intern one ResourceSlice; taint rules that select a device are merged into its taints."""
    spec = raw.get("spec") or {}
    entry = SliceEntry(kinds.text((raw.get("metadata") or {}).get("name", "")), spec)
    entry.driver, entry.pool = kinds.text(entry.driver), kinds.text(entry.pool)
    entry.fill(spec.get("devices") or (), kinds, rules)
    return entry
