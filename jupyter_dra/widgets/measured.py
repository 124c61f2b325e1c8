"""``%dra measure``: after each cell, the most device memory it held and how long the device worked for it.

podside measures while the file ``measure`` stands in its folder, and writes what it found into session.json. Also laid
out by podside in images that lack this package: standard library only, Python 3.8 and later.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from . import held
from .plain import size, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FILE = "measure"
PATIENCE = 1.5
"""Seconds a cell's end waits for podside's sample of it."""
ON = "Cells are measured from the next one on."
OFF = "Cells are not measured any more."
NOT_HERE = "Cells can be measured on the kernels of a session only."


class CellFigures:
    """Switches the measuring of one kernel's cells on and off, and tells each cell's figures when it ends.

    Args:
        shell: the kernel's IPython shell.
        say: shows a line below the cell.
    """

    def __init__(self, shell: Any, say: Callable[[str], Any] = print, folder: str | None = None) -> None:
        self._shell, self._say = shell, say
        self._folder = folder or held.run_folder()
        self._on = False

    def switch(self, word: str) -> str:
        """``on`` or ``off``; answers in a sentence. Raises ValueError for other words."""
        if word not in ("on", "off"):
            raise ValueError("%dra measure on, or: %dra measure off")
        if held.read_session(self._folder) is None:
            return NOT_HERE
        path = os.path.join(self._folder, FILE)
        if word == "off":
            if os.path.exists(path):
                os.unlink(path)
            self._listen(False)
            return OFF
        with open(path, "w", encoding="ascii"):
            pass
        self._listen(True)
        return ON

    def _listen(self, on: bool) -> None:
        if on == self._on:
            return
        self._on = on
        events = self._shell.events
        (events.register if on else events.unregister)("post_run_cell", self._told)

    def _told(self, _result: Any) -> None:
        """Called by IPython at the end of each cell, before the kernel says that it is idle."""
        parent = getattr(self._shell, "parent_header", None) or {}
        request = (parent.get("header") or {}).get("msg_id")
        usage = self._wait_for(str(request)) if request else None
        if usage is not None:
            self._say(line_of(usage))

    def _wait_for(self, request: str) -> Mapping[str, Any] | None:
        """The figures once podside has a sample of this very cell; None if it has none in time."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            usage: Mapping[str, Any] = (held.read_session(self._folder) or {}).get("usage") or {}
            cell = usage.get("cell") or {}
            if cell.get("request") == request and cell.get("samples"):
                return usage
            time.sleep(0.02)
        return None


def line_of(usage: Mapping[str, Any]) -> str:
    """One cell in a line: ``peak 9.1 GiB of 79.6 GiB · device 12.3 s of 14.0 s``; what is not known is said so."""
    cell = usage.get("cell") or {}
    peak, total = size(cell.get("peak_bytes")), size(usage.get("memory_total_bytes"))
    memory = f"peak {peak} of {total}" if peak and total else "device memory not known"
    seconds, device = cell.get("seconds"), cell.get("device_seconds")
    if device is None:
        work = "device use not known"
    else:
        work = f"device {device:.1f} s of {seconds or 0:.1f} s"
    mark = " · simulated" if usage.get("simulated") else ""
    return visible(f"{memory} · {work}{mark}")
