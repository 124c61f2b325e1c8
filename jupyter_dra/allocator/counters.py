"""Shared counters of partitionable devices during one search."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jupyter_dra.allocator.repairs import Repairs
from jupyter_dra.allocator.site import Site

__all__ = ["CounterBook"]

_Counter = tuple[str, str]


class CounterBook:
    """What the picks of this attempt consume, against what each pool has left.

    Before kubernetes/kubernetes#140435 the book is kept by pool name: the first driver's counters stand for all.
    """

    def __init__(self, site: Site, repairs: Repairs) -> None:
        self._site = site
        self._by_driver = repairs.counters_by_driver
        self._available: dict[Any, dict[_Counter, int]] = {}
        self._consumed: dict[Any, dict[_Counter, int]] = {}

    def charge(self, position: int) -> bool:
        """Consume a device's counters; False, and nothing consumed, where a counter of the pool runs short."""
        pool = self._site.pool_of(position)
        key: Any = pool.view.key if self._by_driver else pool.view.name
        available = self._available.setdefault(key, pool.state.available)
        consumed = self._consumed.setdefault(key, {})
        uses = list(self._uses(position))
        for counter, amount in uses:
            consumed[counter] = consumed.get(counter, 0) + amount
        if any(left < consumed.get(counter, 0) for counter, left in available.items()):
            for counter, amount in uses:
                consumed[counter] -= amount
            return False
        return True

    def give_back(self, position: int) -> None:
        """Return what ``charge`` consumed."""
        view = self._site.pool_of(position).view
        consumed = self._consumed[view.key if self._by_driver else view.name]
        for counter, amount in self._uses(position):
            consumed[counter] -= amount

    def _uses(self, position: int) -> Iterable[tuple[_Counter, int]]:
        for set_name, counters in self._site.tokens[position].consumes:
            for name, amount in counters:
                yield (set_name, name), amount
