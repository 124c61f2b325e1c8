"""A device as selectors see it: driver, attributes and capacities by domain (``dynamic-resource-allocation/cel``)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from jupyter_dra.cel.values import CelMap, OuterMap
from jupyter_dra.errors import CELRuntimeError, QuantityError, VersionError
from jupyter_dra.model import Device, Quantity, Semver
from jupyter_dra.model.reading import mapping

__all__ = ["DeviceView", "attribute_value", "split_name"]


class DeviceView:
    """One device ready for evaluation; build it once and evaluate many selectors on it.

    ``source`` may be a :class:`~jupyter_dra.model.Device`, or a mapping as in a ResourceSlice. The driver's name is
    taken from ``driver``, or from the mapping's ``driver`` key. Raises CELRuntimeError where a version attribute or a
    capacity cannot be read, as every selector does upstream then.
    """

    __slots__ = ("attributes", "capacity", "driver", "multiple", "whole")

    def __init__(self, driver: str, attributes: OuterMap, capacity: OuterMap, multiple: bool) -> None:
        self.driver = driver
        self.attributes = attributes
        self.capacity = capacity
        self.multiple = multiple
        self.whole: CelMap | None = None

    @staticmethod
    def of(source: Device | Mapping[str, Any], driver: str | None = None) -> DeviceView:
        raw = source.raw if isinstance(source, Device) else source
        name = driver if driver is not None else str(raw.get("driver") or "")
        return DeviceView(
            name,
            OuterMap(domains(mapping(raw.get("attributes")), name, attribute_value)),
            OuterMap(domains(mapping(raw.get("capacity")), name, capacity_value)),
            raw.get("allowMultipleAllocations") is True,
        )

    def as_map(self) -> CelMap:
        """The variable ``device`` itself."""
        if self.whole is None:
            self.whole = CelMap(
                {
                    "driver": self.driver,
                    "attributes": self.attributes,
                    "capacity": self.capacity,
                    "allowMultipleAllocations": self.multiple,
                }
            )
        return self.whole


@lru_cache(maxsize=4096)
def split_name(key: str, driver: str) -> tuple[str, str]:
    """Domain and id of a slice's key; without a domain it is the driver's."""
    domain, slash, name = key.rpartition("/")
    return (domain, name) if slash else (driver, name)


def domains(entries: Mapping[str, Any], driver: str, read: Any) -> dict[object, object]:
    """The entries by domain, values as CEL values."""
    inner: dict[str, dict[object, object]] = {}
    for key, entry in entries.items():
        domain, name = split_name(key, driver)
        found = inner.get(domain)
        if found is None:
            found = inner[domain] = {}
        found[name] = read(mapping(entry))
    return {domain: CelMap(values) for domain, values in inner.items()}


def attribute_value(entry: Mapping[str, Any]) -> object:
    """The value of an attribute; versions become Semver, what no selector can read becomes null."""
    for kind, value in entry.items():
        if type(value) in SCALARS:
            return _version(value) if kind == "version" else value
        if isinstance(value, (list, tuple)):
            items = [item for item in value if type(item) in SCALARS]
            return [_version(item) for item in items] if kind == "versions" else items
    return None


SCALARS = frozenset((str, int, bool))


def _version(value: object) -> Semver:
    try:
        return Semver.parse(str(value))
    except VersionError as error:
        raise CELRuntimeError(f"parse semantic version: {error.message}") from None


def capacity_value(entry: Mapping[str, Any]) -> Quantity:
    """The value of a capacity."""
    try:
        return Quantity.parse(entry.get("value", "0"))
    except QuantityError as error:
        raise CELRuntimeError(error.message) from None
