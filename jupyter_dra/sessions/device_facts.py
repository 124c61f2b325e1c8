"""What a device is called and has, read from the slices that publish it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import DRAError
from ..model import Device

Json = Mapping[str, Any]
Facts = tuple[str | None, Mapping[str, Any]]

SIMULATED = "jupyter-dra.dev/simulated"
UNKNOWN: Facts = (None, {})
_NUMBERED = re.compile(r"[a-z-]*slice-(\d+)")


class DeviceBook:
    """Label and facts of devices, looked up once each."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, str], Facts] = {}

    def clear(self) -> None:
        """Forget everything: a slice changed."""
        self._known.clear()

    def describe(self, slices: Iterable[Json], driver: str, pool: str, device: str) -> Facts:
        """Label and facts (product, memory, attributes, capacity, kind, simulated); unknown ones are empty."""
        key = (driver, pool, device)
        if key not in self._known:
            self._known[key] = _look_up(slices, key)
        return self._known[key]


def _look_up(slices: Iterable[Json], key: tuple[str, str, str]) -> Facts:
    driver, pool, name = key
    best: tuple[int, Json, Json] | None = None
    for obj in slices:
        spec = obj.get("spec") or {}
        where = spec.get("pool") or {}
        if spec.get("driver") != driver or where.get("name") != pool:
            continue
        for device in spec.get("devices") or ():
            if device.get("name") == name:
                generation = int(where.get("generation") or 0)
                if best is None or generation > best[0]:
                    best = (generation, obj, device)
    if best is None:
        return UNKNOWN
    try:
        return _facts(driver, best[1], Device.from_dict(best[2]))
    except DRAError:
        return UNKNOWN


def _facts(driver: str, obj: Json, device: Device) -> Facts:
    from ..planner.naming import facts_of_device

    found = facts_of_device(
        driver,
        {key: entry.value for key, entry in device.attributes.items()},
        {key: entry.value.bytes for key, entry in device.capacity.items()},
        {key: entry.value.text for key, entry in device.capacity.items()},
    )

    def qualified(entries: Mapping[str, Any] | None) -> dict[str, Any]:
        return {key if "/" in key else f"{driver}/{key}": value for key, value in (entries or {}).items()}

    attributes = device.raw.get("attributes") or {}
    notes = obj["metadata"].get("annotations") or {}
    marked = any(key.rpartition("/")[2] == "simulated" for key in attributes)
    return found.label, {
        "product": found.product,
        "memory_bytes": found.memory_bytes,
        "memory_published": found.memory_published,
        "attributes": qualified(attributes),
        "capacity": qualified(device.raw.get("capacity")),
        "device_kind": found.device_kind,
        "slots": slots_of(device) if found.device_kind == "part" else None,
        "simulated": marked or notes.get(SIMULATED) == "true",
    }


def slots_of(device: Device) -> list[int] | None:
    """First and last place of a part on its card, where the driver numbers them by counters of one each.

    ``memory-slice-4`` and ``memory-slice-5`` are [4, 5]; None where there are none, or not in a row.
    """
    for used in device.consumes_counters:
        numbered = (_NUMBERED.fullmatch(name) for name, amount in used.counters.items() if amount.text == "1")
        places = sorted(int(match[1]) for match in numbered if match)
        if places and places == list(range(places[0], places[-1] + 1)):
            return [places[0], places[-1]]
    return None
