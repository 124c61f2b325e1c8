"""How many devices of each kind there are and are free, counted once per state of the inventory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_dra.allocator import DeviceEntry, NodeView, PoolView
from jupyter_dra.model import DeviceID
from jupyter_dra.planner.survey import counters_left

if TYPE_CHECKING:
    from jupyter_dra.planner.inventory import Inventory

__all__ = ["Place", "Stock", "is_blocked", "places", "stock_of"]


@dataclass(frozen=True, slots=True)
class Place:
    """A device in its pool; ``nodes`` None means every node."""

    device: DeviceEntry
    pool: PoolView | None
    index: int
    nodes: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Stock:
    """Devices per kind: all that are published, those that could be taken now, those that a taint alone keeps away."""

    total: Counter[int]
    free: Counter[int]
    out: Counter[int]
    node_kinds: list[tuple[frozenset[int], int]]

    def nodes_with(self, kinds: set[int]) -> int:
        """Nodes that have a device of one of these kinds."""
        return sum(nodes for present, nodes in self.node_kinds if not kinds.isdisjoint(present))


def is_blocked(device: DeviceEntry) -> bool:
    """Tell whether a taint keeps ordinary claims away."""
    return any(taint.effect in ("NoSchedule", "NoExecute") for taint in device.kind.taints)


def could_be_taken(pool: PoolView, index: int) -> bool:
    """Tell whether an ordinary claim could get (a share of) a device now; taints are not looked at."""
    device, state = pool.devices[index], pool.now
    if pool.broken or state.busy[index]:
        return False
    if device.kind.shared:
        held = state.held.get(index)
        return held is None or any(
            entry.value.nanos > held.get(key, 0) for key, entry in device.kind.capacity.items()
        )
    return counters_left(pool, device)


def stock_of(inventory: Inventory) -> Stock:
    """The stock of the inventory as it is now."""
    found: Stock = inventory.cached("stock", lambda: _count(inventory))
    return found


def _count(inventory: Inventory) -> Stock:
    free: Counter[int] = Counter()
    node_kinds = []
    special: dict[DeviceID, tuple[int, bool]] = {}
    blocked = {number for number, device in inventory.state.samples.items() if is_blocked(device)}
    for group in inventory.groups():
        node, times = group.sample, len(group)
        kinds: set[int] = set()
        for pool in node.pools:
            kinds.update(pool.kinds)
            if group.tag is not None:
                continue
            if not pool.local:
                for index, device in enumerate(pool.devices):
                    if not pool.per_device or _on(device, node):
                        special[device.id] = device.kind.number, could_be_taken(pool, index)
            elif pool.plain:
                for number in pool.now.free_kinds:
                    free[number] += times
            else:
                for index, number in enumerate(pool.kinds):
                    free[number] += times * could_be_taken(pool, index)
        node_kinds.append((frozenset(kinds), times))
    free.update(number for number, is_free in special.values() if is_free)
    out = Counter({number: free.pop(number) for number in blocked & free.keys()})
    total = Counter({number: count for number, count in inventory.state.published.items() if count > 0})
    return Stock(total, free, out, node_kinds)


def _on(device: DeviceEntry, view: NodeView) -> bool:
    return not device.slice.per_device or device.kind.scope.includes(view.name, view.labels)


def places(
    inventory: Inventory, wanted: Callable[[NodeView, PoolView], bool] | None = None
) -> Iterator[Place]:
    """Every published device once, by node and then as listed; those that no node can use last.

    With ``wanted``, of the nodes' pools only those for which it is true.
    """
    views = sorted((view for group in inventory.groups() for view in group), key=lambda view: view.order)
    shared: dict[DeviceID, list[str]] = {}
    first: dict[DeviceID, tuple[PoolView, int]] = {}
    for view in views:
        for pool in view.pools:
            if wanted is not None and not wanted(view, pool):
                continue
            for index, device in enumerate(pool.devices):
                if pool.per_device and not _on(device, view):
                    continue
                shared.setdefault(device.id, []).append(view.name)
                first.setdefault(device.id, (pool, index))
    for id, (pool, index) in first.items():
        device = pool.devices[index]
        scope = device.kind.scope if device.slice.per_device else device.slice.scope
        nodes = None if scope.all_nodes else tuple(shared[id])
        yield Place(device, pool, index, nodes)
    for device in inventory.state.orphans():
        if device.id not in first:
            scope = device.kind.scope if device.slice.per_device else device.slice.scope
            nodes = (scope.node_name,) if scope.node_name else ()
            yield Place(device, None, 0, None if scope.all_nodes else nodes)
