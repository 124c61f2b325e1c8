"""What a DeviceClass offers, as far as a claim needs to know it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..cel import compile_selector
from ..errors import CELCompileError, CELRuntimeError
from . import labels
from .catalog import SPECIMENS


@dataclass(frozen=True, slots=True)
class ClassFacts:
    """A DeviceClass in the claim builder's eyes.

    Attributes:
        name: DeviceClass name.
        drivers: drivers whose devices it covers; exactly one lets the CEL name that driver.
        device_kind: gpu, part, tpu, nic, cpu or other; gpu only if all covered devices are whole GPUs that
        state memory. min_bytes, max_bytes: device memory covered; None where not stated.
        display_name: the admin's words, or None.
        hidden: the admin keeps it out of sight.
        refused: why this user may not use it (quota, group, policy), or None.
        memory_key: literal capacity key of a consumable share of memory.
    """

    name: str
    drivers: tuple[str, ...] = ()
    device_kind: str = "other"
    min_bytes: int | None = None
    max_bytes: int | None = None
    display_name: str | None = None
    hidden: bool = False
    refused: str | None = None
    memory_key: str = "memory"

    @property
    def driver(self) -> str | None:
        """The one driver the class fixes, or None."""
        return self.drivers[0] if len(self.drivers) == 1 else None

    @classmethod
    def from_class(cls, device_class: Mapping[str, Any]) -> ClassFacts:
        """Facts without an inventory: the class's selectors are tried on the catalog of published devices.

        A class that covers nothing in the catalog is ``other`` with no driver: it stays usable by name.
        """
        metadata = device_class.get("metadata") or {}
        annotations = metadata.get("annotations") or {}
        specimens = [specimen for specimen in SPECIMENS if _covers(device_class, specimen.as_device())]
        kinds = {specimen.kind for specimen in specimens}
        memory = [_bytes(specimen.memory) for specimen in specimens if specimen.memory]
        return cls(
            name=metadata.get("name", ""),
            drivers=tuple(dict.fromkeys(specimen.driver for specimen in specimens)),
            device_kind=kinds.pop() if len(kinds) == 1 else "other",
            min_bytes=min(memory, default=None),
            max_bytes=max(memory, default=None),
            display_name=annotations.get(labels.DISPLAY_NAME),
            hidden=annotations.get(labels.HIDDEN) == "true",
        )


def _bytes(quantity: str) -> int:
    return (
        int(quantity.removesuffix("Gi")) << 30
        if quantity.endswith("Gi")
        else int(quantity.removesuffix("Mi")) << 20
    )


def _covers(device_class: Mapping[str, Any], device: Mapping[str, Any]) -> bool:
    for selector in (device_class.get("spec") or {}).get("selectors") or ():
        expression = (selector.get("cel") or {}).get("expression", "")
        try:
            if not compile_selector(expression).evaluate(device):
                return False
        except (CELCompileError, CELRuntimeError):
            return False
    return True


def facts_of(classes: Iterable[Mapping[str, Any] | ClassFacts]) -> tuple[ClassFacts, ...]:
    """DeviceClass dicts and ready facts, mixed, as facts."""
    return tuple(one if isinstance(one, ClassFacts) else ClassFacts.from_class(one) for one in classes)
