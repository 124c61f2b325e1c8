"""What can be chosen on the spawn form, and the verdict of every choice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .options import NO_DEVICE, Rules, TierOffer
from .prospects import Prospect, floors_of
from .verdicts import CHOOSE, NO_DEVICE_WORDS, Verdict, judge

__all__ = ["Prospects", "Verdicts", "chosen_count", "least", "numbers", "title"]

#: By tier and floor of memory.
Prospects = Mapping[str, Mapping[str, Prospect]]
#: Numbers offered where neither tier nor class says which; above the most of one node they are marked.
_FREE_COUNTS = 8


def title(offer: TierOffer) -> str:
    """The tier's name for people."""
    return offer.display_name or offer.name


def numbers(offer: TierOffer) -> list[int]:
    """The numbers a tier offers as a choice; none where there is nothing to choose."""
    if isinstance(offer.counts, str) or "count" in offer.requirement or "claim" in offer.requirement:
        return []
    if offer.counts is not None:
        return sorted(offer.counts) if len(offer.counts) > 1 else []
    most = int(offer.facts.get("most_on_one_node") or 1)
    return list(range(1, min(most, _FREE_COUNTS) + 1)) if most > 1 else []


def least(offer: TierOffer) -> int:
    """The smallest number of devices a tier gives; 1 where it gives every device of a node."""
    fixed = offer.requirement.get("count")
    if fixed is None and isinstance(offer.counts, tuple) and offer.counts:
        return min(offer.counts)
    return fixed if isinstance(fixed, int) else 1


def chosen_count(rules: Rules, current: str, chosen: Mapping[str, Any]) -> int:
    """The number that the fields show first."""
    offer = next((one for one in rules.tiers if one.name == current), None)
    if offer is None:
        return 1
    wished = str(chosen.get("count")) if chosen.get("tier") == offer.name else ""
    return next((one for one in numbers(offer) if str(one) == wished), least(offer))


class Verdicts:
    """The verdict of every choice the form offers; the page's script only looks them up."""

    def __init__(self, rules: Rules, prospects: Prospects) -> None:
        floors = ["", *(label.replace(" ", "") for label in floors_of(rules.tiers))]
        self._words: dict[Verdict, int] = {}
        # Tier, floor, number of devices.
        self._found: dict[str, dict[str, dict[str, int]]] = {}
        self._tiers: dict[str, dict[str, Any]] = {}
        for offer in rules.tiers:
            settled = "vram" in offer.requirement or "claim" in offer.requirement
            fewest = least(offer)
            counts = numbers(offer) or [fewest]
            found = self._found[offer.name] = {
                floor: {str(count): self._number(_judged(offer, prospects, floor, count)) for count in counts}
                for floor in (floors[:1] if settled else floors)
            }
            self._tiers[offer.name] = {"settled": settled, "least": fewest, "verdicts": found}
        self._choose, self._none = self._number(CHOOSE), self._number(NO_DEVICE_WORDS)

    def _number(self, verdict: Verdict) -> int:
        """Many choices have one verdict; each is sent once."""
        return self._words.setdefault(verdict, len(self._words))

    def at(self, tier: str, floor: str, count: int) -> Verdict:
        """The verdict of one choice."""
        if tier not in self._found:
            return NO_DEVICE_WORDS if tier == NO_DEVICE else CHOOSE
        found = self._found[tier]
        return list(self._words)[found.get(floor, found[""])[str(count)]]

    def as_dict(self) -> dict[str, Any]:
        """What the script reads."""
        return {
            "tiers": self._tiers,
            "words": [list(one) for one in self._words],
            "choose": self._choose,
            "none": self._none,
        }


def _judged(offer: TierOffer, prospects: Prospects, floor: str, count: int) -> Verdict:
    found = prospects.get(offer.name, {})
    most = offer.facts.get("most_on_one_node")
    return judge(title(offer), found.get(floor), count, most, memory=bool(floor))
