"""The nodes of a plan, best first, with the devices that would be taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from jupyter_dra.allocator import Attempt, NodeGroup, NodeView, Outcome
from jupyter_dra.model import DeviceID
from jupyter_dra.model.reading import items, mapping, text
from jupyter_dra.planner.judge import Judgement
from jupyter_dra.planner.stock import places
from jupyter_dra.planner.wish import allocation_of

if TYPE_CHECKING:
    from jupyter_dra.planner.inventory import Inventory

__all__ = ["likely_node", "list_nodes", "score"]

_ORDER = {"fits": 0, "unknown": 1, "busy": 2, "invalid": 3, "impossible": 4}


def score(outcome: Outcome) -> int:
    """The scheduler's score for the alternatives taken: the first gives 8, the eighth 1, summed over requests."""
    total, seen = 0, set()
    for pick in outcome.picks or ():
        body = pick.body
        if body.sub is not None and (body.claim, body.request) not in seen:
            seen.add((body.claim, body.request))
            total += 8 - body.rank
    return total


def likely_node(judgement: Judgement) -> NodeView | None:
    """The node the scheduler would probably choose: the best score, then the first; None where nothing fits."""
    survey = judgement.now if judgement.now is not None and judgement.now.fits else judgement.empty
    if survey is None:
        return judgement.ready[0].sample if judgement.held and judgement.ready else None
    best: tuple[int, int] | None = None
    likely: NodeView | None = None
    for outcome, groups in survey.fitting:
        points = score(outcome)
        for group in groups:
            first = min(group, key=lambda view: view.order)
            rank = (-points, first.order)
            if best is None or rank < best:
                best, likely = rank, first
    return likely


def list_nodes(
    inventory: Inventory, judgement: Judgement, limit: int | None
) -> tuple[list[dict[str, Any]], int]:
    """Nodes that have a matching device or an answer of their own, best first, and how many are left out."""
    if judgement.now is None or judgement.matches is None:
        return _nodes_of_held(inventory, judgement, limit)
    now = judgement.now.by_group()
    empty = judgement.empty.by_group() if judgement.empty is not None else {}
    likely = likely_node(judgement)
    ranked: dict[tuple[int, ...], list[tuple[NodeView, str]]] = {}
    for group in judgement.groups:
        outcome = now.get(id(group))
        for verdict, views in _by_verdict(inventory, judgement, group, outcome, empty.get(id(group))):
            count = judgement.of_group[id(group)]
            if verdict == "impossible" and not count.matching:
                continue
            points = score(outcome) if outcome is not None else 0
            place: tuple[int, ...] = (_ORDER[verdict], -points, -count.free)
            ranked.setdefault(place, []).extend((view, verdict) for view in views)
    rows: list[tuple[NodeView, str]] = []
    for place in ranked:
        # The likely node is listed, however many others have more devices free.
        rows += [row for row in ranked[place] if row[0] is likely]
        ranked[place] = [row for row in ranked[place] if row[0] is not likely]
    total = len(rows) + sum(map(len, ranked.values()))
    for place in sorted(ranked):
        if limit is not None and len(rows) > limit:
            break
        rows += sorted(ranked[place], key=lambda row: row[0].order)
    shown = rows if limit is None else rows[:limit]
    return [
        _node(inventory, judgement, view, verdict, view is likely) for view, verdict in shown
    ], total - len(shown)


def _by_verdict(
    inventory: Inventory, judgement: Judgement, group: NodeGroup, now: Outcome | None, empty: Outcome | None
) -> Iterator[tuple[str, Iterable[NodeView]]]:
    """The nodes of a group by verdict: they differ only where a device plugin stands beside some of them."""
    verdict = _node_verdict(inventory, judgement, group.sample, now, empty)
    plugins = judgement.plugins
    if verdict in ("fits", "unknown") and plugins and now is not None and now.fits:
        sure = "fits" if inventory.visibility.all_claims else "unknown"
        yield sure, [view for view in group if view.name not in plugins]
        yield "unknown", [view for view in group if view.name in plugins]
    else:
        yield verdict, group


def _node_verdict(
    inventory: Inventory, judgement: Judgement, view: NodeView, now: Outcome | None, empty: Outcome | None
) -> str:
    if now is None:
        return "impossible"
    if now.error is not None and now.error.kind in ("cel-runtime", "cel-compile"):
        return "invalid"
    if now.fits:
        sure = inventory.visibility.all_claims and view.name not in judgement.plugins
        return "fits" if sure else "unknown"
    if now.exhausted:
        return "unknown"
    if empty is None:
        return _without_empty(judgement, view)
    if empty.fits:
        return "busy"
    return "unknown" if empty.exhausted else "impossible"


def _without_empty(judgement: Judgement, view: NodeView) -> str:
    """The overall verdict did not need the question; here it does, for nodes beside the fitting ones."""
    attempt = judgement.empty_attempt
    if attempt is None:
        return "impossible"
    outcome = attempt.outcome(view)
    if outcome.fits:
        return "busy"
    return "unknown" if outcome.exhausted else "impossible"


def _node(
    inventory: Inventory, judgement: Judgement, view: NodeView, verdict: str, likely: bool
) -> dict[str, Any]:
    assert judgement.now is not None and judgement.matches is not None
    count = judgement.matches.count(view)
    attempt: Attempt | None = judgement.now.attempt
    if verdict == "busy":
        attempt = judgement.empty.attempt if judgement.empty is not None else judgement.empty_attempt
    elif verdict not in ("fits", "unknown"):
        attempt = None
    return {
        "name": view.name,
        "verdict": verdict,
        "likely": likely,
        "matching": count.matching,
        "free": count.free,
        "why_not": view.tag,
        "devices": _devices(inventory, attempt, view) if attempt is not None else [],
    }


def _devices(inventory: Inventory, attempt: Attempt, view: NodeView) -> list[dict[str, Any]]:
    return [
        {
            "claim": body.claim,
            "request": body.name,
            "driver": device.id.driver,
            "pool": device.id.pool,
            "device": device.id.device,
            "label": inventory.facts.of_device(device).label,
            "share": dict(need.texts) if need is not None else None,
        }
        for body, device, need in attempt.taken(view) or ()
    ]


def _nodes_of_held(
    inventory: Inventory, judgement: Judgement, limit: int | None
) -> tuple[list[dict[str, Any]], int]:
    """For claims that are allocated already: the nodes their pods may run on."""
    if not judgement.held:
        return [], 0
    published = {place.device.id: place.device for place in places(inventory)}

    def label(result: Mapping[str, Any]) -> str:
        """As on the card; the device's own name where no slice has it any more."""
        id = DeviceID(*(text(result.get(name)) for name in ("driver", "pool", "device")))
        return inventory.facts.of_device(published[id]).label if id in published else id.device

    devices = [
        {
            "claim": number,
            "request": result.get("request"),
            "driver": result.get("driver"),
            "pool": result.get("pool"),
            "device": result.get("device"),
            "label": label(result),
            "share": result.get("consumedCapacity"),
        }
        for number, claim in enumerate(judgement.held)
        for result in items(mapping(allocation_of(claim).get("devices")).get("results"))
    ]
    views = [view for group in judgement.ready for view in group]
    shown = views if limit is None else views[:limit]
    rows = [
        {
            "name": view.name,
            "verdict": "fits",
            "likely": number == 0,
            "matching": len(devices),
            "free": 0,
            "why_not": None,
            "devices": devices,
        }
        for number, view in enumerate(shown)
    ]
    return rows, len(views) - len(shown)
