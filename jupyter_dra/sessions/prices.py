"""What a session costs: the administrator's price of each device it holds, per hour and so far. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_DOWN, Decimal
from typing import Any

from .record import DeviceRecord, iso

Price = Mapping[str, Any]
_CENT = Decimal("0.01")


def classes_of(spec: Mapping[str, Any]) -> dict[str, str]:
    """DeviceClass by request of a claim's spec; alternatives under ``request/name``, as allocations name them."""
    found: dict[str, str] = {}
    for request in (spec.get("devices") or {}).get("requests") or ():
        name = str(request.get("name"))
        exact = request.get("exactly")
        if exact:
            found[name] = str(exact.get("deviceClassName"))
        for choice in request.get("firstAvailable") or ():
            found[f"{name}/{choice.get('name')}"] = str(choice.get("deviceClassName"))
    return found


@dataclass(frozen=True, slots=True)
class Prices:
    """What the administrator asks for the devices a session may get.

    Attributes:
        classes: DeviceClass by request.
        by_class: price by DeviceClass; missing where none is set.
        main: price of the administrator's own tier, which then counts for every device but the companions.
    """

    classes: Mapping[str, str] = field(default_factory=dict)
    by_class: Mapping[str, Price] = field(default_factory=dict)
    main: Price | None = None

    def per_hour(self, devices: Iterable[DeviceRecord]) -> dict[str, Any] | None:
        """The sum over a session's devices; None where no price is set, or prices have several currencies."""
        total, currencies = Decimal(0), set()
        for device in devices:
            price = self.by_class.get(self.classes.get(device.request, ""))
            if self.main is not None and not device.request.startswith("near-"):
                price = self.main
            if price is not None:
                total += Decimal(str(price["amount"]))
                currencies.add(str(price["currency"]))
        if len(currencies) != 1:
            return None
        return {"amount": str(total), "currency": currencies.pop(), "per": "hour"}

    def as_dict(self) -> dict[str, Any]:
        return {"classes": dict(self.classes), "by_class": dict(self.by_class), "main": self.main}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any] | None) -> Prices:
        told = value or {}
        return cls(told.get("classes") or {}, told.get("by_class") or {}, told.get("main"))


NO_PRICES = Prices()


def with_cost(
    price: Price | None, since: float | None, until: float, *, counted_with: str | None = None
) -> dict[str, Any] | None:
    """The price with what was spent from ``since`` (nothing where that is None); cents are rounded down.

    Args:
        counted_with: the other session on the same claim whose cost this is, so that the claim counts once.
    """
    if price is None:
        return None
    start = None if counted_with is not None else since
    cost = Decimal(str(price["amount"])) * Decimal(int(until - start) if start is not None else 0) / 3600
    return {
        **price,
        "so_far": str(cost.quantize(_CENT, ROUND_DOWN)),
        "since": iso(start) if start is not None else None,
        "counted_with": counted_with,
    }
