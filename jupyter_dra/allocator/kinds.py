"""Kinds: devices that differ only in their name and in nearly unique attributes are one kind.

A cluster of 40,000 devices has some hundreds of kinds. Selectors, tolerations and capacity requests are answered
once per kind; only what reads a nearly unique attribute (a uuid) is answered device by device.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jupyter_dra.model import DeviceID, DeviceTaint, NodeSelector, Quantity

__all__ = ["CapacityEntry", "DeviceEntry", "DeviceKind", "KindTable", "NodeScope", "Value"]

# The type and value of an attribute: ("string", "Hopper").
Value = tuple[str, Any]
_UNIQUE_FROM = 512
_ALWAYS_UNIQUE = frozenset({"uuid"})
_VALUE_TYPES = ("string", "int", "bool", "version", "strings", "ints", "bools", "versions")


@dataclass(frozen=True, slots=True)
class NodeScope:
    """Where a slice or a device is: one node, all nodes, or those that a selector selects."""

    node_name: str | None = None
    all_nodes: bool = False
    selector: NodeSelector | None = None

    def includes(self, name: str, labels: Mapping[str, str]) -> bool:
        """Tell whether a node is in scope; a scope without any rule includes none."""
        if self.node_name is not None:
            return self.node_name == name
        if self.all_nodes:
            return True
        return self.selector is not None and self.selector.matches(labels, name)


@dataclass(frozen=True, slots=True)
class CapacityEntry:
    """A capacity with what a request for it may be."""

    value: Quantity
    default: Quantity | None = None
    valid_values: tuple[Quantity, ...] = ()
    minimum: Quantity | None = None
    maximum: Quantity | None = None
    step: Quantity | None = None


class DeviceKind:
    """What equal devices have in common; compared by identity, numbered by its table."""

    __slots__ = (
        "attributes",
        "binding_conditions",
        "binding_failure_conditions",
        "binds_to_node",
        "capacity",
        "consumes",
        "driver",
        "number",
        "rule_taints",
        "scope",
        "shared",
        "source",
        "taints",
        "unique",
    )

    def __init__(
        self,
        number: int,
        driver: str,
        source: Mapping[str, Any],
        unique: tuple[str, ...],
        rule_taints: tuple[Mapping[str, Any], ...],
    ) -> None:
        self.number = number
        self.driver = driver
        self.source = source
        self.unique = unique
        self.rule_taints = tuple(map(DeviceTaint.from_dict, rule_taints))
        self.attributes = {
            name: _value(entry) for name, entry in source.get("attributes", {}).items() if name not in unique
        }
        self.capacity = {name: _capacity(entry) for name, entry in source.get("capacity", {}).items()}
        self.shared = source.get("allowMultipleAllocations") is True
        self.taints = tuple(map(DeviceTaint.from_dict, source.get("taints", ()))) + self.rule_taints
        self.consumes = tuple(
            (
                use["counterSet"],
                tuple((n, Quantity.parse(c["value"]).nanos) for n, c in use["counters"].items()),
            )
            for use in source.get("consumesCounters", ())
        )
        self.scope = NodeScope(
            source.get("nodeName"),
            source.get("allNodes") is True,
            NodeSelector.optional(source.get("nodeSelector")),
        )
        self.binds_to_node = source.get("bindsToNode") is True
        self.binding_conditions = tuple(source.get("bindingConditions", ()))
        self.binding_failure_conditions = tuple(source.get("bindingFailureConditions", ()))


class DeviceEntry:
    """One published device: its identity, its kind, and its own values of the kind's unique attributes."""

    __slots__ = ("id", "kind", "own", "slice")

    def __init__(self, id: DeviceID, kind: DeviceKind, own: tuple[Value, ...], slice: Any) -> None:
        self.id = id
        self.kind = kind
        self.own = own
        self.slice = slice

    def attribute(self, qualified: str) -> Value | None:
        """The value a constraint sees: the full name, else the short one where the domain is the driver's."""
        found = self._raw(qualified)
        if found is not None:
            return found
        domain, slash, name = qualified.partition("/")
        return self._raw(name) if slash and domain == self.kind.driver else None

    def _raw(self, key: str) -> Value | None:
        kind = self.kind
        if key in kind.unique:
            return self.own[kind.unique.index(key)]
        return kind.attributes.get(key)

    def as_cel(self) -> dict[str, Any]:
        """The device as a selector sees it."""
        kind = self.kind
        return {
            "driver": kind.driver,
            "attributes": self.raw_attributes(),
            "capacity": kind.source.get("capacity", {}),
            "allowMultipleAllocations": kind.shared,
        }

    def as_published(self) -> dict[str, Any]:
        """The device as its slice has it."""
        return {**self.kind.source, "name": self.id.device, "attributes": self.raw_attributes()}

    def raw_attributes(self) -> Mapping[str, Any]:
        """The attributes as published."""
        kind = self.kind
        if not kind.unique:
            found: Mapping[str, Any] = kind.source.get("attributes", {})
            return found
        own = dict(zip(kind.unique, self.own, strict=True))
        return {
            name: {own[name][0]: own[name][1]} if name in own else entry
            for name, entry in kind.source["attributes"].items()
        }


class KindTable:
    """Interns devices; knows which attributes of which driver are nearly unique."""

    def __init__(self) -> None:
        self.kinds: list[DeviceKind] = []
        self._by_key: dict[Any, DeviceKind] = {}
        self._seen: dict[tuple[str, str], set[Any] | None] = {}
        self._texts: dict[str, str] = {}

    def text(self, value: str) -> str:
        """One copy of an often repeated text."""
        return self._texts.setdefault(value, value)

    def intern(
        self, driver: str, raw: Mapping[str, Any], extra_taints: tuple[Mapping[str, Any], ...] = ()
    ) -> tuple[DeviceKind, tuple[Value, ...]]:
        """The kind of a device, and its own values for the kind's unique attributes."""
        unique: list[str] = []
        own: list[Value] = []
        key: list[Any] = [driver]
        for name, entry in sorted((raw.get("attributes") or {}).items()):
            value = _value(entry)
            if self._is_unique(driver, name, value):
                unique.append(name)
                own.append(value)
                key.append(name)
            else:
                key.append((name, value))
        key.append(None)
        rest = {
            name: field
            for name, field in raw.items()
            if name not in ("name", "attributes") and field not in (None, [], {}, False)
        }
        key.append((_frozen(rest), _frozen(extra_taints)))
        interned = tuple(key)
        kind = self._by_key.get(interned)
        if kind is None:
            source = {**rest, "attributes": dict(raw.get("attributes") or {})}
            kind = DeviceKind(len(self.kinds), driver, source, tuple(unique), extra_taints)
            self.kinds.append(kind)
            self._by_key[interned] = kind
        return kind, tuple(own)

    def _is_unique(self, driver: str, name: str, value: Value) -> bool:
        # A version must be seen by every selector, because one that is none always raises.
        if value[0] not in ("string", "int"):
            return False
        if name.rpartition("/")[2] in _ALWAYS_UNIQUE:
            return True
        seen = self._seen.setdefault((driver, name), set())
        if seen is None:
            return True
        seen.add(value)
        if len(seen) < _UNIQUE_FROM:
            return False
        self._seen[driver, name] = None
        return True


def _value(entry: Mapping[str, Any]) -> Value:
    for kind in _VALUE_TYPES:
        if kind in entry:
            found = entry[kind]
            return kind, tuple(found) if isinstance(found, list) else found
    return "unknown", None


def _capacity(entry: Mapping[str, Any]) -> CapacityEntry:
    policy = entry.get("requestPolicy") or {}
    bounds = policy.get("validRange") or {}

    def read(value: Any) -> Quantity | None:
        return None if value is None else Quantity.parse(value)

    return CapacityEntry(
        value=Quantity.parse(entry.get("value", "0")),
        default=read(policy.get("default")),
        valid_values=tuple(map(Quantity.parse, policy.get("validValues") or ())),
        minimum=read(bounds.get("min")),
        maximum=read(bounds.get("max")),
        step=read(bounds.get("step")),
    )


def _frozen(value: Any) -> Any:
    if isinstance(value, Mapping):
        return tuple(sorted((key, _frozen(item)) for key, item in value.items()))
    if isinstance(value, (list, tuple)):
        return ("list", *map(_frozen, value))
    # True == 1 in Python: keep booleans and numbers apart.
    return (type(value).__name__, value) if isinstance(value, (bool, int, float)) else value
