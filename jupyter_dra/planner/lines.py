"""Devices that share one reason, as they are counted before they are put into words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

from jupyter_dra.allocator import DeviceEntry
from jupyter_dra.planner.terms import Term

__all__ = ["Line", "Words"]

_SAMPLES = 4

Words = tuple[dict[str, Any], str]
"""Parameters of a reason, and its sentence."""


@dataclass(slots=True)
class Line:
    """Devices with one reason, as counted.

    Attributes:
        kinds: how many by kind number.
        samples: a few of them.
        places: the cards of parts without room, the lists that are incomplete: what a sentence counts beside devices.
    """

    code: str
    detail: Any
    term: Term | None
    devices: int = 0
    kinds: Counter[int] = field(default_factory=Counter)
    samples: list[DeviceEntry] = field(default_factory=list)
    places: set[Hashable] = field(default_factory=set)

    def sample(self, device: DeviceEntry, places: Iterable[Hashable] = ()) -> None:
        self.places.update(places)
        if len(self.samples) < _SAMPLES:
            self.samples.append(device)
