"""What a namespace's quotas count of claims and devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jupyter_dra.errors import QuantityError
from jupyter_dra.model import Quantity

if TYPE_CHECKING:
    from jupyter_dra.planner.inventory import Inventory

__all__ = ["CLAIMS", "DEVICES", "amount", "quota_use"]

#: The resource that counts claims, and the end of those that count devices of one class.
CLAIMS = "count/resourceclaims.resource.k8s.io"
DEVICES = ".deviceclass.resource.k8s.io/devices"


def amount(text: str) -> int | None:
    """A quota's number; None for what is none."""
    try:
        return Quantity.parse(text).value
    except QuantityError:
        return None


def quota_use(inventory: Inventory) -> list[dict[str, Any]]:
    """What every visible quota allows of claims and devices and what is used of it, fullest first.

    ``tier`` is the class whose devices are counted; None where it is claims. Empty where quotas may not be read: what
    one would refuse is then not known, and never guessed.
    """
    rows = []
    for (namespace, name), quota in inventory.quotas.items():
        for resource, text in quota.hard.items():
            hard, used = amount(text), amount(quota.used.get(resource, "0"))
            if hard is None or used is None or not (resource == CLAIMS or resource.endswith(DEVICES)):
                continue
            tier = None if resource == CLAIMS else resource.removesuffix(DEVICES)
            rows.append({"namespace": namespace, "quota": name, "tier": tier, "used": used, "hard": hard})
    return sorted(
        rows, key=lambda row: (row["hard"] - row["used"], row["namespace"], row["quota"], row["tier"] or "")
    )
