"""What the picker says of each tier: its name with what is free, what it is, and one sign for each device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..claims import parse_size
from ..errors import DRAError
from ..planner.naming import price_label, short_product
from .plain import visible

ANY = "Any GPU"
# Kinds that are chosen for themselves, in the order of the list; companions such as network cards are not.
_KINDS = ("gpu", "part", "tpu", "other")
# More signs than this stand for several devices each.
MOST_SIGNS = 20


@dataclass(frozen=True, slots=True)
class Limits:
    """The asked device memory in bytes; 0 and None are no limit."""

    least: int = 0
    most: int | None = None

    @classmethod
    def of(cls, vram: str, max_vram: str) -> Limits:
        """As typed; what is no size is no limit."""
        return cls(_bytes(vram) or 0, _bytes(max_vram))

    def hold(self, size: Mapping[str, Any]) -> bool:
        """Whether devices of a size are within."""
        return bool(size["max_bytes"] >= self.least and (self.most is None or size["min_bytes"] <= self.most))


def _bytes(text: str) -> int | None:
    try:
        return parse_size(text, "vram").bytes if text.strip() else None
    except DRAError:
        return None


def offered(tiers: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """What the list shows: named tiers where there are any, whole devices by memory first, then parts, then others."""
    shown = [tier for tier in tiers if not tier["hidden"] and tier["device_kind"] in _KINDS]
    named = [tier for tier in shown if tier["display_name"]]

    def place(tier: Mapping[str, Any]) -> tuple[int, int]:
        sizes = [size["min_bytes"] for size in tier.get("sizes") or []]
        return _KINDS.index(tier["device_kind"]), max(sizes or [0])

    return sorted(named or shown, key=place)


def any_option(any_gpu: Mapping[str, Any] | None) -> str:
    """The first row: whichever GPU fits, the smallest before the others."""
    free = free_words(any_gpu) if any_gpu else ""
    return f"{ANY} · {free}\nsmallest first" if free else f"{ANY}\nsmallest first"


def tier_option(tier: Mapping[str, Any], limits: Limits = Limits()) -> str:
    """Two lines: the name with what is free, then what it is. Front ends without our style show them as one."""
    facts = [
        _sizes(tier),
        ", ".join(dict.fromkeys(_product(one["name"]) for one in (tier.get("products") or [])[:3])),
        _price(tier.get("price")),
        _unfit(tier, limits),
    ]
    name = visible(tier["display_name"] or tier["name"], 60)
    free = free_words(tier)
    first = f"{name} · {free}" if free else name
    second = " · ".join(fact for fact in facts if fact)
    return f"{first}\n{second}" if second else first


def _product(name: str) -> str:
    return visible(short_product(name) or name, 40)


def free_words(tier: Mapping[str, Any]) -> str:
    """How many are free, and how that is known; nothing where it is not."""
    total, free, most = tier.get("devices"), tier.get("free"), tier.get("free_at_most")
    if not total or most is None:
        return ""
    if tier.get("exclusive_parts"):
        return f"up to {most:,} free"
    return f"{free:,} of {total:,} free" if free is not None else f"at most {most:,} of {total:,} free"


def _sizes(tier: Mapping[str, Any]) -> str:
    labels = [visible(size["label"], 20) for size in tier.get("sizes") or []]
    if len(labels) < 2:
        return labels[0] if labels else ""
    return f"{labels[0].removesuffix(' GB')}–{labels[-1]}"


def _price(price: Mapping[str, Any] | None) -> str:
    return f"{visible(price_label(price), 20)}/h" if price else ""


def _unfit(tier: Mapping[str, Any], limits: Limits) -> str:
    sizes = tier.get("sizes") or []
    if sizes and all(size["max_bytes"] < limits.least for size in sizes):
        return "too small"
    if sizes and limits.most is not None and all(size["min_bytes"] > limits.most for size in sizes):
        return "too large"
    return ""


def signs(tier: Mapping[str, Any], limits: Limits) -> list[tuple[str, str]]:
    """One sign per device: free and fitting, free, taken, out of service; each group as (name of its look, text).

    None for parts that exclude each other, whose counts cannot be added, and where nothing is known.
    """
    devices, free = tier.get("devices") or 0, _free(tier)
    if not devices or free is None or tier.get("exclusive_parts"):
        return []
    sizes = tier.get("sizes") or []
    fitting = sum(_free(size) or 0 for size in sizes if limits.hold(size)) if sizes else 0
    fits = min(free, fitting)
    out = tier.get("out_of_service") or 0
    counts = [fits, free - fits, max(0, devices - free - out), out]
    if devices > MOST_SIGNS:
        counts = [-(-count * MOST_SIGNS // devices) for count in counts]
    looks = (("fits", "▮"), ("free", "▯"), ("taken", "▪"), ("out", "×"))
    return [(look, sign * count) for (look, sign), count in zip(looks, counts, strict=True) if count]


def _free(counted: Mapping[str, Any]) -> int | None:
    free = counted.get("free")
    known = counted.get("free_at_most") if free is None else free
    return None if known is None else int(known)


@dataclass(frozen=True, slots=True)
class Column:
    """Devices of one size: how many there are, how many of them are free, whether they exclude each other and fit."""

    label: str
    devices: int
    free: int
    exclusive: bool = False
    fits: bool = True


def memory_columns(
    tiers: Sequence[Mapping[str, Any]], limits: Limits = Limits(), chosen: str = ""
) -> list[Column]:
    """Each size that exists, smallest first; a size in two tiers counts once, as that of the ``chosen`` one.

    Without a chosen tier any whole GPU will do.
    """
    found: dict[str, tuple[bool, int, int, Column]] = {}
    for tier in tiers:
        meant = tier["name"] == chosen if chosen else tier["device_kind"] == "gpu"
        for size in tier.get("sizes") or []:
            column = Column(
                visible(size["label"], 20),
                size["devices"],
                _free(size) or 0,
                bool(tier.get("exclusive_parts")),
                meant and limits.hold(size),
            )
            row = (meant, size["devices"], size["min_bytes"], column)
            found[size["label"]] = max(row, found.get(size["label"], row), key=lambda one: one[:2])
    return [column for _, _, _, column in sorted(found.values(), key=lambda one: one[2])]


def price_of(plan: Mapping[str, Any], tiers: Sequence[Mapping[str, Any]]) -> str:
    """The price of what is likely taken: that of the tier asked for, else of the likely device's class."""
    asked = (plan.get("requirement") or {}).get("tier")
    key, wanted = ("name", asked) if asked else ("device_class", _likely_class(plan))
    found = next((tier for tier in tiers if wanted and tier.get(key) == wanted), None)
    return _price(found.get("price")) if found else ""


def _likely_class(plan: Mapping[str, Any]) -> str | None:
    nodes = plan.get("nodes") or []
    node = next((one for one in nodes if one.get("likely")), nodes[0] if nodes else {})
    request = str((node.get("devices") or [{}])[0].get("request") or "")
    name, _, choice = request.partition("/")
    spec = ((plan.get("claim") or {}).get("spec") or {}).get("devices") or {}
    asked: Mapping[str, Any] = next(
        (one for one in spec.get("requests") or [] if one.get("name") == name), {}
    )
    bodies = asked.get("firstAvailable") or []
    body = next((one for one in bodies if one.get("name") == choice), asked.get("exactly") or {})
    return body.get("deviceClassName")
