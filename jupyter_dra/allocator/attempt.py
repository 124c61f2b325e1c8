"""One set of claims against many nodes: nodes that offer the same share one search."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from jupyter_dra.allocator.features import Features
from jupyter_dra.allocator.kinds import DeviceEntry
from jupyter_dra.allocator.pools import PoolView
from jupyter_dra.allocator.requests import PodClaims
from jupyter_dra.allocator.results import Taken, allocations
from jupyter_dra.allocator.search import Pick, search, selector_text, unsatisfied_text
from jupyter_dra.allocator.site import Site
from jupyter_dra.allocator.tokens import TokenTable
from jupyter_dra.errors import AllocationError, BudgetExceeded

__all__ = ["DEFAULT_BUDGET", "Attempt", "NodeView", "Outcome"]

DEFAULT_BUDGET = 200_000
_LEAST_BUDGET = 300
_SCALARS = ("string", "int", "bool", "version")


class NodeView:
    """A node as the allocator sees it: its pools in order. ``plain`` as for :class:`PoolView`.

    ``order`` is its place among all nodes, ``tag`` what the caller noted about it (None where nothing).
    """

    __slots__ = ("labels", "name", "order", "plain", "pools", "tag")

    def __init__(
        self,
        name: str,
        labels: Mapping[str, str],
        pools: tuple[PoolView, ...],
        order: int = 0,
        tag: str | None = None,
    ) -> None:
        self.name = name
        self.order = order
        self.tag = tag
        self.labels = labels
        self.pools = pools
        self.plain = all(pool.plain for pool in pools)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer for a node, and for every node that offers the same.

    Exactly one holds: ``picks`` (fits), ``error`` (upstream's error outcome), ``exhausted`` (the budget ran out), or
    none of them (does not fit). Positions count the relevant devices; only the free ones where ``free_only``.
    """

    picks: tuple[Pick, ...] | None = None
    error: AllocationError | None = None
    exhausted: bool = False
    free_only: bool = False

    @property
    def fits(self) -> bool:
        return self.picks is not None


class Attempt:
    """The claims of one pod, ready to be tried on any node of one cluster state.

    ``empty`` asks what would be with every allocation ended. An outcome depends on nothing but what the node offers,
    so an attempt stays valid while classes and kinds stay the same, whatever is allocated meanwhile.
    """

    def __init__(
        self,
        claims: PodClaims,
        tokens: TokenTable,
        features: Features,
        budget: int | None,
        empty: bool = False,
    ) -> None:
        self.claims = claims
        self.tokens = tokens
        self.features = features
        self.empty = empty
        self._budget = DEFAULT_BUDGET if budget is None else budget
        self._left = self._budget
        self._simple = not claims.needs_busy_devices
        self._outcomes: dict[Any, Outcome] = {}
        self._constrained = bool(claims.constraints)

    def outcome(self, node: NodeView) -> Outcome:
        """The answer for one node; never raises."""
        if self._simple and node.plain and not self.tokens.by_device:
            key = self._free_key(node)
            found = self._outcomes.get(key)
            return found if found is not None else self._solve_free(node, key)
        site = self._site(node)
        full_key = self._full_key(node, site)
        if full_key is None:
            return self._search(site)
        found = self._outcomes.get(full_key)
        if found is None:
            found = self._outcomes[full_key] = self._search(site)
        return found

    def taken(self, node: NodeView) -> list[Taken] | None:
        """The devices this node would give, or None where it does not fit."""
        outcome = self.outcome(node)
        if outcome.picks is None:
            return None
        devices = self._devices(node, outcome)
        return [(pick.body, devices[pick.position], pick.need) for pick in outcome.picks]

    def allocations(
        self, node: NodeView, share_id: Callable[[], str] | None = None
    ) -> list[dict[str, Any]] | None:
        """``status.allocation`` per claim, or None. Raises AllocationError and BudgetExceeded."""
        outcome = self.outcome(node)
        if outcome.error is not None:
            raise self.error(node, outcome)
        if outcome.exhausted:
            raise BudgetExceeded("too many combinations to try within the search budget")
        taken = self.taken(node)
        if taken is None:
            return None
        counter = itertools.count(1)
        return allocations(self.claims, taken, node.name, share_id or (lambda: f"share-{next(counter)}"))

    def error(self, node: NodeView, outcome: Outcome) -> AllocationError:
        """The outcome's error with this node's device in its params (``device``, ``node``)."""
        error = outcome.error
        assert error is not None
        params = dict(error.params)
        params["node"] = node.name
        message = error.message
        if "position" in params:
            device = self.device_at(node, outcome, params.pop("position"))
            params["device"] = device.id
            if error.kind == "all-constraint":
                message = unsatisfied_text(params["claim"], params.pop("short"), device.id)
            elif error.kind == "cel-runtime":
                owner, index = params.pop("owner"), params["selector"]
                message = selector_text(owner, index, device.id, "runtime", params["error"])
        return AllocationError(message, kind=error.kind, node_only=error.node_only, params=params)

    def device_at(self, node: NodeView, outcome: Outcome, position: int) -> DeviceEntry:
        """The device of this node at a position of an outcome."""
        return self._devices(node, outcome)[position]

    def _site(self, node: NodeView) -> Site:
        return Site(node.name, node.labels, node.pools, self.tokens, self.empty)

    def _devices(self, node: NodeView, outcome: Outcome) -> list[DeviceEntry]:
        site = self._site(node)
        if not outcome.free_only:
            return site.devices
        return [device for device, busy in zip(site.devices, site.busy, strict=True) if not busy]

    def _free_key(self, node: NodeView) -> tuple[int, ...]:
        numbers = self.tokens.numbers.__getitem__
        if self.empty:
            parts: Sequence[tuple[int, ...]] = [pool.kinds for pool in node.pools]
        else:
            parts = [pool.now.free_kinds for pool in node.pools]
        kinds = parts[0] if len(parts) == 1 else chain.from_iterable(parts)
        return tuple(filter(None, map(numbers, kinds)))

    def _solve_free(self, node: NodeView, key: tuple[int, ...]) -> Outcome:
        """A miss: look again with constraint values by order of appearance, then search."""
        general = self._by_appearance(key) if self._constrained else None
        found = self._outcomes.get(general) if general is not None else None
        if found is None:
            site = self._site(node)
            found = _ranked(self._search(site), site)
            if general is not None:
                self._outcomes[general] = found
        self._outcomes[key] = found
        return found

    def _by_appearance(self, key: tuple[int, ...]) -> tuple[Any, ...]:
        """The key with constraint values replaced by when they first appear: nodes differ in their numbering only."""
        tokens = self.tokens.tokens
        ranks: list[dict[Any, int]] = [{} for _ in self.claims.attributes]
        parts: list[Any] = ["appearance"]
        for number in key:
            token = tokens[number]
            parts.append(token.shape)
            for value, seen in zip(token.values, ranks, strict=True):
                if value is None or value[0] in _SCALARS:
                    parts.append(None if value is None else seen.setdefault(value, len(seen)))
                else:
                    parts.append(value)
        return tuple(parts)

    def _full_key(self, node: NodeView, site: Site) -> tuple[Any, ...] | None:
        """Everything the search looks at; None where messages name this node's pools."""
        parts: list[Any] = ["full"]
        every = any(body.all for body in self.claims.bodies)
        for pool in site.pools:
            view = pool.view
            if view.broken and every:
                return None
            parts.append((view.incomplete, view.invalid is not None, tuple(pool.state.available.items())))
            if view.counters and not self.features.repairs.counters_by_driver:
                parts.append(view.name)
            parts.append(tuple(map(site.mark, pool.positions)))
        return tuple(parts)

    def _search(self, site: Site) -> Outcome:
        budget = max(self._left, min(self._budget, _LEAST_BUDGET))
        try:
            picks = search(self.claims, site, self.features, budget)
        except AllocationError as error:
            return Outcome(error=error)
        except BudgetExceeded:
            # All searches together may waste one budget; after that each gets a token number of steps.
            self._left -= budget
            return Outcome(exhausted=True)
        return Outcome(picks=tuple(picks) if picks is not None else None)


def _ranked(outcome: Outcome, site: Site) -> Outcome:
    """The outcome with positions counted among the free devices."""
    rank, free = [], 0
    for busy in site.busy:
        rank.append(free)
        free += not busy
    error = outcome.error
    if error is not None and "position" in error.params:
        params = {**error.params, "position": rank[error.params["position"]]}
        error = AllocationError(error.message, kind=error.kind, node_only=error.node_only, params=params)
    picks = outcome.picks
    if picks is not None:
        picks = tuple(Pick(pick.body, rank[pick.position], pick.need) for pick in picks)
    return Outcome(picks, error, outcome.exhausted, free_only=True)
