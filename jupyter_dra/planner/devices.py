"""The list of devices, as elements of the contract's DeviceList."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jupyter_dra.allocator import DeviceEntry, Hold
from jupyter_dra.planner.holders import holder_of, is_releasing
from jupyter_dra.planner.stock import Place, could_be_taken, is_blocked, places
from jupyter_dra.planner.tiers import tier_kinds

if TYPE_CHECKING:
    from jupyter_dra.planner.inventory import Inventory

__all__ = ["device_state", "is_simulated", "list_devices"]

Json = Mapping[str, Any]


def list_devices(
    inventory: Inventory, *, tier: str | None, node: str | None, admin_tiers: Sequence[Json]
) -> list[dict[str, Any]]:
    """Every device once, by node and then device; of one tier or one node where asked."""
    if not inventory.visibility.slices:
        return []
    kinds_of_tier = tier_kinds(inventory, admin_tiers)
    wanted = kinds_of_tier.get(tier, set()) if tier is not None else None
    found = []
    on_node = None if node is None else lambda view, pool: not pool.local or view.name == node
    for place in places(inventory, on_node):
        if wanted is not None and place.device.kind.number not in wanted:
            continue
        if node is not None and place.nodes is not None and node not in place.nodes:
            continue
        tiers = [name for name, kinds in kinds_of_tier.items() if place.device.kind.number in kinds]
        found.append(_element(inventory, place, tiers))
    return found


def device_state(inventory: Inventory, place: Place) -> str:
    """One of the contract's states."""
    holds = [hold for hold in inventory.holds(place.device.id) if not hold.admin]
    if place.pool is None or place.pool.broken:
        return "incomplete"
    if holds:
        return _held_state(inventory, place, holds)
    if is_blocked(place.device):
        return "out-of-service"
    if not could_be_taken(place.pool, place.index):
        # A part whose card is used up by other parts.
        return "taken"
    return "free" if inventory.visibility.all_claims else "unknown"


def is_simulated(inventory: Inventory, device: DeviceEntry) -> bool:
    """Tell whether nothing computes on the device: its slice's annotation or an attribute says so."""
    attributes = device.kind.source.get("attributes", {})
    return device.slice.name in inventory.simulated or any(
        name.rpartition("/")[2] == "simulated" for name in attributes
    )


def _held_state(inventory: Inventory, place: Place, holds: Sequence[Hold]) -> str:
    owners = [holder_of(inventory, hold)["who"] for hold in holds]
    if "you" in owners:
        return "releasing" if all(is_releasing(inventory, hold) for hold in holds) else "yours"
    if all(is_releasing(inventory, hold) for hold in holds):
        return "releasing"
    if place.device.kind.shared:
        return "shared"
    return "hidden" if owners == ["hidden"] else "taken"


def _element(inventory: Inventory, place: Place, tiers: list[str]) -> dict[str, Any]:
    device = place.device
    facts = inventory.facts.of_device(device)
    driver = device.kind.driver

    def qualified(entries: Mapping[str, Any]) -> dict[str, Any]:
        return {name if "/" in name else f"{driver}/{name}": value for name, value in entries.items()}

    attributes = device.raw_attributes()
    return {
        "driver": driver,
        "pool": device.id.pool,
        "name": device.id.device,
        "nodes": None if place.nodes is None else list(place.nodes),
        "device_kind": facts.device_kind,
        "label": facts.label,
        "product": facts.product,
        "memory_bytes": facts.memory_bytes,
        "memory_published": facts.memory_published,
        "state": device_state(inventory, place),
        "tiers": tiers,
        "simulated": is_simulated(inventory, device),
        "attributes": qualified(attributes),
        "capacity": qualified(device.kind.source.get("capacity", {})),
        "taints": [taint.to_dict() for taint in device.kind.taints],
        "holders": [holder_of(inventory, hold) for hold in inventory.holds(device.id)],
    }
