"""Numbers of devices that the admin offers on a tier, and a wish for another number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jupyter_dra.claims import Requirement
from jupyter_dra.planner.tiers import tier_words

if TYPE_CHECKING:
    from jupyter_dra.planner.inventory import Inventory

__all__ = ["count_refusal"]

Json = Mapping[str, Any]


def count_refusal(
    inventory: Inventory, requirement: Requirement | None, tiers: Sequence[Json]
) -> dict[str, Any] | None:
    """Parameters of the refusal of a number that a tier is not offered in; None where every one is.

    ``path`` names the field, ``next`` what may be asked for instead.
    """
    for path, tier, count in _asked(requirement) if requirement is not None else ():
        words = tier_words(inventory, tier, tiers)
        offered = words["limits"]["counts"] if words is not None else None
        if offered is None or count == offered or (isinstance(offered, list) and count in offered):
            continue
        return {
            "message": f"{_devices(count)} of {tier} {'is' if count == 1 else 'are'} not offered.",
            "tier": tier,
            "counts": offered,
            "asked": count,
            "path": path,
            "nearest": None,
            "next": f"Ask for {_list(offered)}.",
        }
    return None


def _asked(requirement: Requirement, path: str = "") -> Iterator[tuple[str, str, int | str]]:
    """Every tier that is named, with its number and the field that sets it."""
    if requirement.claim is not None:
        return
    if requirement.tier is not None:
        yield f"{path}count", requirement.tier, requirement.count
    for index, _ in enumerate(requirement.or_else):
        other = requirement.alternative(index)
        if other.tier is not None:
            yield f"{path}or_else[{index}].count", other.tier, other.count
    for index, companion in enumerate(requirement.near):
        yield from _asked(companion, f"{path}near[{index}].")


def _devices(count: int | str) -> str:
    return "Every device of a node" if count == "all" else f"{count} device{'' if count == 1 else 's'}"


def _list(offered: list[int] | str) -> str:
    """``1, 2 or 4``; a long run as its two ends."""
    if isinstance(offered, str):
        return "all devices of a node"
    if len(offered) > 3 and offered == list(range(offered[0], offered[-1] + 1)):
        return f"{offered[0]} to {offered[-1]}"
    *most, last = map(str, offered)
    return f"{', '.join(most)} or {last}" if most else last
