"""What each offered tier has now, and at each size of memory: one plan each, asked of the planner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .options import TierOffer

if TYPE_CHECKING:
    from ..planner import Inventory

__all__ = ["Prospect", "floors_of", "prospects"]

#: A floor of memory as the form sends it; empty asks for none.
Floor = str


@dataclass(frozen=True, slots=True)
class Prospect:
    """What a plan told of one tier and one floor of memory.

    Attributes:
        verdict: of the plan for one device (for every device of a node where the tier gives all).
        total: devices that match; None where they cannot be seen.
        free: how many of them are free, at most where not ``sure``.
        sure: whether nobody out of sight may hold one of them.
        nodes: how many nodes have one that matches.
        rooms: free devices on each of the best nodes; the node of ``likely`` first.
        whole: whether ``rooms`` has every node.
        likely: what the scheduler would probably take, as on the card; None where it takes nothing.
        taken: how many devices that are.
    """

    verdict: str
    total: int | None
    free: int = 0
    sure: bool = True
    nodes: int = 0
    rooms: tuple[int, ...] = ()
    whole: bool = True
    likely: str | None = None
    taken: int = 1

    @classmethod
    def of(cls, outlook: Mapping[str, Any]) -> Prospect:
        """Read what :meth:`Inventory.outlook` says."""
        counts, nodes = outlook["counts"], outlook["nodes"]
        best = next((node for node in nodes if node["likely"]), None)
        devices = best["devices"] if best is not None and best["verdict"] in ("fits", "unknown") else []
        return cls(
            verdict=outlook["verdict"],
            total=counts["matching"],
            free=counts["free_at_most"] or 0,
            sure=outlook["sure"],
            nodes=counts["matching_nodes"] or 0,
            rooms=tuple(node["free"] for node in nodes),
            whole=not outlook["nodes_left_out"],
            likely=(devices[0]["label"] or devices[0]["device"]) if devices else None,
            taken=sum(device["request"] == devices[0]["request"] for device in devices) or 1,
        )


def floors_of(offers: Iterable[TierOffer]) -> dict[str, int]:
    """Sizes among tiers that leave the memory open, by label as on the card, with the least bytes; smallest first."""
    found: dict[str, int] = {}
    for offer in offers:
        if "vram" not in offer.requirement:
            for size in offer.facts.get("sizes") or ():
                found[size["label"]] = min(size["min_bytes"], found.get(size["label"], size["min_bytes"]))
    return dict(sorted(found.items(), key=lambda item: item[1]))


def prospects(
    inventory: Inventory, offers: Iterable[TierOffer], namespace: str
) -> dict[str, dict[Floor, Prospect]]:
    """By tier and floor; tiers on a given claim, and such as are not there, are left out.

    One plan answers for every floor that shuts out the same devices, and for every number of devices.
    """
    offers = tuple(offers)
    floors = floors_of(offers)
    found: dict[str, dict[Floor, Prospect]] = {}
    for offer in offers:
        if "claim" in offer.requirement or not offer.facts.get("devices"):
            continue
        count = "all" if offer.requirement.get("count", offer.counts) == "all" else 1
        # As a start reads the same choice: what the tier says where nobody says otherwise, then what it settles.
        wish = {**offer.defaults, **offer.requirement, "count": count}
        mine = found[offer.name] = {"": _ask(inventory, wish, namespace)}
        if "vram" in offer.requirement:
            continue
        known: dict[tuple[str, ...], Prospect] = {tuple(_at_least(offer, 0)): mine[""]}
        for label, least in floors.items():
            sizes = tuple(_at_least(offer, least))
            floor = label.replace(" ", "")
            if not sizes:
                mine[floor] = Prospect("impossible", 0)
                continue
            if sizes not in known:
                known[sizes] = _ask(inventory, {**wish, "vram": floor}, namespace)
            mine[floor] = known[sizes]
    return found


def _at_least(offer: TierOffer, least: int) -> list[str]:
    return [size["label"] for size in offer.facts.get("sizes") or () if size["min_bytes"] >= least]


def _ask(inventory: Inventory, wish: Mapping[str, Any], namespace: str) -> Prospect:
    return Prospect.of(inventory.outlook(wish, namespace))
