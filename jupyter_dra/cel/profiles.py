"""Devices by profile: what is equal for selectors is evaluated once.

A profile is a driver, a mode, capacities and attributes, in which the values of nearly unique attributes (a uuid, say)
are replaced by a placeholder whose presence stays. A selector that reads a placeholder is evaluated on that profile's
devices one by one; which selectors do is found by running them, not by looking at their text.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jupyter_dra.cel.device import SCALARS, DeviceView, attribute_value, capacity_value, domains, split_name
from jupyter_dra.cel.results import Results
from jupyter_dra.cel.selector import Outcome, Selector
from jupyter_dra.cel.values import TRAP, CelMap, OuterMap
from jupyter_dra.errors import CELRuntimeError
from jupyter_dra.model import Device
from jupyter_dra.model.reading import mapping

__all__ = ["Outcome", "ProfileTable", "Results"]

_UNIQUE_FROM = 512
_REMEMBERED = 256
_NONE: frozenset[str] = frozenset()
Profile = DeviceView | CELRuntimeError | None


class ProfileTable:
    """Interns devices; each has a number (stable, reused after it was removed) and a profile.

    ``members[p]`` are the devices of profile ``p``, ``profile_of[n]`` is the profile of device ``n`` (-1: removed).
    ``revision`` grows with every change; ``regrouped`` when profiles of devices that were there change, because an
    attribute turned out to be nearly unique (``unique_from`` or more values). One owner changes it, from one thread.

    >>> from jupyter_dra.cel import compile_selector
    >>> table = ProfileTable()
    >>> numbers = table.add_all("gpu.example.com", [{"attributes": {"model": {"string": "a"}}}] * 3)
    >>> table.results(compile_selector('device.attributes["gpu.example.com"].model == "a"')).count()
    3
    """

    def __init__(self, unique_from: int = _UNIQUE_FROM) -> None:
        self.profiles: list[Profile] = []
        self.members: list[list[int]] = []
        self.profile_of = array("i")
        self.revision = 0
        self.regrouped = 0
        self._places = array("i")
        self._devices: list[tuple[str, Mapping[str, Any]] | None] = []
        self._free: list[int] = []
        self._numbers: dict[tuple[object, ...], int] = {}
        self._unique_from = unique_from
        self._values: dict[str, dict[str, set[object]]] = {}
        self._unique: dict[str, frozenset[str]] = {}
        self._results: dict[Selector, Results] = {}

    def __len__(self) -> int:
        return len(self._devices) - len(self._free)

    def add(self, driver: str, device: Device | Mapping[str, Any]) -> int:
        """Take in a device and give its number."""
        raw = device.raw if isinstance(device, Device) else device
        if self._free:
            number = self._free.pop()
            self._devices[number] = driver, raw
        else:
            number = len(self._devices)
            self._devices.append((driver, raw))
            self.profile_of.append(-1)
            self._places.append(0)
        self.revision += 1
        self._join(number, self._profile(driver, raw))
        return number

    def add_all(self, driver: str, devices: Iterable[Device | Mapping[str, Any]]) -> list[int]:
        """Take in many devices of one driver."""
        return [self.add(driver, device) for device in devices]

    def remove(self, number: int) -> None:
        """Forget a device; its number may be given to another one."""
        if self._devices[number] is None:
            raise KeyError(number)
        self._leave(number)
        self._devices[number] = None
        self._free.append(number)
        self.revision += 1

    def results(self, selector: Selector) -> Results:
        """The outcomes of a selector on every device; remembered, and extended by what was added since."""
        found = self._results.pop(selector, None)
        if found is None:
            found = Results(self, selector)
            if len(self._results) >= _REMEMBERED:
                del self._results[next(iter(self._results))]
        self._results[selector] = found
        return found

    def evaluate(self, selectors: Sequence[Selector], number: int) -> Outcome:
        """The outcome of selectors that must all be true: the first that is not decides, later ones are not seen."""
        for selector in selectors:
            outcome = self.results(selector).of(number)
            if outcome is not True:
                return outcome
        return True

    def profile_outcome(self, selector: Selector, profile: int) -> Outcome | None:
        """The outcome for all devices of a profile, or None where each must be looked at."""
        view = self.profiles[profile]
        if isinstance(view, DeviceView):
            return selector.outcome(view)
        return False if view is None else view

    def outcome(self, selector: Selector, number: int) -> Outcome:
        """The outcome with the device's real values."""
        entry = self._devices[number]
        if entry is None:
            raise KeyError(number)
        view = _view(*entry, _NONE)
        found = view if isinstance(view, CELRuntimeError) else selector.outcome(view)
        return False if found is None else found

    def outcomes(
        self, selector: Selector, profile: int, numbers: Iterable[int]
    ) -> Iterable[tuple[int, Outcome]]:
        """The outcomes of some devices of a profile with their real values."""
        view = self.profiles[profile]
        if not isinstance(view, DeviceView):
            return
        scratch, cells = _scratch(view, self._unique.get(view.driver, _NONE))
        for number in numbers:
            entry = self._devices[number]
            if entry is None:
                continue
            attributes = entry[1]["attributes"]
            for cell, name, key in cells:
                (cell[name],) = attributes[key].values()
            found = selector.outcome(scratch)
            yield number, False if found is None else found

    def _profile(self, driver: str, raw: Mapping[str, Any]) -> int:
        unique = self._unique.get(driver, _NONE)
        values = self._values.get(driver)
        if values is None:
            values = self._values[driver] = {}
        parts: list[object] = [driver, raw.get("allowMultipleAllocations") is True]
        for key, entry in mapping(raw.get("attributes")).items():
            if key in unique and _plain(entry):
                parts += (key, TRAP)
                continue
            for kind, value in (entry if type(entry) is dict else mapping(entry)).items():
                if type(value) not in SCALARS:
                    value = repr(value)
                parts += (key, kind, value)
                seen = values.get(key)
                if seen is None:
                    seen = values[key] = set()
                elif value in seen:
                    continue
                seen.add(value)
                if len(seen) >= self._unique_from and key not in unique and _plain(entry):
                    self._make_unique(driver, key)
                    return self._profile(driver, raw)
        parts.append(None)
        for key, entry in mapping(raw.get("capacity")).items():
            parts += (key, str(mapping(entry).get("value")))
        identity = tuple(parts)
        found = self._numbers.get(identity)
        if found is None:
            found = self._numbers[identity] = len(self.profiles)
            self.profiles.append(_view(driver, raw, unique))
            self.members.append([])
        return found

    def _make_unique(self, driver: str, key: str) -> None:
        """From now on this attribute of this driver is a placeholder; its devices get new profiles."""
        self._unique[driver] = self._unique.get(driver, _NONE) | {key}
        self.regrouped += 1
        stale = [
            number
            for number, entry in enumerate(self._devices)
            if entry is not None
            and entry[0] == driver
            and self.profile_of[number] >= 0
            and key in mapping(entry[1].get("attributes"))
        ]
        left = {self.profile_of[number] for number in stale}
        for number in stale:
            self._leave(number)
        # No device can join these again: what named them is a placeholder now.
        self._numbers = {identity: number for identity, number in self._numbers.items() if number not in left}
        for profile in left:
            self.profiles[profile] = None
        for number in stale:
            entry = self._devices[number]
            if entry is not None:
                self._join(number, self._profile(*entry))

    def _join(self, number: int, profile: int) -> None:
        members = self.members[profile]
        self._places[number] = len(members)
        members.append(number)
        self.profile_of[number] = profile
        for results in self._results.values():
            results.joined(number)

    def _leave(self, number: int) -> None:
        members = self.members[self.profile_of[number]]
        place, last = self._places[number], members.pop()
        if last != number:
            members[place] = last
            self._places[last] = place
        self.profile_of[number] = -1
        for results in self._results.values():
            results.left(number)


def _view(driver: str, raw: Mapping[str, Any], unique: frozenset[str]) -> DeviceView | CELRuntimeError:
    """The device for selectors, placeholders in place of unique values; the error where it cannot be read."""
    try:
        attributes = mapping(raw.get("attributes"))
        if unique:
            attributes = {
                key: _PLACEHOLDER if key in unique and _plain(value) else value
                for key, value in attributes.items()
            }
        return DeviceView(
            driver,
            OuterMap(domains(attributes, driver, _value_or_trap)),
            OuterMap(domains(mapping(raw.get("capacity")), driver, capacity_value)),
            raw.get("allowMultipleAllocations") is True,
        )
    except CELRuntimeError as error:
        return error


def _plain(entry: object) -> bool:
    """Tell whether a placeholder may stand for it: a version must be seen, because one that is none always raises."""
    if type(entry) is not dict or len(entry) != 1:
        return False
    return type(entry.get("string", entry.get("int"))) in (str, int)


_PLACEHOLDER: Mapping[str, Any] = {}


def _value_or_trap(entry: Mapping[str, Any]) -> object:
    return TRAP if entry is _PLACEHOLDER else attribute_value(entry)


Cell = tuple[dict[object, object], str, str]


def _scratch(view: DeviceView, unique: frozenset[str]) -> tuple[DeviceView, list[Cell]]:
    """A copy of a profile to be filled with one device after another, and where each unique value goes."""
    data: dict[object, object] = {}
    for domain, inner in view.attributes.data.items():
        data[domain] = CelMap(dict(inner.data)) if isinstance(inner, CelMap) else inner
    cells: list[Cell] = []
    for key in unique:
        domain, name = split_name(key, view.driver)
        inner = data.get(domain)
        if isinstance(inner, CelMap) and inner.data.get(name) is TRAP:
            cells.append((inner.data, name, key))
    return DeviceView(view.driver, OuterMap(data), view.capacity, view.multiple), cells
