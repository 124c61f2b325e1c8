"""Counting attribute values before searching: 17 devices of one island do not fit an island of 16.

Only branches without any solution are cut, so the first solution stays the first. Used for ordinary picks only:
admin and shared picks may take one device several times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Protocol

from jupyter_dra.allocator.requests import Body, Constraint, PodClaims

__all__ = ["Bounds", "Openings", "value_bounds"]


class Bounds:
    """How many devices of each attribute value are left, and how many are needed."""

    __slots__ = ("_limits", "_own")

    def __init__(self) -> None:
        self._own: list[tuple[int, Counter[Any], int]] = []
        self._limits: list[tuple[int, Counter[Any], int]] = []

    def own(self, column: int, counts: Counter[Any], needed: int) -> None:
        """This request alone needs ``needed`` devices of one value, from the present candidate on."""
        self._own.append((column, counts, needed))

    def limit(self, column: int, counts: Counter[Any], needed: int) -> None:
        """This and later requests together need ``needed`` devices of one value."""
        self._limits.append((column, counts, needed))

    def allows(self, values: Sequence[Any]) -> bool:
        """Tell whether a candidate can start a solution; call it once per candidate, in order."""
        found = all(counts[values[column]] >= needed for column, counts, needed in self._limits)
        for column, counts, needed in self._own:
            found = found and counts[values[column]] >= needed
            counts[values[column]] -= 1
        return found


class Openings(Protocol):
    """What counting needs to know of the search as it stands."""

    def values(self, position: int) -> Sequence[Any]:
        """A device's values of the constraint attributes."""

    def reusable(self, position: int) -> bool:
        """Whether a device may be picked several times."""

    def unpicked(self, body: Body) -> list[int]:
        """Devices a request could still take."""

    def number(self, body: Body) -> int:
        """How many devices a request takes."""


def value_bounds(
    claims: PodClaims, body: Body, usable: Sequence[int], needed: int, openings: Openings
) -> Bounds | None:
    """The bounds for one request's candidates, or None where no candidate can lead to a solution."""
    bounds = Bounds()
    if body.admin or any(map(openings.reusable, usable)):
        return bounds
    for constraint in claims.claims[body.claim].constraints:
        if body.index not in constraint.bodies:
            continue
        column = claims.attributes.index(constraint.attribute)
        counts = Counter(openings.values(position)[column] for position in usable)
        if constraint.distinct:
            if needed > 1 and len(counts) - (None in counts) < needed:
                return None
            continue
        if needed > 1:
            bounds.own(column, counts, needed)
        together = _together(claims, body, constraint, usable, needed, openings)
        if together is not None and not any(map(openings.reusable, together[0])):
            positions, total = together
            bounds.limit(column, Counter(openings.values(position)[column] for position in positions), total)
    return bounds


def _together(
    claims: PodClaims,
    body: Body,
    constraint: Constraint,
    usable: Sequence[int],
    needed: int,
    openings: Openings,
) -> tuple[set[int], int] | None:
    """Devices open to this and the later requests of a constraint, and how many those need at least."""
    total, positions = needed, set(usable)
    for request in claims.claims[body.claim].requests[body.request + 1 :]:
        covered = [other for other in request if other.index in constraint.bodies]
        if any(other.admin for other in covered):
            return None
        if len(covered) == len(request):
            total += min(map(openings.number, request))
        for other in covered:
            positions.update(openings.unpicked(other))
    return (positions, total) if total > needed else None
