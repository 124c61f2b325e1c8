"""A watch: the events of one collection that one client wants, in order, from a revision on.

Follows k8s.io/apiserver ``pkg/storage/cacher``: an object that starts or stops to match the selector appears
as ADDED or DELETED; a revision that is no longer in the history is answered with 410.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass

from jupyter_dra.localcluster.selectors import Selection
from jupyter_dra.localcluster.status import APIError, expired
from jupyter_dra.localcluster.store import Collection, Event, EventType, Stored

QUEUE_LIMIT = 50_000
"""Events a client may lag behind before its stream is ended."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What one client is told of one change."""

    type: EventType
    stored: Stored


def seen_through(event: Event, selection: Selection) -> Seen | None:
    """How a change looks through a selector, or None if it is not to be seen."""
    now = event.type != "DELETED" and selection.matches(event.stored.value)
    before = event.previous is not None and selection.matches(event.previous.value)
    if now:
        return Seen("MODIFIED" if before else "ADDED", event.stored)
    if not before:
        return None
    return Seen("DELETED", event.stored if event.type == "DELETED" else event.left)


class Watch:
    """Queue between the store and one response; ``close`` must be called when the response ends."""

    def __init__(self, collection: Collection, selection: Selection) -> None:
        self._collection = collection
        self._selection = selection
        self._queue: deque[Seen] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self.dropped = False
        self.error: APIError | None = None

    def start(self, since: int | None) -> None:
        """Begin with the current objects (None) or after a revision; raises 410 if that is too old."""
        if since is None:
            for stored in self.current():
                self._queue.append(Seen("ADDED", stored))
        else:
            if since < self._collection.oldest:
                raise expired(f"too old resource version: {since} ({self._collection.oldest + 1})")
            for event in self._collection.since(since):
                self._put(event)
        self._collection.listeners.add(self._put)

    def current(self) -> list[Stored]:
        return [
            s for s in self._collection.objects(self._selection.namespace) if self._selection.matches(s.value)
        ]

    def close(self) -> None:
        self._collection.listeners.discard(self._put)
        self._wake()

    def end(self, error: APIError | None = None) -> None:
        """End the stream from the server's side; with an error it is the last event."""
        self.dropped = True
        self.error = error
        self._wake()

    def _put(self, event: Event) -> None:
        seen = seen_through(event, self._selection)
        if seen is None:
            return
        self._queue.append(seen)
        if len(self._queue) > QUEUE_LIMIT:
            self.end()
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def wait(self, seconds: float) -> None:
        """Return when there is something to send, the stream was ended, or the time is over."""
        if self._queue or self.dropped or seconds <= 0:
            return
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        timer = loop.call_later(seconds, self._wake)
        try:
            await self._waiter
        finally:
            timer.cancel()
            self._waiter = None

    def take(self) -> list[Seen]:
        taken = list(self._queue)
        self._queue.clear()
        return taken
