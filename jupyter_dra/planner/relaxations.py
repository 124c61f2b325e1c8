"""The smallest single changes that would fit now, each tried on the allocator, in the order of ux.md §3."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jupyter_dra.allocator import DeviceKind
from jupyter_dra.claims import Requirement, labels
from jupyter_dra.errors import BudgetExceeded, DRAError
from jupyter_dra.planner.asked_counts import with_usual_counts
from jupyter_dra.planner.judge import Judgement
from jupyter_dra.planner.messages import Line
from jupyter_dra.planner.naming import DeviceFacts
from jupyter_dra.planner.offered_counts import is_offered
from jupyter_dra.planner.stock import stock_of
from jupyter_dra.planner.survey import MatchTable
from jupyter_dra.planner.tiers import tier_counts, tier_kinds
from jupyter_dra.planner.wish import Wish, interpret

if TYPE_CHECKING:
    from jupyter_dra.planner.inventory import Inventory

__all__ = ["relaxations"]

Json = Mapping[str, Any]
_PER_CODE = {"fewer-devices": 1, "part": 1}
_TRIES = {"less-memory": 4, "more-kinds": 4, "fewer-devices": 3, "other-tier": 4}


@dataclass(frozen=True, slots=True)
class _Change:
    """``params`` name what the change is about, for faces with words of their own."""

    code: str
    change: dict[str, Any]
    message: str
    params: dict[str, Any] = field(default_factory=dict)


def relaxations(
    inventory: Inventory,
    wish: Wish,
    judgement: Judgement,
    lines: Sequence[Line],
    namespace: str,
    tiers: Sequence[Json],
) -> list[dict[str, Any]]:
    """Elements of the contract's ``relaxations``; empty where it fits already or nothing single helps."""
    requirement = wish.requirement or wish.expressed
    if judgement.now is None or judgement.now.fits or judgement.verdict == "invalid":
        return []
    found = _own_sessions(inventory, judgement, namespace)
    if requirement is None or (requirement.claim is not None and wish.expressed is None):
        return found
    base = wish.expressed if requirement.claim is not None and wish.expressed is not None else requirement
    counted: dict[str, int] = {}
    tried: dict[str, int] = {}
    for change in _changes(inventory, base, judgement, lines, tiers):
        if counted.get(change.code, 0) >= _PER_CODE.get(change.code, 2) or tried.get(
            change.code, 0
        ) >= _TRIES.get(change.code, 4):
            continue
        tried[change.code] = tried.get(change.code, 0) + 1
        try:
            free = _free_after(inventory, base, change.change, judgement, namespace, tiers)
        except BudgetExceeded:
            break
        if free is None:
            continue
        counted[change.code] = counted.get(change.code, 0) + 1
        sure = inventory.visibility.all_claims
        found.append(
            {
                "code": change.code,
                "change": change.change,
                "params": change.params,
                "verdict": "fits" if sure else "unknown",
                "free": free,
                "message": change.message,
            }
        )
    return found


def _free_after(
    inventory: Inventory,
    requirement: Requirement,
    change: Mapping[str, Any],
    judgement: Judgement,
    namespace: str,
    tiers: Sequence[Json],
) -> int | None:
    """Free devices after a change, or None where it still does not fit."""
    try:
        wish = interpret(inventory, requirement.changed(**change), namespace, tiers)
    except DRAError:  # no attempt is made there, so none is cut short
        return None
    if wish.findings or not wish.typed:
        return None
    attempt = inventory.state.attempt(wish.typed, budget=20_000)
    by_device = attempt.tokens.by_device
    if not any(attempt.outcome(v).fits for g in judgement.ready for v in (g if by_device else (g.sample,))):
        return None
    matches = MatchTable(attempt)
    if by_device:
        return sum(matches.count(view).free for group in judgement.ready for view in group)
    free = stock_of(inventory).free
    return sum(count for number, count in free.items() if matches.by_kind[number])


def _changes(
    inventory: Inventory,
    requirement: Requirement,
    judgement: Judgement,
    lines: Sequence[Line],
    tiers: Sequence[Json],
) -> Iterator[_Change]:
    count = with_usual_counts(inventory, requirement, tiers).count
    yield from _without_companions(requirement, count)
    yield from _less_memory(inventory, requirement, lines)
    yield from _more_kinds(inventory, requirement, lines)
    offered = tier_counts(inventory, requirement.tier or "", tiers)
    yield from (one for one in _fewer_devices(count, judgement) if is_offered(one.change["count"], offered))
    if count == 1:
        yield from _parts(inventory, requirement)
    yield from _other_tiers(inventory, requirement, tiers)
    yield from _tolerations(requirement, lines)


def _own_sessions(inventory: Inventory, judgement: Judgement, namespace: str) -> list[dict[str, Any]]:
    """Sessions of the user whose devices would do: a second notebook can join one."""
    assert judgement.matches is not None
    found: dict[str, dict[str, Any]] = {}
    by_id = inventory.state.holds
    for id, holds in by_id.items():
        for hold in holds:
            claim = inventory.claim_of(hold.claim)
            metadata = (claim or {}).get("metadata") or {}
            session = (metadata.get("labels") or {}).get(labels.SESSION)
            if claim is None or hold.admin or session is None or not inventory.visibility.is_mine(metadata):
                continue
            if (metadata.get("namespace") or "default") != namespace or metadata.get("deletionTimestamp"):
                continue
            device = inventory.state.device(id)
            if device is None or not judgement.matches.matches(device):
                continue
            row = found.setdefault(
                session,
                {
                    "code": "join-session",
                    "change": {"session": session, "claim": metadata.get("name")},
                    "params": {},
                    "verdict": "fits",
                    "free": 0,
                    "message": f"Join your session {session}",
                },
            )
            row["free"] += 1
    return [row for row in found.values() if row["free"] >= judgement.wanted]


def _without_companions(requirement: Requirement, count: int | str) -> Iterator[_Change]:
    for number, companion in enumerate(requirement.near):
        left = [one.as_dict() for i, one in enumerate(requirement.near) if i != number]
        change: dict[str, Any] = {"near": left or None}
        if not left and count == 1:
            change["align"] = None
        params = {"partner": companion.tier} if companion.tier else {}
        yield _Change("drop-near", change, f"Without the {companion.tier or 'companion'}", params)
    if requirement.align and not requirement.near:
        yield _Change(
            "drop-near", {"align": None}, f"Without the same {requirement.align.rpartition('/')[2]}"
        )
    if requirement.spread:
        yield _Change(
            "drop-spread", {"spread": None}, f"Without different {requirement.spread.rpartition('/')[2]}"
        )


def _less_memory(inventory: Inventory, requirement: Requirement, lines: Sequence[Line]) -> Iterator[_Change]:
    sizes = {
        fact.size: fact.memory_bytes
        for line in lines
        if line.code == "memory" and line.detail == "less"
        for fact in _facts(inventory, line)
        if fact.size and fact.memory_bytes
    }
    for size in sorted(sizes, key=lambda size: -(sizes[size] or 0)):
        text = size.replace(" ", "")
        change: dict[str, Any] = {"vram": text if text.endswith("GB") else f"{sizes[size]}"}
        yield _Change("less-memory", change, f"Take {size}")


def _more_kinds(inventory: Inventory, requirement: Requirement, lines: Sequence[Line]) -> Iterator[_Change]:
    for line in lines:
        if line.code == "memory" and line.detail == "more" and requirement.max_vram:
            yield _Change("more-kinds", {"max_vram": None}, "Also accept larger ones")
        if line.code != "condition" or line.term is None:
            continue
        name = line.term.field
        for fact in _distinct(_facts(inventory, line)):
            if name == "architecture" and requirement.architecture and fact.architecture:
                values = [*requirement.architecture, fact.architecture]
                yield _also({"architecture": values}, fact.label)
            elif name == "product" and requirement.product and fact.product:
                values = [*requirement.product, fact.product]
                yield _also({"product": values}, fact.label)
        if name in ("compute_capability", "driver_version"):
            yield _Change("more-kinds", {name: None}, f"Any {name.replace('_', ' ')}")
        elif requirement.where and line.term.text and not line.term.of_class:
            for text in requirement.where:
                if line.term.text in text:
                    left = [one for one in requirement.where if one != text]
                    yield _also(
                        {"where": left or None}, *sorted({f.label for f in _facts(inventory, line)})[:3]
                    )


def _also(change: dict[str, Any], *labels: str) -> _Change:
    """Devices that a condition leaves out; without labels, the condition is named by nothing but itself."""
    if not labels:
        return _Change("more-kinds", change, "Without one of your conditions")
    named = ", ".join(labels)
    return _Change("more-kinds", change, f"Also accept {named}", {"label": named})


def _fewer_devices(count: int | str, judgement: Judgement) -> Iterator[_Change]:
    assert judgement.matches is not None
    samples = [group.sample for group in judgement.ready]
    most = max((judgement.matches.count(node).free for node in samples), default=0)
    if isinstance(count, str):
        if most:
            yield _Change("fewer-devices", {"count": most}, f"{most} instead of all devices")
        return
    for fewer in range(min(count - 1, most), 0, -1):
        yield _Change("fewer-devices", {"count": fewer}, f"{fewer} instead of {count} devices")


def _parts(inventory: Inventory, requirement: Requirement) -> Iterator[_Change]:
    """A fixed part of a card, or an amount of a shareable one; the smallest that still has the memory."""
    if requirement.share:
        return
    needed = requirement.vram_size.bytes if requirement.vram_size else 0
    offers: list[tuple[int, str, str]] = []
    for tier, numbers in tier_kinds(inventory).items():
        kinds = [inventory.state.kinds.kinds[number] for number in numbers]
        for kind in kinds:
            fact = inventory.facts.of(kind)
            if fact.device_kind == "part" and fact.profile and (fact.memory_bytes or 0) >= needed:
                offers.append((fact.memory_bytes or 0, tier, fact.profile))
        if needed and tier == requirement.tier and any(_shareable(kind) for kind in kinds):
            change: dict[str, Any] = {"share": {"memory": requirement.vram}, "vram": None}
            yield _Change("part", change, f"A share of {requirement.vram} is enough")
    for _, tier, profile in sorted(set(offers)):
        yield _Change(
            "part",
            {
                "tier": tier,
                "share": {"profile": profile},
                "architecture": None,
                "product": None,
                "near": None,
                "align": None,
            },
            f"A part of a card is enough ({profile})",
        )


def _shareable(kind: DeviceKind) -> bool:
    return kind.shared and any(key.rpartition("/")[2] == "memory" for key in kind.capacity)


def _other_tiers(inventory: Inventory, requirement: Requirement, tiers: Sequence[Json]) -> Iterator[_Change]:
    if requirement.tier is None:
        return
    facts = {one.name: one for one in inventory.class_facts()}
    mine = facts.get(requirement.tier)
    kind = mine.device_kind if mine is not None else "gpu"
    wanted = mine.min_bytes if mine is not None and mine.min_bytes else 0
    others = [
        one
        for one in facts.values()
        if one.name != requirement.tier
        and not one.hidden
        and one.device_kind == kind
        and not (
            requirement.count_given
            and not is_offered(requirement.count, tier_counts(inventory, one.name, ()))
        )
    ]
    for one in sorted(others, key=lambda one: (abs((one.min_bytes or 0) - wanted), one.name)):
        yield _Change("other-tier", {"tier": one.name}, f"Use {one.display_name or one.name}")


def _tolerations(requirement: Requirement, lines: Sequence[Line]) -> Iterator[_Change]:
    for line in lines:
        if line.code != "out-of-service" or not line.samples:
            continue
        taints = [taint for taint in line.samples[0].kind.taints if taint.key in line.detail]
        accepted = [{"key": taint.key, "operator": "Exists", "effect": taint.effect} for taint in taints]
        names = ", ".join(taint.key.rpartition("/")[2] for taint in taints)
        change = {"tolerate": [*map(dict, requirement.tolerate), *accepted]}
        yield _Change("tolerate", change, f"Accept devices marked {names}", {"reason": names})


def _facts(inventory: Inventory, line: Line) -> list[DeviceFacts]:
    return [inventory.facts.of(inventory.state.kinds.kinds[number]) for number in line.kinds]


def _distinct(facts: Sequence[DeviceFacts]) -> list[DeviceFacts]:
    """One per label, the largest first."""
    found = {fact.label: fact for fact in facts}
    return sorted(found.values(), key=lambda fact: (-(fact.memory_bytes or 0), fact.label))
