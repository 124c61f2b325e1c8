"""Devices in columns, for pictures of tens of thousands: each text once, repetitions as runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from ..planner import DevicePicture, PictureRow

Column = dict[str, Any]
OWN_STATES = ("yours", "shared")
"""States of devices that one's own session may hold."""


def compact_devices(
    picture: DevicePicture, since: int | None = None, idle: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """The CompactDeviceList of a picture: everything, or what changed after the revision *since*.

    What cannot be given as a change is given whole, without ``since``; then forget all that was known. Holders stand
    in columns of their own; a device's ``holders`` are their numbers.

    Args:
        idle: for how many seconds nothing uses the user's own sessions. That changes without any change of the
            inventory, so the user's own devices are among the changes every time.
    """
    from ..sessions.usage import with_idle

    change = None if since is None else picture.since(since)
    rows = list(picture.rows()) if change is None else _with_own(change.rows, picture)
    holders, held = _numbered([row.holders for row in rows])
    holders = [with_idle(holder, idle or {}) for holder in holders]
    cells: list[Sequence[Any]] = [list(column) for column in zip(*rows, strict=True)]
    if cells:
        cells[PictureRow._fields.index("holders")] = held
    document: dict[str, Any] = {
        "kind": "CompactDeviceList",
        "version": 1,
        "revision": picture.revision,
        "total": len(picture),
        "rows": len(rows),
        "columns": _columns(PictureRow._fields, cells),
        "holders": {
            "rows": len(holders),
            "columns": _columns(tuple(holders[0]) if holders else (), _turned(holders)),
        },
    }
    if change is not None:
        document["since"] = since
        document["removed"] = [[id.driver, id.pool, id.device] for id in change.removed]
    return document


def _with_own(changed: list[PictureRow], picture: DevicePicture) -> list[PictureRow]:
    known = {(row.driver, row.pool, row.name) for row in changed}
    own = (row for row in picture.rows() if row.state in OWN_STATES)
    return changed + [row for row in own if (row.driver, row.pool, row.name) not in known]


def _numbered(
    groups: Iterable[tuple[Mapping[str, Any], ...]],
) -> tuple[list[Mapping[str, Any]], list[tuple[int, ...]]]:
    """All holders once, and of each device the numbers of its own; those of equal devices are the same objects."""
    holders: list[Mapping[str, Any]] = []
    numbers: dict[int, int] = {}
    of_group: dict[int, tuple[int, ...]] = {}
    found = []
    for group in groups:
        known = of_group.get(id(group))
        if known is None:
            for holder in group:
                if id(holder) not in numbers:
                    numbers[id(holder)] = len(holders)
                    holders.append(holder)
            known = of_group[id(group)] = tuple(numbers[id(holder)] for holder in group)
        found.append(known)
    return holders, found


def _turned(rows: Sequence[Mapping[str, Any]]) -> list[Sequence[Any]]:
    return [list(column) for column in zip(*(row.values() for row in rows), strict=True)]


def _columns(names: Sequence[str], cells: Sequence[Sequence[Any]]) -> dict[str, Column]:
    return {name: _column(cells[place]) if cells else {"values": []} for place, name in enumerate(names)}


def _column(cells: Sequence[Any]) -> Column:
    """What occurs in a column, as ``values``, and where.

    Of each row tells ``cells`` which value it has, or ``runs``, in pairs of a value's place and how many rows in
    succession have it, whichever is shorter; neither where there is one value only.
    """
    table: dict[Any, int] = {}
    values: list[Any] = []
    places = []
    for cell in cells:
        key = _key(cell)
        place = table.get(key)
        if place is None:
            place = table[key] = len(values)
            values.append(cell)
        places.append(place)
    if len(values) == 1:
        return {"values": values}
    runs = [number for place, same in groupby(places) for number in (place, sum(1 for _ in same))]
    return (
        {"values": values, "runs": runs} if len(runs) < len(places) else {"values": values, "cells": places}
    )


def _key(cell: Any) -> Any:
    """What a cell is looked up by; a list of objects by its text."""
    try:
        hash(cell)
    except TypeError:
        return json.dumps(cell, sort_keys=True)
    return cell
