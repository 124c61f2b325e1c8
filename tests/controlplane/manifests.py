"""Manifests to judge: recorded ones, and random small damage to them."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

Object = dict[str, Any]
Steps = tuple[str | int, ...]
_DATA = Path(__file__).parent / "data" / "manifests.json"
_ADMIN = {"resource.kubernetes.io/admin-access": "true"}
_WRONG_NAMES = ("Upper", "under_score", "-dash", "a" * 64, "a.b", "with space", "", "é", "a" * 254, "a/b")
_WRONG_QUANTITIES = (
    "10GB",
    "1.5.0Gi",
    "-1",
    "abc",
    "",
    " 1Gi",
    "1 Gi",
    "0.5",
    "1e3",
    "1E",
    "10gi",
    "+5",
    "01Gi",
)
_EXPRESSIONS = (
    "device.driver",
    "device.driver = 'a'",
    "device.attribute['a'].b == 1",
    "device.capacity['gpu.example.com'].memory > quantity('1Gi')",
    "device.capacity['gpu.example.com'].memory >= 10",
    "device.attributes['a']['b'].isGreaterThan(1)",
    "true && 'a'",
    "(device.driver == 'a'",
    "device.attributes.exists(d, d == 'a')",
    "[1, 2, 3].all(x, [1, 2, 3].all(y, x == y))",
    "device.attributes['a'].b.orValue('').matches('^x')",
    "device.attributes['a'].?b.orValue('').matches('^x')",
    "device.attributes['a'].?b.orValue('').lowerAscii() == 'x'",
    "has(device.attributes['a'].b) && device.attributes['a'].b.matches('^x.*y$')",
    "device.attributes.all(d, device.attributes[d].all(n, n.matches('a')))",
    "device.attributes['a'].b.matches('[')",
    "semver('1.2') == device.attributes['a'].v",
    "quantity('10GB').isLessThan(device.capacity['a'].b)",
    "device.driver in ['a', 1]",
    "size(device.driver) + 1",
    "object.driver == 'a'",
    "device.nodeName == 'a'",
    "device.allowMultipleAllocations == true",
    "device.driver == \"a\" ? true : 'x'",
    "cel.bind(d, device.attributes['a'], has(d.b) && d.b == 'x')",
    "device.driver.split('.').exists(p, p == 'com')",
    "device.attributes['a'].b.includes('x')",
    "duration('1h') < duration('2h')",
    "",
    "true",
    " ",
    "1",
    "x",
)


@dataclass(frozen=True, slots=True)
class Sample:
    """One object to judge; ``labels`` are those of its namespace."""

    origin: str
    object: Object
    labels: dict[str, str] = field(default_factory=dict)

    @property
    def namespace(self) -> str:
        """``privileged`` has the label that allows admin access; ``default`` has none."""
        return "privileged" if self.labels == _ADMIN else "default"


def recorded() -> list[Sample]:
    """Every recorded manifest."""
    return [
        Sample(entry["from"], entry["object"], entry.get("namespace_labels", {}))
        for entry in json.loads(_DATA.read_text())
    ]


def damaged(rnd: Random, count: int) -> Iterator[Sample]:
    """``count`` recorded manifests with one piece of damage each, seldom two."""
    base = [sample for sample in recorded() if "invalid" not in sample.origin]
    base += [sample for sample in base if sample.object["apiVersion"].startswith("resource")]
    while count:
        sample = rnd.choice(base)
        broken = copy.deepcopy(sample.object)
        made = [_damage(rnd, broken) for _ in range(2 if rnd.random() < 0.15 else 1)]
        if all(made) and broken != sample.object:
            count -= 1
            yield Sample(f"{sample.origin}: {'; '.join(map(str, made))}", broken, sample.labels)


def _damage(rnd: Random, broken: Object) -> str | None:
    """One change in place, in words; None when this kind of change has no place here."""
    places = [place for place in _places(broken, ()) if not _keep(place)]
    kind = rnd.choice(
        (_drop, _rename, _move, _mistype, _mistype, _quantity, _name, _name, _cel, _cel, _value)
    )
    return kind(rnd, broken, places) if places else None


def _keep(place: Steps) -> bool:
    """What says which object this is stays."""
    return place[0] in ("apiVersion", "kind", "status") or place in (
        ("metadata",),
        ("spec",),
        ("metadata", "namespace"),
    )


def _places(value: Any, steps: Steps) -> Iterator[Steps]:
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, entry in entries:
        yield (*steps, key)
        yield from _places(entry, (*steps, key))


def _at(root: Any, steps: Steps) -> Any:
    for step in steps:
        root = root[step]
    return root


def _drop(rnd: Random, broken: Object, places: list[Steps]) -> str:
    place = rnd.choice(places)
    del _at(broken, place[:-1])[place[-1]]
    return f"drop {_text(place)}"


def _rename(rnd: Random, broken: Object, places: list[Steps]) -> str | None:
    place = rnd.choice(places)
    holder, key = _at(broken, place[:-1]), place[-1]
    if not isinstance(key, str) or not key:
        return None
    fresh = rnd.choice((key + "s", key[:-1], key[0].upper() + key[1:], key.lower(), "x" + key))
    if not fresh or fresh in holder:
        return None
    holder[fresh] = holder.pop(key)
    return f"rename {_text(place)} to {fresh}"


def _move(rnd: Random, broken: Object, places: list[Steps]) -> str | None:
    place = rnd.choice(places)
    key = place[-1]
    holders = [(), *(other for other in places if isinstance(_at(broken, other), dict))]
    target = rnd.choice(holders)
    if not isinstance(key, str) or target[: len(place)] == place or key in _at(broken, target):
        return None
    _at(broken, target)[key] = copy.deepcopy(_at(broken, place))
    del _at(broken, place[:-1])[key]
    return f"move {_text(place)} under {_text(target)}"


def _mistype(rnd: Random, broken: Object, places: list[Steps]) -> str:
    place = rnd.choice(places)
    fresh: Any = rnd.choice(
        (1, "text", True, [], {}, None, 1.5, [1], {"a": 1}, -1, "", 2**40, ["a"], [None], [{}])
    )
    _at(broken, place[:-1])[place[-1]] = copy.deepcopy(fresh)
    return f"{_text(place)} = {json.dumps(fresh)}"


def _value(rnd: Random, broken: Object, places: list[Steps]) -> str | None:
    """Another value of the same type."""
    place = rnd.choice(places)
    old = _at(broken, place)
    fresh: Any
    if isinstance(old, str):
        fresh = rnd.choice(
            (old + "x", old.upper(), "x" * 300, old[:-1], "a/b/c", "Gt", "All", "Exists", "NoExecute")
        )
    elif isinstance(old, list) and old:
        fresh = rnd.choice((old * 2, old * 40, [*old, copy.deepcopy(old[0])], []))
    elif isinstance(old, int) and not isinstance(old, bool):
        fresh = rnd.choice((0, -1, 10**6, 2**31))
    else:
        return None
    _at(broken, place[:-1])[place[-1]] = copy.deepcopy(fresh)
    return f"{_text(place)} = {json.dumps(fresh)[:40]}"


def _quantity(rnd: Random, broken: Object, places: list[Steps]) -> str | None:
    found = [p for p in places if _is_quantity(p, _at(broken, p))]
    return _put(rnd, broken, found, _WRONG_QUANTITIES)


def _is_quantity(place: Steps, value: Any) -> bool:
    parents = {"capacity", "requests", "limits", "counters"}
    return isinstance(value, str) and any(step in parents for step in place[-3:-1])


def _name(rnd: Random, broken: Object, places: list[Steps]) -> str | None:
    found = [p for p in places if _is_name(p) and isinstance(_at(broken, p), str)]
    return _put(rnd, broken, found, _WRONG_NAMES)


def _is_name(place: Steps) -> bool:
    ends = (
        "name",
        "driver",
        "deviceClassName",
        "matchAttribute",
        "resourceClaimName",
        "request",
        "key",
        "nodeName",
    )
    return place[-1] in ends or (isinstance(place[-1], int) and place[-2] == "requests")


def _cel(rnd: Random, broken: Object, places: list[Steps]) -> str | None:
    found = [p for p in places if p[-1] == "expression" and isinstance(_at(broken, p), str)]
    if not found or rnd.random() < 0.5:
        return _put(rnd, broken, found, _EXPRESSIONS)
    place = rnd.choice(found)
    old = _at(broken, place)
    spot = rnd.randrange(len(old)) if old else 0
    fresh = rnd.choice(
        (
            old[:spot] + old[spot + 1 :],
            old[:spot] + rnd.choice("()[].'\"&|!=?:,a1 ") + old[spot:],
            old.replace("==", ">="),
            old.replace("device", "dev"),
            old.replace('"', "'"),
            old.replace("attributes", "capacity"),
            f"!({old})",
            f"{old} && {old}",
            f"{old} || 'a'",
        )
    )
    _at(broken, place[:-1])[place[-1]] = fresh
    return f"{_text(place)} = {fresh!r}"


def _put(rnd: Random, broken: Object, found: list[Steps], values: tuple[str, ...]) -> str | None:
    if not found:
        return None
    place, fresh = rnd.choice(found), rnd.choice(values)
    _at(broken, place[:-1])[place[-1]] = fresh
    return f"{_text(place)} = {fresh[:80]!r}"


def _text(place: Steps) -> str:
    return ".".join(map(str, place)) or "the top"
