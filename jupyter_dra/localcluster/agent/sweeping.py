"""Ending what containers leave behind: one look at the machine's processes serves all that ended meanwhile."""

from __future__ import annotations

import asyncio

from jupyter_dra.localcluster.agent import tree

_MOST_ROUNDS = 20


class Sweeper:
    """Ends the remaining processes of containers whose main process is gone."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, str, asyncio.Future[None]]] = []
        self._scheduled = False

    async def clean(self, root: int, mark: str) -> None:
        """End what descends from a process, shares its session or carries the mark; returns when nothing is left."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        self._waiting.append((root, mark, done))
        if not self._scheduled:
            self._scheduled = True
            loop.call_soon(self._sweep)
        await done

    def _sweep(self) -> None:
        batch, self._waiting, self._scheduled = self._waiting, [], False
        wanted = {root: mark for root, mark, _ in batch}
        for _ in range(_MOST_ROUNDS):
            left = tree.members_of_all(wanted)
            if not left:
                break
            tree.end(left)
        for _, _, done in batch:
            if not done.done():
                done.set_result(None)
