"""Who holds which device, and what that leaves of a pool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import compress
from typing import TYPE_CHECKING, Any

from jupyter_dra.model import DeviceID, ResourceClaim

if TYPE_CHECKING:
    from jupyter_dra.allocator.pools import PoolView

__all__ = ["Hold", "Holds", "PoolState", "holds_of"]


@dataclass(frozen=True, slots=True)
class Hold:
    """One allocated device (or share of one) of one claim; amounts in nanos."""

    claim: str
    request: str
    admin: bool = False
    share_id: str | None = None
    amounts: Mapping[str, int] = field(default_factory=dict)


Holds = Mapping[DeviceID, tuple[Hold, ...]]
_NO_AMOUNTS: Mapping[str, int] = {}


def holds_of(claim: ResourceClaim) -> list[tuple[DeviceID, Hold]]:
    """What an allocated claim holds; nothing where it is not allocated."""
    allocation = claim.status.allocation
    if allocation is None:
        return []
    return [
        (
            DeviceID(result.driver, result.pool, result.device),
            Hold(
                claim.key,
                result.request,
                result.admin_access,
                result.share_id,
                {key: amount.nanos for key, amount in result.consumed_capacity.items()} or _NO_AMOUNTS,
            ),
        )
        for result in allocation.results
    ]


class PoolState:
    """What allocations leave of a pool, as one node sees it.

    ``busy`` tells for each device whether it is allocated as a whole (admin access does not count), ``held`` what
    shares of it are held, ``available`` the counters left, ``free_kinds`` the kinds of the devices not in use.
    """

    __slots__ = ("available", "busy", "free_kinds", "held")

    def __init__(self, view: PoolView, holds: Holds) -> None:
        busy = []
        self.held: dict[int, Mapping[str, int]] = {}
        for index, device in enumerate(view.devices):
            mine = [hold for hold in holds.get(device.id, ()) if not hold.admin] if holds else []
            if device.kind.shared:
                shares = [hold for hold in mine if hold.share_id is not None]
                if shares:
                    self.held[index] = _summed(shares)
                mine = [hold for hold in mine if hold.share_id is None]
            busy.append(bool(mine))
        self.busy = tuple(busy)
        self.free_kinds: tuple[int, ...] = (
            tuple(compress(view.kinds, (not used for used in busy))) if any(busy) else view.kinds
        )
        self.available = _available(view, holds) if view.counters else {}

    @staticmethod
    def of(view: PoolView, holds: Holds) -> PoolState:
        """The state under these holds; the empty state itself where nothing is held."""
        ids = (
            (device.id for slice in view.all_slices for device in slice.devices)
            if view.counters
            else (device.id for device in view.devices)
        )
        return PoolState(view, holds) if any(id in holds for id in ids) else view.empty

    def key(self) -> tuple[Any, ...]:
        """What distinguishes this occupancy from another of an equal pool."""
        held = tuple((index, tuple(sorted(amounts.items()))) for index, amounts in self.held.items())
        return self.busy, held, tuple(self.available.items())


def _summed(holds: list[Hold]) -> dict[str, int]:
    total: dict[str, int] = {}
    for hold in holds:
        for key, amount in hold.amounts.items():
            total[key] = total.get(key, 0) + amount
    return total


def _available(view: PoolView, holds: Holds) -> dict[tuple[str, str], int]:
    left = {
        (name, counter): value for name, values in view.counters.items() for counter, value in values.items()
    }
    for slice in view.all_slices:
        for device in slice.devices:
            if not device.kind.consumes or all(hold.admin for hold in holds.get(device.id, ())):
                continue
            for set_name, uses in device.kind.consumes:
                for counter, amount in uses:
                    if (set_name, counter) in left:
                        left[set_name, counter] -= amount
    return left
