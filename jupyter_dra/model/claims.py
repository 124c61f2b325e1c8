"""DeviceClass, ResourceClaim and ResourceClaimTemplate (resource.k8s.io/v1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from jupyter_dra.model.base import APIObject, ObjectMeta, Part, meta_of, spec_of
from jupyter_dra.model.names import DeviceID
from jupyter_dra.model.nodes import NodeSelector
from jupyter_dra.model.quantity import Quantity
from jupyter_dra.model.reading import Json, integer, items, mapping, optional_text, text, texts
from jupyter_dra.model.taints import Toleration

__all__ = [
    "AllocatedDeviceStatus",
    "AllocationResult",
    "ClaimSpec",
    "ClaimStatus",
    "ConsumerReference",
    "DeviceClass",
    "DeviceConfig",
    "DeviceConstraint",
    "DeviceRequest",
    "DeviceRequestResult",
    "DeviceSubRequest",
    "ResourceClaim",
    "ResourceClaimTemplate",
]


def _selectors(value: object) -> tuple[str, ...]:
    """The CEL texts of a list of selectors, in order; a selector of another kind reads as the empty text."""
    return tuple(text(mapping(item.get("cel")).get("expression")) for item in items(value))


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceConfig(Part):
    """Opaque configuration for a driver; ``source`` (FromClass, FromClaim) only in an allocation."""

    requests: tuple[str, ...] = ()
    driver: str | None = None
    parameters: Any = None
    source: str | None = None

    @staticmethod
    def from_dict(raw: Json) -> DeviceConfig:
        opaque = mapping(raw.get("opaque"))
        return DeviceConfig(
            raw=raw,
            requests=texts(raw.get("requests")),
            driver=optional_text(opaque.get("driver")),
            parameters=opaque.get("parameters"),
            source=optional_text(raw.get("source")),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceClass(APIObject):
    """A kind of device offered to users; ``selectors`` are CEL texts that must all be true."""

    selectors: tuple[str, ...] = ()
    config: tuple[DeviceConfig, ...] = ()
    extended_resource_name: str | None = None

    @staticmethod
    def from_dict(raw: Json) -> DeviceClass:
        spec = spec_of(raw)
        return DeviceClass(
            raw=raw,
            metadata=meta_of(raw),
            selectors=_selectors(spec.get("selectors")),
            config=tuple(map(DeviceConfig.from_dict, items(spec.get("config")))),
            extended_resource_name=optional_text(spec.get("extendedResourceName")),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceSubRequest(Part):
    """What is asked for: the body of ``exactly``, or one entry of ``firstAvailable`` (then it has a name)."""

    name: str = ""
    device_class_name: str = ""
    selectors: tuple[str, ...] = ()
    allocation_mode: str = "ExactCount"
    count: int = 1
    admin_access: bool = False
    tolerations: tuple[Toleration, ...] = ()
    capacity_requests: Mapping[str, Quantity] = field(default_factory=dict)

    @staticmethod
    def from_dict(raw: Json) -> DeviceSubRequest:
        """Read a request body; defaults are the API server's. Raises QuantityError for a bad capacity."""
        mode = text(raw.get("allocationMode")) or "ExactCount"
        count = integer(raw.get("count"))
        asked = mapping(mapping(raw.get("capacity")).get("requests"))
        return DeviceSubRequest(
            raw=raw,
            name=text(raw.get("name")),
            device_class_name=text(raw.get("deviceClassName")),
            selectors=_selectors(raw.get("selectors")),
            allocation_mode=mode,
            count=(1 if mode == "ExactCount" else 0) if count is None else count,
            admin_access=raw.get("adminAccess") is True,
            tolerations=tuple(map(Toleration.from_dict, items(raw.get("tolerations")))),
            capacity_requests={key: Quantity.parse(value) for key, value in asked.items()},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceRequest(Part):
    """One request: ``exactly`` one body, or alternatives in order."""

    name: str = ""
    exactly: DeviceSubRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] = ()

    @staticmethod
    def from_dict(raw: Json) -> DeviceRequest:
        exactly = raw.get("exactly")
        return DeviceRequest(
            raw=raw,
            name=text(raw.get("name")),
            exactly=DeviceSubRequest.from_dict(exactly) if isinstance(exactly, Mapping) else None,
            first_available=tuple(map(DeviceSubRequest.from_dict, items(raw.get("firstAvailable")))),
        )

    def bodies(self) -> Iterator[tuple[str, DeviceSubRequest]]:
        """Every body with the name results use: ``gpu``, or ``gpu/first``, ``gpu/second``."""
        if self.exactly is not None:
            yield self.name, self.exactly
        for alternative in self.first_available:
            yield f"{self.name}/{alternative.name}", alternative


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceConstraint(Part):
    """What the devices of some requests must share, or must not; no requests means all."""

    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None

    @staticmethod
    def from_dict(raw: Json) -> DeviceConstraint:
        return DeviceConstraint(
            raw=raw,
            requests=texts(raw.get("requests")),
            match_attribute=optional_text(raw.get("matchAttribute")),
            distinct_attribute=optional_text(raw.get("distinctAttribute")),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimSpec(Part):
    """The spec of a claim, and of a template's claims."""

    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[DeviceConfig, ...] = ()

    @staticmethod
    def from_dict(raw: Json) -> ClaimSpec:
        devices = mapping(raw.get("devices"))
        return ClaimSpec(
            raw=raw,
            requests=tuple(map(DeviceRequest.from_dict, items(devices.get("requests")))),
            constraints=tuple(map(DeviceConstraint.from_dict, items(devices.get("constraints")))),
            config=tuple(map(DeviceConfig.from_dict, items(devices.get("config")))),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceRequestResult(Part):
    """One allocated device; ``request`` is ``gpu``, or ``gpu/first`` for a chosen alternative."""

    request: str
    driver: str
    pool: str
    device: str
    admin_access: bool = False
    tolerations: tuple[Toleration, ...] = ()
    share_id: str | None = None
    consumed_capacity: Mapping[str, Quantity] = field(default_factory=dict)
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()

    @staticmethod
    def from_dict(raw: Json) -> DeviceRequestResult:
        consumed = mapping(raw.get("consumedCapacity"))
        return DeviceRequestResult(
            raw=raw,
            request=text(raw.get("request")),
            driver=text(raw.get("driver")),
            pool=text(raw.get("pool")),
            device=text(raw.get("device")),
            admin_access=raw.get("adminAccess") is True,
            tolerations=tuple(map(Toleration.from_dict, items(raw.get("tolerations")))),
            share_id=optional_text(raw.get("shareID")),
            consumed_capacity={key: Quantity.parse(value) for key, value in consumed.items()},
            binding_conditions=texts(raw.get("bindingConditions")),
            binding_failure_conditions=texts(raw.get("bindingFailureConditions")),
        )

    @property
    def id(self) -> DeviceID:
        return DeviceID(self.driver, self.pool, self.device)


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationResult(Part):
    """What the scheduler gave a claim; ``node_selector`` None means usable on every node."""

    results: tuple[DeviceRequestResult, ...] = ()
    config: tuple[DeviceConfig, ...] = ()
    node_selector: NodeSelector | None = None
    allocation_timestamp: str | None = None

    @staticmethod
    def from_dict(raw: Json) -> AllocationResult:
        devices = mapping(raw.get("devices"))
        return AllocationResult(
            raw=raw,
            results=tuple(map(DeviceRequestResult.from_dict, items(devices.get("results")))),
            config=tuple(map(DeviceConfig.from_dict, items(devices.get("config")))),
            node_selector=NodeSelector.optional(raw.get("nodeSelector")),
            allocation_timestamp=optional_text(raw.get("allocationTimestamp")),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerReference(Part):
    """Who holds a claim: usually a pod."""

    resource: str
    name: str
    uid: str
    api_group: str = ""

    @staticmethod
    def from_dict(raw: Json) -> ConsumerReference:
        return ConsumerReference(
            raw=raw,
            resource=text(raw.get("resource")),
            name=text(raw.get("name")),
            uid=text(raw.get("uid")),
            api_group=text(raw.get("apiGroup")),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocatedDeviceStatus(Part):
    """What a driver reports about an allocated device."""

    driver: str
    pool: str
    device: str
    share_id: str | None = None
    conditions: tuple[Json, ...] = ()
    data: Any = None
    network_data: Json | None = None

    @staticmethod
    def from_dict(raw: Json) -> AllocatedDeviceStatus:
        network = raw.get("networkData")
        return AllocatedDeviceStatus(
            raw=raw,
            driver=text(raw.get("driver")),
            pool=text(raw.get("pool")),
            device=text(raw.get("device")),
            share_id=optional_text(raw.get("shareID")),
            conditions=tuple(items(raw.get("conditions"))),
            data=raw.get("data"),
            network_data=network if isinstance(network, Mapping) else None,
        )

    @property
    def id(self) -> DeviceID:
        return DeviceID(self.driver, self.pool, self.device)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimStatus(Part):
    """The status of a claim; ``allocation`` None means not allocated."""

    allocation: AllocationResult | None = None
    reserved_for: tuple[ConsumerReference, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()

    @staticmethod
    def from_dict(raw: Json) -> ClaimStatus:
        allocation = raw.get("allocation")
        return ClaimStatus(
            raw=raw,
            allocation=AllocationResult.from_dict(allocation) if isinstance(allocation, Mapping) else None,
            reserved_for=tuple(map(ConsumerReference.from_dict, items(raw.get("reservedFor")))),
            devices=tuple(map(AllocatedDeviceStatus.from_dict, items(raw.get("devices")))),
        )


_NO_SPEC = ClaimSpec()
_NO_STATUS = ClaimStatus()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceClaim(APIObject):
    """A request for devices, and once allocated which ones."""

    spec: ClaimSpec = _NO_SPEC
    status: ClaimStatus = _NO_STATUS

    @staticmethod
    def from_dict(raw: Json) -> ResourceClaim:
        return ResourceClaim(
            raw=raw,
            metadata=meta_of(raw),
            spec=ClaimSpec.from_dict(spec_of(raw)),
            status=ClaimStatus.from_dict(mapping(raw.get("status"))),
        )

    @property
    def allocated(self) -> bool:
        return self.status.allocation is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceClaimTemplate(APIObject):
    """A pattern from which each pod gets a claim of its own."""

    claim_metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: ClaimSpec = _NO_SPEC

    @staticmethod
    def from_dict(raw: Json) -> ResourceClaimTemplate:
        spec = spec_of(raw)
        return ResourceClaimTemplate(
            raw=raw,
            metadata=meta_of(raw),
            claim_metadata=ObjectMeta.from_dict(mapping(spec.get("metadata"))),
            spec=ClaimSpec.from_dict(mapping(spec.get("spec"))),
        )
