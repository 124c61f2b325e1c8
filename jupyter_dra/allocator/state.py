"""A cluster as the allocator sees it, kept up object by object."""

from __future__ import annotations

import itertools
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from jupyter_dra.allocator.attempt import Attempt, NodeView
from jupyter_dra.allocator.features import Features
from jupyter_dra.allocator.groups import GroupIndex, NodeGroup
from jupyter_dra.allocator.inferred import inferred_nodes
from jupyter_dra.allocator.kinds import DeviceEntry, KindTable
from jupyter_dra.allocator.matching import SelectorTable
from jupyter_dra.allocator.occupancy import Hold, PoolState, holds_of
from jupyter_dra.allocator.pools import PoolView, gather
from jupyter_dra.allocator.requests import PodClaims
from jupyter_dra.allocator.slices import SliceEntry, read_slice
from jupyter_dra.allocator.tokens import TokenTable
from jupyter_dra.errors import BudgetExceeded
from jupyter_dra.model import DeviceClass, DeviceID, DeviceTaintRule, ResourceClaim

__all__ = ["ClusterState"]

# An attempt on an irregular cluster of 5,000 nodes remembers some megabytes of outcomes.
_KEPT_ATTEMPTS = 16
_NO_LABELS: Mapping[str, str] = {}
PoolKey = tuple[str, str]


class ClusterState:
    """Slices, classes, allocations, taint rules and nodes; every change keeps the indexes up.

    >>> state = ClusterState()
    >>> state.set_class({"metadata": {"name": "gpu"}, "spec": {}})
    >>> state.node_names()
    []
    """

    def __init__(self, features: Mapping[str, Any] | Features | None = None) -> None:
        self.features = Features.from_dict(features)
        self.kinds = KindTable()
        self.selectors = SelectorTable(self.features.version)
        self.slices: dict[str, SliceEntry] = {}
        self.classes: dict[str, DeviceClass] = {}
        self.holds: dict[DeviceID, tuple[Hold, ...]] = {}
        self.rules: dict[str, DeviceTaintRule] = {}
        self.population: Counter[int] = Counter()
        # One device of each kind that was ever published, by the kind's number.
        self.samples: dict[int, DeviceEntry] = {}
        # Devices per kind, outdated slices left out, each identity once.
        self.published: Counter[int] = Counter()
        self.revision = 0
        self._labels: dict[str, Mapping[str, str]] = {}
        self._explicit_nodes = False
        self._pools: dict[PoolKey, dict[str, SliceEntry]] = {}
        self._by_node: dict[str, dict[str, SliceEntry]] = {}
        self._unbound: dict[str, SliceEntry] = {}
        self._claims: dict[str, tuple[DeviceID, ...]] = {}
        self._views: dict[str, NodeView] = {}
        self._shared_views: dict[tuple[str, ...], PoolView] = {}
        self._views_by_pool: dict[PoolKey, dict[int, PoolView]] = {}
        self._nodes_by_pool: dict[PoolKey, set[str]] = {}
        self._counted: dict[PoolKey, tuple[int, ...]] = {}
        self._inferred: dict[str, Mapping[str, str]] | None = None
        self._orders: dict[str, int] = {}
        self._tags: dict[str, str] = {}
        self._index = GroupIndex()
        self._touched: set[str] | None = None
        self._attempts: OrderedDict[Any, Attempt] = OrderedDict()

    # Objects

    def set_slice(self, raw: Mapping[str, Any]) -> None:
        """Add or replace one ResourceSlice."""
        entry = read_slice(raw, self.kinds, self.rules.values())
        self._drop_slice(entry.name, keep_node=entry.scope.node_name)
        self._index_slice(entry)

    def remove_slice(self, name: str) -> None:
        self._drop_slice(name, keep_node=None)

    def set_class(self, raw: Mapping[str, Any]) -> None:
        """Add or replace one DeviceClass."""
        device_class = DeviceClass.from_dict(raw)
        self.classes[device_class.name] = device_class
        self._attempts.clear()
        self.revision += 1

    def remove_class(self, name: str) -> None:
        self.classes.pop(name, None)
        self._attempts.clear()
        self.revision += 1

    def set_claim(self, claim: Mapping[str, Any] | ResourceClaim) -> None:
        """Take note of what a claim holds; a claim without an allocation holds nothing."""
        typed = claim if isinstance(claim, ResourceClaim) else ResourceClaim.from_dict(claim)
        self._release(typed.key)
        held = holds_of(typed)
        if held:
            self._claims[typed.key] = tuple(id for id, _ in held)
            for id, hold in held:
                held_now = (*self.holds.get(id, ()), hold)
                self.holds[id] = tuple(sorted(held_now, key=lambda hold: hold.claim))
            self._refresh({(id.driver, id.pool) for id, _ in held})
        self.revision += 1

    def remove_claim(self, key: str) -> None:
        """Forget a claim by ``namespace/name``, or its name alone where it has no namespace."""
        self._release(key)
        self.revision += 1

    def set_rule(self, raw: Mapping[str, Any]) -> None:
        """Add or replace one DeviceTaintRule; the devices it selects are tainted at once."""
        rule = DeviceTaintRule.from_dict(raw)
        old = self.rules.get(rule.name)
        self.rules[rule.name] = rule
        self._retaint([rule] if old is None else [rule, old])

    def remove_rule(self, name: str) -> None:
        old = self.rules.pop(name, None)
        if old is not None:
            self._retaint([old])

    def set_node(self, name: str, labels: Mapping[str, str], tag: str | None = None) -> None:
        """Add a node or change its labels. Without any, nodes are inferred from the slices.

        ``tag`` is a note that keeps the node apart from others (why no pod may go there).
        """
        if not self._explicit_nodes:
            self._explicit_nodes = True
            self._labels.clear()
            self._forget_all_nodes()
        if self._labels.get(name) != labels or self._tags.get(name) != tag:
            self._labels[name] = dict(labels)
            if tag is None:
                self._tags.pop(name, None)
            else:
                self._tags[name] = tag
            self._forget_node(name)
        self.revision += 1

    def remove_node(self, name: str) -> None:
        self._labels.pop(name, None)
        self._tags.pop(name, None)
        self._forget_node(name)
        self.revision += 1

    # Questions

    def node_names(self) -> list[str]:
        """All nodes: those that were set, else those that slices name."""
        return list(self._known_nodes())

    def _known_nodes(self) -> Mapping[str, Mapping[str, str]]:
        if self._explicit_nodes:
            return self._labels
        if not self._unbound:
            return self._inferred_locally()
        if self._inferred is None:
            self._inferred = inferred_nodes(self._by_node, self._unbound.values())
        return self._inferred

    def _inferred_locally(self) -> Mapping[str, Mapping[str, str]]:
        return dict.fromkeys(self._by_node, _NO_LABELS)

    def labels(self, node: str) -> Mapping[str, str]:
        known = self._labels if self._explicit_nodes or not self._unbound else self._known_nodes()
        return known.get(node, _NO_LABELS)

    def node(self, name: str) -> NodeView:
        """The node's pools with their present occupancy; an unknown node has those that every node has."""
        view = self._views.get(name)
        if view is None:
            view = self._views[name] = self._gather(name, self.labels(name))
            for pool in view.pools:
                self._views_by_pool.setdefault(pool.key, {})[id(pool)] = pool
                self._nodes_by_pool.setdefault(pool.key, set()).add(name)
        return view

    def groups(self) -> list[NodeGroup]:
        """All nodes, those that offer the same together; kept up on change."""
        if self._index.crowded:
            self._index = GroupIndex()
            self._touched = None
        names = self._known_nodes()
        if self._touched is None:
            self._index.clear()
            self._touched = set(names)
        if self._touched:
            for name in names:
                self._order(name)
        for name in sorted(self._touched, key=self._order):
            if name in names:
                self._index.put(self.node(name))
            else:
                self._index.remove(name)
        self._touched.clear()
        if len(self._index) != len(names):
            for name in self._index.names().difference(names):
                self._index.remove(name)
        return self._index.groups()

    def foreign_node(self, name: str, labels: Mapping[str, str]) -> NodeView:
        """A node that was not set, with labels of its own; not kept."""
        return self._gather(name, labels)

    def attempt(
        self,
        claims: Sequence[Mapping[str, Any] | ResourceClaim],
        *,
        budget: int | None = None,
        empty: bool = False,
    ) -> Attempt:
        """An attempt for the claims of one pod; equal claims get the same one while classes do not change.

        Raises BudgetExceeded where the selectors' allowance ends (`SelectorTable.within`).
        """
        typed = [
            claim if isinstance(claim, ResourceClaim) else ResourceClaim.from_dict(claim) for claim in claims
        ]
        specs = tuple((claim.key, repr(claim.spec.raw)) for claim in typed)
        key = (specs, budget, empty)
        found = self._attempts.get(key)
        if found is None:
            wanted = PodClaims.build(typed, self.classes)
            tokens = TokenTable(wanted, self.kinds, self.selectors, self.features)
            found = Attempt(wanted, tokens, self.features, budget, empty)
            self._attempts[key] = found
            if len(self._attempts) > _KEPT_ATTEMPTS:
                self._attempts.popitem(last=False)
        else:
            self._attempts.move_to_end(key)
        try:
            self._fill(found.tokens)
        except BudgetExceeded:
            del self._attempts[key]  # filled in part: not an attempt anybody may use
            raise
        return found

    def published_in(self, key: PoolKey) -> tuple[int, ...]:
        """The kinds of a pool's devices as counted in ``published``."""
        return self._counted.get(key, ())

    def slices_of_pool(self, key: PoolKey) -> Mapping[str, SliceEntry]:
        return self._pools.get(key, {})

    def device(self, id: DeviceID) -> DeviceEntry | None:
        """A published device of the newest generation, or None."""
        slices = self._pools.get((id.driver, id.pool), {}).values()
        for slice in sorted(slices, key=lambda slice: -slice.generation):
            for device in slice.devices:
                if device.id.device == id.device:
                    return device
        return None

    def devices(self) -> Iterable[DeviceEntry]:
        """Every published device, those of outdated slices too."""
        for slice in self.slices.values():
            yield from slice.devices

    def current(self) -> Iterator[SliceEntry]:
        """Slices of the newest generation of their pool."""
        for pool in self._pools.values():
            newest = max(slice.generation for slice in pool.values())
            yield from (slice for slice in pool.values() if slice.generation == newest)

    def orphans(self) -> Iterator[DeviceEntry]:
        """Devices of current slices that no known node can use."""
        known = self._known_nodes()
        strays = [
            slice for name, mine in self._by_node.items() if name not in known for slice in mine.values()
        ]
        for slice in (*strays, *self._unbound.values()):
            if any(other.generation > slice.generation for other in self._pools[slice.key].values()):
                continue
            for device in slice.devices:
                scope = device.kind.scope if slice.per_device else slice.scope
                if not any(scope.includes(node, self.labels(node)) for node in known):
                    yield device

    # Keeping the indexes up

    def _fill(self, tokens: TokenTable) -> None:
        if tokens.filled < len(self.samples):
            tokens.fill(itertools.islice(self.samples.values(), tokens.filled, None))

    def _gather(self, name: str, labels: Mapping[str, str]) -> NodeView:
        own = self._by_node.get(name, {})
        candidates = [*own.values(), *self._unbound.values()]
        pools = gather(name, labels, candidates, self._pools, self.features, self.holds, self._shared_views)
        return NodeView(name, labels, pools, self._order(name), self._tags.get(name))

    def _order(self, name: str) -> int:
        return self._orders.setdefault(name, len(self._orders))

    def _index_slice(self, entry: SliceEntry) -> None:
        self.slices[entry.name] = entry
        self._pools.setdefault(entry.key, {})[entry.name] = entry
        for device in entry.devices:
            number = device.kind.number
            self.population[number] += 1
            self.samples.setdefault(number, device)
        self._count(entry.key)
        home = entry.scope.node_name if not entry.per_device else None
        if home is None:
            self._unbound[entry.name] = entry
            self._forget_all_nodes()
        else:
            self._by_node.setdefault(home, {})[entry.name] = entry
            self._forget_node(home)
            self._forget_pool(entry.key)
        self.revision += 1

    def _drop_slice(self, name: str, keep_node: str | None) -> None:
        entry = self.slices.pop(name, None)
        if entry is None:
            return
        pool = self._pools[entry.key]
        del pool[name]
        if not pool:
            del self._pools[entry.key]
        for device in entry.devices:
            self.population[device.kind.number] -= 1
        self._count(entry.key)
        home = entry.scope.node_name
        if name in self._unbound:
            del self._unbound[name]
            self._forget_all_nodes()
        elif home is not None:
            del self._by_node[home][name]
            if not self._by_node[home] and home != keep_node:
                del self._by_node[home]
            self._forget_node(home)
            self._forget_pool(entry.key)
        self.revision += 1

    def _count(self, key: PoolKey) -> None:
        """Bring ``published`` up to date for one pool."""
        before = self._counted.pop(key, ())
        if before:
            self.published.subtract(before)
        slices = self._pools.get(key, {}).values()
        newest = max((slice.generation for slice in slices), default=0)
        current = [slice for slice in slices if slice.generation == newest]
        if len(current) == 1 and current[0].distinct:
            found = current[0].kinds
        else:
            found = tuple({d.id: d.kind.number for slice in current for d in slice.devices}.values())
        if found:
            self._counted[key] = found
            self.published.update(found)

    def _release(self, key: str) -> None:
        ids = self._claims.pop(key, ())
        for id in ids:
            left = tuple(hold for hold in self.holds.get(id, ()) if hold.claim != key)
            if left:
                self.holds[id] = left
            else:
                self.holds.pop(id, None)
        self._refresh({(id.driver, id.pool) for id in ids})

    def _refresh(self, keys: Iterable[PoolKey]) -> None:
        for key in keys:
            for view in self._views_by_pool.get(key, {}).values():
                view.now = PoolState.of(view, self.holds)
            if self._touched is not None:
                self._touched.update(self._nodes_by_pool.get(key, ()))

    def _retaint(self, rules: Sequence[DeviceTaintRule]) -> None:
        for entry in list(self.slices.values()):
            if any(rule.selects(device.id) for rule in rules for device in entry.devices):
                fresh = SliceEntry(entry.name, {})
                for slot in SliceEntry.__slots__:
                    setattr(fresh, slot, getattr(entry, slot))
                fresh.fill(
                    [device.as_published() for device in entry.devices], self.kinds, self.rules.values()
                )
                self._drop_slice(entry.name, keep_node=entry.scope.node_name)
                self._index_slice(fresh)
        self.revision += 1

    def _forget_node(self, name: str) -> None:
        self._inferred = None
        if self._touched is not None:
            self._touched.add(name)
        view = self._views.pop(name, None)
        if view is None:
            return
        for pool in view.pools:
            nodes = self._nodes_by_pool.get(pool.key)
            if nodes is not None:
                nodes.discard(name)
            if not nodes:
                self._views_by_pool.pop(pool.key, None)
                self._nodes_by_pool.pop(pool.key, None)
            elif pool.slices[0].scope.node_name is not None:
                self._views_by_pool.get(pool.key, {}).pop(id(pool), None)

    def _forget_pool(self, key: PoolKey) -> None:
        for name in list(self._nodes_by_pool.get(key, ())):
            self._forget_node(name)

    def _forget_all_nodes(self) -> None:
        self._touched = None
        self._inferred = None
        self._views.clear()
        self._shared_views.clear()
        self._views_by_pool.clear()
        self._nodes_by_pool.clear()
