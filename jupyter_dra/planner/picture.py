"""The devices for a picture, kept up change by change: of tens of thousands of rows a change renews a few."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from jupyter_dra.allocator import DeviceEntry, Hold, NodeView, PoolState, PoolView
from jupyter_dra.model import DeviceID
from jupyter_dra.planner.devices import device_state, is_simulated
from jupyter_dra.planner.holders import holder_of
from jupyter_dra.planner.naming import DeviceFacts
from jupyter_dra.planner.stock import Place, places
from jupyter_dra.planner.tiers import tier_kinds

if TYPE_CHECKING:
    from jupyter_dra.planner.inventory import Inventory

__all__ = ["DevicePicture", "PictureChange", "PictureRow"]

Json = Mapping[str, Any]
PoolKey = tuple[str, str]
# Devices that are gone are remembered so far back; who was away longer starts afresh.
_KEPT_REMOVALS = 10_000
_NOWHERE = ""


class PictureRow(NamedTuple):
    """One device; the fields of the contract's DeviceList without what is unique to each device.

    ``node`` is None for a device of every node, and a comma-separated list where there are several.
    """

    node: str | None
    driver: str
    pool: str
    name: str
    device_kind: str
    label: str
    product: str | None
    memory_bytes: int | None
    state: str
    tiers: tuple[str, ...]
    simulated: bool
    taints: tuple[Json, ...]
    holders: tuple[Json, ...]


class PictureChange(NamedTuple):
    """What a picture of an earlier revision lacks: forget ``removed`` first, then take ``rows``."""

    rows: list[PictureRow]
    removed: list[DeviceID]


class _Kind(NamedTuple):
    facts: DeviceFacts
    tiers: tuple[str, ...]
    taints: tuple[Json, ...]
    simulated: bool


@dataclass(slots=True)
class _Block:
    """The devices of one node; or, under no name, all that belong to no single node."""

    view: NodeView | None = None
    states: tuple[PoolState, ...] = ()
    rows: dict[DeviceID, PictureRow] = field(default_factory=dict)
    changed: dict[DeviceID, int] = field(default_factory=dict)
    newest: int = 0

    def is_current(self, view: NodeView) -> bool:
        return self.view is view and all(
            pool.now is state for pool, state in zip(view.pools, self.states, strict=True)
        )


class DevicePicture:
    """All devices of one inventory, each with the revision at which it became what it is.

    Attributes:
        revision: of the picture; starts at ``first``, so that pictures made later, by another server or of another
            cluster, can be told apart by starting higher (a clock's milliseconds do).
    """

    def __init__(self, first: int = 1) -> None:
        self.revision = first
        self._oldest = first
        self._seen = -1
        self._blocks: dict[str, _Block] = {}
        self._nodes_of_pool: Counter[PoolKey] = Counter()
        self._spread: frozenset[PoolKey] = frozenset()
        self._removed: list[tuple[int, DeviceID]] = []
        self._classes: dict[str, Json] = {}
        self._admin_tiers: tuple[Json, ...] = ()
        self._kinds: dict[int, _Kind] = {}
        self._holders: dict[Any, tuple[Json, ...]] = {}

    def __len__(self) -> int:
        return sum(len(block.rows) for block in self._blocks.values())

    def update(self, inventory: Inventory, admin_tiers: Sequence[Json] = ()) -> None:
        """Take in what changed in the inventory; always the same one."""
        tiers = tuple(admin_tiers)
        if inventory.revision == self._seen and tiers == self._admin_tiers:
            return
        self._seen = inventory.revision
        if not inventory.visibility.slices:
            return
        self._holders.clear()
        stale = self._tiers_changed(inventory, tiers)
        views = {view.name: view for group in inventory.groups() for view in group}
        dirty = {name for name, view in views.items() if stale or not self._block(name).is_current(view)}
        gone = [name for name in self._blocks if name and name not in views]
        dirty |= self._count_pools(views, dirty, gone)
        revision = self.revision + 1
        changed = False
        for name in gone:
            changed |= self._replace(name, {}, revision)
            del self._blocks[name]
        for name in sorted(dirty, key=lambda name: views[name].order):
            view = views[name]
            block = self._block(name)
            block.view, block.states = view, tuple(pool.now for pool in view.pools)
            changed |= self._replace(name, self._rows(inventory, self._local(view)), revision)
        changed |= self._replace(_NOWHERE, self._elsewhere(inventory), revision)
        if changed:
            self.revision = revision

    def rows(self) -> Iterator[PictureRow]:
        """Every device once, by node as nodes became known, those of no single node last."""
        ordered = sorted(self._blocks, key=self._order)
        for name in ordered:
            yield from self._blocks[name].rows.values()

    def since(self, revision: int) -> PictureChange | None:
        """What changed after a revision; None where that is not known any more, or not this picture's."""
        if not self._oldest <= revision <= self.revision:
            return None
        rows = [
            block.rows[id]
            for block in self._blocks.values()
            if block.newest > revision
            for id, at in block.changed.items()
            if at > revision
        ]
        return PictureChange(rows, [id for at, id in self._removed if at > revision])

    def _block(self, name: str) -> _Block:
        block = self._blocks.get(name)
        if block is None:
            block = self._blocks[name] = _Block()
        return block

    def _order(self, name: str) -> tuple[bool, int]:
        view = self._blocks[name].view
        return view is None, 0 if view is None else view.order

    def _tiers_changed(self, inventory: Inventory, admin_tiers: tuple[Json, ...]) -> bool:
        """Whether devices may belong to other tiers than before."""
        same = self._classes.keys() == inventory.classes.keys() and all(
            self._classes[name] is raw for name, raw in inventory.classes.items()
        )
        if same and admin_tiers == self._admin_tiers:
            return False
        self._classes, self._admin_tiers = dict(inventory.classes), admin_tiers
        self._kinds.clear()
        return True

    def _count_pools(self, views: Mapping[str, NodeView], dirty: set[str], gone: Sequence[str]) -> set[str]:
        """Keep up which pools several nodes see; nodes whose pools became, or stopped being, such a one."""
        for name in (*dirty, *gone):
            view = self._block(name).view
            if view is not None:
                self._nodes_of_pool.subtract(pool.key for pool in view.pools)
        for name in dirty:
            self._nodes_of_pool.update(pool.key for pool in views[name].pools)
        spread = frozenset(key for key, nodes in self._nodes_of_pool.items() if nodes > 1)
        moved, self._spread = spread ^ self._spread, spread
        if not moved:
            return set()
        return {name for name, view in views.items() if any(pool.key in moved for pool in view.pools)}

    def _is_spread(self, pool: PoolView) -> bool:
        return not pool.local or pool.key in self._spread

    def _local(self, view: NodeView) -> Iterator[Place]:
        for pool in view.pools:
            if not self._is_spread(pool):
                for index, device in enumerate(pool.devices):
                    yield Place(device, pool, index, (view.name,))

    def _elsewhere(self, inventory: Inventory) -> dict[DeviceID, PictureRow]:
        """What several nodes see, or none; a device that a node has of its own is left to that node."""
        rows = self._rows(inventory, places(inventory, lambda _, pool: self._is_spread(pool)))
        if rows:
            for name, block in self._blocks.items():
                for id in rows.keys() & block.rows.keys() if name else ():
                    del rows[id]
        return rows

    def _rows(self, inventory: Inventory, found: Iterator[Place]) -> dict[DeviceID, PictureRow]:
        rows: dict[DeviceID, PictureRow] = {}
        for place in found:
            if place.device.id not in rows:
                rows[place.device.id] = self._row(inventory, place)
        return rows

    def _row(self, inventory: Inventory, place: Place) -> PictureRow:
        device = place.device
        kind = self._kinds.get(device.kind.number) or self._describe(inventory, device)
        return PictureRow(
            node=None if place.nodes is None else ", ".join(place.nodes),
            driver=device.id.driver,
            pool=device.id.pool,
            name=device.id.device,
            device_kind=kind.facts.device_kind,
            label=kind.facts.label,
            product=kind.facts.product,
            memory_bytes=kind.facts.memory_bytes,
            state=device_state(inventory, place),
            tiers=kind.tiers,
            simulated=kind.simulated or device.slice.name in inventory.simulated,
            taints=kind.taints,
            holders=self._holders_of(inventory, inventory.holds(device.id)),
        )

    def _describe(self, inventory: Inventory, device: DeviceEntry) -> _Kind:
        """What every device of this one's kind has in common."""
        number = device.kind.number
        of_tier = tier_kinds(inventory, self._admin_tiers)
        kind = _Kind(
            facts=inventory.facts.of(device.kind),
            tiers=tuple(name for name, kinds in of_tier.items() if number in kinds),
            taints=tuple(taint.to_dict() for taint in device.kind.taints),
            simulated=is_simulated(inventory, device),
        )
        self._kinds[number] = kind
        return kind

    def _holders_of(self, inventory: Inventory, holds: Sequence[Hold]) -> tuple[Json, ...]:
        """The holders; devices held in the same way share one tuple."""
        if not holds:
            return ()
        key = tuple((hold.claim, hold.admin, hold.share_id) for hold in holds)
        found = self._holders.get(key)
        if found is None:
            found = self._holders[key] = tuple(holder_of(inventory, hold) for hold in holds)
        return found

    def _replace(self, name: str, rows: dict[DeviceID, PictureRow], revision: int) -> bool:
        """Put new rows in a block's place; whether anything differs."""
        block = self._block(name)
        changed = False
        for id in block.rows.keys() - rows.keys():
            self._removed.append((revision, id))
            del block.changed[id]
            changed = True
        for id, row in rows.items():
            if block.rows.get(id) != row:
                block.changed[id] = revision
                changed = True
        block.rows = rows
        if changed:
            block.newest = revision
        self._trim()
        return changed

    def _trim(self) -> None:
        excess = len(self._removed) - _KEPT_REMOVALS
        if excess > 0:
            self._oldest = self._removed[excess - 1][0]
            del self._removed[:excess]
