"""Nodes that offer exactly the same: equal pools, kinds, occupancy. Every answer about one is right for all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jupyter_dra.allocator.attempt import NodeView

__all__ = ["GroupIndex", "NodeGroup"]

_MOST_NUMBERS = 200_000


class NodeGroup:
    """Nodes of one signature; ``sample`` is one of them, ``tag`` what was noted about the node (None: ready)."""

    __slots__ = ("sample", "tag", "views")

    def __init__(self, view: NodeView) -> None:
        self.sample = view
        self.tag = view.tag
        self.views = {view.name: view}

    def __len__(self) -> int:
        return len(self.views)

    def __iter__(self) -> Iterator[NodeView]:
        return iter(self.views.values())

    def put(self, view: NodeView) -> None:
        """Add a node, or renew its view."""
        self.views[view.name] = view
        if self.sample.name == view.name:
            self.sample = view

    def drop(self, name: str) -> bool:
        """Take a node out; False when none is left."""
        del self.views[name]
        if self.views and self.sample.name == name:
            self.sample = next(iter(self.views.values()))
        return bool(self.views)


class GroupIndex:
    """Keeps nodes grouped while they change; only nodes that were touched are looked at again."""

    def __init__(self) -> None:
        self._groups: dict[Any, NodeGroup] = {}
        self._signature: dict[str, Any] = {}
        self._numbers: dict[Any, int] = {}

    def put(self, view: NodeView) -> None:
        """Add a node, or move it to where it belongs now."""
        signature = (view.tag, *(self._number(view, place) for place in range(len(view.pools))))
        if self._signature.get(view.name) != signature:
            self.remove(view.name)
            self._signature[view.name] = signature
        group = self._groups.get(signature)
        if group is None:
            self._groups[signature] = NodeGroup(view)
        else:
            group.put(view)

    def remove(self, name: str) -> None:
        signature = self._signature.pop(name, None)
        if signature is not None and not self._groups[signature].drop(name):
            del self._groups[signature]

    def names(self) -> set[str]:
        return set(self._signature)

    def __len__(self) -> int:
        return len(self._signature)

    def clear(self) -> None:
        self._groups.clear()
        self._signature.clear()

    @property
    def crowded(self) -> bool:
        """True when so many different pools were seen that a fresh index is due."""
        return len(self._numbers) > _MOST_NUMBERS

    def groups(self) -> list[NodeGroup]:
        return list(self._groups.values())

    def _number(self, view: NodeView, place: int) -> int:
        """A number for what a pool offers; pools whose messages or nodes differ get one of their own."""
        pool = view.pools[place]
        key: Any
        if not pool.local:
            key = ("network", id(pool), view.name if pool.per_device else None, id(pool.now))
        elif pool.broken or pool.per_device:
            key = ("own", view.name, pool.key)
        elif pool.plain:
            key = (pool.kinds, pool.now.busy)
        else:
            key = (pool.driver, pool.kinds, pool.now.key())
        return self._numbers.setdefault(key, len(self._numbers))
