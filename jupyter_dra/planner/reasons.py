"""Why not: every device once, at the first test it fails, summed up so that 40,000 devices read as a few lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jupyter_dra.allocator import DeviceEntry, NodeGroup, NodeView, Outcome, PoolView
from jupyter_dra.planner.classify import Classifier, Failed
from jupyter_dra.planner.judge import Judgement
from jupyter_dra.planner.lines import Line
from jupyter_dra.planner.messages import describe
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

    def add(
        self, failed: Failed, device: DeviceEntry, count: int = 1, places: Iterable[Hashable] = ()
    ) -> None:
        key = (failed.code, failed.detail)
        line = self.lines.get(key)
        if line is None:
            line = self.lines[key] = Line(failed.code, failed.detail, failed.term)
        self.counts[key] += count
        line.kinds[device.kind.number] += count
        line.sample(device, places)


def why_not(inventory: Inventory, judgement: Judgement) -> WhyNot:
    """The reasons of a plan. Devices that could be taken now are in none of them."""
    if judgement.now is None or judgement.matches is None or not inventory.visibility.slices:
        return WhyNot()
    classify = Classifier(inventory, judgement.now.attempt, judgement.matches.bodies)
    sorter = _Sorter(inventory, judgement, judgement.matches, classify, _Tally())
    sorter.sort()
    tally = sorter.tally
    found = WhyNot(taken=sorter.taken)
    for (_, _), line in sorted(tally.lines.items(), key=lambda item: _position(item[0], tally)):
        line.devices = tally.counts[line.code, line.detail]
        found.lines.append(line)
        found.reasons.append(describe(inventory, judgement, line, classify.terms, found.taken))
    return found


def _position(key: tuple[str, Any], tally: _Tally) -> tuple[int, int]:
    return _ORDER.index(key[0]), -tally.counts[key]


@dataclass(frozen=True, slots=True)
class _Seen:
    """A pool of a group of nodes, with the verdict of those nodes.

    ``views`` are the same place's pools of all nodes of the group, one where the pool is not local.
    """

    views: list[PoolView]
    node: NodeView
    verdict: str

    @property
    def pool(self) -> PoolView:
        return self.views[0]


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

    def sort(self) -> None:
        judgement = self.judgement
        assert judgement.now is not None
        now = judgement.now.by_group()
        empty = judgement.empty.by_group() if judgement.empty is not None else None
        groups = judgement.groups
        apart = {p.key for group in groups for p in group.sample.pools if not p.local or p.broken}
        network: dict[Any, _Seen] = {}
        for group in groups:
            count = judgement.of_group[id(group)]
            verdict = (
                _verdict(judgement, group, now.get(id(group)), empty) if count.matching else "impossible"
            )
            settled = count.matching == 0 or (verdict == "fits" and count.matching == count.free)
            for place, pool in enumerate(group.sample.pools):
                if apart and pool.key in apart:
                    self._apart(group, place, verdict, network)
                elif not settled or self.classify.by_device:
                    self._pool(_Seen([view.pools[place] for view in group], group.sample, verdict))
        for seen in network.values():
            self._pool(seen, whole=False)
        self._kinds(apart)

    def _apart(self, group: NodeGroup, place: int, verdict: str, network: dict[Any, _Seen]) -> None:
        """Note a pool whose devices are looked at one by one; of a network pool the best verdict counts."""
        pool, node = group.sample.pools[place], group.sample
        if pool.local:
            network[id(pool)] = _Seen([view.pools[place] for view in group], node, verdict)
            return
        key = (id(pool), node.name) if pool.per_device else id(pool)
        known = network.get(key)
        if known is None or _BEST[verdict] < _BEST[known.verdict]:
            network[key] = _Seen([pool], node, verdict)

    def _kinds(self, apart: set[tuple[str, str]]) -> None:
        """Everything that the kind alone decides, from counts per kind; ``apart`` pools were told one by one."""
        state = self.inventory.state
        counts = Counter(state.published)
        for key in apart:
            counts.subtract(state.published_in(key))
        for device in state.orphans():
            if device.id not in self._done:
                self._done.add(device.id)
                counts[device.kind.number] -= (device.id.driver, device.id.pool) not in apart
                failed = self.classify(device)
                self.tally.add(
                    failed if failed.code != "passes" else Failed("node", detail="no-node"), device
                )
        for number, count in counts.items():
            device = state.samples[number]
            if count > 0 and self.classify.decides(device):
                failed = self.classify(device)
                if failed.code != "passes":
                    self.tally.add(failed, device, count)

    def _pool(self, seen: _Seen, whole: bool = True) -> None:
        """Tell the devices of a pool one by one; of a ``whole`` one only those that their kind does not settle."""
        pool = seen.pool
        for index, device in enumerate(pool.devices):
            if whole:
                if self.classify.decides(device) and self.classify(device).code != "passes":
                    continue
            elif device.id in self._done or not self.matches.on_node(pool, device, seen.node):
                continue
            else:
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
            lists = [view.key for view in seen.views]
            self.tally.add(Failed("inventory", detail=detail), device, times, lists)
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
            cards = [(view.key, name) for view in seen.views for name, _ in device.kind.consumes]
            self.tally.add(Failed("part"), device, times, cards)
