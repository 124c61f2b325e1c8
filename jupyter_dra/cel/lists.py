"""List and set functions (``k8s.io/apiserver/pkg/cel/library/lists.go``, ``cel-go/ext/lists.go``, ``sets.go``)."""

from __future__ import annotations

from itertools import pairwise

from jupyter_dra.cel.equality import settled_equal
from jupyter_dra.cel.meter import Frame, charge, checked_size
from jupyter_dra.cel.numbers import as_int, as_uint
from jupyter_dra.cel.values import (
    NONE,
    CelOptional,
    Duration,
    EvalError,
    Timestamp,
    UInt,
)

__all__ = ["compare_values", "flatten", "sort_values"]

_COMPARABLE = (bool, int, UInt, float, str, bytes, Duration, Timestamp)


def compare_values(left: object, right: object) -> int:
    """-1, 0, 1; raises EvalError where the types have no order together."""
    kind, other = type(left), type(right)
    numbers = (int, UInt, float)
    if not (kind is other and kind in _COMPARABLE) and not (kind in numbers and other in numbers):
        raise EvalError("no such overload")
    if left != left or right != right:
        raise EvalError("NaN values cannot be ordered")
    if kind is not other and float in (kind, other):
        left, right = float(left), float(right)  # type: ignore[arg-type]
    return -1 if left < right else int(left > right)  # type: ignore[operator]


def _ordered(frame: Frame, values: list[object]) -> list[object]:
    """The values of a list whose elements have an order; raises EvalError for others."""
    charge(frame, len(values))
    first = type(values[0]) if values else None
    if any(type(value) is not first for value in values) or (first is not None and first not in _COMPARABLE):
        raise EvalError("no such overload")
    return values


def is_sorted(frame: Frame, values: list[object]) -> bool:
    _ordered(frame, values)
    return all(compare_values(one, two) <= 0 for one, two in pairwise(values))


def minimum(frame: Frame, values: list[object]) -> object:
    if not values:
        raise EvalError("min called on empty list")
    return min(_ordered(frame, values))  # type: ignore[type-var]


def maximum(frame: Frame, values: list[object]) -> object:
    if not values:
        raise EvalError("max called on empty list")
    return max(_ordered(frame, values))  # type: ignore[type-var]


def sort_values(frame: Frame, values: list[object], keys: list[object] | None = None) -> list[object]:
    """The values sorted by themselves or by keys, stable."""
    checked = _ordered(frame, values if keys is None else keys)
    charge(frame, len(values) * 20)
    order = sorted(range(len(values)), key=checked.__getitem__)  # type: ignore[arg-type]
    return [values[index] for index in order]


def total(frame: Frame, values: list[object]) -> object:
    charge(frame, len(values))
    if not values:
        return 0
    first = type(values[0])
    if first not in (int, UInt, float, Duration) or any(type(value) is not first for value in values):
        raise EvalError("no such overload: sum")
    if first is float:
        result = 0.0
        for value in values:
            result += value  # type: ignore[operator]
        return result
    number = 0
    for value in values:
        number += value  # type: ignore[operator]
        _ = as_uint(number) if first is UInt else as_int(number)
    return number if first is int else first(number)


def index_of(frame: Frame, values: list[object], wanted: object) -> int:
    charge(frame, len(values))
    for index, value in enumerate(values):
        if settled_equal(frame, value, wanted) is True:
            return index
    return -1


def last_index_of(frame: Frame, values: list[object], wanted: object) -> int:
    charge(frame, len(values))
    for index in range(len(values) - 1, -1, -1):
        if settled_equal(frame, values[index], wanted) is True:
            return index
    return -1


def slice_of(frame: Frame, values: list[object], start: int, end: int) -> list[object]:
    if start < 0 or end < 0:
        raise EvalError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise EvalError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if end > len(values):
        raise EvalError(f"cannot slice({start}, {end}), list is length {len(values)}")
    charge(frame, end - start)
    return values[start:end]


def flatten(frame: Frame, values: list[object], depth: int = 1) -> list[object]:
    """The list with nested lists laid open, down to ``depth``."""
    if depth < 0:
        raise EvalError("level must be non-negative")
    result: list[object] = []
    for value in values:
        if isinstance(value, list) and depth > 0:
            inner = flatten(frame, value, depth - 1)
            charge(frame, len(inner) + 50)
            result += inner
        else:
            result.append(value)
    checked_size(len(result))
    return result


def distinct(frame: Frame, values: list[object]) -> list[object]:
    result: list[object] = []
    for value in values:
        charge(frame, 50 + len(result))
        if not any(settled_equal(frame, kept, value) is True for kept in result):
            result.append(value)
    return result


def reverse(frame: Frame, values: list[object]) -> list[object]:
    charge(frame, len(values))
    return values[::-1]


def first(values: list[object]) -> CelOptional:
    return CelOptional(values[0]) if values else NONE


def last(values: list[object]) -> CelOptional:
    return CelOptional(values[-1]) if values else NONE


def number_range(frame: Frame, count: int) -> list[object]:
    if count < 0:
        raise EvalError(f"lists.range: size must be non-negative, got {count}")
    checked_size(count)
    charge(frame, count)
    return list(range(count))


def _member(frame: Frame, values: list[object], wanted: object) -> bool:
    charge(frame, len(values) + 50)
    return any(settled_equal(frame, wanted, value) is True for value in values)


def sets_contains(frame: Frame, values: list[object], wanted: list[object]) -> bool:
    return all(_member(frame, values, value) for value in wanted)


def sets_equivalent(frame: Frame, left: list[object], right: list[object]) -> bool:
    return sets_contains(frame, left, right) and sets_contains(frame, right, left)


def sets_intersects(frame: Frame, left: list[object], right: list[object]) -> bool:
    return any(_member(frame, right, value) for value in left)


def includes(frame: Frame, value: object, wanted: object) -> bool:
    """``includes`` of an attribute: a scalar equals, a list has the value."""
    if isinstance(value, list):
        return _member(frame, value, wanted)
    return settled_equal(frame, value, wanted) is True
