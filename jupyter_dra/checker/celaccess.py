"""Which attributes and capacities a selector reads, and whether it is prepared for their absence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from jupyter_dra.cel import syntax
from jupyter_dra.cel.syntax import Call, Has, Ident, Literal, Node, Select

AREAS = {"attributes", "capacity"}
DRIVER = "device.driver"


@dataclass(frozen=True, slots=True)
class Access:
    """One lookup: ``device.<area>[<domain>].<name>``.

    ``domain`` is the literal text, DRIVER for ``device.driver``, or None where it is computed. ``guarded`` says that
    a device without the value does not raise.
    """

    area: str
    domain: str | None
    name: str
    guarded: bool
    at: int

    @property
    def key(self) -> tuple[str, str | None, str]:
        return self.area, self.domain, self.name

    def of(self, driver: str) -> str:
        """The fully qualified name for devices of a driver."""
        return f"{driver if self.domain in {None, DRIVER} else self.domain}/{self.name}"


def walk(node: Node) -> Iterator[Node]:
    """All nodes, parents first."""
    stack: list[Any] = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, Node):
            yield current
            stack += [getattr(current, name) for name in _parts(current.__class__.__name__)]
        elif isinstance(current, list):
            stack += reversed(current)


@cache
def _parts(kind: str) -> tuple[str, ...]:
    """The fields of a kind of node that may hold nodes, last first."""
    found = getattr(syntax, kind)
    plain = {"str", "int", "bool", "str | None"}
    return tuple(entry.name for entry in reversed(fields(found)) if entry.type not in plain)


def accesses(node: Node) -> list[Access]:
    """The lookups of an expression in reading order."""
    found: list[Access] = []
    tested: set[tuple[str, str | None, str]] = set()
    for current in walk(node):
        place = lookup(current)
        if place is not None:
            area, domain, name, optional, at = place
            found.append(Access(area, domain, name, optional, at))
        if isinstance(current, Has) and (where := domain_of(current.operand)) is not None:
            tested.add((*where, current.field))
        if isinstance(current, Call) and current.function == "@in" and len(current.args) == 2:
            wanted, container = current.args
            where = domain_of(container)
            if isinstance(wanted, Literal) and where is not None:
                tested.add((*where, str(wanted.value)))
    return [
        Access(entry.area, entry.domain, entry.name, entry.guarded or entry.key in tested, entry.at)
        for entry in sorted(found, key=lambda entry: entry.at)
    ]


def lookup(node: Node) -> tuple[str, str | None, str, bool, int] | None:
    """Area, domain, name, whether optional, and offset of a lookup; None for other nodes."""
    if isinstance(node, Select) and (where := domain_of(node.operand)) is not None:
        return (*where, node.field, node.optional, node.at)
    if isinstance(node, Call) and node.function in {"_[_]", "_[?_]"} and len(node.args) == 2:
        where = domain_of(node.args[0])
        if where is not None and isinstance(node.args[1], Literal) and isinstance(node.args[1].value, str):
            return (*where, node.args[1].value, node.function == "_[?_]", node.at)
    return None


def domain_of(node: Node) -> tuple[str, str | None] | None:
    """Area and domain of ``device.attributes[…]``, or None."""
    if not (isinstance(node, Call) and node.function in {"_[_]", "_[?_]"} and len(node.args) == 2):
        return None
    base, index = node.args
    if not (isinstance(base, Select) and base.field in AREAS and _is_device(base.operand)):
        return None
    if isinstance(index, Literal) and isinstance(index.value, str):
        return base.field, index.value
    if isinstance(index, Select) and index.field == "driver" and _is_device(index.operand):
        return base.field, DRIVER
    return base.field, None


def _is_device(node: Node) -> bool:
    return isinstance(node, Ident) and node.name == "device"


def unwrap(node: Node) -> Node:
    """A lookup without the ``orValue`` around it."""
    if isinstance(node, Call) and node.function in {"orValue", "value"} and node.target is not None:
        return node.target
    return node


def quantity_literal(node: Node) -> str | None:
    """The text of ``quantity("…")``, or None."""
    if isinstance(node, Call) and node.function == "quantity" and len(node.args) == 1:
        inner = node.args[0]
        if isinstance(inner, Literal) and isinstance(inner.value, str):
            return inner.value
    return None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A capacity beside a quantity: ``operator`` is >, >=, <, <= or ==; ``text`` the literal."""

    area: str
    domain: str | None
    name: str
    operator: str
    text: str
    at: int


_METHODS = {"isGreaterThan": ">", "isLessThan": "<"}
_OPERATORS = {"_>=_": ">=", "_>_": ">", "_<=_": "<=", "_<_": "<", "_==_": "=="}


def comparisons(node: Node) -> list[Comparison]:
    """The comparisons of capacities with literal quantities."""
    found = []
    for current in walk(node):
        if not isinstance(current, Call):
            continue
        if current.function in _METHODS and current.target is not None and current.args:
            found += _compared(current.target, current.args[0], _METHODS[current.function], current.at)
        elif current.function in _OPERATORS and len(current.args) == 2:
            left, right = current.args
            inner = isinstance(left, Call) and left.function == "compareTo" and left.target is not None
            if inner and isinstance(right, Literal) and right.value == 0:
                assert isinstance(left, Call) and left.target is not None
                found += _compared(left.target, left.args[0], _OPERATORS[current.function], current.at)
    return found


def _compared(target: Node, argument: Node, operator: str, at: int) -> list[Comparison]:
    place, text = lookup(unwrap(target)), quantity_literal(argument)
    if place is None or text is None:
        return []
    area, domain, name, _, _ = place
    return [Comparison(area, domain, name, operator, text, at)]
