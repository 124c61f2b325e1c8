"""Devices and ResourceSlices. Attributes are read when asked for: 40,000 devices arrive at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from jupyter_dra.model.base import APIObject, Part, meta_of, spec_of
from jupyter_dra.model.names import DeviceID
from jupyter_dra.model.nodes import NodeSelector
from jupyter_dra.model.quantity import Quantity
from jupyter_dra.model.reading import Json, integer, items, mapping, optional_text, text, texts
from jupyter_dra.model.semver import Semver
from jupyter_dra.model.taints import DeviceTaint

__all__ = [
    "AttributeValue",
    "CapacityRequestPolicy",
    "CounterConsumption",
    "CounterSet",
    "Device",
    "DeviceCapacity",
    "ResourceSlice",
    "Scalar",
]

Scalar = bool | int | str
_KINDS = ("string", "int", "bool", "version", "strings", "ints", "bools", "versions")


class AttributeValue(NamedTuple):
    """An attribute's value; ``kind`` is the API's field: string, int, bool, version or one of their plurals."""

    kind: str
    value: Scalar | tuple[Scalar, ...]

    @staticmethod
    def from_dict(raw: Json) -> AttributeValue:
        for kind in _KINDS:
            value = raw.get(kind)
            if value is not None:
                return AttributeValue(kind, tuple(value) if isinstance(value, (list, tuple)) else value)
        return AttributeValue("", ())

    def to_dict(self) -> dict[str, Scalar | list[Scalar]]:
        return (
            {self.kind: list(self.value) if isinstance(self.value, tuple) else self.value}
            if self.kind
            else {}
        )

    @property
    def version(self) -> Semver:
        """The version of a version attribute; raises VersionError when it is none."""
        return Semver.parse(str(self.value))

    def __str__(self) -> str:
        if isinstance(self.value, tuple):
            return ", ".join(map(str, self.value))
        return str(self.value).lower() if isinstance(self.value, bool) else str(self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityRequestPolicy(Part):
    """How a share of a capacity may be asked for: a default, then valid values or a range."""

    default: Quantity | None = None
    valid_values: tuple[Quantity, ...] = ()
    valid_min: Quantity | None = None
    valid_max: Quantity | None = None
    valid_step: Quantity | None = None
    has_range: bool = False

    @staticmethod
    def from_dict(raw: Json) -> CapacityRequestPolicy:
        valid_range = raw.get("validRange")
        bounds = mapping(valid_range)
        values = raw.get("validValues")
        return CapacityRequestPolicy(
            raw=raw,
            default=_optional_quantity(raw.get("default")),
            valid_values=tuple(map(Quantity.parse, values)) if isinstance(values, (list, tuple)) else (),
            valid_min=_optional_quantity(bounds.get("min")),
            valid_max=_optional_quantity(bounds.get("max")),
            valid_step=_optional_quantity(bounds.get("step")),
            has_range=isinstance(valid_range, Mapping),
        )


def _optional_quantity(value: object) -> Quantity | None:
    return (
        Quantity.parse(value)
        if isinstance(value, (str, int, float)) and not isinstance(value, bool)
        else None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCapacity(Part):
    """A capacity of a device, and how shares of it may be asked for."""

    value: Quantity
    request_policy: CapacityRequestPolicy | None = None

    @staticmethod
    def from_dict(raw: Json) -> DeviceCapacity:
        """Read a capacity; raises QuantityError where its value is no quantity."""
        policy = raw.get("requestPolicy")
        return DeviceCapacity(
            raw=raw,
            value=Quantity.parse(raw.get("value", "0")),
            request_policy=CapacityRequestPolicy.from_dict(policy) if isinstance(policy, Mapping) else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterSet(Part):
    """A pool's set of counters that its devices share."""

    name: str
    counters: Mapping[str, Quantity] = field(default_factory=dict)

    @staticmethod
    def from_dict(raw: Json) -> CounterSet:
        return CounterSet(raw=raw, name=text(raw.get("name")), counters=_counters(raw.get("counters")))


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterConsumption(Part):
    """What a device takes from one counter set while it is allocated."""

    counter_set: str
    counters: Mapping[str, Quantity] = field(default_factory=dict)

    @staticmethod
    def from_dict(raw: Json) -> CounterConsumption:
        return CounterConsumption(
            raw=raw, counter_set=text(raw.get("counterSet")), counters=_counters(raw.get("counters"))
        )


def _counters(value: object) -> dict[str, Quantity]:
    return {key: Quantity.parse(mapping(entry).get("value", "0")) for key, entry in mapping(value).items()}


@dataclass(frozen=True, slots=True)
class Device:
    """One device of a slice. Everything but the name is read from ``raw`` when asked for.

    ``attributes`` and ``capacity`` are kept once read; their keys are those of the slice (a key without a domain
    belongs to the driver's domain).
    """

    name: str
    raw: Json = field(default_factory=dict, repr=False)
    _attributes: Mapping[str, AttributeValue] | None = field(
        default=None, init=False, repr=False, compare=False
    )
    _capacity: Mapping[str, DeviceCapacity] | None = field(
        default=None, init=False, repr=False, compare=False
    )

    @staticmethod
    def from_dict(raw: Json) -> Device:
        name = raw.get("name")
        return Device(name if isinstance(name, str) else "", raw)

    def to_dict(self) -> dict[str, object]:
        """A copy of what was read, unknown fields included."""
        return Part(raw=self.raw).to_dict()

    @property
    def attributes(self) -> Mapping[str, AttributeValue]:
        if self._attributes is None:
            entries = mapping(self.raw.get("attributes"))
            read = {key: AttributeValue.from_dict(mapping(value)) for key, value in entries.items()}
            object.__setattr__(self, "_attributes", read)
            return read
        return self._attributes

    @property
    def capacity(self) -> Mapping[str, DeviceCapacity]:
        """Capacities by key; raises QuantityError where a value is no quantity."""
        if self._capacity is None:
            entries = mapping(self.raw.get("capacity"))
            read = {key: DeviceCapacity.from_dict(mapping(value)) for key, value in entries.items()}
            object.__setattr__(self, "_capacity", read)
            return read
        return self._capacity

    @property
    def taints(self) -> tuple[DeviceTaint, ...]:
        found = self.raw.get("taints")
        return tuple(map(DeviceTaint.from_dict, items(found))) if found else ()

    @property
    def consumes_counters(self) -> tuple[CounterConsumption, ...]:
        found = self.raw.get("consumesCounters")
        return tuple(map(CounterConsumption.from_dict, items(found))) if found else ()

    @property
    def allow_multiple_allocations(self) -> bool:
        return self.raw.get("allowMultipleAllocations") is True

    @property
    def binds_to_node(self) -> bool:
        return self.raw.get("bindsToNode") is True

    @property
    def binding_conditions(self) -> tuple[str, ...]:
        return texts(self.raw.get("bindingConditions"))

    @property
    def binding_failure_conditions(self) -> tuple[str, ...]:
        return texts(self.raw.get("bindingFailureConditions"))

    @property
    def node_name(self) -> str | None:
        """Where the device is, in a slice that decides per device."""
        return optional_text(self.raw.get("nodeName"))

    @property
    def node_selector(self) -> NodeSelector | None:
        return NodeSelector.optional(self.raw.get("nodeSelector"))

    @property
    def all_nodes(self) -> bool:
        return self.raw.get("allNodes") is True


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSlice(APIObject):
    """Devices, or shared counters, that a driver publishes for one generation of a pool."""

    driver: str = ""
    pool: str = ""
    pool_generation: int = 0
    resource_slice_count: int = 0
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    per_device_node_selection: bool = False
    devices: tuple[Device, ...] = ()
    shared_counters: tuple[CounterSet, ...] = ()

    @staticmethod
    def from_dict(raw: Json) -> ResourceSlice:
        spec = spec_of(raw)
        pool = mapping(spec.get("pool"))
        return ResourceSlice(
            raw=raw,
            metadata=meta_of(raw),
            driver=text(spec.get("driver")),
            pool=text(pool.get("name")),
            pool_generation=integer(pool.get("generation")) or 0,
            resource_slice_count=integer(pool.get("resourceSliceCount")) or 0,
            node_name=optional_text(spec.get("nodeName")),
            node_selector=NodeSelector.optional(spec.get("nodeSelector")),
            all_nodes=spec.get("allNodes") is True,
            per_device_node_selection=spec.get("perDeviceNodeSelection") is True,
            devices=tuple(map(Device.from_dict, items(spec.get("devices")))),
            shared_counters=tuple(map(CounterSet.from_dict, items(spec.get("sharedCounters")))),
        )

    def device_id(self, device: Device | str) -> DeviceID:
        """The triple that names a device of this slice."""
        return DeviceID(self.driver, self.pool, device if isinstance(device, str) else device.name)
