"""Reasons in words and parameters (ux.md messages 11 to 22)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from jupyter_dra.allocator import DeviceEntry, WantedClaim
from jupyter_dra.cel.repairs import repair
from jupyter_dra.planner.holders import sum_holders
from jupyter_dra.planner.judge import Judgement
from jupyter_dra.planner.lines import Line, Words
from jupyter_dra.planner.naming import DeviceFacts
from jupyter_dra.planner.room import part_words, share_words
from jupyter_dra.planner.terms import Term, asked_bytes

if TYPE_CHECKING:
    from jupyter_dra.planner.inventory import Inventory

__all__ = ["Line", "describe"]

_KIND_WORDS = {
    "gpu": "other GPUs",
    "part": "parts of GPUs",
    "tpu": "TPUs",
    "nic": "network cards",
    "cpu": "CPUs",
    "other": "other devices",
}
_FIELD_WORDS = {
    "architecture": "architecture",
    "product": "product",
    "compute_capability": "compute capability",
    "driver_version": "driver version",
    "profile": "profile",
}
_NEAR_MISS = 0.06


def describe(
    inventory: Inventory,
    judgement: Judgement,
    line: Line,
    terms: Sequence[Term],
    taken: Sequence[DeviceEntry],
) -> dict[str, Any]:
    """One element of the contract's ``reasons``."""
    facts = [inventory.facts.of(inventory.state.kinds.kinds[number]) for number in line.kinds]
    write = {
        "condition-error": _condition_error,
        "inventory": _inventory,
        "kind": _kind,
        "memory": _memory,
        "condition": _condition,
        "out-of-service": _out_of_service,
        "node": _node,
        "part": part_words,
        "share": share_words,
        "partner": _partner,
        "one-node": _one_node,
    }
    if line.code == "taken":
        params, message = _taken(inventory, line, taken)
    else:
        params, message = write[line.code](inventory, judgement, line, facts)
    return {
        "code": line.code,
        "devices": line.devices,
        "params": params,
        "message": message,
    }


def _condition_error(
    inventory: Inventory, judgement: Judgement, line: Line, facts: Sequence[DeviceFacts]
) -> Words:
    kind, text, selector = line.detail
    device = line.samples[0]
    where = f"{device.id.device} of {_place(device)}"
    params = {"device": list(device.id), "error": text, "expression": selector, "kind": kind}
    better = repair(selector) if selector else None
    if better is not None:
        params["rewrite"] = {"code": better.code, "text": better.text}
    return params, (
        f"Your condition stops with an error on {where}: {text.partition('. ')[0]}."
        " The cluster would refuse the whole request."
    )


def _inventory(inventory: Inventory, judgement: Judgement, line: Line, facts: Sequence[DeviceFacts]) -> Words:
    pools = sorted({device.id.pool for device in line.samples})
    params = {"state": line.detail, "pools": pools, "lists": len(line.places)}
    many = f"{len(line.places):,} {'node' if len(line.places) == 1 else 'nodes'}"
    if line.detail == "incomplete":
        words = f"on {many} that publish an incomplete list right now · usually over in a minute"
        return params, f"{line.devices:,} {words}"
    return params, f"{line.devices:,} on {many} whose list has a mistake of the driver · your admin can help"


def _kind(inventory: Inventory, judgement: Judgement, line: Line, facts: Sequence[DeviceFacts]) -> Words:
    kinds: Counter[str] = Counter()
    for number, count in line.kinds.items():
        kinds[inventory.facts.of(inventory.state.kinds.kinds[number]).device_kind] += count
    names = [kind for kind, _ in kinds.most_common()]
    words = ", ".join(_KIND_WORDS[kind] for kind in names)
    return {"kinds": names}, f"{line.devices:,} another kind of device · {words}"


def _memory(inventory: Inventory, judgement: Judgement, line: Line, facts: Sequence[DeviceFacts]) -> Words:
    asked = asked_bytes(line.term) if line.term is not None else None
    label = _size_words(line.term)
    params: dict[str, Any] = {"asked_bytes": asked, "asked": label, "direction": line.detail, "nearest": None}
    if line.detail == "unknown":
        return params, f"{line.devices:,} memory size not known"
    known = [fact for fact in facts if fact.memory_bytes is not None]
    pick = max if line.detail == "less" else min
    nearest = pick(known, key=lambda fact: fact.memory_bytes or 0)
    params["nearest"] = {
        "label": nearest.label,
        "bytes": nearest.memory_bytes,
        "published": nearest.memory_published,
    }
    short = (asked or 0) - (nearest.memory_bytes or 0)
    near_miss = asked is not None and line.detail == "less" and 0 < short <= _NEAR_MISS * asked
    params["near_miss"] = near_miss
    word = "less" if line.detail == "less" else "more"
    if near_miss and asked is not None:
        params["short_bytes"] = short
        reported = f"{(nearest.memory_bytes or 0) / 2**30:.2f} GiB"
        advice = f" Write {nearest.size} to mean what is on the card." if nearest.size else ""
        return params, f"{line.devices:,} just short: {reported}, you ask for {label}.{advice}"
    return params, f"{line.devices:,} {word} than {label} · nearest: {_with_size(nearest)}"


def _condition(inventory: Inventory, judgement: Judgement, line: Line, facts: Sequence[DeviceFacts]) -> Words:
    term = line.term
    name = term.field if term is not None else "where"
    word = _FIELD_WORDS.get(name, name)
    stated = [fact for fact in facts if _states(inventory, line, fact, name)]
    nearest = max(facts, key=lambda fact: (fact in stated, fact.memory_bytes or 0), default=None)
    params: dict[str, Any] = {
        "field": name,
        "asked": term.value if term is not None else None,
        "selector": term.selector if term is not None else None,
        "of_class": term.of_class if term is not None else False,
        "expression": term.text if term is not None else None,
        "nearest": {"label": nearest.label} if nearest is not None else None,
        "values": _values(facts, name),
    }
    tail = f" · nearest: {_with_size(nearest)}" if nearest is not None else ""
    if term is not None and isinstance(term.value, list):
        return params, f"{line.devices:,} not {' or '.join(map(str, term.value))}{tail}"
    if term is not None and term.value is not None:
        return params, f"{line.devices:,} not {word} {term.value}{tail}"
    return params, f"{line.devices:,} do not meet your condition on {word}{tail}"


def _states(inventory: Inventory, line: Line, fact: DeviceFacts, name: str) -> bool:
    return getattr(fact, name, None) is not None if name in ("product", "architecture", "profile") else True


def _values(facts: Iterable[DeviceFacts], name: str) -> list[str]:
    """What the devices state instead, for the fields people know by name."""
    field_name = {"productName": "product", "model": "product"}.get(name, name)
    if field_name not in ("product", "architecture", "profile"):
        return []
    return sorted({value for fact in facts if (value := getattr(fact, field_name))})


def _out_of_service(
    inventory: Inventory, judgement: Judgement, line: Line, facts: Sequence[DeviceFacts]
) -> Words:
    taints = [
        {"key": taint.key, "value": taint.value, "effect": taint.effect}
        for taint in line.samples[0].kind.taints
        if taint.key in line.detail
    ]
    by_rule = {taint.key for taint in line.samples[0].kind.rule_taints}
    who = "admin" if set(line.detail) & by_rule else "driver"
    names = ", ".join(t["key"].rpartition("/")[2] + (f"={t['value']}" if t["value"] else "") for t in taints)
    return {"taints": taints, "by": who}, f"{line.devices:,} out of service · marked by {who}: {names}"


def _node(inventory: Inventory, judgement: Judgement, line: Line, facts: Sequence[DeviceFacts]) -> Words:
    words = {
        "unschedulable": "on nodes that take no new work",
        "not-ready": "on nodes that are not ready",
        "no-node": "on no node that is known",
    }
    return {"why": line.detail}, f"{line.devices:,} {words.get(line.detail, 'on nodes that cannot be used')}"


def _partner(inventory: Inventory, judgement: Judgement, line: Line, facts: Sequence[DeviceFacts]) -> Words:
    assert judgement.now is not None
    wanted = judgement.now.attempt.claims.claims[0]
    constraints = wanted.claim.spec.constraints
    match = next((c.match_attribute for c in constraints if c.match_attribute), None)
    differ = next((c.distinct_attribute for c in constraints if c.distinct_attribute), None)
    attribute = match or differ
    short = attribute.rpartition("/")[2] if attribute else None
    alike, needed = _alike(wanted)
    lacking = sum(n for number, n in line.kinds.items() if attribute and _lacks(inventory, number, attribute))
    names = [request.name for request in wanted.claim.spec.requests[1:]]
    params: dict[str, Any] = {
        "attribute": attribute,
        "requests": names,
        "without_attribute": lacking,
        "needed": needed,
    }
    if attribute and lacking == line.devices:
        return params, f"{line.devices:,} do not state {short}"
    if match and alike:
        params["largest"] = _largest_group(judgement, match)
        return params, (
            f"{line.devices:,} have too few with the same {short}: {needed} are needed,"
            f" the largest group has {params['largest']}"
            + (f" · {lacking:,} do not state it" if lacking else "")
        )
    if differ and alike and not match:
        return params, f"{line.devices:,} have too few with different {short}"
    with_what = f"no partner on the same {short}" if match else "no partner device"
    return (
        params,
        f"{line.devices:,} {with_what} · {', '.join(dict.fromkeys(fact.label for fact in facts[:3]))}",
    )


def _alike(wanted: WantedClaim) -> tuple[bool, int]:
    """Whether all requests ask for the same kind of device, and how many devices they take at least."""
    shapes = {
        tuple((body.class_name, body.selectors) for body in request) for request in wanted.requests if request
    }
    needed = sum(
        min((1 if body.all else body.count for body in request), default=0) for request in wanted.requests
    )
    return len(shapes) == 1, needed


def _lacks(inventory: Inventory, number: int, attribute: str) -> bool:
    return inventory.state.samples[number].attribute(attribute) is None


def _largest_group(judgement: Judgement, attribute: str) -> int:
    """The most matching devices of one node that share a value."""
    assert judgement.matches is not None
    most = 0
    for view in (group.sample for group in judgement.ready):
        values: Counter[Any] = Counter()
        for pool in view.pools:
            if not pool.broken:
                values.update(
                    device.attribute(attribute)
                    for device in pool.devices
                    if judgement.matches.matches(device) and device.attribute(attribute) is not None
                )
        most = max(most, max(values.values(), default=0))
    return most


def _one_node(inventory: Inventory, judgement: Judgement, line: Line, facts: Sequence[DeviceFacts]) -> Words:
    assert judgement.matches is not None
    counts = [judgement.matches.count(group.sample) for group in judgement.ready]
    most_free = max((count.free for count in counts), default=0)
    most = max((count.matching for count in counts), default=0)
    if judgement.takes_all:
        return {
            "needed": "all"
        }, f"{line.devices:,} are free, but All needs every matching device of a node free."
    params = {"needed": judgement.wanted, "most_free_on_one_node": most_free, "most_on_one_node": most}
    if most < judgement.wanted:
        return (
            params,
            f"{line.devices:,} devices match, but no node has more than {most}. A notebook runs on one node.",
        )
    return (
        params,
        f"{line.devices:,} devices are free, but no node has more than {most_free} of them."
        " A notebook runs on one node.",
    )


def _taken(inventory: Inventory, line: Line, taken: Sequence[DeviceEntry]) -> Words:
    holders = sum_holders(inventory, [device for device in taken if not device.kind.shared])
    yours = sum(row["devices"] for row in holders if row["who"] == "you")
    hidden = sum(row["devices"] for row in holders if row["who"] == "hidden")
    users: Counter[str] = Counter()
    spaces: Counter[str] = Counter()
    for row in holders:
        if row["who"] == "user":
            users[row["user"]] += row["devices"]
        elif row["who"] == "namespace":
            spaces[row["namespace"]] += row["devices"]
    words = [f"{yours} by you"] if yours else []
    words += [f"{count} by {user}" for user, count in users.most_common(3)]
    words += [f"{count} in {space}" for space, count in spaces.most_common(3)]
    rest = (
        line.devices
        - yours
        - hidden
        - sum(n for _, n in users.most_common(3))
        - sum(n for _, n in spaces.most_common(3))
    )
    words += [f"{rest} by others"] if rest > 0 else []
    words += [f"{hidden} not visible to you"] if hidden else []
    params = {"yours": yours, "hidden": hidden, "users": dict(users), "namespaces": dict(spaces)}
    return params, f"{line.devices:,} taken" + (f" · {', '.join(words)}" if words else "")


def _size_words(term: Term | None) -> str:
    text = str(term.value) if term is not None and term.value is not None else "what you ask for"
    for suffix, word in (
        ("Gi", " GiB"),
        ("Mi", " MiB"),
        ("Ti", " TiB"),
        ("G", " GB"),
        ("M", " MB"),
        ("T", " TB"),
    ):
        if text.endswith(suffix):
            return text.removesuffix(suffix) + word
    return text


def _with_size(fact: DeviceFacts | None) -> str:
    """``H100, 80 GB``."""
    if fact is None:
        return "none"
    if fact.size and fact.label.endswith(" " + fact.size):
        return f"{fact.label.removesuffix(' ' + fact.size)}, {fact.size}"
    return f"{fact.label}, {fact.size}" if fact.size and fact.device_kind == "part" else fact.label


def _place(device: DeviceEntry) -> str:
    return device.slice.scope.node_name or device.id.pool
