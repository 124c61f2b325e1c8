"""When a session is over by itself: its lease, and idling judged by kernel and device. Pure.

One judgement for both sides: the server looks from outside, podside from inside the pod, where this file is mounted as
``podlease.py``. Standard library only, Python 3.8 and later. Moments are numbers on whatever clock the caller keeps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

USED, UNUSED, UNKNOWN = "used", "unused", "unknown"
BUSY_PERCENT = 5
"""A device above this use is in use."""
MOVED_BYTES = 64 << 20
"""Held memory that changed by as much since the last sample was used meanwhile."""


class TooLong(ValueError):
    """A wanted end lies beyond the longest lease."""


class Lease:
    """How long one pod may live and idle; None is without end.

    Args:
        now: when the lease begins.
        seconds, longest: its length, and what it can be extended to.
        idle_limit: seconds without use after which the device is given back.
    """

    def __init__(
        self,
        now: float,
        *,
        seconds: float | None = None,
        longest: float | None = None,
        idle_limit: float | None = None,
    ) -> None:
        self.began = now
        self.ends = None if seconds is None else now + float(seconds)
        self.longest = None if longest is None else now + float(longest)
        self.idle_limit = None if idle_limit is None else float(idle_limit)

    def end_in(self, now: float, seconds: float) -> None:
        """Set the end; raises TooLong beyond the longest lease."""
        ends = now + float(seconds)
        if self.longest is not None and ends > self.longest + 1:
            raise TooLong("The lease would outlast the longest lease allowed.")
        self.ends = ends

    def over(self, now: float, idle_since: float | None) -> str | None:
        """The end code that is due: ``lease-over``, ``idle`` or None."""
        return over(now, ends=self.ends, idle_limit=self.idle_limit, idle_since=idle_since)


def over(now: float, *, ends: float | None, idle_limit: float | None, idle_since: float | None) -> str | None:
    """The end code that is due; ``idle_since`` None means in use, or kept because its use is not known."""
    if ends is not None and now >= ends:
        return "lease-over"
    if idle_limit is not None and idle_since is not None and now - idle_since >= idle_limit:
        return "idle"
    return None


class Use:
    """Since when nothing uses kernel and device.

    Where the device's use is not known the session is kept until its lease ends, unless ``by_kernel`` says that the
    kernel's activity is enough.

    Attributes:
        device: USED, UNUSED or UNKNOWN at the last sample.
    """

    def __init__(self, now: float, *, by_kernel: bool = False) -> None:
        self.at = now
        self.by_kernel = by_kernel
        self.device = UNKNOWN
        self._held: dict[str, int] = {}

    def touch(self, now: float) -> None:
        """The kernel did something."""
        self.at = max(self.at, now)

    def measure(self, now: float, usage: Mapping[str, Any] | None) -> None:
        """Take one sample of the device's figures into account."""
        self.device = self._judge(usage)
        if self.device == USED:
            self.touch(now)

    def _judge(self, usage: Mapping[str, Any] | None) -> str:
        """By the busiest device; where no use is told (a part), by held memory that changed."""
        told = usage or {}
        devices = [one for one in told.get("devices") or [told] if isinstance(one, dict)]
        verdicts = [self._judge_one(str(number), device) for number, device in enumerate(devices)]
        # A companion without figures (a network card) says nothing about the device beside it.
        known = [verdict for verdict in verdicts if verdict != UNKNOWN]
        if not known:
            return UNKNOWN
        return USED if USED in known else UNUSED

    def _judge_one(self, key: str, device: Mapping[str, Any]) -> str:
        percent, held = device.get("utilisation_percent"), device.get("memory_used_bytes")
        moved = False
        if isinstance(held, (int, float)):
            moved = abs(held - self._held.get(key, held)) >= MOVED_BYTES
            self._held[key] = int(held)
        if isinstance(percent, (int, float)) and percent > BUSY_PERCENT:
            return USED
        if moved:
            return USED
        return UNKNOWN if percent is None and held is None else UNUSED

    def idle_since(self, *, busy: bool) -> float | None:
        """Since when nothing used it as far as is known; None while the kernel is busy."""
        return None if busy else self.at

    def due_since(self, *, busy: bool) -> float | None:
        """`idle_since` where it may end the session; None while in use and where the device's use is not known."""
        return self.idle_since(busy=busy) if self.by_kernel or self.device != UNKNOWN else None
