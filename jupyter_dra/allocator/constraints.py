"""Constraints over the picks of one claim: matchAttribute and distinctAttribute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jupyter_dra.allocator.kinds import Value
from jupyter_dra.allocator.repairs import Repairs
from jupyter_dra.allocator.requests import Body, Constraint, PodClaims

__all__ = ["Constraints"]

_SCALARS = ("string", "int", "bool", "version")


class _Match:
    """All devices share type and value; the first one sets them."""

    def __init__(self) -> None:
        self._size = 0
        self._value: Value | None = None

    def add(self, body: Body, value: Value | None) -> bool:
        if value is None:
            return False
        if self._size == 0:
            self._value = value
        elif value != self._value or value[0] not in _SCALARS:
            return False
        self._size += 1
        return True

    def remove(self, body: Body, value: Value | None) -> None:
        self._size -= 1


class _Distinct:
    """All devices differ in the value."""

    def __init__(self) -> None:
        self._values: list[Value] = []

    def add(self, body: Body, value: Value | None) -> bool:
        if value is None or value in self._values:
            return False
        self._values.append(value)
        return True

    def remove(self, body: Body, value: Value | None) -> None:
        if value is not None:
            self._values.remove(value)


class _DistinctByRequest:
    """As _Distinct before kubernetes/kubernetes#140600: each request's latest value only."""

    def __init__(self) -> None:
        self._values: dict[str, Value] = {}

    def add(self, body: Body, value: Value | None) -> bool:
        if value is None:
            return False
        if any(value == other for other in self._values.values()):
            return False
        self._values[body.base] = value
        return True

    def remove(self, body: Body, value: Value | None) -> None:
        self._values.pop(body.base, None)


class Constraints:
    """The state of every constraint during one search."""

    def __init__(self, claims: PodClaims, repairs: Repairs) -> None:
        distinct = _Distinct if repairs.distinct_compares_all else _DistinctByRequest
        self._returns = repairs.counters_returned
        self._of: list[list[tuple[int, Any]]] = [[] for _ in claims.bodies]
        for constraint in claims.constraints:
            state = distinct() if constraint.distinct else _Match()
            column = _column(claims, constraint)
            for body in sorted(constraint.bodies):
                self._of[body].append((column, state))

    def add(self, body: Body, values: Sequence[Value | None]) -> bool:
        """Count a device in; False, and nothing counted, where a constraint forbids it."""
        entries = self._of[body.index]
        for number, (column, state) in enumerate(entries):
            if not state.add(body, values[column]):
                for earlier, before in entries[:number]:
                    before.remove(body, values[earlier])
                return False
        return True

    def remove(self, body: Body, values: Sequence[Value | None]) -> None:
        """Take a device out that was counted in."""
        for column, state in self._of[body.index]:
            state.remove(body, values[column])


def _column(claims: PodClaims, constraint: Constraint) -> int:
    return claims.attributes.index(constraint.attribute)
