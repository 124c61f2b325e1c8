"""Who holds what, as far as the asking user may know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jupyter_dra.allocator import DeviceEntry, Hold
from jupyter_dra.claims import labels

if TYPE_CHECKING:
    from jupyter_dra.planner.inventory import Inventory

__all__ = ["foremost", "holder_of", "is_releasing", "sum_holders"]

Json = Mapping[str, Any]
# A plan names as many holders as nodes, and of each the first devices.
_MOST = 50
_NAMES = 8


def holder_of(inventory: Inventory, hold: Hold) -> dict[str, Any]:
    """One holder of one device, an element of the contract's ``holders``.

    ``who`` is ``you``, ``user`` (a session of somebody), ``namespace`` (another claim) or ``hidden``.
    """
    claim = inventory.claim_of(hold.claim) or {}
    metadata = claim.get("metadata") or {}
    mine = inventory.visibility.is_mine(metadata)
    shown = mine or inventory.visibility.names
    annotations = metadata.get("annotations") or {}
    session = (metadata.get("labels") or {}).get(labels.SESSION)
    user = annotations.get(labels.USER) or (metadata.get("labels") or {}).get(labels.USER)
    allocation = (claim.get("status") or {}).get("allocation") or {}
    who = "you" if mine else "hidden" if not shown else "user" if user else "namespace"
    namespace, _, name = hold.claim.rpartition("/")
    return {
        "who": who,
        "namespace": (namespace or "default") if shown else None,
        "claim": name if shown else None,
        "session": session if shown else None,
        "user": user if shown else None,
        "since": allocation.get("allocationTimestamp") or metadata.get("creationTimestamp"),
        "lease_ends": annotations.get(labels.LEASE_ENDS) if shown else None,
        "share": _share(claim, hold),
        "admin": hold.admin,
        "idle_seconds": None,
        "note": None if (claim.get("status") or {}).get("reservedFor") else "no-pod",
    }


def _share(claim: Json, hold: Hold) -> dict[str, str] | None:
    if hold.share_id is None:
        return None
    results = (claim.get("status") or {}).get("allocation", {}).get("devices", {}).get("results", ())
    return next(
        (dict(r.get("consumedCapacity") or {}) for r in results if r.get("shareID") == hold.share_id), None
    )


def is_releasing(inventory: Inventory, hold: Hold) -> bool:
    """Tell whether the holding claim is being deleted."""
    claim = inventory.claim_of(hold.claim) or {}
    return bool((claim.get("metadata") or {}).get("deletionTimestamp"))


def sum_holders(inventory: Inventory, devices: Iterable[DeviceEntry]) -> list[dict[str, Any]]:
    """Holders of these devices with how many each holds: you first, then by number, hidden ones last and as one.

    ``device_names`` are the first eight.
    """
    found: dict[str, dict[str, Any]] = {}
    counted: dict[str, dict[Any, None]] = {}
    for device in devices:
        for hold in inventory.holds(device.id):
            if hold.admin:
                continue
            entry = holder_of(inventory, hold)
            key = "" if entry["who"] == "hidden" else hold.claim
            entry = {name: value for name, value in entry.items() if name not in ("share", "admin")}
            if key == "":
                entry.update(since=None, note=None)
            found.setdefault(key, entry)
            counted.setdefault(key, {})[device.id] = None
    rows = [
        {
            **entry,
            "devices": len(counted[key]),
            "device_names": [id.device for id in list(counted[key])[:_NAMES]],
        }
        for key, entry in found.items()
    ]
    order = {"you": 0, "user": 1, "namespace": 1, "hidden": 2}
    return sorted(rows, key=lambda row: (order[row["who"]], -row["devices"], row["claim"] or ""))


def foremost(rows: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """The first fifty, hidden ones and the one whose lease ends first among them; how many are left out."""
    if len(rows) <= _MOST:
        return list(rows), 0
    leases = [row for row in rows if row["lease_ends"]]
    kept = [row for row in rows if row["who"] == "hidden"]
    kept += [min(leases, key=lambda row: str(row["lease_ends"]))] if leases else []
    kept += [row for row in rows if not any(row is one for one in kept)][: _MOST - len(kept)]
    chosen = {id(row) for row in kept}
    return [row for row in rows if id(row) in chosen], len(rows) - len(kept)
