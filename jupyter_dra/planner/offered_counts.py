"""The numbers of devices that a tier is offered in, as the admin wrote them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jupyter_dra.model import limits as limits_of_api

__all__ = ["Counts", "is_offered", "list_counts", "read_counts", "usual_count"]

Counts = list[int] | str | None
"""A list of numbers, ``"all"`` devices of a node, or None where every number is fine."""


def read_counts(value: object) -> Counts:
    """Allowed numbers of devices: a list, ``{"min", "max"}``, or ``"all"`` of a node; None where not limited."""
    if value == "all":
        return "all"
    if isinstance(value, Mapping):
        low, high = value.get("min", 1), value.get("max")
        if not isinstance(low, int) or not isinstance(high, int):
            return None
        return list(range(low, high + 1)) if 0 < low <= high <= limits_of_api.ALLOCATION_RESULTS_MAX else None
    if not isinstance(value, Iterable) or isinstance(value, (str, Mapping)):
        return None
    found = [item for item in value if isinstance(item, int) and item > 0]
    return found or None


def is_offered(count: int | str, counts: Counts) -> bool:
    """Whether a tier that is offered in *counts* is offered in this number."""
    return counts is None or count == counts or (isinstance(counts, list) and count in counts)


def usual_count(counts: Counts, default: Any = None) -> Any:
    """How many devices are meant where nobody says: the tier's default, else one, else the fewest there are.

    >>> usual_count([8]), usual_count([2, 4], 4), usual_count([2, 4], 3), usual_count(None), usual_count("all")
    (8, 4, 2, 1, 'all')
    """
    for count in (default, 1):
        if count is not None and is_offered(count, counts):
            return count
    return min(counts) if isinstance(counts, list) else counts


def list_counts(counts: list[int] | str) -> str:
    """``1, 2 or 4``; a long run as its two ends."""
    if isinstance(counts, str):
        return "all devices of a node"
    if len(counts) > 3 and counts == list(range(counts[0], counts[-1] + 1)):
        return f"{counts[0]} to {counts[-1]}"
    *most, last = map(str, counts)
    return f"{', '.join(most)} or {last}" if most else last
