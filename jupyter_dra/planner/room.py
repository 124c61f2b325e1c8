"""Why a matching device has no room: a part whose card is used up, a share that is larger than what is left."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jupyter_dra.allocator import DeviceEntry, PoolView
from jupyter_dra.model import Quantity
from jupyter_dra.planner.judge import Judgement
from jupyter_dra.planner.lines import Line, Words
from jupyter_dra.planner.naming import DeviceFacts

if TYPE_CHECKING:
    from jupyter_dra.planner.inventory import Inventory

__all__ = ["part_words", "share_words"]

_NUMBERED = re.compile(r"(.+?)-?\d+$")


def part_words(inventory: Inventory, judgement: Judgement, line: Line, facts: Sequence[DeviceFacts]) -> Words:
    """Parts whose cards have no room left for them; ``cards`` counts those."""
    device = line.samples[0]
    pool = _pool_of(judgement, device)
    counters = _short_counters(pool, device) if pool is not None else []
    slots = _slots(pool, device) if pool is not None else None
    label = facts[0].profile or facts[0].label
    tail = ""
    if slots is not None:
        tail = f" · {slots['left']} of {slots['total']} slots free, {slots['needed']} needed in a row"
    elif counters:
        first = counters[0]
        tail = f" · {first['counter']}: {first['left']} of {first['total']} left, {first['needed']} needed"
    params = {"label": label, "counters": counters, "cards": len(line.places), "slots": slots}
    cards = f"{len(line.places):,} {'card' if len(line.places) == 1 else 'cards'}"
    return params, f"{line.devices:,} on {cards} with no room left for a {label} part{tail}"


def _pool_of(judgement: Judgement, device: DeviceEntry) -> PoolView | None:
    pools = (pool for group in judgement.groups for view in group for pool in view.pools)
    return next((pool for pool in pools if pool.key == (device.id.driver, device.id.pool)), None)


def _short_counters(pool: PoolView, device: DeviceEntry) -> list[dict[str, Any]]:
    return [
        {
            "set": set_name,
            "counter": counter,
            "left": _plain(pool.now.available.get((set_name, counter), 0)),
            "total": _plain(pool.counters[set_name][counter]),
            "needed": _plain(amount),
        }
        for set_name, uses in device.kind.consumes
        for counter, amount in uses
        if pool.now.available.get((set_name, counter), 0) < amount
    ]


def _slots(pool: PoolView, device: DeviceEntry) -> dict[str, int] | None:
    """Numbered counters of one each are places on the card (``memory-slice-0`` …): how many, free and needed."""
    for set_name, uses in device.kind.consumes:
        needed = _places(dict(uses))
        if needed:
            every = _places(pool.counters[set_name])
            free = [name for name in every if pool.now.available.get((set_name, name), 0) > 0]
            return {"left": len(free), "total": len(every), "needed": len(needed)}
    return None


def _places(counters: Mapping[str, int]) -> list[str]:
    one = 10**9
    return [name for name, amount in counters.items() if amount == one and _NUMBERED.match(name)]


def _plain(nanos: int) -> int | float:
    return nanos // 10**9 if nanos % 10**9 == 0 else nanos / 10**9


def share_words(
    inventory: Inventory, judgement: Judgement, line: Line, facts: Sequence[DeviceFacts]
) -> Words:
    """Shared devices that cannot give, now or ever, the amounts that are asked."""
    device = line.samples[0]
    assert judgement.now is not None
    body = judgement.now.attempt.claims.bodies[judgement.matches.bodies[0] if judgement.matches else 0]
    asked = {key: amount.text for key, amount in body.capacity.items()}
    params: dict[str, Any] = {"asked": asked, "why": line.detail}
    if line.detail == "never":
        return _never(line, device, asked, params)
    token = judgement.now.attempt.tokens.of(device)
    need = token.needs[body.index] if token.needs else None
    given = dict(need.texts) if need is not None else {}
    params |= {"given": given, "device": device.id.device, **_room(judgement, device, given)}
    size = ", ".join(f"{amount} {key}" for key, amount in given.items())
    whole = " · no amount asked: takes the whole device" if not asked else ""
    rounded = [f"{asked[k]} asked, {given[k]} given" for k in asked if k in given and asked[k] != given[k]]
    more = f" ({'; '.join(rounded)})" if rounded else ""
    left = "".join(f" · {amount} of {params['total'][key]} left" for key, amount in params["left"].items())
    return params, f"{line.devices:,} have no room for {size or 'another share'}{more}{left}{whole}"


def _never(line: Line, device: DeviceEntry, asked: Mapping[str, str], params: dict[str, Any]) -> Words:
    missing = [key for key in asked if key not in device.kind.capacity]
    params["missing"] = missing
    if missing:
        return params, f"{line.devices:,} do not state {', '.join(missing)}"
    limits = {key: _limit(entry) for key, entry in device.kind.capacity.items() if key in asked}
    params["at_most"] = limits
    words = ", ".join(f"{asked[key]} {key} is more than {limits[key]}" for key in asked if key in limits)
    return params, f"{line.devices:,} give no share of that size · {words}"


def _room(judgement: Judgement, device: DeviceEntry, given: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Of each amount that is too much now: the step it comes in, what is left, and the whole."""
    found: dict[str, dict[str, str]] = {"step": {}, "left": {}, "total": {}}
    pool = _pool_of(judgement, device)
    held = pool.now.held.get(pool.devices.index(device), {}) if pool is not None else {}
    for key, text in given.items():
        entry = device.kind.capacity[key]
        left = max(0, entry.value.nanos - held.get(key, 0))
        if left >= Quantity.parse(text).nanos:
            continue
        if entry.step is not None:
            found["step"][key] = entry.step.text
        found["left"][key] = Quantity("", left, None, entry.value.style).canonical()
        found["total"][key] = entry.value.text
    return found


def _limit(entry: Any) -> str:
    if entry.maximum is not None:
        return str(entry.maximum.text)
    if entry.valid_values:
        return str(entry.valid_values[-1].text)
    return str(entry.value.text)
