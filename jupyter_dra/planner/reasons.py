"""Why not: every device once, at the first test it fails, summed up so that 40,000 devices read as a few lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jupyter_dra.allocator import DeviceEntry, NodeView, Outcome, PoolView
from jupyter_dra.planner.classify import Classifier, Failed
from jupyter_dra.planner.judge import Judgement
from jupyter_dra.planner.messages import Line, describe

if TYPE_CHECKING:
    from jupyter_dra.planner.inventory import Inventory

__all__ = ["WhyNot", "why_not"]

_ORDER = (
    "condition-error",
    "inventory",
    "kind",
    "memory",
    "condition",
    "out-of-service",
    "node",
    "part",
    "share",
    "partner",
    "one-node",
    "taken",
)
_BEST = {"fits": 0, "busy": 1, "impossible": 2, "not-ready": 3}


@dataclass(slots=True)
class WhyNot:
    """``reasons`` in the contract's form, the lines they were made of, and the devices that somebody holds."""

    reasons: list[dict[str, Any]] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    taken: list[DeviceEntry] = field(default_factory=list)


class _Tally:
    """Counts by code and detail, with some devices as examples and all kinds."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, Any]] = Counter()
        self.lines: dict[tuple[str, Any], Line] = {}

    def add(self, failed: Failed, device: DeviceEntry, count: int = 1, **params: Any) -> None:
        key = (failed.code, failed.detail)
        line = self.lines.get(key)
        if line is None:
            line = self.lines[key] = Line(failed.code, failed.detail, failed.term)
        self.counts[key] += count
        line.kinds[device.kind.number] += count
        line.sample(device)
        line.params.update(params)


def why_not(inventory: Inventory, judgement: Judgement) -> WhyNot:
    """The reasons of a plan. Devices that could be taken now are in none of them."""
    if judgement.now is None or judgement.matches is None or not inventory.visibility.slices:
        return WhyNot()
    tally = _Tally()
    classify = Classifier(inventory, judgement.now.attempt, judgement.matches.bodies)
    found = WhyNot()
    views = _pool_views(judgement)
    _by_kind(inventory, tally, classify, views)
    _by_node(inventory, judgement, tally, classify, views, found)
    for (_, _), line in sorted(tally.lines.items(), key=lambda item: _position(item[0], tally)):
        line.devices = tally.counts[line.code, line.detail]
        found.lines.append(line)
        found.reasons.append(describe(inventory, judgement, line, classify.terms, found.taken))
    return found


def _position(key: tuple[str, Any], tally: _Tally) -> tuple[int, int]:
    return _ORDER.index(key[0]), -tally.counts[key]


@dataclass(slots=True)
class _Seen:
    """A pool view with the best verdict among its nodes, and the node that has it."""

    view: PoolView
    node: NodeView
    verdict: str


def _pool_views(judgement: Judgement) -> list[_Seen]:
    assert judgement.now is not None
    now = judgement.now.by_node()
    empty = judgement.empty.by_node() if judgement.empty is not None else None
    found: dict[Any, _Seen] = {}
    for node in judgement.views:
        verdict = _verdict(judgement, node, now.get(node.name), empty)
        for pool in node.pools:
            key = (id(pool), node.name) if pool.per_device else id(pool)
            seen = found.get(key)
            if seen is None:
                found[key] = _Seen(pool, node, verdict)
            elif _BEST[verdict] < _BEST[seen.verdict]:
                seen.node, seen.verdict = node, verdict
    return list(found.values())


def _verdict(
    judgement: Judgement, node: NodeView, now: Outcome | None, empty: dict[str, Outcome] | None
) -> str:
    if now is None:
        return "not-ready"
    if now.fits or now.exhausted:
        return "fits"
    if empty is None:
        assert judgement.empty_attempt is not None
        return "busy" if judgement.empty_attempt.outcome(node).fits else "impossible"
    return "busy" if empty[node.name].fits else "impossible"


def _by_kind(inventory: Inventory, tally: _Tally, classify: Classifier, views: Sequence[_Seen]) -> None:
    """Everything that the kind alone decides, from counts per kind."""
    counts: Counter[int] = Counter()
    for seen in views:
        pool = seen.view
        if not pool.broken and not pool.per_device:
            counts.update(pool.kinds)
    samples = inventory.state.samples
    for number, count in counts.items():
        device = samples[number]
        if classify.decides(device):
            failed = classify(device)
            if failed.code != "passes":
                tally.add(failed, device, count)


def _by_node(
    inventory: Inventory,
    judgement: Judgement,
    tally: _Tally,
    classify: Classifier,
    views: Sequence[_Seen],
    found: WhyNot,
) -> None:
    matches = judgement.matches
    assert matches is not None
    done: set[Any] = set()
    for seen in views:
        pool = seen.view
        if pool.plain and not classify.by_device:
            count = matches.count_pool(pool, seen.node)
            if count.matching == 0 or (seen.verdict == "fits" and count.matching == count.free):
                continue
        for index, device in enumerate(pool.devices):
            whole = not pool.broken and not pool.per_device
            if whole and classify.decides(device) and classify(device).code != "passes":
                continue
            if not whole:
                if device.id in done or (pool.per_device and not matches.on_node(pool, device, seen.node)):
                    continue
                done.add(device.id)
            _one_device(inventory, judgement, tally, classify, seen, index, found)
    for device in inventory.state.orphans():
        if device.id not in done:
            failed = classify(device)
            tally.add(failed if failed.code != "passes" else Failed("node", detail="no-node"), device)


def _one_device(
    inventory: Inventory,
    judgement: Judgement,
    tally: _Tally,
    classify: Classifier,
    seen: _Seen,
    index: int,
    found: WhyNot,
) -> None:
    pool, matches = seen.view, judgement.matches
    assert matches is not None
    device = pool.devices[index]
    failed = classify(device)
    if failed.code == "condition-error" and not pool.broken:
        tally.add(failed, device)
    elif pool.broken:
        tally.add(Failed("inventory", detail="incomplete" if pool.incomplete else "invalid"), device)
    elif failed.code != "passes":
        tally.add(failed, device)
    elif seen.verdict == "not-ready":
        tally.add(Failed("node", detail=inventory.why_not(seen.node.name) or "no-node"), device)
    else:
        _at_node(judgement, tally, seen, index, found)


def _at_node(judgement: Judgement, tally: _Tally, seen: _Seen, index: int, found: WhyNot) -> None:
    """A matching device on a node that pods may go to."""
    pool, matches = seen.view, judgement.matches
    assert matches is not None
    device = pool.devices[index]
    is_free = matches.is_free(pool, index)
    if seen.verdict == "fits" and is_free:
        return
    if seen.verdict == "impossible":
        count = matches.count(seen.node)
        one_node = count.matching < judgement.wanted and not judgement.takes_all
        tally.add(Failed("one-node" if one_node else "partner"), device)
    elif pool.now.busy[index] and not matches.admin:
        tally.add(Failed("taken"), device)
        found.taken.append(device)
    elif is_free:
        together = judgement.wanted > 1 or judgement.takes_all
        tally.add(Failed("one-node" if together else "partner"), device)
    elif device.kind.shared:
        tally.add(Failed("share", detail="full"), device)
        found.taken.append(device)
    else:
        tally.add(Failed("part"), device)
