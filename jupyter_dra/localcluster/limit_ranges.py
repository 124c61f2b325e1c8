"""LimitRange: defaults for containers, and least and greatest amounts.

Follows k8s.io/kubernetes ``plugin/pkg/admission/limitranger/admission.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from jupyter_dra.model.quantity import Quantity

Object = dict[str, Any]
Amounts = Mapping[str, Any]


def apply_limit_ranges(spec: Object, ranges: Iterable[Mapping[str, Any]]) -> list[str]:
    """Fill in defaults in place; the answer names every limit that is broken (empty: none)."""
    problems: list[str] = []
    limits = [item for found in ranges for item in (found.get("spec") or {}).get("limits") or ()]
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    for item in limits:
        if item.get("type") == "Container":
            for container in containers:
                _fill(container, item)
    for item in limits:
        if item.get("type") == "Container":
            for container in containers:
                problems += _broken(container.get("resources") or {}, item, "Container")
        elif item.get("type") == "Pod":
            problems += _broken(_total(spec), item, "Pod")
    return problems


def _fill(container: Object, item: Mapping[str, Any]) -> None:
    resources = container.setdefault("resources", {})
    given_limits = set(resources.get("limits") or {})
    for field, source in (("limits", item.get("default")), ("requests", item.get("defaultRequest"))):
        for name, amount in (source or {}).items():
            if field == "requests" and name in given_limits:
                amount = resources["limits"][name]
            resources.setdefault(field, {}).setdefault(name, amount)
    for name, amount in (resources.get("limits") or {}).items():
        resources.setdefault("requests", {}).setdefault(name, amount)


def _total(spec: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    total: dict[str, dict[str, Quantity]] = {"limits": {}, "requests": {}}
    for container in spec.get("containers") or ():
        for field, into in total.items():
            for name, amount in ((container.get("resources") or {}).get(field) or {}).items():
                quantity = Quantity.parse(amount)
                into[name] = into[name] + quantity if name in into else quantity
    return {field: {name: q.canonical() for name, q in found.items()} for field, found in total.items()}


def _broken(resources: Mapping[str, Any], item: Mapping[str, Any], kind: str) -> list[str]:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    problems: list[str] = []
    for name, least in (item.get("min") or {}).items():
        problems += _bound(
            name, f"minimum {name} usage per {kind}", least, requests, limits, lambda have, bar: have < bar
        )
    for name, most in (item.get("max") or {}).items():
        problems += _bound(
            name, f"maximum {name} usage per {kind}", most, limits, requests, lambda have, bar: have > bar
        )
    return problems


def _bound(
    name: str,
    words: str,
    bar: Any,
    first: Amounts,
    second: Amounts,
    breaks: Callable[[Quantity, Quantity], bool],
) -> list[str]:
    """``first`` must be stated (requests for a minimum, limits for a maximum); both must keep to the bar."""
    limit = Quantity.parse(bar)
    first_word, second_word = ("request", "limit") if words.startswith("minimum") else ("limit", "request")
    if name not in first:
        return [f"{words} is {limit.canonical()}.  No {first_word} is specified"]
    for have, word in ((first.get(name), first_word), (second.get(name), second_word)):
        if have is not None and breaks(Quantity.parse(have), limit):
            return [f"{words} is {limit.canonical()}, but {word} is {Quantity.parse(have).canonical()}"]
    return []
