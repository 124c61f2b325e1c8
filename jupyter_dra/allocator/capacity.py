"""Consumable capacity: what a share takes, and whether it fits (``structured/internal/incubating/capacity.go``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jupyter_dra.allocator.kinds import CapacityEntry, DeviceKind
from jupyter_dra.model import Quantity

__all__ = ["Need", "consumed_amounts", "plain_fit", "share_need", "share_problem"]


@dataclass(frozen=True, slots=True)
class Need:
    """What one share takes of every capacity: ``(key, amount, whole value)``, amounts in nanos, and their texts.

    ``drifting`` are the keys whose amount upstream adds up in place: amounts asked for with a fraction (``7.5Gi``)
    that a request policy lets through as they are.
    """

    amounts: tuple[tuple[str, int, int], ...]
    texts: tuple[tuple[str, str], ...]
    drifting: frozenset[str] = frozenset()

    def fits(self, held: Mapping[str, int], picked: Mapping[str, int]) -> bool:
        """Tell whether the share fits beside what is held already and picked in this attempt."""
        return all(
            amount + held.get(key, 0) + picked.get(key, 0) <= value for key, amount, value in self.amounts
        )


def share_need(kind: DeviceKind, requests: Mapping[str, Quantity]) -> Need | None:
    """What a share of this kind takes for these requests; None where the policy or a missing key forbids it."""
    if any(key not in kind.capacity for key in requests):
        return None
    amounts: list[tuple[str, int, int]] = []
    texts: list[tuple[str, str]] = []
    drifting: set[str] = set()
    for key, entry in kind.capacity.items():
        amount = _amount(entry, requests.get(key))
        if amount is None:
            return None
        amounts.append((key, amount.nanos, entry.value.nanos))
        texts.append((key, amount.text))
        if amount is requests.get(key) and amount.fast is None and entry.default is not None:
            drifting.add(key)
    return Need(tuple(amounts), tuple(texts), frozenset(drifting))


def share_problem(kind: DeviceKind, requests: Mapping[str, Quantity]) -> str | None:
    """Why no share of this kind can ever serve these requests: ``missing-key``, ``policy``, or None."""
    if any(key not in kind.capacity for key in requests):
        return "missing-key"
    need = share_need(kind, requests)
    if need is None:
        return "policy"
    return None if need.fits({}, {}) else "policy"


def plain_fit(kind: DeviceKind, requests: Mapping[str, Quantity]) -> bool:
    """Tell whether an ordinary device, taken whole, has at least what is asked for."""
    return all(key in kind.capacity and asked <= kind.capacity[key].value for key, asked in requests.items())


def consumed_amounts(consumed: Mapping[str, Quantity]) -> dict[str, int]:
    """The recorded consumption of a share, in nanos."""
    return {key: amount.nanos for key, amount in consumed.items()}


def _amount(entry: CapacityEntry, asked: Quantity | None) -> Quantity | None:
    if asked is None:
        return entry.default if entry.default is not None else entry.value
    if entry.minimum is not None:
        return _ranged(entry, entry.minimum, asked)
    if entry.valid_values:
        return next((value for value in entry.valid_values if asked <= value), None)
    return asked


def _ranged(entry: CapacityEntry, minimum: Quantity, asked: Quantity) -> Quantity | None:
    amount = max(asked, minimum)
    if entry.step is not None and entry.step.nanos > 0 and amount > minimum:
        steps = -(-(amount.nanos - minimum.nanos) // entry.step.nanos)
        amount = _plus(minimum, entry.step, steps)
    if entry.maximum is not None and amount > entry.maximum:
        return None
    return amount


def _plus(base: Quantity, step: Quantity, steps: int) -> Quantity:
    total = base.nanos + step.nanos * steps
    style = step.style if base.nanos == 0 else base.style
    found = Quantity("", total, None, style)
    return Quantity.parse(found.canonical())
