"""How many devices a requirement asks of each tier: what nobody said, and what the tier is not offered in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jupyter_dra.claims import Requirement
from jupyter_dra.planner.offered_counts import is_offered, list_counts
from jupyter_dra.planner.tiers import tier_counts, tier_words

if TYPE_CHECKING:
    from jupyter_dra.planner.inventory import Inventory

__all__ = ["count_refusal", "with_usual_counts"]

Json = Mapping[str, Any]


def with_usual_counts(inventory: Inventory, requirement: Requirement, tiers: Sequence[Json]) -> Requirement:
    """The requirement with the usual number of its tier wherever none was asked for and that is not one.

    What was asked for stays as it is, offered or not: :func:`count_refusal` judges it.
    """
    if requirement.claim is not None:
        return requirement
    settled = _settled(inventory, requirement, tiers)
    count, entries = settled.count, []
    for index, entry in enumerate(requirement.or_else):
        other = _settled(inventory, requirement.alternative(index), tiers)
        entries.append(dict(entry) if other.count == count else {**entry, "count": other.count})
    near = [_settled(inventory, one, tiers) for one in requirement.near]
    return settled.changed(or_else=entries, near=near)


def _settled(inventory: Inventory, wish: Requirement, tiers: Sequence[Json]) -> Requirement:
    """One wish for devices of one tier, with the number that is meant."""
    if wish.count_given or wish.tier is None:
        return wish
    words = tier_words(inventory, wish.tier, tiers)
    usual = words["usual_count"] if words is not None else 1
    return wish if usual == 1 else wish.changed(count=usual)


def count_refusal(
    inventory: Inventory, requirement: Requirement | None, tiers: Sequence[Json]
) -> dict[str, Any] | None:
    """Parameters of the refusal of a number that a tier is not offered in; None where every one is.

    ``path`` names the field, ``next`` what may be asked for instead.
    """
    for path, tier, count in _asked(requirement) if requirement is not None else ():
        offered = tier_counts(inventory, tier, tiers)
        if offered is None or is_offered(count, offered):
            continue
        return {
            "message": f"{_devices(count)} of {tier} {'is' if count == 1 else 'are'} not offered.",
            "tier": tier,
            "counts": offered,
            "asked": count,
            "path": path,
            "nearest": None,
            "next": f"Ask for {list_counts(offered)}.",
        }
    return None


def _asked(requirement: Requirement, path: str = "") -> Iterator[tuple[str, str, int | str]]:
    """Every tier that is named with a number, and the field that sets it."""
    if requirement.claim is not None:
        return
    if requirement.tier is not None and requirement.count_given:
        yield f"{path}count", requirement.tier, requirement.count
    for index, _ in enumerate(requirement.or_else):
        other = requirement.alternative(index)
        if other.tier is not None and other.count_given:
            yield f"{path}or_else[{index}].count", other.tier, other.count
    for index, companion in enumerate(requirement.near):
        yield from _asked(companion, f"{path}near[{index}].")


def _devices(count: int | str) -> str:
    return "Every device of a node" if count == "all" else f"{count} device{'' if count == 1 else 's'}"
