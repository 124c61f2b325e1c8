"""The step limit: the frame of an evaluation and what big values cost.

A frame is a list: the device, the steps left, then the variables of macros. The scheduler stops at a cost of
1,000,000, of which one loop step takes about five; we stop after as many loop steps, for safety, not exactness.
"""

from __future__ import annotations

from typing import Any

from jupyter_dra.cel.values import StepsExhausted

__all__ = ["MAX_SIZE", "STEPS", "Frame", "charge", "checked_size"]

Frame = list[Any]
STEPS = 200_000
MAX_SIZE = 1_000_000
_CHARACTERS_PER_STEP = 50
SMALL = 200


def charge(frame: Frame, size: int) -> None:
    """Pay for reading or making ``size`` characters or elements; raises StepsExhausted."""
    left = frame[1] - size // _CHARACTERS_PER_STEP
    frame[1] = left
    if left < 0:
        raise StepsExhausted


def checked_size(size: int) -> None:
    """Refuse to make a value larger than any selector can mean."""
    if size > MAX_SIZE:
        raise StepsExhausted
