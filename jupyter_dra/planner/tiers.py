"""The tiers and what each has, as elements of the contract's TierList."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jupyter_dra.claims import Requirement, build_claim, labels, parse_duration
from jupyter_dra.errors import DRAError, RequirementError
from jupyter_dra.model.reading import json_object
from jupyter_dra.planner.admin_tiers import admin_tier, tier_class
from jupyter_dra.planner.certainty import scales_from_zero
from jupyter_dra.planner.facts import device_kind_of, matching_kinds
from jupyter_dra.planner.naming import DeviceFacts
from jupyter_dra.planner.offered_counts import Counts, is_offered, read_counts, usual_count
from jupyter_dra.planner.permission import class_refusal
from jupyter_dra.planner.stock import Stock, stock_of

if TYPE_CHECKING:
    from jupyter_dra.planner.inventory import Inventory

__all__ = ["list_tiers", "offer", "read_price", "tier_counts", "tier_kinds", "tier_words"]

Json = Mapping[str, Any]
_PRICE = re.compile(r" *([0-9]{1,9}(?:\.[0-9]{1,6})?) +([^\s\d]{1,12}) *")
_RANK = {"gpu": 0, "part": 1, "tpu": 2, "nic": 3, "cpu": 4, "other": 5}


def tier_kinds(inventory: Inventory, admin_tiers: Sequence[Json] = ()) -> dict[str, set[int]]:
    """Kind numbers by tier: of every class, and of the admin's entries, which may narrow their class."""
    found: dict[str, set[int]] = inventory.cached("tier-kinds", lambda: _class_kinds(inventory))
    if not admin_tiers:
        return found
    return {**found, **{str(tier.get("name")): _admin_kinds(inventory, tier, found) for tier in admin_tiers}}


def _class_kinds(inventory: Inventory) -> dict[str, set[int]]:
    return {
        name: matching_kinds(inventory, device_class.selectors)
        for name, device_class in inventory.state.classes.items()
    }


def _admin_kinds(inventory: Inventory, tier: Json, of_class: Mapping[str, set[int]]) -> set[int]:
    name = tier_class(tier)
    base = of_class.get(name, set())
    if not tier.get("requirement"):
        return base
    try:
        requirement = Requirement.from_dict({**tier["requirement"], "tier": name})
        claim = build_claim(requirement, classes=inventory.class_facts())
    except RequirementError:
        return set()
    exact = claim["spec"]["devices"]["requests"][0].get("exactly") or {}
    selectors = [entry["cel"]["expression"] for entry in exact.get("selectors", ())]
    return base & matching_kinds(inventory, selectors)


def list_tiers(inventory: Inventory, admin_tiers: Sequence[Json], namespace: str) -> list[dict[str, Any]]:
    """All tiers: whole devices by memory, then parts, then kinds without memory; what is free plays no part."""
    kinds = tier_kinds(inventory, admin_tiers)
    rows = [_element(inventory, name, None, kinds.get(name, set())) for name in inventory.classes]
    taken = {str(tier.get("name")) for tier in admin_tiers}
    rows = [row for row in rows if row["name"] not in taken]
    rows += [
        _element(inventory, str(tier.get("name")), tier, kinds[str(tier.get("name"))]) for tier in admin_tiers
    ]
    return sorted(rows, key=_order)


def offer(inventory: Inventory, admin_tiers: Sequence[Json], namespace: str) -> dict[str, Any]:
    """The tiers, and what there is in all: the fields of the contract's TierList that come from the inventory.

    ``any_gpu`` counts each device once that a requirement without a tier may get: those of the visible GPU tiers
    that are offered one by one and that neither quota nor group refuse. None where there is no such tier.
    """
    tiers = list_tiers(inventory, admin_tiers, namespace)
    kinds = tier_kinds(inventory, admin_tiers)
    visible = inventory.visibility.slices
    open_tiers = [
        row["name"]
        for row in tiers
        if row["device_kind"] == "gpu"
        and not row["hidden"]
        and is_offered(1, row["limits"]["counts"])
        and class_refusal(inventory, row["device_class"], namespace) is None
    ]
    of_any = set[int]().union(*(kinds.get(name, set()) for name in open_tiers))
    return {
        "tiers": tiers,
        "any_gpu": _tally(inventory, of_any) if open_tiers else None,
        "devices": inventory.total if visible else None,
        "nodes": sum(map(len, inventory.groups())) if visible else None,
    }


def _order(row: Mapping[str, Any]) -> tuple[Any, ...]:
    sizes = row["sizes"]
    return (
        _RANK[row["device_kind"]],
        sizes[0]["min_bytes"] if sizes else 0,
        sizes[-1]["max_bytes"] if sizes else 0,
        row["name"],
    )


def _element(inventory: Inventory, name: str, tier: Json | None, kinds: set[int]) -> dict[str, Any]:
    class_name = tier_class(tier) if tier is not None else name
    facts = {number: inventory.facts.of(inventory.state.kinds.kinds[number]) for number in kinds}
    counts = _tally(inventory, kinds)
    entries = [inventory.state.kinds.kinds[number] for number in kinds]
    zero = bool(scales_from_zero(inventory, [class_name], (tier,) if tier else ()))
    why_not = _why_not(inventory, class_name, counts["devices"], zero)
    return {
        "name": name,
        "device_class": class_name,
        **_words(inventory, class_name, tier),
        "available": why_not is None,
        "why_not": why_not,
        "device_kind": device_kind_of(facts.values()) if facts else _kind_by_catalog(inventory, class_name),
        "drivers": sorted({entry.driver for entry in entries}),
        **counts,
        "exclusive_parts": any(entry.consumes for entry in entries),
        "profiles": sorted(
            {fact.profile for fact in facts.values() if fact.profile and fact.device_kind == "part"}
        ),
        "shareable": any(entry.shared for entry in entries),
        "scales_from_zero": zero,
    }


def _tally(inventory: Inventory, kinds: set[int]) -> dict[str, Any]:
    """How many devices of these kinds there are, where, of which sizes, products and generations."""
    facts = {number: inventory.facts.of(inventory.state.kinds.kinds[number]) for number in kinds}
    if not inventory.visibility.slices:
        unknown = dict.fromkeys(
            ("devices", "nodes", "free", "free_at_most", "out_of_service", "most_on_one_node")
        )
        return {
            **unknown,
            "sizes": [],
            "products": [],
            "architectures": [],
        }
    stock = stock_of(inventory)
    free = sum(stock.free[number] for number in kinds)
    return {
        "devices": sum(stock.total[number] for number in kinds),
        "nodes": stock.nodes_with(kinds),
        "free": free if inventory.visibility.all_claims else None,
        "free_at_most": free,
        "out_of_service": sum(stock.out[number] for number in kinds),
        "most_on_one_node": _most_on_one_node(inventory, kinds),
        "sizes": _sizes(inventory, facts, stock),
        "products": _products(facts, stock),
        "architectures": _architectures(inventory, kinds, stock),
    }


def _architectures(inventory: Inventory, kinds: set[int], stock: Stock) -> list[dict[str, Any]]:
    """Generations with their vendor's domain and, where drivers state it, the compute capability they share."""
    found: dict[tuple[str, str], list[int]] = {}
    for number in kinds:
        kind = inventory.state.kinds.kinds[number]
        name = inventory.facts.of(kind).architecture
        if name is not None:
            found.setdefault((kind.driver.partition(".")[2] or kind.driver, name), []).append(number)
    rows = []
    for (vendor, name), numbers in sorted(found.items()):
        levels = {inventory.facts.of(inventory.state.kinds.kinds[n]).compute_capability for n in numbers}
        rows.append(
            {
                "name": name,
                "vendor": vendor,
                "compute_capability": levels.pop() if len(levels) == 1 else None,
                "devices": sum(stock.total[n] for n in numbers),
            }
        )
    return rows


def _most_on_one_node(inventory: Inventory, kinds: set[int]) -> int:
    return max(
        (
            sum(number in kinds for pool in group.sample.pools if not pool.broken for number in pool.kinds)
            for group in inventory.groups()
        ),
        default=0,
    )


def _kind_by_catalog(inventory: Inventory, class_name: str) -> str:
    return next((one.device_kind for one in inventory.class_facts() if one.name == class_name), "other")


def _why_not(inventory: Inventory, class_name: str, total: int | None, zero: bool) -> str | None:
    if class_name not in inventory.classes:
        there = ", ".join(sorted(inventory.classes)) or "none"
        return f"The class {class_name} does not exist on this cluster; there are: {there}."
    if not inventory.visibility.slices or total or zero:
        return None
    return "No node publishes a device of this class."


def _sizes(inventory: Inventory, facts: Mapping[int, DeviceFacts], stock: Stock) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for number, fact in facts.items():
        if fact.size is None or fact.memory_bytes is None:
            continue
        row = found.setdefault(
            fact.size,
            {
                "label": fact.size,
                "min_bytes": fact.memory_bytes,
                "max_bytes": fact.memory_bytes,
                "devices": 0,
                "free": 0,
                "out_of_service": 0,
            },
        )
        row["min_bytes"] = min(row["min_bytes"], fact.memory_bytes)
        row["max_bytes"] = max(row["max_bytes"], fact.memory_bytes)
        row["devices"] += stock.total[number]
        row["free"] += stock.free[number]
        row["out_of_service"] += stock.out[number]
    exact = inventory.visibility.all_claims
    return [
        {**row, "free": row["free"] if exact else None, "free_at_most": row["free"]}
        for row in sorted(found.values(), key=lambda row: row["min_bytes"])
    ]


def _products(facts: Mapping[int, DeviceFacts], stock: Stock) -> list[dict[str, Any]]:
    found: dict[str, int] = {}
    for number, fact in facts.items():
        if fact.product:
            found[fact.product] = found.get(fact.product, 0) + stock.total[number]
    return [
        {"name": name, "devices": count}
        for name, count in sorted(found.items(), key=lambda item: (-item[1], item[0]))
    ]


def tier_words(inventory: Inventory, name: str, admin_tiers: Sequence[Json]) -> dict[str, Any] | None:
    """Text, price, defaults and limits of one tier, without counting devices; None for a name that is no tier."""
    tier = admin_tier(name, admin_tiers)
    if tier is None and name not in inventory.classes:
        return None
    return _words(inventory, tier_class(tier) if tier is not None else name, tier)


def tier_counts(inventory: Inventory, name: str, admin_tiers: Sequence[Json]) -> Counts:
    """The numbers of devices that a tier is offered in; None where every one is, also for a name that is no tier."""
    tier = admin_tier(name, admin_tiers)
    raw = inventory.classes.get(tier_class(tier) if tier is not None else name) or {}
    limits = _limits((raw.get("metadata") or {}).get("annotations") or {}, tier or {})
    return read_counts(limits.get("counts"))


def _limits(notes: Json, tier: Json) -> dict[str, Any]:
    return {**_json(notes.get(labels.LIMITS)), **(tier.get("limits") or {})}


def _words(inventory: Inventory, class_name: str, tier: Json | None) -> dict[str, Any]:
    """Text, price, defaults and limits: the admin's entry first, then the class's annotations."""
    raw = inventory.classes.get(class_name) or {}
    notes: Json = (raw.get("metadata") or {}).get("annotations") or {}
    tier = tier or {}
    hidden = tier.get("hidden", str(notes.get(labels.HIDDEN, "")).lower() == "true")
    limits = _limits(notes, tier)
    groups = tier.get("groups") or [
        g.strip() for g in str(notes.get(labels.GROUPS) or "").split(",") if g.strip()
    ]
    defaults = _defaults({**_json(notes.get(labels.DEFAULTS)), **(tier.get("defaults") or {})})
    counts = read_counts(limits.get("counts"))
    return {
        "display_name": tier.get("display_name") or notes.get(labels.DISPLAY_NAME),
        "description": tier.get("description") or notes.get(labels.DESCRIPTION),
        "hidden": bool(hidden),
        "price": read_price(tier.get("price_per_hour") or notes.get(labels.PRICE_PER_HOUR)),
        "defaults": defaults,
        "limits": {
            "lease_seconds": _seconds(limits.get("lease")),
            "idle_seconds": _seconds(limits.get("idle")),
            "counts": counts,
        },
        # What the admin's entry asks for itself is the number of that tier.
        "usual_count": _defaults(tier.get("requirement") or {}).get("count")
        or usual_count(counts, defaults.get("count")),
        "groups": list(groups),
    }


def _json(text: object) -> dict[str, Any]:
    """An annotation's JSON object; an unreadable one reads as empty (doctor tells)."""
    return dict(json_object(text))


def _defaults(given: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a requirement in its own spelling; what is none of them is left out (doctor tells)."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        try:
            found |= Requirement.from_dict({name: value}).as_dict()
        except RequirementError:
            continue
    return found


def read_price(text: object) -> dict[str, str] | None:
    """``2.90 EUR`` as amount and currency; None where it reads otherwise (doctor tells)."""
    found = _PRICE.fullmatch(str(text)) if text else None
    return {"amount": found[1], "currency": found[2], "per": "hour"} if found else None


def _seconds(value: object) -> int | None:
    if not isinstance(value, (str, int)) or isinstance(value, bool):
        return None
    try:
        return parse_duration(value)
    except DRAError:
        return None
