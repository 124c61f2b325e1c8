"""What leaves an answer open, in the contract's codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jupyter_dra.allocator import NodeGroup
from jupyter_dra.claims import labels
from jupyter_dra.planner.survey import MatchTable

if TYPE_CHECKING:
    from jupyter_dra.planner.inventory import Inventory

__all__ = ["Doubt", "incomplete_pools", "plugin_nodes", "scales_from_zero"]

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Doubt:
    """One reason why an answer is not sure; ``message`` is for people."""

    code: str
    message: str
    params: Mapping[str, Any]

    def as_dict(self) -> dict[str, Any]:
        return {"code": self.code, "params": dict(self.params), "message": self.message}


def scales_from_zero(inventory: Inventory, classes: Iterable[str], tiers: Sequence[Json] = ()) -> list[str]:
    """Those of the classes whose pools start nodes on demand, by annotation or by the admin's tier."""
    found = []
    for name in dict.fromkeys(classes):
        raw = inventory.classes.get(name) or {}
        annotations = (raw.get("metadata") or {}).get("annotations") or {}
        of_admin = any(
            tier.get("scales_from_zero")
            and name in (tier.get("device_class"), tier.get("class"), tier.get("name"))
            for tier in tiers
        )
        if str(annotations.get(labels.SCALES_FROM_ZERO, "")).lower() == "true" or of_admin:
            found.append(name)
    return found


def plugin_nodes(inventory: Inventory, groups: Iterable[NodeGroup]) -> dict[str, dict[str, int]]:
    """Nodes that also give devices of the same vendor through a device plugin, with the resources and amounts."""
    if not any(info.plugin_resources for info in inventory.nodes.values()):
        return {}
    found: dict[str, dict[str, int]] = {}
    for node in (view for group in groups for view in group):
        info = inventory.nodes.get(node.name)
        if info is None or not info.plugin_resources:
            continue
        drivers = {pool.driver for pool in node.pools if pool.devices}
        mine = {
            name: amount
            for name, amount in info.plugin_resources.items()
            if any(_same_vendor(name, driver) for driver in drivers)
        }
        if mine:
            found[node.name] = mine
    return found


def _same_vendor(resource: str, driver: str) -> bool:
    """``nvidia.com/gpu`` and driver ``gpu.nvidia.com``; classes' extended resources never stand in a node's status."""
    domain = resource.partition("/")[0]
    return driver == domain or driver.endswith("." + domain) or domain.endswith("." + driver)


def incomplete_pools(groups: Iterable[NodeGroup], matches: MatchTable) -> list[tuple[str, str]]:
    """Pools being updated that show a matching device, or none at all yet."""
    found: dict[tuple[str, str], None] = {}
    for group in groups:
        for pool in group.sample.pools:
            if pool.incomplete and (not pool.devices or any(map(matches.matches, pool.devices))):
                found[pool.key] = None
    return sorted(found)
