"""The first test a device fails, in the contract's order, told per kind where the kind decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jupyter_dra.allocator import Attempt, DeviceEntry
from jupyter_dra.planner.terms import Term, asked_bytes, read_terms

if TYPE_CHECKING:
    from jupyter_dra.planner.inventory import Inventory

__all__ = ["Classifier", "Failed"]

_STAGE = {"kind": 1, "memory": 2, "condition": 3, "out-of-service": 4, "share": 5, "passes": 6}
_BLOCKING = ("NoSchedule", "NoExecute")
_WITHOUT_MEMORY = ("nic", "cpu", "tpu")


@dataclass(frozen=True, slots=True)
class Failed:
    """Which test a device fails: ``code`` of the contract, or ``passes``; ``detail`` groups equal reasons."""

    code: str
    term: Term | None = None
    detail: Any = None


PASSES = Failed("passes")


class Classifier:
    """Tests devices against the main request of an attempt, each alternative, and keeps the one that got furthest."""

    def __init__(self, inventory: Inventory, attempt: Attempt, bodies: Sequence[int]) -> None:
        self._inventory = inventory
        self._attempt = attempt
        self._selectors = inventory.state.selectors
        version = inventory.state.features.version
        self._bodies = [attempt.claims.bodies[index] for index in bodies]
        self._terms: list[list[Term]] = []
        for body in self._bodies:
            of_class = body.device_class.selectors if body.device_class is not None else ()
            self._terms.append(
                sorted(
                    read_terms(of_class, True, version) + read_terms(body.selectors, False, version),
                    key=lambda term: (_STAGE[term.topic], term.of_class),
                )
            )
        self._by_kind: dict[int, Failed] = {}

    def __call__(self, device: DeviceEntry) -> Failed:
        number = device.kind.number
        if device.kind.unique and self._attempt.tokens.by_device:
            return self._classify(device)
        found = self._by_kind.get(number)
        if found is None:
            found = self._by_kind[number] = self._classify(device)
        return found

    @property
    def by_device(self) -> bool:
        """True where some kinds must be asked device by device."""
        return self._attempt.tokens.by_device

    def decides(self, device: DeviceEntry) -> bool:
        """Tell whether a device's kind settles its class."""
        return not (device.kind.unique and self._attempt.tokens.by_device)

    @property
    def terms(self) -> list[Term]:
        """Every condition of every alternative."""
        return [term for terms in self._terms for term in terms]

    def _classify(self, device: DeviceEntry) -> Failed:
        best: Failed | None = None
        for number in range(len(self._bodies)):
            failed = self._one(number, device)
            if failed.code == "condition-error":
                return failed
            if best is None or _STAGE[failed.code] > _STAGE[best.code]:
                best = failed
        return best if best is not None else Failed("kind")

    def _one(self, number: int, device: DeviceEntry) -> Failed:
        body, terms = self._bodies[number], self._terms[number]
        texts = (body.device_class.selectors if body.device_class is not None else ()) + body.selectors
        overall = self._selectors.match_all(texts, device)
        if isinstance(overall, bool) is False:
            failure: Any = overall
            return Failed("condition-error", detail=(failure.kind, failure.message, failure.selector))
        if body.device_class is None:
            return Failed("kind")
        if overall is not True:
            return self._first_false(terms, device)
        return self._beyond_selectors(number, device)

    def _first_false(self, terms: Sequence[Term], device: DeviceEntry) -> Failed:
        for term in terms:
            if self._selectors.match(term.text, device) is True:
                continue
            if term.topic == "memory":
                facts = self._inventory.facts.of_device(device)
                if facts.memory_bytes is None:
                    if facts.device_kind in _WITHOUT_MEMORY and self._outside_class(terms, device):
                        return Failed("kind", term)  # a class told by memory alone still means GPUs
                    return Failed("memory", term, "unknown")
                return Failed("memory", term, self._direction(term, facts.memory_bytes))
            return Failed(term.topic, term, None if term.topic == "kind" else term.field)
        return Failed("condition", None, "where")

    def _outside_class(self, terms: Sequence[Term], device: DeviceEntry) -> bool:
        return any(term.of_class and self._selectors.match(term.text, device) is not True for term in terms)

    @staticmethod
    def _direction(term: Term, memory: int) -> str:
        asked = asked_bytes(term)
        if asked is not None and memory != asked:
            return "less" if memory < asked else "more"
        return term.direction or "less"

    def _beyond_selectors(self, number: int, device: DeviceEntry) -> Failed:
        body = self._bodies[number]
        token = self._attempt.tokens.of(device)
        if token.results and not token.tolerated[body.index]:
            taints = [
                taint
                for taint in device.kind.taints
                if taint.effect in _BLOCKING and not any(one.tolerates(taint) for one in body.tolerations)
            ]
            return Failed("out-of-service", detail=tuple(taint.key for taint in taints))
        if not token.results or token.results[body.index] is not True:
            return Failed("share", detail="never")
        return PASSES
