"""Feature gates of the mirrored scheduler, by cluster version (``pkg/features/kube_features.go``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jupyter_dra.allocator.repairs import Repairs

__all__ = ["Features"]

_NAMES = {
    "adminAccess": "admin_access",
    "prioritizedList": "prioritized_list",
    "partitionableDevices": "partitionable_devices",
    "deviceTaints": "device_taints",
    "consumableCapacity": "consumable_capacity",
    "deviceBindingConditions": "binding_conditions",
    "deviceBindingAndStatus": "binding_conditions",
    "bindingConditions": "binding_conditions",
    "listAttributes": "list_attributes",
}
_NEWER = ("partitionable_devices", "device_taints", "consumable_capacity", "binding_conditions")


@dataclass(frozen=True, slots=True)
class Features:
    """What the scheduler's allocator looks at; the defaults are those of 1.36 and 1.37."""

    version: str = "1.37"
    admin_access: bool = True
    prioritized_list: bool = True
    partitionable_devices: bool = True
    device_taints: bool = True
    consumable_capacity: bool = True
    binding_conditions: bool = True
    list_attributes: bool = False
    repairs: Repairs = field(default_factory=Repairs)

    @staticmethod
    def from_dict(given: Mapping[str, Any] | Features | None) -> Features:
        """Read ``{"version": "1.37", "<gate>": bool, "repairs": {…}}``; gates that are not named follow the version.

        Unknown names are ignored, because a newer cluster may have gates that no allocation hangs on.
        """
        if isinstance(given, Features):
            return given
        given = given or {}
        version = str(given.get("version") or "1.37").removeprefix("v")
        fields: dict[str, Any] = {"version": version}
        if _minor(version) < 36:
            fields.update(dict.fromkeys(_NEWER, False))
        fields.update({_NAMES[name]: bool(on) for name, on in given.items() if name in _NAMES})
        switches = given.get("repairs")
        if isinstance(switches, Mapping):
            switches = Repairs.from_dict(switches)
        if isinstance(switches, Repairs):
            fields["repairs"] = switches
        return Features(**fields)

    @property
    def looks_at_capacity(self) -> bool:
        """False where the stable variant runs, which does not know capacity requests at all."""
        return any(getattr(self, name) for name in _NEWER)


def _minor(version: str) -> int:
    parts = version.split(".")
    try:
        return int(parts[1]) if parts[0] == "1" else 999
    except (IndexError, ValueError):
        return 37
