"""Pools as one node sees them (``structured/internal/incubating/pools_incubating.go``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from jupyter_dra.allocator.features import Features
from jupyter_dra.allocator.kinds import DeviceEntry
from jupyter_dra.allocator.occupancy import Holds, PoolState
from jupyter_dra.allocator.slices import SliceEntry

__all__ = ["PoolView", "gather"]

PoolKey = tuple[str, str]


class PoolView:
    """The part of a pool that concerns a node, in the allocator's order.

    ``kinds`` are the kind numbers of its devices. ``plain`` is true where nothing but kind and occupancy decides: no
    shared device, no counters, no per-device nodes, pool complete and valid. ``now`` is its occupancy, ``empty`` what
    it would be with every allocation ended.
    """

    __slots__ = (
        "all_slices",
        "counters",
        "devices",
        "driver",
        "empty",
        "incomplete",
        "invalid",
        "kinds",
        "late",
        "local",
        "name",
        "now",
        "per_device",
        "plain",
        "slices",
    )

    def __init__(
        self,
        slices: Sequence[SliceEntry],
        all_slices: Sequence[SliceEntry],
        incomplete: bool,
        features: Features,
    ) -> None:
        first = slices[0]
        self.driver, self.name = first.driver, first.pool
        self.slices = tuple(slices)
        self.all_slices = tuple(all_slices)
        self.devices: tuple[DeviceEntry, ...] = tuple(device for slice in slices for device in slice.devices)
        self.incomplete = incomplete
        self.counters = {name: values for slice in all_slices for name, values in slice.counter_sets}
        self.invalid: str | None = None if incomplete else self._invalidity()
        self.late = any(device.kind.binding_conditions for device in self.devices)
        self.kinds = tuple(device.kind.number for device in self.devices)
        self.per_device = any(slice.per_device for slice in slices)
        special = any(device.kind.shared or device.kind.consumes for device in self.devices)
        hidden = self.late and not features.binding_conditions
        # Whether every device belongs to one node; else other nodes may see some of them too.
        self.local = all(slice.scope.node_name is not None for slice in slices) and not self.per_device
        self.plain = not (incomplete or self.invalid or special or self.per_device or hidden)
        self.empty = PoolState(self, {})
        self.now = self.empty

    @property
    def key(self) -> PoolKey:
        return self.driver, self.name

    @property
    def broken(self) -> bool:
        """True where devices of the pool cannot be allocated now."""
        return self.incomplete or self.invalid is not None

    def _invalidity(self) -> str | None:
        names: set[str] = set()
        for device in self.devices:
            if device.id.device in names:
                return f"duplicate device name {device.id.device}"
            names.add(device.id.device)
        sets: set[str] = set()
        for slice in self.all_slices:
            for name, _ in slice.counter_sets:
                if name in sets:
                    return f"duplicate counter set name {name}"
                sets.add(name)
        for slice in self.all_slices:
            for device in slice.devices:
                for set_name, uses in device.kind.consumes:
                    if set_name not in self.counters:
                        return f"counter set {set_name} not found"
                    for counter, _ in uses:
                        if counter not in self.counters[set_name]:
                            return f"counter {counter} not found in counter set {set_name}"
        return None


def gather(
    node: str,
    labels: Mapping[str, str],
    candidates: Iterable[SliceEntry],
    pool_slices: Mapping[PoolKey, Mapping[str, SliceEntry]],
    features: Features,
    holds: Holds,
    shared_views: dict[tuple[str, ...], PoolView],
) -> tuple[PoolView, ...]:
    """The pools of a node in the order devices are tried.

    ``candidates`` are the slices of this node and those of no node; ``pool_slices`` holds all slices of the cluster
    by pool. Views of pools whose slices belong to no single node are taken from and kept in ``shared_views``.
    """
    relevant: dict[PoolKey, list[SliceEntry]] = {}
    for slice in candidates:
        if not features.partitionable_devices and (slice.per_device or slice.counter_sets):
            continue
        if slice.relevant(node, labels):
            relevant.setdefault(slice.key, []).append(slice)
    views = []
    for key, slices in relevant.items():
        view = _view(slices, pool_slices.get(key, {}), features, shared_views)
        if view is not None:
            if view.now is view.empty:
                view.now = PoolState.of(view, holds)
            views.append(view)
    views.sort(key=lambda view: (view.late, view.driver, view.name))
    return tuple(views)


def _view(
    slices: list[SliceEntry],
    everywhere: Mapping[str, SliceEntry],
    features: Features,
    shared_views: dict[tuple[str, ...], PoolView],
) -> PoolView | None:
    generation = max(slice.generation for slice in slices)
    newest = sorted(
        (slice for slice in slices if slice.generation == generation), key=lambda slice: slice.name
    )
    shared = all(slice.scope.node_name is None for slice in newest)
    names = tuple(slice.name for slice in newest)
    if shared and names in shared_views:
        return shared_views[names]
    incomplete = False
    count = newest[0].count
    same = [slice for slice in everywhere.values() if slice.generation == generation]
    if len(newest) != count:
        if any(slice.generation > generation for slice in everywhere.values()):
            return None
        incomplete = len(same) != count
    same.sort(key=lambda slice: slice.name)
    view = PoolView(newest, same, incomplete, features)
    if shared:
        shared_views[names] = view
    return view
