"""One attempt on all nodes: which fit, and how many devices each has that match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from jupyter_dra.allocator import (
    IRRELEVANT,
    Attempt,
    DeviceEntry,
    NodeGroup,
    NodeView,
    Outcome,
    PoolView,
    Token,
)
from jupyter_dra.errors import AllocationError

__all__ = ["Count", "MatchTable", "Survey", "counters_left", "survey"]


@dataclass(slots=True)
class Survey:
    """Nodes by their answer. ``groups`` holds each distinct outcome once, with its groups of nodes."""

    attempt: Attempt
    groups: list[tuple[Outcome, list[NodeGroup]]] = field(default_factory=list)

    @property
    def fitting(self) -> list[tuple[Outcome, list[NodeGroup]]]:
        return [group for group in self.groups if group[0].fits]

    @property
    def fits(self) -> bool:
        return any(outcome.fits for outcome, _ in self.groups)

    @property
    def exhausted(self) -> bool:
        return any(outcome.exhausted for outcome, _ in self.groups)

    def fatal(self) -> tuple[AllocationError, NodeView] | None:
        """The first error that would end the pod's whole attempt."""
        for outcome, groups in self.groups:
            if outcome.error is not None and not outcome.error.node_only:
                view = min((view for group in groups for view in group), key=lambda view: view.order)
                return self.attempt.error(view, outcome), view
        return None

    def by_group(self) -> dict[int, Outcome]:
        """The outcome of each group, by the group's identity."""
        return {id(group): outcome for outcome, groups in self.groups for group in groups}


def survey(attempt: Attempt, groups: Sequence[NodeGroup]) -> Survey:
    """Ask one node of every group; groups with the same answer come together."""
    found: dict[int, tuple[Outcome, list[NodeGroup]]] = {}
    ask = attempt.outcome
    for group in groups:
        outcome = ask(group.sample)
        known = found.get(id(outcome))
        if known is None:
            found[id(outcome)] = (outcome, [group])
        else:
            known[1].append(group)
    return Survey(attempt, list(found.values()))


class Count(NamedTuple):
    """Devices that match the main request, and how many of them could be taken now."""

    matching: int
    free: int

    def less(self, other: Count) -> Count:
        """What is left without another count."""
        return Count(self.matching - other.matching, self.free - other.free)


class MatchTable:
    """Which devices the main request (the first of the first claim, any alternative) could take.

    A device matches when its selectors hold, its taints are tolerated, its pool is whole and it is on the node. It
    is free when, asked for alone, it could be taken now: not in use, room for the share, counters left.
    """

    def __init__(self, attempt: Attempt) -> None:
        self.tokens = attempt.tokens
        claims = attempt.claims.claims
        group = claims[0].requests[0] if claims and claims[0].requests else ()
        self.bodies = tuple(body.index for body in group)
        self.admin = bool(group) and group[0].admin
        of_token = [token is not IRRELEVANT and self._takes(token) for token in self.tokens.tokens]
        self.by_kind = [of_token[number] for number in self.tokens.numbers]
        self._pools: dict[int, Count] = {}

    def _takes(self, token: Token) -> bool:
        return any(token.results[index] is True and token.tolerated[index] for index in self.bodies)

    def matches(self, device: DeviceEntry) -> bool:
        """Tell whether selectors hold and taints are tolerated, wherever the device is."""
        if self.tokens.by_device:
            token = self.tokens.of(device)
            return token is not IRRELEVANT and self._takes(token)
        return self.by_kind[device.kind.number]

    def is_free(self, pool: PoolView, index: int) -> bool:
        """Tell whether a matching device of a pool could be taken now, asked for alone."""
        device, state = pool.devices[index], pool.now
        if state.busy[index] and not self.admin:
            return False
        if device.kind.shared:
            token = self.tokens.of(device)
            held = state.held.get(index, {})
            needs = [token.needs[body] for body in self.bodies if token.results[body] is True]
            if not any(need is None or need.fits(held, {}) for need in needs):
                return False
            if index in state.held:
                return True
        return counters_left(pool, device)

    def count(self, node: NodeView) -> Count:
        """Matching and free devices of one node."""
        pools = node.pools
        if len(pools) == 1:
            return self.count_pool(pools[0], node)
        matching = free = 0
        for pool in pools:
            part = self.count_pool(pool, node)
            matching += part.matching
            free += part.free
        return Count(matching, free)

    def count_pool(self, pool: PoolView, node: NodeView) -> Count:
        """Matching and free devices of a node's pool."""
        if pool.broken:
            return Count(0, 0)
        found = self._pools.get(id(pool))
        if found is not None:
            return found
        if pool.plain and not self.tokens.by_device:
            table = self.by_kind.__getitem__
            matching = sum(map(table, pool.kinds))
            free_kinds = pool.kinds if self.admin else pool.now.free_kinds
            free = sum(map(table, free_kinds)) if matching else 0
            found = Count(matching, free)
        else:
            here = [index for index, device in enumerate(pool.devices) if self.on_node(pool, device, node)]
            mine = [index for index in here if self.matches(pool.devices[index])]
            found = Count(len(mine), sum(self.is_free(pool, index) for index in mine))
        if not pool.per_device:
            self._pools[id(pool)] = found
        return found

    @staticmethod
    def on_node(pool: PoolView, device: DeviceEntry, node: NodeView) -> bool:
        """Tell whether a device of a node's pool is on that node."""
        return (
            not pool.per_device
            or not device.slice.per_device
            or device.kind.scope.includes(node.name, node.labels)
        )


def counters_left(pool: PoolView, device: DeviceEntry) -> bool:
    """Tell whether a device's counters are left in its pool."""
    available = pool.now.available
    return all(
        available.get((set_name, counter), 0) >= amount
        for set_name, uses in device.kind.consumes
        for counter, amount in uses
    )
