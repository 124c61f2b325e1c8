"""Devices in columns, for pictures of tens of thousands: repeated texts once, unique attributes left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

COLUMNS = (
    "node",
    "driver",
    "pool",
    "name",
    "device_kind",
    "label",
    "memory_bytes",
    "state",
    "tiers",
    "who",
    "simulated",
)
_TABLED = ("node", "driver", "pool", "device_kind", "label", "state", "tiers", "who")


def compact_devices(devices: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The CompactDeviceList of a DeviceList's elements.

    ``rows[i]`` holds one cell per column; cells of the columns in ``values`` are positions in that column's list.
    """
    tables: dict[str, dict[Any, int]] = {column: {} for column in _TABLED}
    rows: list[list[Any]] = []
    for device in devices:
        nodes = device["nodes"]
        holders = device["holders"]
        cells: dict[str, Any] = {
            "node": None if nodes is None else (nodes[0] if len(nodes) == 1 else ", ".join(nodes)),
            "driver": device["driver"],
            "pool": device["pool"],
            "name": device["name"],
            "device_kind": device["device_kind"],
            "label": device["label"],
            "memory_bytes": device["memory_bytes"],
            "state": device["state"],
            "tiers": tuple(device["tiers"]),
            "who": holders[0]["who"] if holders else None,
            "simulated": 1 if device["simulated"] else 0,
        }
        rows.append([_cell(tables, column, cells[column]) for column in COLUMNS])
    values = {
        column: [list(one) if isinstance(one, tuple) else one for one in table]
        for column, table in tables.items()
    }
    return {
        "kind": "CompactDeviceList",
        "version": 1,
        "columns": list(COLUMNS),
        "values": values,
        "rows": rows,
    }


def _cell(tables: Mapping[str, dict[Any, int]], column: str, value: Any) -> Any:
    table = tables.get(column)
    return value if table is None else table.setdefault(value, len(table))
