"""What evaluations may cost: the steps of one, and the allowance of all that one question brings.

A frame is a list: the device, the steps left, then the variables of macros. The scheduler stops at a cost of
1,000,000, of which one loop step takes about five; we stop after as many loop steps, for safety, not exactness.
"""

from __future__ import annotations

from typing import Any

from jupyter_dra.cel.values import StepsExhausted
from jupyter_dra.errors import BudgetExceeded

__all__ = ["MAX_SIZE", "STEPS", "Allowance", "Frame", "charge", "checked_size"]

Frame = list[Any]
STEPS = 200_000
MAX_SIZE = 1_000_000
_CHARACTERS_PER_STEP = 50
_NODES_PER_STEP = 4
SMALL = 200


class Allowance:
    """How much all evaluations of one question may take together, counted in nodes of expressions.

    The scheduler bounds one evaluation, not their number: what it does in seconds over thousands of devices takes
    minutes here.
    """

    __slots__ = ("left",)

    def __init__(self, nodes: int) -> None:
        self.left = nodes

    def check(self) -> None:
        """Raise BudgetExceeded where nothing is left."""
        if self.left <= 0:
            raise BudgetExceeded("the selectors take too long to be tried on every device")

    def pay(self, nodes: int, steps: int) -> None:
        """Take off an evaluation of so many nodes, with so many steps of loops."""
        self.left -= nodes + _NODES_PER_STEP * steps


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
