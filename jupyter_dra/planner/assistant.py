"""The expression assistant: while somebody types a selector, where is it wrong and how many devices match."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from jupyter_dra.cel import compile_selector
from jupyter_dra.errors import CELCompileError
from jupyter_dra.planner.stock import stock_of
from jupyter_dra.planner.tiers import tier_kinds

if TYPE_CHECKING:
    from jupyter_dra.planner.inventory import Inventory

__all__ = ["assist"]


def assist(inventory: Inventory, text: str, *, tier: str | None) -> dict[str, Any]:
    """Judge a partial selector.

    Returns ``{"valid", "error": {"message", "line", "column", "hint"} | None, "matching", "free", "free_at_most",
    "failing", "failing_device", "failing_message", "labels", "suggestions"}``. Counts are None while the text does not
    compile; ``failing`` counts devices on which it would stop with an error. ``tier`` narrows to one class's devices.
    """
    found: dict[str, Any] = {
        "valid": False,
        "error": None,
        "matching": None,
        "free": None,
        "free_at_most": None,
        "failing": None,
        "failing_device": None,
        "failing_message": None,
        "labels": [],
        "suggestions": _suggestions(inventory, tier),
    }
    if not text.strip():
        found["error"] = {"message": "Nothing is written yet.", "line": 1, "column": 1, "hint": None}
        return found
    try:
        compile_selector(text, inventory.state.features.version)
    except CELCompileError as error:
        found["error"] = {
            "message": error.message,
            "line": error.line,
            "column": error.column,
            "hint": error.hint,
        }
        return found
    found["valid"] = True
    _count(inventory, text, tier, found)
    return found


def _wanted(inventory: Inventory, tier: str | None) -> set[int] | None:
    return tier_kinds(inventory).get(tier, set()) if tier is not None else None


def _count(inventory: Inventory, text: str, tier: str | None, found: dict[str, Any]) -> None:
    stock, state, wanted = stock_of(inventory), inventory.state, _wanted(inventory, tier)
    matching = free = failing = 0
    labels: Counter[str] = Counter()
    by_device = [n for n in stock.total if state.selectors.differs([text], state.samples[n])]
    slow = {number for number in by_device if wanted is None or number in wanted}
    for number, count in stock.total.items():
        if number in slow or (wanted is not None and number not in wanted):
            continue
        result = state.selectors.match(text, state.samples[number])
        if result is True:
            matching += count
            free += stock.free[number]
            labels[inventory.facts.of(state.kinds.kinds[number]).label] += count
        elif result is not False:
            failing += count
            _first_failure(found, state.samples[number], result.message)
    for slice in state.current() if slow else ():
        for device in slice.devices:
            if device.kind.number not in slow:
                continue
            result = state.selectors.match(text, device)
            if result is True:
                matching += 1
                free += not any(not hold.admin for hold in inventory.holds(device.id))
                labels[inventory.facts.of_device(device).label] += 1
            elif result is not False:
                failing += 1
                _first_failure(found, device, result.message)
    found.update(
        matching=matching,
        free=free if inventory.visibility.all_claims else None,
        free_at_most=free,
        failing=failing,
        labels=[{"label": label, "devices": count} for label, count in labels.most_common(6)],
    )


def _first_failure(found: dict[str, Any], device: Any, message: str) -> None:
    if found["failing_device"] is None:
        found["failing_device"] = list(device.id)
        found["failing_message"] = message


def _suggestions(inventory: Inventory, tier: str | None) -> list[dict[str, Any]]:
    """Every attribute and capacity that devices publish, as CEL, with some of its values."""
    return list(
        inventory.cached(("suggestions", tier), lambda: _published(inventory, _wanted(inventory, tier)))
    )


def _published(inventory: Inventory, wanted: set[int] | None) -> list[dict[str, Any]]:
    seen: dict[str, dict[str, Any]] = {}
    for number in stock_of(inventory).total:
        if wanted is not None and number not in wanted:
            continue
        kind = inventory.state.kinds.kinds[number]
        entries = [(name, "attributes", *value) for name, value in kind.attributes.items()]
        entries += [(name, "capacity", "quantity", entry.value.text) for name, entry in kind.capacity.items()]
        for name, where, value_type, value in entries:
            domain, _, short = name.rpartition("/")
            text = f'device.{where}["{domain or kind.driver}"].{short}'
            row = seen.setdefault(text, {"text": text, "type": value_type, "values": []})
            if value not in row["values"] and len(row["values"]) < 8:
                row["values"].append(value)
    return sorted(seen.values(), key=lambda row: row["text"])
