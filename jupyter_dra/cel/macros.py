"""Macros: calls that the parser turns into nodes of their own (``cel-go/parser/macro.go`` and ``cel-go/ext``).

A call whose name or number of arguments is no macro's stays an ordinary call.
"""

from __future__ import annotations

from jupyter_dra.cel.issues import SyntaxProblem
from jupyter_dra.cel.syntax import Bind, Comprehension, Has, Ident, MapLiteral, Node, Select

__all__ = ["expand_global", "expand_member"]

_PREDICATES = frozenset(("all", "exists", "exists_one", "filter"))
_PAIR_PREDICATES = {"all": "all", "exists": "exists", "exists_one": "exists_one", "existsOne": "exists_one"}
_TRANSFORMS = frozenset(("transformList", "transformMap", "transformMapEntry"))


def expand_global(name: str, args: list[Node], at: int) -> Node | None:
    """``has(a.b)``; None for anything else."""
    if name != "has" or len(args) != 1:
        return None
    argument = args[0]
    if not isinstance(argument, Select) or argument.optional:
        raise SyntaxProblem("invalid argument to has() macro", argument.at)
    return Has(at, argument.operand, argument.field, argument.at)


def expand_member(target: Node, name: str, args: list[Node], at: int) -> Node | None:
    """The macros that are called on something; None for anything else."""
    count = len(args)
    if count == 2 and name in _PREDICATES:
        return Comprehension(at, name, target, None, _name(args[0]), None, args[1])
    if name == "map" and count in (2, 3):
        condition = args[1] if count == 3 else None
        return Comprehension(at, "map", target, None, _name(args[0]), condition, args[-1])
    if count == 3 and name in _PAIR_PREDICATES:
        return _pairs(_PAIR_PREDICATES[name], target, args, None, at)
    if name in _TRANSFORMS and count in (3, 4):
        if name == "transformMapEntry" and not isinstance(args[-1], MapLiteral):
            raise SyntaxProblem(
                "transformMapEntry() requires a map literal as its last argument", args[-1].at
            )
        return _pairs(name, target, args, args[2] if count == 4 else None, at)
    if name in ("optMap", "optFlatMap", "sortBy") and count == 2:
        return Bind(at, name, _name(args[0]), target, args[1])
    in_namespace = isinstance(target, Ident) and target.name == "cel" and not target.absolute
    if name == "bind" and count == 3 and in_namespace:
        return Bind(at, "bind", _name(args[0]), args[1], args[2])
    return None


def _pairs(kind: str, target: Node, args: list[Node], condition: Node | None, at: int) -> Node:
    key, element = _name(args[0]), _name(args[1])
    if key == element:
        raise SyntaxProblem(f"duplicate variable name: {key}", args[1].at)
    return Comprehension(at, kind, target, key, element, condition, args[-1])


def _name(node: Node) -> str:
    if not isinstance(node, Ident):
        raise SyntaxProblem("argument must be a simple name", node.at)
    return node.name
