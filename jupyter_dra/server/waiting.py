"""Who waits and why, among the claims this user may see."""

from __future__ import annotations

import json
from typing import Any

from ..errors import DRAError

_MOST = 200
_PLANNED = 50
_BUDGET_MS = 20.0


def waiting_rows(inventory: Any) -> list[dict[str, Any]]:
    """Claims without a device, oldest first; the reason is planned for the first fifty.

    ``group`` is never (cannot ever start), taken, starting (fits now), limit or unknown.
    """
    claims = [
        claim
        for claim in inventory.claims.values()
        if not ((claim.get("status") or {}).get("allocation"))
        and not claim["metadata"].get("deletionTimestamp")
    ]
    claims.sort(key=lambda claim: str(claim["metadata"].get("creationTimestamp") or ""))
    return [_row(inventory, claim, planned=index < _PLANNED) for index, claim in enumerate(claims[:_MOST])]


def _row(inventory: Any, claim: dict[str, Any], *, planned: bool) -> dict[str, Any]:
    from ..claims import labels

    metadata = claim["metadata"]
    notes, tags = metadata.get("annotations") or {}, metadata.get("labels") or {}
    group, reasons, verdict = "unknown", [], None
    if planned:
        try:
            plan = inventory.plan(
                claim, namespace=metadata.get("namespace", "default"), detail="verdict", budget_ms=_BUDGET_MS
            ).as_dict()
            verdict, reasons = plan["verdict"], plan["reasons"][:5]
            group = {"impossible": "never", "invalid": "never", "busy": "taken", "fits": "starting"}.get(
                verdict, group
            )
        except DRAError as error:
            group, reasons = (
                "never",
                [{"code": error.code, "devices": 0, "params": {}, "message": error.message}],
            )
    return {
        "namespace": metadata.get("namespace"),
        "claim": metadata["name"],
        "session": tags.get(labels.SESSION),
        "user": notes.get(labels.USER),
        "requirement": _requirement(notes.get(labels.REQUIREMENT)),
        "since": metadata.get("creationTimestamp"),
        "group": group,
        "verdict": verdict,
        "reasons": reasons,
    }


def _requirement(text: str | None) -> dict[str, Any] | None:
    """The recorded requirement; it is a stranger's text, so only a plain object counts."""
    try:
        loaded = json.loads(text) if text and len(text) < 16384 else None
    except (ValueError, RecursionError):
        return None
    return loaded if isinstance(loaded, dict) else None
