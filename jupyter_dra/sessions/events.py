"""Telling subscribers what changed, at most five times a second per session."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from .ports import SessionEvent

log = logging.getLogger(__name__)

RATE = 5.0
_URGENT = frozenset({"created", "state", "ended"})


class Publisher:
    """Hands events to subscribers; bursts of one session are merged into its newest event.

    Five events pass at once, then one each 0.2 s; what lies between is replaced by what came last, except that a
    change of state is never hidden behind a lesser one.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._callbacks: list[Callable[[SessionEvent], None]] = []
        self._eager: list[Callable[[SessionEvent], None]] = []
        self._credit: dict[str, tuple[float, float]] = {}
        self._pending: dict[str, SessionEvent] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def subscribe(
        self, callback: Callable[[SessionEvent], None], *, every: bool = False
    ) -> Callable[[], None]:
        """``every`` subscribers are told each single event at once."""
        listeners = self._eager if every else self._callbacks
        listeners.append(callback)

        def end() -> None:
            if callback in listeners:
                listeners.remove(callback)

        return end

    def publish(self, event: SessionEvent) -> None:
        """Tell now, or a little later together with what follows; called on the service's loop."""
        self._tell(event, self._eager)
        waiting = self._pending.get(event.id)
        if waiting is not None:
            lesser = event.change not in _URGENT and waiting.change in _URGENT
            change = waiting.change if lesser else event.change
            code = event.code or waiting.code
            step = event.step or waiting.step
            self._pending[event.id] = SessionEvent(event.id, event.revision, change, event.state, step, code)
            return
        credit, at = self._credit.get(event.id, (RATE, self._clock()))
        now = self._clock()
        credit = min(RATE, credit + (now - at) * RATE)
        if credit >= 1:
            self._credit[event.id] = (credit - 1, now)
            self._tell(event, self._callbacks)
            return
        self._pending[event.id] = event
        loop = asyncio.get_running_loop()
        self._timers[event.id] = loop.call_later((1 - credit) / RATE, self._flush, event.id)

    def _flush(self, subject: str) -> None:
        self._timers.pop(subject, None)
        event = self._pending.pop(subject, None)
        if event is not None:
            self._credit[subject] = (0.0, self._clock())
            self._tell(event, self._callbacks)

    def _tell(self, event: SessionEvent, callbacks: list[Callable[[SessionEvent], None]]) -> None:
        for callback in list(callbacks):
            try:
                callback(event)
            except Exception:
                log.exception("A subscriber of session events failed")

    def forget(self, subject: str) -> None:
        """Drop the rate's memory of an ended session."""
        self._credit.pop(subject, None)

    def close(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        for subject in list(self._pending):
            self._flush(subject)
