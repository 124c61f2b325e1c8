"""Who waits and why, among the claims this user may see."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..errors import DRAError

if TYPE_CHECKING:
    from ..planner import Inventory

_MOST = 200
_PLANNED = 50
_REASONS = 5
_BUDGET_MS = 20.0
_GROUPS = {"impossible": "never", "invalid": "never", "busy": "taken", "fits": "starting"}

Json = Mapping[str, Any]


def waiting_rows(
    inventory: Inventory, queues: Mapping[tuple[str, str], str] = MappingProxyType({})
) -> list[dict[str, Any]]:
    """Claims without a device, oldest first; the reason is planned for the first fifty.

    ``group`` is limit (a queue or another gate holds its pod back, and ``queue`` names it), never (cannot ever start),
    taken, starting (fits now) or unknown; gates are known of pods in the inventory, and from ``queues``: namespace and
    claim to the queue. The request is the recorded one,
    else what the claim itself says as far as a request can say it. Names of others are withheld where policy says so.
    """
    claims = [
        claim
        for claim in inventory.claims.values()
        if not (claim.get("status") or {}).get("allocation")
        and not claim["metadata"].get("deletionTimestamp")
    ]
    claims.sort(key=lambda claim: str(claim["metadata"].get("creationTimestamp") or ""))
    gates = {
        (pod["metadata"]["namespace"], name): pod["gate"]
        for pod in inventory.pods.values()
        if pod["gate"] and not pod["ended"]
        for name in pod["claims"]
    }
    gates.update(queues)
    return [
        _row(inventory, claim, gates, planned=index < _PLANNED) for index, claim in enumerate(claims[:_MOST])
    ]


def _row(
    inventory: Inventory, claim: Json, gates: Mapping[tuple[str, str], str], *, planned: bool
) -> dict[str, Any]:
    from ..claims import labels

    metadata = claim["metadata"]
    notes, tags = metadata.get("annotations") or {}, metadata.get("labels") or {}
    mine = inventory.visibility.is_mine(metadata)
    shown = mine or inventory.visibility.names
    gate = gates.get((metadata.get("namespace"), metadata["name"]))
    judged = _judged(inventory, claim) if planned else {"verdict": None, "reasons": [], "requirement": None}
    return {
        "who": "you"
        if mine
        else "hidden"
        if not shown
        else "user"
        if notes.get(labels.USER)
        else "namespace",
        "namespace": metadata.get("namespace") if shown else None,
        "claim": metadata["name"] if shown else None,
        "session": tags.get(labels.SESSION) if shown else None,
        "user": notes.get(labels.USER) if shown else None,
        "requirement": _recorded(notes.get(labels.REQUIREMENT)) or judged["requirement"],
        "since": metadata.get("creationTimestamp"),
        "group": "limit" if gate else judged.get("group") or _GROUPS.get(judged["verdict"] or "", "unknown"),
        "queue": gate if shown else None,
        "verdict": judged["verdict"],
        "reasons": judged["reasons"][:_REASONS],
    }


def _judged(inventory: Inventory, claim: Json) -> dict[str, Any]:
    """What a plan says of the claim as it stands; a claim that cannot be planned can never start."""
    namespace = claim["metadata"].get("namespace", "default")
    try:
        return inventory.plan(claim, namespace, "verdict", _BUDGET_MS).as_dict()
    except DRAError as error:
        reason = {"code": error.code, "devices": 0, "params": {}, "message": error.message}
        return {"group": "never", "verdict": None, "reasons": [reason], "requirement": None}


def _recorded(text: str | None) -> dict[str, Any] | None:
    """The recorded requirement; it is a stranger's text, so what is none counts for nothing."""
    from ..claims import Requirement

    try:
        loaded = json.loads(text) if text and len(text) < 16384 else None
        return None if loaded is None else Requirement.from_dict(loaded).as_dict()
    except (TypeError, ValueError, RecursionError, DRAError):
        return None
