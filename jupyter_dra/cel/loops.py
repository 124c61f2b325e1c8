"""The macros that walk a list or a map (``cel-go/interpreter``, evalFold)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from jupyter_dra.cel.conversions import go_type
from jupyter_dra.cel.lists import sort_values
from jupyter_dra.cel.meter import Frame
from jupyter_dra.cel.syntax import Bind, Comprehension, MapLiteral
from jupyter_dra.cel.values import CelMap, EvalError, StepsExhausted, map_key

if TYPE_CHECKING:
    from jupyter_dra.cel.evaluator import Builder

__all__ = ["build_comprehension", "build_sort"]

Closure = Callable[[Frame], Any]
Walk = Callable[[Frame, object], Iterable[object]]


def build_comprehension(builder: Builder, node: Comprehension) -> Closure:
    """The closure of a macro; its variables have slots of their own."""
    source = builder.build(node.range)
    element = builder.slot()
    names = {node.element: (element, False)}
    key: int | None = None
    if node.key is not None:
        key = builder.slot()
        names[node.key] = (key, False)
    walk = _pairs(key, element) if key is not None else _singles(element)
    condition = None if node.condition is None else builder.scoped(node.condition, names)
    if node.kind == "transformMapEntry":
        return _entries(builder, node, source, walk, names, condition)
    body = builder.scoped(node.body, names)
    if node.kind in ("all", "exists"):
        return _quantifier(source, walk, body, node.kind == "exists")
    if node.kind == "exists_one":
        return _exactly_one(source, walk, body)
    if node.kind == "transformMap" and key is not None:
        return _mapping(source, walk, body, condition, key)
    if node.kind == "filter":
        return _listing(source, walk, lambda frame: frame[element], body)
    return _listing(source, walk, body, condition)


def _singles(slot: int) -> Walk:
    """Set the variable to each element of a list or each key of a map, one step each."""

    def walk(frame: Frame, values: object) -> Iterable[object]:
        if isinstance(values, list):
            items = values
        elif isinstance(values, CelMap):
            items = values.keys()
        else:
            raise EvalError(f"got '{go_type(values)}', expected iterable type")
        for item in items:
            frame[1] -= 1
            if frame[1] < 0:
                raise StepsExhausted
            frame[slot] = item
            yield item

    return walk


def _pairs(key_slot: int, slot: int) -> Walk:
    """Set two variables: index and element, or key and value."""

    def walk(frame: Frame, values: object) -> Iterable[object]:
        if isinstance(values, list):
            pairs: Iterable[tuple[object, object]] = enumerate(values)
        elif isinstance(values, CelMap):
            pairs = values.items()
        else:
            raise EvalError(f"unsupported comprehension range type: {go_type(values)}")
        for key, item in pairs:
            frame[1] -= 1
            if frame[1] < 0:
                raise StepsExhausted
            frame[key_slot], frame[slot] = key, item
            yield item

    return walk


def _quantifier(source: Closure, walk: Walk, body: Closure, decides: bool) -> Closure:
    """``exists`` is an or over the elements, ``all`` an and: an error counts only if no element decides."""

    def quantified(frame: Frame) -> bool:
        first: EvalError | None = None
        for _ in walk(frame, source(frame)):
            try:
                value: object = body(frame)
            except EvalError as error:
                first = first or error
                continue
            if value is decides:
                return decides
            if value is not (not decides):
                first = first or EvalError("no such overload")
        if first is not None:
            raise first
        return not decides

    return quantified


def _truth(value: object) -> bool:
    if value is True or value is False:
        return value
    raise EvalError("no such overload")


def _exactly_one(source: Closure, walk: Walk, body: Closure) -> Closure:
    return lambda frame: sum(_truth(body(frame)) for _ in walk(frame, source(frame))) == 1


def _listing(source: Closure, walk: Walk, body: Closure, condition: Closure | None) -> Closure:
    if condition is None:
        return lambda frame: [body(frame) for _ in walk(frame, source(frame))]
    return lambda frame: [body(frame) for _ in walk(frame, source(frame)) if _truth(condition(frame))]


def _mapping(source: Closure, walk: Walk, body: Closure, condition: Closure | None, key: int) -> Closure:
    def mapped(frame: Frame) -> CelMap:
        data: dict[object, object] = {}
        for _ in walk(frame, source(frame)):
            if condition is None or _truth(condition(frame)):
                data[map_key(frame[key])] = body(frame)
        return CelMap(data)

    return mapped


def _entries(
    builder: Builder,
    node: Comprehension,
    source: Closure,
    walk: Walk,
    names: dict[str, tuple[int, bool]],
    condition: Closure | None,
) -> Closure:
    literal = node.body
    assert isinstance(literal, MapLiteral)
    body = builder.scoped(literal, names)

    def mapped(frame: Frame) -> CelMap:
        data: dict[object, object] = {}
        for _ in walk(frame, source(frame)):
            if condition is not None and not _truth(condition(frame)):
                continue
            for key, value in body(frame).data.items():
                if key in data:
                    raise EvalError(f"insert failed: key '{key}' already exists")
                data[key] = value
        return CelMap(data)

    return mapped


def build_sort(builder: Builder, node: Bind) -> Closure:
    """``list.sortBy(x, key)``."""
    source = builder.build(node.value)
    slot = builder.slot()
    key = builder.scoped(node.body, {node.name: (slot, False)})
    walk = _singles(slot)

    def sorted_by(frame: Frame) -> list[object]:
        values = source(frame)
        if not isinstance(values, list):
            raise EvalError("no such overload")
        return sort_values(frame, values, [key(frame) for _ in walk(frame, values)])

    return sorted_by
