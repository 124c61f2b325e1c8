"""What one node offers to one attempt: the devices that matter, in the order they are tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jupyter_dra.allocator.kinds import DeviceEntry
from jupyter_dra.allocator.matching import Match
from jupyter_dra.allocator.occupancy import PoolState
from jupyter_dra.allocator.pools import PoolView
from jupyter_dra.allocator.tokens import IRRELEVANT, Token, TokenTable

__all__ = ["PoolSite", "Site"]

_NOTHING: Mapping[str, int] = {}


class PoolSite:
    """One pool of the site; ``positions`` are its devices' places in the site."""

    __slots__ = ("positions", "state", "view")

    def __init__(self, view: PoolView, state: PoolState) -> None:
        self.view = view
        self.state = state
        self.positions: list[int] = []


class Site:
    """The relevant devices of a node's pools, with tokens and occupancy; positions count from 0."""

    __slots__ = ("_outside", "_pool_numbers", "busy", "devices", "held", "pools", "tokens")

    def __init__(
        self,
        node: str,
        labels: Mapping[str, str],
        views: Sequence[PoolView],
        tokens: TokenTable,
        empty: bool,
    ) -> None:
        self.devices: list[DeviceEntry] = []
        self.tokens: list[Token] = []
        self.busy: list[bool] = []
        self.held: dict[int, Mapping[str, int]] = {}
        self.pools: list[PoolSite] = []
        self._pool_numbers: list[int] = []
        self._outside: set[int] = set()
        for number, view in enumerate(views):
            state = view.empty if empty else view.now
            pool = PoolSite(view, state)
            for index, device in enumerate(view.devices):
                token = tokens.of(device)
                if token is IRRELEVANT:
                    continue
                position = len(self.devices)
                pool.positions.append(position)
                self.devices.append(device)
                self.tokens.append(token)
                self.busy.append(state.busy[index])
                self._pool_numbers.append(number)
                if index in state.held:
                    self.held[position] = state.held[index]
                if (
                    view.per_device
                    and device.slice.per_device
                    and not device.kind.scope.includes(node, labels)
                ):
                    self._outside.add(position)
            self.pools.append(pool)

    def result(self, position: int, body: int) -> Match:
        """What the selectors say, then whether the device is on this node."""
        found = self.tokens[position].results[body]
        return False if found is True and position in self._outside else found

    def pool_of(self, position: int) -> PoolSite:
        """The pool a device belongs to."""
        return self.pools[self._pool_numbers[position]]

    def held_amounts(self, position: int) -> Mapping[str, int]:
        """What shares of a device hold already, in nanos."""
        return self.held.get(position, _NOTHING)

    def mark(self, position: int) -> tuple[Any, ...]:
        """Equal for devices that are interchangeable in the search."""
        token = self.tokens[position]
        pool = self._pool_numbers[position] if token.consumes else None
        held = self.held.get(position)
        return (
            token.number,
            pool,
            self.busy[position],
            position in self._outside,
            None if held is None else tuple(sorted(held.items())),
        )
