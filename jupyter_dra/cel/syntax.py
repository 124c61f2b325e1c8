"""The nodes of a parsed expression. ``at`` is the offset in the text to which messages point."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "Bind",
    "Call",
    "Comprehension",
    "Has",
    "Ident",
    "ListLiteral",
    "Literal",
    "Logic",
    "MapLiteral",
    "Node",
    "Select",
    "children",
]


@dataclass(slots=True, eq=False)
class Node:
    """Base of all nodes."""

    at: int


@dataclass(slots=True, eq=False)
class Literal(Node):
    """A constant; the type of ``value`` is the run-time type (UInt for ``1u``)."""

    value: object


@dataclass(slots=True, eq=False)
class Ident(Node):
    """A name; ``absolute`` where a dot leads it, which is not the namespace of any macro."""

    name: str
    absolute: bool = False


@dataclass(slots=True, eq=False)
class Select(Node):
    """``operand.field``; ``optional`` for ``operand.?field``."""

    operand: Node
    field: str
    optional: bool = False


@dataclass(slots=True, eq=False)
class Has(Node):
    """The macro ``has(operand.field)``."""

    operand: Node
    field: str
    select_at: int


@dataclass(slots=True, eq=False)
class Call(Node):
    """A call of a function or an operator (``_==_``); ``target`` is None for the global form."""

    function: str
    target: Node | None
    args: list[Node]


@dataclass(slots=True, eq=False)
class Logic(Node):
    """A flat chain of ``&&`` or ``||``; ``ats`` are the positions of the operators."""

    function: str
    terms: list[Node]
    ats: list[int]


@dataclass(slots=True, eq=False)
class ListLiteral(Node):
    """``[a, ?b]``; ``optional`` holds the indexes of elements marked ``?``."""

    elements: list[Node]
    optional: frozenset[int]


@dataclass(slots=True, eq=False)
class MapLiteral(Node):
    """``{k: v, ?k: v}``."""

    keys: list[Node]
    values: list[Node]
    optional: frozenset[int]


@dataclass(slots=True, eq=False)
class Comprehension(Node):
    """A macro that walks a list or map: all, exists, exists_one, map, filter, transformList, transformMap, ….

    ``key`` names the first variable of a two-variable macro; ``condition`` filters; ``body`` is the element's result.
    """

    kind: str
    range: Node
    key: str | None
    element: str
    condition: Node | None
    body: Node


@dataclass(slots=True, eq=False)
class Bind(Node):
    """``cel.bind(name, value, body)`` and the optMap and sortBy macros, which bind a value too."""

    kind: str
    name: str
    value: Node
    body: Node


def children(node: Node) -> list[Node]:
    """The nodes directly below a node, in the order of the text."""
    if isinstance(node, (Select, Has)):
        return [node.operand]
    if isinstance(node, Call):
        return node.args if node.target is None else [node.target, *node.args]
    if isinstance(node, Logic):
        return node.terms
    if isinstance(node, ListLiteral):
        return node.elements
    if isinstance(node, MapLiteral):
        return [part for pair in zip(node.keys, node.values, strict=True) for part in pair]
    if isinstance(node, Comprehension):
        return [node.range, *([node.condition] if node.condition is not None else []), node.body]
    return [node.value, node.body] if isinstance(node, Bind) else []
