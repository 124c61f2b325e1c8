"""Device taints, tolerations and taint rules (KEP-5055; ``k8s.io/dynamic-resource-allocation/resourceclaim``)."""

from __future__ import annotations

from dataclasses import dataclass

from jupyter_dra.model.base import APIObject, Part, meta_of, spec_of
from jupyter_dra.model.names import DeviceID
from jupyter_dra.model.reading import Json, integer, mapping, optional_text, text

__all__ = ["DeviceTaint", "DeviceTaintRule", "Toleration"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceTaint(Part):
    """A taint on a device; ``effect`` is NoSchedule, NoExecute or None (information only)."""

    key: str
    value: str = ""
    effect: str = ""
    time_added: str | None = None

    @staticmethod
    def from_dict(raw: Json) -> DeviceTaint:
        return DeviceTaint(
            raw=raw,
            key=text(raw.get("key")),
            value=text(raw.get("value")),
            effect=text(raw.get("effect")),
            time_added=optional_text(raw.get("timeAdded")),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Toleration(Part):
    """A request's toleration; no key tolerates every key, no effect every effect."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    seconds: int | None = None

    @staticmethod
    def from_dict(raw: Json) -> Toleration:
        return Toleration(
            raw=raw,
            key=text(raw.get("key")),
            operator=text(raw.get("operator")) or "Equal",
            value=text(raw.get("value")),
            effect=text(raw.get("effect")),
            seconds=integer(raw.get("tolerationSeconds")),
        )

    def tolerates(self, taint: DeviceTaint) -> bool:
        """Tell whether this toleration covers a taint (ToleratesTaint upstream)."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator == "Exists":
            return True
        return self.operator == "Equal" and self.value == taint.value


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceTaintRule(APIObject):
    """A rule that taints devices: all that match every field of its selector which is set."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None
    taint: DeviceTaint = DeviceTaint(key="")
    selects_nothing: bool = False

    @staticmethod
    def from_dict(raw: Json) -> DeviceTaintRule:
        spec = spec_of(raw)
        selector = spec.get("deviceSelector")
        chosen = mapping(selector)
        return DeviceTaintRule(
            raw=raw,
            metadata=meta_of(raw),
            driver=optional_text(chosen.get("driver")),
            pool=optional_text(chosen.get("pool")),
            device=optional_text(chosen.get("device")),
            taint=DeviceTaint.from_dict(mapping(spec.get("taint"))),
            selects_nothing=selector is None,
        )

    def selects(self, device: DeviceID) -> bool:
        """Tell whether the rule taints this device; a rule without a selector taints none."""
        if self.selects_nothing:
            return False
        return (
            self.driver in (None, device.driver)
            and self.pool in (None, device.pool)
            and self.device in (None, device.device)
        )
