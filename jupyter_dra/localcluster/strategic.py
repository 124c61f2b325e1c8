"""Strategic merge patch: lists of objects merge by a key that the schema names.

Follows k8s.io/apimachinery ``pkg/util/strategicpatch/patch.go``; the keys are those of ``merge_keys``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from jupyter_dra.localcluster.status import APIError, bad_request


@dataclass(frozen=True, slots=True)
class ListRule:
    """How a list merges. ``key`` None means a set of primitives."""

    key: str | None
    retain_keys: bool = False


Path = tuple[str, ...]
Rules = Callable[[Path], ListRule | None]
"""The rule of the list at a path without indices (``("spec", "containers")``), or None: replaced whole."""

_ORDER = "$setElementOrder/"
_DELETE = "$deleteFromPrimitiveList/"
_PATCH = "$patch"
_RETAIN = "$retainKeys"


def strategic_patch(target: Mapping[str, Any], patch: Mapping[str, Any], rules: Rules) -> dict[str, Any]:
    """The target with the patch merged in; raises 400 for directives that make no sense."""
    merged = _merge_map(dict(target), patch, rules, ())
    return merged if merged is not None else {}


def _merge_map(
    target: dict[str, Any], patch: Mapping[str, Any], rules: Rules, path: Path
) -> dict[str, Any] | None:
    directive = patch.get(_PATCH)
    if directive == "replace":
        return {key: copy.deepcopy(value) for key, value in patch.items() if key != _PATCH}
    if directive == "delete":
        return None
    if directive not in (None, "merge"):
        raise bad_request(f"Unknown patch type: {directive} in map")
    result = dict(target)
    _retain(result, patch)
    for key, value in patch.items():
        if key in (_PATCH, _RETAIN) or key.startswith(_ORDER):
            continue
        if key.startswith(_DELETE):
            name = key.removeprefix(_DELETE)
            kept = [item for item in result.get(name) or [] if item not in value]
            result[name] = kept
        elif value is None:
            result.pop(key, None)
        else:
            _merge_value(result, key, value, rules, path)
    for key, order in patch.items():
        if key.startswith(_ORDER):
            _reorder(result, key.removeprefix(_ORDER), order, rules, path)
    return result


def _merge_value(result: dict[str, Any], key: str, value: Any, rules: Rules, path: Path) -> None:
    here = (*path, key)
    before = result.get(key)
    if isinstance(value, Mapping):
        merged = _merge_map(before if isinstance(before, dict) else {}, value, rules, here)
        if merged is None:
            result.pop(key, None)
        else:
            result[key] = merged
    elif isinstance(value, list):
        result[key] = _merge_list(before if isinstance(before, list) else [], value, rules, here)
    else:
        result[key] = value


def _retain(result: dict[str, Any], patch: Mapping[str, Any]) -> None:
    kept = patch.get(_RETAIN)
    if kept is None:
        return
    for key in [name for name in result if name not in kept]:
        del result[key]


def _merge_list(before: list[Any], patch: list[Any], rules: Rules, path: Path) -> list[Any]:
    rule = rules(path)
    if rule is None:
        return copy.deepcopy([item for item in patch if not _is_directive(item)])
    if rule.key is None:
        return before + [item for item in patch if item not in before]
    items = [item for item in patch if not _is_bare_replace(item, rule.key)]
    result = list(before) if len(items) == len(patch) else []
    for item in items:
        _merge_item(result, item, rule.key, rules, path)
    return result


def _is_directive(item: Any) -> bool:
    return isinstance(item, Mapping) and set(item) == {_PATCH}


def _is_bare_replace(item: Any, key: str) -> bool:
    """``{"$patch": "replace"}`` in a list: the rest of the patch becomes the list."""
    return isinstance(item, Mapping) and item.get(_PATCH) == "replace" and key not in item


def _merge_item(result: list[Any], item: Any, key: str, rules: Rules, path: Path) -> None:
    if not isinstance(item, Mapping) or key not in item:
        raise APIError(500, "InternalError", f"map: {item!r} does not contain declared merge key: {key}")
    position = next(
        (i for i, old in enumerate(result) if isinstance(old, dict) and old.get(key) == item[key]), None
    )
    if position is None:
        if item.get(_PATCH) == "delete":
            return
        fresh = _merge_map({}, {k: v for k, v in item.items() if k not in (_PATCH, _RETAIN)}, rules, path)
        result.append(fresh)
        return
    merged = _merge_map(result[position], item, rules, path)
    if merged is None:
        del result[position]
    else:
        result[position] = merged


def _reorder(result: dict[str, Any], name: str, order: list[Any], rules: Rules, path: Path) -> None:
    """Sort the list as the patch wants it; elements the patch does not name keep their places."""
    items = result.get(name)
    rule = rules((*path, name))
    if not isinstance(items, list) or rule is None:
        return
    key = rule.key
    wanted = [entry.get(key) if key and isinstance(entry, Mapping) else entry for entry in order]
    places = {value: place for place, value in reversed(list(enumerate(wanted)))}
    known = iter(
        sorted(
            (item for item in items if _identity(item, key) in places),
            key=lambda item: places[_identity(item, key)],
        )
    )
    result[name] = [next(known) if _identity(item, key) in places else item for item in items]


def _identity(item: Any, key: str | None) -> Any:
    if key is None:
        return item if not isinstance(item, (dict, list)) else None
    return item.get(key) if isinstance(item, dict) else None
