"""A work queue: one key is never worked on twice at a time, and a failed one comes back later."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from jupyter_dra.errors import DRAError
from jupyter_dra.localcluster.client import ApiError
from jupyter_dra.localcluster.informer import Key

log = logging.getLogger(__name__)

_RETRY_FIRST, _RETRY_LONGEST = 0.02, 5.0


class KeyedQueue:
    """Calls ``work(key)`` for each key that was added, several keys side by side.

    A conflict or any other refusal brings the key back after a growing delay; news about a key in work makes it run
    once more.
    """

    def __init__(self, name: str, work: Callable[[Key], Awaitable[None]]) -> None:
        self._name = name
        self._work = work
        self._running: dict[Key, asyncio.Task[None]] = {}
        self._again: set[Key] = set()
        self._failures: dict[Key, int] = {}
        self._timers: dict[Key, asyncio.TimerHandle] = {}

    def add(self, key: Key) -> None:
        if key in self._running:
            self._again.add(key)
            return
        if timer := self._timers.pop(key, None):
            timer.cancel()
        task = asyncio.create_task(self._run(key), name=f"{self._name}-{key[1]}")
        self._running[key] = task

    def add_later(self, key: Key, seconds: float) -> None:
        """Add a key after a while, unless it is added earlier."""
        if timer := self._timers.pop(key, None):
            timer.cancel()
        self._timers[key] = asyncio.get_running_loop().call_later(max(0.0, seconds), self._due, key)

    async def stop(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _due(self, key: Key) -> None:
        self._timers.pop(key, None)
        self.add(key)

    async def _run(self, key: Key) -> None:
        try:
            await self._work(key)
            self._failures.pop(key, None)
        except DRAError as error:
            if not (isinstance(error, ApiError) and error.is_conflict):
                log.info("%s of %s comes back: %s", self._name, "/".join(key), error)
            self._retry(key)
        except Exception:
            log.exception("%s of %s failed", self._name, "/".join(key))
            self._retry(key)
        finally:
            self._running.pop(key, None)
            if key in self._again:
                self._again.discard(key)
                self.add(key)

    def _retry(self, key: Key) -> None:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        if key not in self._again:
            self.add_later(key, min(_RETRY_FIRST * 2**failures, _RETRY_LONGEST))
