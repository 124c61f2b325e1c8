"""Facts per device kind and per class, computed once for each kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jupyter_dra.allocator import ClusterState, DeviceEntry, DeviceKind
from jupyter_dra.claims import ClassFacts, labels
from jupyter_dra.planner.naming import DeviceFacts, facts_of_device
from jupyter_dra.planner.permission import class_refusal

if TYPE_CHECKING:
    from jupyter_dra.planner.inventory import Inventory

__all__ = ["KindFacts", "class_facts", "matching_kinds"]


class KindFacts:
    """Product, size and label of each kind; kinds never change, so this never grows stale."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._found: dict[int, DeviceFacts] = {}

    def of(self, kind: DeviceKind) -> DeviceFacts:
        found = self._found.get(kind.number)
        if found is None:
            found = self._found[kind.number] = facts_of_device(
                kind.driver,
                {name: value for name, (_, value) in kind.attributes.items()},
                {name: entry.value.bytes for name, entry in kind.capacity.items()},
                {name: entry.value.text for name, entry in kind.capacity.items()},
            )
        return found

    def of_device(self, device: DeviceEntry) -> DeviceFacts:
        return self.of(device.kind)


def matching_kinds(inventory: Inventory, selectors: Iterable[str]) -> set[int]:
    """Numbers of the published kinds for which all selectors are true."""
    state = inventory.state
    texts = tuple(selectors)
    return {
        number
        for number, count in state.population.items()
        if count > 0 and state.selectors.match_all(texts, state.samples[number]) is True
    }


def class_facts(inventory: Inventory, namespace: str) -> tuple[ClassFacts, ...]:
    """What each class covers here; a class that covers nothing is judged by the catalog of known devices."""
    return tuple(_facts_of_class(inventory, name, namespace) for name in inventory.classes)


def _facts_of_class(inventory: Inventory, name: str, namespace: str) -> ClassFacts:
    raw = inventory.classes[name]
    refused = class_refusal(inventory, name, namespace)
    numbers = matching_kinds(inventory, inventory.state.classes[name].selectors)
    if not numbers:
        return replace(ClassFacts.from_class(raw), refused=refused)
    annotations: dict[str, Any] = (raw.get("metadata") or {}).get("annotations") or {}
    kinds = [inventory.state.kinds.kinds[number] for number in sorted(numbers)]
    facts = [inventory.facts.of(kind) for kind in kinds]
    memory = [fact.memory_bytes for fact in facts if fact.memory_bytes]
    return ClassFacts(
        name=name,
        drivers=tuple(dict.fromkeys(kind.driver for kind in kinds)),
        device_kind=device_kind_of(facts),
        min_bytes=min(memory, default=None),
        max_bytes=max(memory, default=None),
        display_name=annotations.get(labels.DISPLAY_NAME),
        hidden=annotations.get(labels.HIDDEN) == "true",
        refused=refused,
        memory_key=_memory_key(kinds),
    )


def device_kind_of(facts: Iterable[DeviceFacts]) -> str:
    """The kind of a tier: a GPU tier is one of whole devices that state memory; mixed ones are ``other``."""
    found = list(facts)
    kinds = Counter(fact.device_kind for fact in found)
    if len(kinds) != 1:
        return "other"
    kind = next(iter(kinds))
    if kind == "gpu" and not any(fact.memory_bytes for fact in found):
        return "other"
    return kind


def _memory_key(kinds: Iterable[DeviceKind]) -> str:
    key: str
    for kind in kinds:
        if kind.shared:
            for key in kind.capacity:
                if key.rpartition("/")[2] == "memory":
                    return key
    return "memory"
