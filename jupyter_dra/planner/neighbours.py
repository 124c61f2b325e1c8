"""Who else is on a card: other parts of it that are in use, other shares of it and what they were given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from jupyter_dra.allocator import DeviceEntry, PoolView
from jupyter_dra.model import Quantity

if TYPE_CHECKING:
    from jupyter_dra.planner.inventory import Inventory

__all__ = ["neighbours"]

Place = tuple[str, str, str]
"""Driver, pool and device."""


def neighbours(inventory: Inventory, places: Iterable[Place]) -> dict[Place, dict[str, Any]]:
    """Of parts ``{"parts": n}``: others of the card in use. Of shares ``{"shares", "given", "total"}``, all included.

    Whole devices have none. Where not all claims are visible the answer is empty: a number would be too small.
    """
    wanted = set(places)
    if not wanted or not inventory.visibility.all_claims:
        return {}
    found: dict[Place, dict[str, Any]] = {}
    for pool in _pools(inventory, {place[:2] for place in wanted}):
        for index, device in enumerate(pool.devices):
            place = (device.id.driver, device.id.pool, device.id.device)
            if place in wanted and place not in found:
                around = _around(pool, index, device, len(inventory.holds(device.id)))
                if around is not None:
                    found[place] = around
    return found


def _pools(inventory: Inventory, keys: set[tuple[str, str]]) -> Iterator[PoolView]:
    views = (view for group in inventory.groups() for view in group)
    return (pool for view in views for pool in view.pools if pool.key in keys)


def _around(pool: PoolView, index: int, device: DeviceEntry, holds: int) -> dict[str, Any] | None:
    if device.kind.shared:
        held = pool.now.held.get(index, {})
        capacity = {key: entry.value for key, entry in device.kind.capacity.items() if key in held}
        return {
            "shares": holds,
            "given": {key: _text(held[key], whole) for key, whole in capacity.items()},
            "total": {key: whole.text for key, whole in capacity.items()},
        }
    card = {name for name, _ in device.kind.consumes}
    if not card:
        return None
    others = (
        other
        for other, busy in zip(pool.devices, pool.now.busy, strict=True)
        if busy and other.id != device.id and card & {name for name, _ in other.kind.consumes}
    )
    return {"parts": sum(1 for _ in others)}


def _text(nanos: int, like: Quantity) -> str:
    return Quantity("", nanos, None, like.style).canonical()
