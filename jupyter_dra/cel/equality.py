"""``==`` at run time (``cel-go/common/types``, ``k8s.io/apiserver/pkg/cel/{quantity,semver}.go``).

Numbers compare across types, other different types are unequal without error. A Semver or Quantity on the left with
another type on the right is an error.
"""

from __future__ import annotations

from jupyter_dra.cel.meter import Frame, charge
from jupyter_dra.cel.network import Cidr, Ip, Url
from jupyter_dra.cel.values import MISSING, CelMap, CelOptional, EvalError, UInt
from jupyter_dra.model import Quantity, Semver

__all__ = ["equal", "settled_equal"]

_NUMBERS = frozenset((int, UInt, float))
# These ask for their own kind on the right side; anything else there is an error.
_STRICT = frozenset((Semver, Ip, Cidr, Url))
_SIMPLE = frozenset((str, bytes, bool))
_LARGE = 1000


def equal(frame: Frame, left: object, right: object) -> bool:
    """``left == right``; raises EvalError where upstream has no such overload."""
    kind, other = type(left), type(right)
    if kind in _SIMPLE:
        if kind is str and len(left) > _LARGE:  # type: ignore[arg-type]
            charge(frame, len(left))  # type: ignore[arg-type]
        return kind is other and left == right
    if left is None or right is None:
        return left is right
    if kind in _NUMBERS:
        if kind is not other and float in (kind, other) and other in _NUMBERS:
            # A whole number meets a double as a double, rounded (compareDoubleInt).
            return float(left) == float(right)  # type: ignore[arg-type]
        return other in _NUMBERS and left == right
    # add and sub give a SumQuantity: a pointer upstream, which is unknown on the right side.
    if isinstance(left, Quantity) or kind in _STRICT:
        if other is not (kind if kind in _STRICT else Quantity):
            raise EvalError("no such overload")
        return left == right
    return _equal_composite(frame, left, right)


def settled_equal(frame: Frame, left: object, right: object) -> bool | None:
    """The same, with None for an error."""
    try:
        return equal(frame, left, right)
    except EvalError:
        return None


def _equal_composite(frame: Frame, left: object, right: object) -> bool:
    charge(frame, 50)
    if isinstance(left, list):
        # An element whose comparison fails does not make lists unequal: only false does (baseList.Equal).
        return (
            isinstance(right, list)
            and len(left) == len(right)
            and all(settled_equal(frame, one, two) is not False for one, two in zip(left, right, strict=True))
        )
    if isinstance(left, CelMap):
        if not isinstance(right, CelMap) or len(left) != len(right):
            return False
        for key, value in left.items():
            other = right.find(key)
            if other is MISSING or settled_equal(frame, value, other) is False:
                return False
        return True
    if isinstance(left, CelOptional):
        if not isinstance(right, CelOptional) or (left.value is MISSING) != (right.value is MISSING):
            return False
        return left.value is MISSING or equal(frame, left.value, right.value)
    return type(left) is type(right) and left == right
