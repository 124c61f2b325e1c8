"""A selector that mistakes device memory for an attribute, written as what was meant."""

from __future__ import annotations

from dataclasses import dataclass

from jupyter_dra.cel.issues import SyntaxProblem
from jupyter_dra.cel.parser import parse
from jupyter_dra.cel.syntax import Call, Ident, Literal, Node, Select

__all__ = ["Repair", "repair"]

_COMPARISONS = {"_>=_": ">=", "_>_": ">", "_<=_": "<=", "_<_": "<", "_==_": "=="}
_MEMORY = frozenset(("memory", "vram"))


@dataclass(frozen=True, slots=True)
class Repair:
    """What was mistaken, as a code, and the whole selector without the mistake."""

    code: str
    text: str


def repair(text: str) -> Repair | None:
    """The selector with its comparison of memory as the API has it; None where that is not what is wrong.

    >>> repair('device.attributes["gpu.nvidia.com"].memory >= "16Gi"').text
    'device.capacity["gpu.nvidia.com"].?memory.orValue(quantity("0")).compareTo(quantity("16Gi")) >= 0'
    """
    try:
        node = parse(text)
    except SyntaxProblem:
        return None
    if not isinstance(node, Call) or node.function not in _COMPARISONS or len(node.args) != 2:
        return None
    left: Node = node.args[0]
    right: Node = node.args[1]
    call = left
    if isinstance(call, Call) and call.function == "compareTo" and call.target and len(call.args) == 1:
        left, right = call.target, call.args[0]
    domain, size = _memory_attribute(left), _size(right)
    if domain is None or size is None:
        return None
    return Repair(
        "memory-is-a-capacity",
        f'device.capacity["{domain}"].?memory.orValue(quantity("0"))'
        f'.compareTo(quantity("{size}")) {_COMPARISONS[node.function]} 0',
    )


def _memory_attribute(node: Node) -> str | None:
    """The domain of ``device.attributes["domain"].memory``."""
    if not isinstance(node, Select) or node.field not in _MEMORY:
        return None
    index = node.operand
    if not isinstance(index, Call) or index.function != "_[_]":
        return None
    where, key = index.args
    if not isinstance(where, Select) or where.field != "attributes" or not isinstance(where.operand, Ident):
        return None
    plain = isinstance(key, Literal) and isinstance(key.value, str) and '"' not in key.value
    return str(key.value) if plain and isinstance(key, Literal) and where.operand.name == "device" else None


def _size(node: Node) -> str | None:
    """The amount a text or ``quantity("…")`` names."""
    if isinstance(node, Call) and node.function == "quantity" and len(node.args) == 1:
        node = node.args[0]
    value = node.value if isinstance(node, Literal) else None
    return value if isinstance(value, str) and value.isalnum() else None
