"""Why not: every device once, at the first test it fails, summed up so that 40,000 devices read as a few lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jupyter_dra.allocator import DeviceEntry, NodeGroup, NodeView, Outcome, PoolView
from jupyter_dra.planner.classify import Classifier, Failed
from jupyter_dra.planner.judge import Judgement
from jupyter_dra.planner.messages import Line, describe
from jupyter_dra.planner.survey import MatchTable

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
    classify = Classifier(inventory, judgement.now.attempt, judgement.matches.bodies)
    sorter = _Sorter(inventory, judgement, judgement.matches, classify, _Tally())
    sorter.sort(_pools(judgement))
    tally = sorter.tally
    found = WhyNot(taken=sorter.taken)
    for (_, _), line in sorted(tally.lines.items(), key=lambda item: _position(item[0], tally)):
        line.devices = tally.counts[line.code, line.detail]
        found.lines.append(line)
        found.reasons.append(describe(inventory, judgement, line, classify.terms, found.taken))
    return found


def _position(key: tuple[str, Any], tally: _Tally) -> tuple[int, int]:
    return _ORDER.index(key[0]), -tally.counts[key]


@dataclass(slots=True)
class _Seen:
    """A pool of a group of nodes, with the best verdict among the nodes that see it.

    ``views`` are the same place's pools of all nodes of the group, one where the pool is not local.
    """

    views: list[PoolView]
    node: NodeView
    verdict: str

    @property
    def pool(self) -> PoolView:
        return self.views[0]


def _pools(judgement: Judgement) -> list[_Seen]:
    assert judgement.now is not None
    now = judgement.now.by_group()
    empty = judgement.empty.by_group() if judgement.empty is not None else None
    found: dict[Any, _Seen] = {}
    for group in judgement.groups:
        node = group.sample
        verdict = _verdict(judgement, group, now.get(id(group)), empty)
        for place, pool in enumerate(node.pools):
            key = id(pool) if not pool.per_device else (id(pool), node.name)
            seen = found.get(key)
            if seen is None:
                views = [view.pools[place] for view in group] if pool.local else [pool]
                found[key] = _Seen(views, node, verdict)
            elif _BEST[verdict] < _BEST[seen.verdict]:
                seen.node, seen.verdict = node, verdict
    return list(found.values())


def _verdict(
    judgement: Judgement, group: NodeGroup, now: Outcome | None, empty: dict[int, Outcome] | None
) -> str:
    if now is None:
        return "not-ready"
    if now.fits or now.exhausted:
        return "fits"
    if empty is None:
        assert judgement.empty_attempt is not None
        return "busy" if judgement.empty_attempt.outcome(group.sample).fits else "impossible"
    return "busy" if empty[id(group)].fits else "impossible"


@dataclass(slots=True)
class _Sorter:
    """Puts devices into the tally: whole kinds at once, then one by one what depends on the node."""

    inventory: Inventory
    judgement: Judgement
    matches: MatchTable
    classify: Classifier
    tally: _Tally
    taken: list[DeviceEntry] = field(default_factory=list)
    _done: set[Any] = field(default_factory=set)

    def sort(self, pools: Sequence[_Seen]) -> None:
        self._kinds(pools)
        for seen in pools:
            self._pool(seen)
        for device in self.inventory.state.orphans():
            if device.id not in self._done:
                self._done.add(device.id)
                failed = self.classify(device)
                self.tally.add(
                    failed if failed.code != "passes" else Failed("node", detail="no-node"), device
                )

    def _kinds(self, pools: Sequence[_Seen]) -> None:
        """Everything that the kind alone decides, from counts per kind."""
        counts: Counter[int] = Counter()
        for seen in pools:
            if self._whole(seen.pool):
                times = len(seen.views)
                if times == 1:
                    counts.update(seen.pool.kinds)
                else:
                    for number in seen.pool.kinds:
                        counts[number] += times
        samples = self.inventory.state.samples
        for number, count in counts.items():
            device = samples[number]
            if self.classify.decides(device):
                failed = self.classify(device)
                if failed.code != "passes":
                    self.tally.add(failed, device, count)

    @staticmethod
    def _whole(pool: PoolView) -> bool:
        """Every device of the pool counts, once, for the nodes that see the pool."""
        return pool.local and not pool.broken

    def _pool(self, seen: _Seen) -> None:
        pool = seen.pool
        whole = self._whole(pool)
        if whole and pool.plain and not self.classify.by_device:
            count = self.matches.count_pool(pool, seen.node)
            if count.matching == 0 or (seen.verdict == "fits" and count.matching == count.free):
                return
        for index, device in enumerate(pool.devices):
            if whole and self.classify.decides(device) and self.classify(device).code != "passes":
                continue
            if not whole:
                if device.id in self._done or not self.matches.on_node(pool, device, seen.node):
                    continue
                self._done.add(device.id)
            self._device(seen, index)

    def _device(self, seen: _Seen, index: int) -> None:
        pool, times = seen.pool, len(seen.views)
        device = pool.devices[index]
        failed = self.classify(device)
        if failed.code == "condition-error" and not pool.broken:
            self.tally.add(failed, device, times)
        elif pool.broken:
            detail = "incomplete" if pool.incomplete else "invalid"
            self.tally.add(Failed("inventory", detail=detail), device, times)
        elif failed.code != "passes":
            self.tally.add(failed, device, times)
        elif seen.verdict == "not-ready":
            self.tally.add(Failed("node", detail=seen.node.tag or "no-node"), device, times)
        else:
            self._at_node(seen, index)

    def _at_node(self, seen: _Seen, index: int) -> None:
        """A matching device on nodes that pods may go to."""
        pool, times, judgement = seen.pool, len(seen.views), self.judgement
        device = pool.devices[index]
        is_free = self.matches.is_free(pool, index)
        if seen.verdict == "fits" and is_free:
            return
        if seen.verdict == "impossible":
            count = self.matches.count(seen.node)
            one_node = count.matching < judgement.wanted and not judgement.takes_all
            self.tally.add(Failed("one-node" if one_node else "partner"), device, times)
        elif pool.now.busy[index] and not self.matches.admin:
            self.tally.add(Failed("taken"), device, times)
            self.taken += [view.devices[index] for view in seen.views]
        elif is_free:
            together = judgement.wanted > 1 or judgement.takes_all
            self.tally.add(Failed("one-node" if together else "partner"), device, times)
        elif device.kind.shared:
            self.tally.add(Failed("share", detail="full"), device, times)
            self.taken += [view.devices[index] for view in seen.views]
        else:
            self.tally.add(Failed("part"), device, times)
