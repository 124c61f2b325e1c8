"""Tokens: what a kind of device means to one attempt, and nothing else.

Two devices with equal tokens are interchangeable for the attempt: same selector results, tolerated taints, capacity
needs, counters, constraint values. That lets nodes share a result and lets the search skip equal candidates.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from jupyter_dra.allocator.capacity import Need, plain_fit, share_need
from jupyter_dra.allocator.features import Features
from jupyter_dra.allocator.kinds import DeviceEntry, DeviceKind, KindTable, Value
from jupyter_dra.allocator.matching import Failure, Match, SelectorTable
from jupyter_dra.allocator.requests import Body, PodClaims

__all__ = ["IRRELEVANT", "Token", "TokenTable"]

_BLOCKING = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True, eq=False)
class Token:
    """One entry per body in ``results``, ``tolerated`` and ``needs``; one per constraint attribute in ``values``."""

    number: int
    shape: int
    results: tuple[Match, ...]
    tolerated: tuple[bool, ...]
    needs: tuple[Need | None, ...]
    values: tuple[Value | None, ...]
    shared: bool
    consumes: tuple[Any, ...]
    fails: bool


IRRELEVANT = Token(0, 0, (), (), (), (), False, (), False)


class TokenTable:
    """The tokens of one attempt; ``numbers`` maps a kind's number to its token's number."""

    def __init__(
        self, claims: PodClaims, kinds: KindTable, selectors: SelectorTable, features: Features
    ) -> None:
        self.claims = claims
        self.features = features
        self.tokens: list[Token] = [IRRELEVANT]
        self.numbers: list[int] = []
        self.by_device = False
        self.filled = 0
        self._kinds = kinds
        self._selectors = selectors
        self._by_key: dict[Any, Token] = {}
        self._shapes: dict[Any, int] = {}
        self._texts = [self._selectors_of(body) for body in claims.bodies]
        self._unique: set[int] = set()

    @staticmethod
    def _selectors_of(body: Body) -> tuple[str, ...]:
        of_class = body.device_class.selectors if body.device_class is not None else ()
        return of_class + body.selectors

    def fill(self, samples: Iterable[DeviceEntry]) -> None:
        """Make tokens for further kinds, given one device of each."""
        numbers = self.numbers
        numbers.extend([0] * (len(self._kinds.kinds) - len(numbers)))
        for device in samples:
            self.filled += 1
            kind = device.kind
            if kind.unique and self._depends_on_unique(device):
                self._unique.add(kind.number)
                self.by_device = True
            else:
                numbers[kind.number] = self._token(device).number

    def of(self, device: DeviceEntry) -> Token:
        """The token of one device."""
        number = device.kind.number
        if number in self._unique:
            return self._token(device)
        return self.tokens[self.numbers[number]]

    def _depends_on_unique(self, device: DeviceEntry) -> bool:
        kind = device.kind
        names = set(kind.unique)
        for attribute in self.claims.attributes:
            domain, _, short = attribute.partition("/")
            if attribute in names or (domain == kind.driver and short in names):
                return True
        return any(self._selectors.differs(texts, device) for texts in self._texts)

    def _token(self, device: DeviceEntry) -> Token:
        kind = device.kind
        shared = kind.shared and self.features.consumable_capacity
        results: list[Match] = []
        needs: list[Need | None] = []
        for body, texts in zip(self.claims.bodies, self._texts, strict=True):
            result, need = self._result(body, texts, device, shared)
            results.append(result)
            needs.append(need)
        if not any(results):
            return IRRELEVANT
        tolerated = tuple(self._tolerates(body, kind) for body in self.claims.bodies)
        values = tuple(device.attribute(name) for name in self.claims.attributes)
        consumes = kind.consumes if self.features.partitionable_devices else ()
        shape_key = (tuple(results), tolerated, tuple(needs), shared, consumes)
        key = (shape_key, values)
        token = self._by_key.get(key)
        if token is None:
            shape = self._shapes.setdefault(shape_key, len(self._shapes) + 1)
            fails = any(isinstance(result, Failure) for result in results)
            token = Token(
                len(self.tokens),
                shape,
                tuple(results),
                tolerated,
                tuple(needs),
                values,
                shared,
                consumes,
                fails,
            )
            self._by_key[key] = token
            self.tokens.append(token)
        return token

    def _result(
        self, body: Body, texts: tuple[str, ...], device: DeviceEntry, shared: bool
    ) -> tuple[Match, Need | None]:
        kind = device.kind
        if body.device_class is None or (kind.binding_conditions and not self.features.binding_conditions):
            return False, None
        result = self._selectors.match_all(texts, device)
        if result is not True:
            return result, None
        if not self.features.consumable_capacity:
            return True, None
        if shared:
            need = share_need(kind, body.capacity)
            return need is not None, need
        return plain_fit(kind, body.capacity), None

    def _tolerates(self, body: Body, kind: DeviceKind) -> bool:
        if kind.consumes and not self.features.partitionable_devices:
            return False
        if not self.features.device_taints:
            return True
        return all(
            any(toleration.tolerates(taint) for toleration in body.tolerations)
            for taint in kind.taints
            if taint.effect in _BLOCKING
        )
