"""After a session: whether a smaller tier would have done. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

ROOM = 0.85
"""The peak may fill as much of a smaller device; the rest is room for what this session did not try."""

Json = Mapping[str, Any]


def right_size(
    usage: Json | None, tiers: Iterable[Json], *, held: str | None = None
) -> dict[str, Any] | None:
    """The smallest tier whose devices would have held the session's peak; None without one, or without proof.

    Told only when memory was measured all the time. Of several devices the fullest counts.

    Args:
        usage: the session's figures, see `usage.usage_of`.
        tiers: rows of the tier list.
        held: DeviceClass the session held; its price is the one to beat.
    """
    fullest = _fullest(usage)
    if fullest is None:
        return None
    peak, total = fullest
    rows = list(tiers)
    paid = _amount(next((row for row in rows if held in (row["name"], row["device_class"])), None))
    named = [
        row for row in rows if row.get("display_name")
    ] or rows  # the rest are folded away for users, too
    fitting = [
        (size["min_bytes"], amount is None, amount or Decimal(0), str(row["name"]), row, size)
        for row in named
        if not row.get("hidden") and row.get("available", True) and row["device_kind"] == "gpu"
        for size in row["sizes"]
        if peak <= ROOM * size["min_bytes"] and size["max_bytes"] < total
        for amount in (_amount(row),)
        if paid is None or amount is None or amount < paid
    ]
    if not fitting:
        return None
    _, _, _, name, row, size = min(fitting, key=lambda entry: entry[:4])
    return {
        "peak_bytes": peak,
        "total_bytes": total,
        "label": size["label"],
        "tier": name,
        "price": dict(row["price"]) if row.get("price") else None,
    }


def _fullest(usage: Json | None) -> tuple[int, int] | None:
    if not usage or not usage.get("complete"):
        return None
    known = [
        (int(device["peak_bytes"]), int(device["memory_total_bytes"]))
        for device in usage.get("devices") or ()
        if device.get("peak_bytes") is not None and device.get("memory_total_bytes")
    ]
    return max(known, default=None)


def _amount(row: Json | None) -> Decimal | None:
    price = (row or {}).get("price")
    return Decimal(str(price["amount"])) if price else None
