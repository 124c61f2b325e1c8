"""What the device's figures add up to: highest memory and device time of the pod, and of single cells where wanted.

Runs inside the user's image: standard library only, Python 3.8 and later. Cells are measured when the session was
started so, or while the file ``measure`` stands in podside's folder (``%dra measure on`` makes it).
"""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .podusage import Sampler

    Figures = dict[str, Any]

MEASURE = "measure"
CELL_SECONDS = 0.25  # between samples while a measured cell runs
FIRST_SECONDS, FIRST_PAUSE = 5.0, 1.0  # at first oftener: somebody waits for the figures of a new session
SHARE_OF_TIME = 10  # a slow source (nvidia-smi) is asked for at most a tenth of the time
GAP_SECONDS = 60.0  # longer without figures, and the peak is not claimed to be one


class Sum:
    """Highest memory and device seconds over a stretch of time; None where nothing was told.

    ``complete`` is False once more than a minute passed without a figure of memory.
    """

    def __init__(self, now: float) -> None:
        self.began = self.known_at = now
        self.peak: int | None = None
        self.device_seconds: float | None = None
        self.complete = True
        self.samples = 0
        self._last: float | None = None

    def add(self, now: float, usage: Figures | None) -> None:
        """Take in one sample; use counts from the sample before."""
        told = usage or {}
        held = told.get("memory_used_bytes")
        if now - self.known_at > GAP_SECONDS:
            self.complete = False
        if isinstance(held, (int, float)):
            self.peak = max(self.peak or 0, int(held))
            self.known_at = now
        shares = [device.get("utilisation_percent") for device in told.get("devices") or []]
        known = [share for share in shares if isinstance(share, (int, float))]
        if known:
            passed = 0.0 if self._last is None else now - self._last
            self.device_seconds = (self.device_seconds or 0.0) + passed * sum(known) / 100
        self._last = now
        self.samples += 1

    def facts(self, now: float) -> Figures:
        seconds = self.device_seconds
        return {
            "peak_bytes": self.peak,
            "device_seconds": None if seconds is None else round(seconds, 1),
            "complete": self.complete and now - self.known_at <= GAP_SECONDS,
        }


class Cell(Sum):
    """One running or finished cell; ``request`` is the id of the message that asked for it."""

    def __init__(self, request: str, now: float) -> None:
        super().__init__(now)
        self.request = request
        self.at = time.time()
        self.ended: float | None = None

    def facts(self, now: float) -> Figures:
        figures = super().facts(now)
        del figures["complete"]
        until = now if self.ended is None else self.ended
        figures.update(
            request=self.request,
            at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.at)),
            seconds=round(until - self.began, 2),
            running=self.ended is None,
            samples=self.samples,
        )
        return figures


class Meter:
    """Samples again and again, oftener while a measured cell runs.

    Attributes:
        usage: the last figures with their sums, None before the first sample.
        seen: the devices a program here can see at all.
    """

    def __init__(
        self,
        sampler: Sampler,
        run: str,
        *,
        every: float = 5.0,
        cells: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.sampler = sampler
        self.every = every
        self.usage: Figures | None = None
        self.seen: Figures | None = None
        self._path = os.path.join(run, MEASURE)
        self._always = cells
        self._clock = clock
        self._whole = Sum(clock())
        self._devices: dict[str, int] = {}
        self._cell: Cell | None = None
        self._wake = asyncio.Event()

    @property
    def measures_cells(self) -> bool:
        return self._always or os.path.exists(self._path)

    def cell_begins(self, request: str) -> None:
        """A cell starts; measured only where that is wanted."""
        if self.measures_cells:
            self._cell = Cell(request, self._clock())
            self._wake.set()

    def cell_ends(self, request: str) -> None:
        if self._cell is not None and self._cell.request == request and self._cell.ended is None:
            self._cell.ended = self._clock()
            self._wake.set()

    async def run(
        self, look: Callable[[], tuple[Sequence[Any], Sequence[int]]], told: Callable[[], None]
    ) -> None:
        """Sample for ever; ``look`` gives allocated devices and the kernel's processes, ``told`` hears of each."""
        loop, fresh_until = asyncio.get_running_loop(), self._clock() + FIRST_SECONDS
        while True:
            self._wake.clear()
            began = self._clock()
            devices, pids = look()
            usage, self.seen = await loop.run_in_executor(None, self.sampler.sample, devices, pids)
            self.take(usage)
            told()
            cell = self._cell is not None and self._cell.ended is None
            usual = FIRST_PAUSE if began < fresh_until else self.every
            pause = CELL_SECONDS if cell else usual
            pause = max(min(pause, self.every), SHARE_OF_TIME * (self._clock() - began))
            try:
                await asyncio.wait_for(self._wake.wait(), pause)
            except asyncio.TimeoutError:  # noqa: UP041 (the same from Python 3.11 on)
                pass

    def take(self, usage: Figures) -> None:
        """Add one sample to the sums."""
        now = self._clock()
        self._whole.add(now, usage)
        if self._cell is not None and (self._cell.ended is None or not self._cell.samples):
            self._cell.add(now, usage)
        for number, device in enumerate(usage.get("devices") or []):
            key = f"{number} {device.get('uuid')}"
            held = device.get("memory_used_bytes")
            if isinstance(held, (int, float)):
                self._devices[key] = max(self._devices.get(key, 0), int(held))
            device["peak_bytes"] = self._devices.get(key)
        usage.update(self._whole.facts(now), cell=None if self._cell is None else self._cell.facts(now))
        self.usage = usage
