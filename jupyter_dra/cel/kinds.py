"""Static types, their unification, and their names in messages (``cel-go/checker/types.go``).

A type is a tuple: its kind, then its parameters: ``("list", INT)``. A variable is ``("var", number)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

__all__ = ["Substitution", "Type", "format_call", "format_type", "list_of", "map_of", "optional_of"]

Type = tuple[Any, ...]

BOOL: Final[Type] = ("bool",)
INT: Final[Type] = ("int",)
UINT: Final[Type] = ("uint",)
DOUBLE: Final[Type] = ("double",)
STRING: Final[Type] = ("string",)
BYTES: Final[Type] = ("bytes",)
NULL: Final[Type] = ("null",)
DYN: Final[Type] = ("dyn",)
ANY: Final[Type] = ("any",)
ERROR: Final[Type] = ("error",)
DURATION: Final[Type] = ("duration",)
TIMESTAMP: Final[Type] = ("timestamp",)
DEVICE: Final[Type] = ("kubernetes.DRADevice",)
QUANTITY: Final[Type] = ("kubernetes.Quantity",)
SEMVER: Final[Type] = ("kubernetes.Semver",)
IP: Final[Type] = ("net.IP",)
CIDR: Final[Type] = ("net.CIDR",)
URL: Final[Type] = ("kubernetes.URL",)
FORMAT: Final[Type] = ("kubernetes.NamedFormat",)

OBJECTS: Final = frozenset((DEVICE, QUANTITY, SEMVER, IP, CIDR, URL, FORMAT))
_SHOWN: Final = {"error": "!error!", "var": "dyn"}
_NULLABLE: Final = frozenset((*OBJECTS, DURATION, TIMESTAMP))
WILD: Final = frozenset(("dyn", "any", "error"))


def list_of(element: Type) -> Type:
    return ("list", element)


def map_of(key: Type, value: Type) -> Type:
    return ("map", key, value)


def optional_of(value: Type) -> Type:
    return ("optional", value)


class Substitution:
    """What type variables stand for, so far."""

    def __init__(self) -> None:
        self.bound: dict[Type, Type] = {}
        self.count = 0

    def fresh(self) -> Type:
        self.count += 1
        return ("var", self.count)

    def resolve(self, kind: Type, free: Type | None = None) -> Type:
        """The type with variables replaced; ``free`` stands for variables that are not bound."""
        if len(kind) == 1:
            return kind
        if kind[0] == "var":
            bound = self.bound.get(kind)
            if bound is not None:
                return self.resolve(bound, free)
            return kind if free is None else free
        return (kind[0], *(self.resolve(part, free) for part in kind[1:]))

    def accepts_all(self, given: Sequence[Type], wanted: Sequence[Type]) -> bool:
        """Tell whether arguments fit parameters; variables stay bound only if all do."""
        if len(given) != len(wanted):
            return False
        saved = dict(self.bound)
        if all(self.accepts(one, two) for one, two in zip(given, wanted, strict=True)):
            return True
        self.bound = saved
        return False

    def accepts(self, one: Type, two: Type) -> bool:
        """Tell whether a value of type ``one`` can stand where ``two`` is wanted, binding variables."""
        if two[0] == "var":
            fits, was_bound = self._bind(one, two)
            if fits or was_bound:
                return fits
        if one[0] == "var":
            return self._bind(two, one)[0]
        if one[0] in WILD or two[0] in WILD:
            return True
        if one == NULL:
            return two == NULL or two in _NULLABLE or two[0] == "optional"
        if two == NULL:
            return one in _NULLABLE or one[0] == "optional"
        if one[0] == "type" and two[0] == "type":
            return True
        if one[0] != two[0] or len(one) != len(two):
            return False
        return all(self.accepts(a, b) for a, b in zip(one[1:], two[1:], strict=True))

    def _bind(self, kind: Type, variable: Type) -> tuple[bool, bool]:
        """Whether the variable can stand for a type, and whether it was bound before."""
        if kind == variable:
            return True, True
        bound = self.bound.get(variable)
        if bound is not None:
            if kind == bound:
                return True, True
            if self.accepts(kind, bound):
                wider = kind if _no_narrower(kind, bound) else bound
                if not self._mentions(variable, wider):
                    self.bound[variable] = wider
                return True, True
            return False, True
        if self._mentions(variable, kind):
            return False, False
        self.bound[variable] = kind
        return True, False

    def _mentions(self, variable: Type, kind: Type) -> bool:
        if kind == variable:
            return True
        if kind[0] == "var":
            bound = self.bound.get(kind)
            return bound is not None and self._mentions(variable, bound)
        return any(self._mentions(variable, part) for part in kind[1:])

    def join(self, one: Type | None, two: Type) -> Type:
        """The element type of a literal that holds both."""
        if one is None:
            return two
        if self.accepts(one, two):
            return one if _no_narrower(one, two) else two
        return DYN


def _no_narrower(one: Type, two: Type) -> bool:
    """Tell whether ``one`` is the same as ``two`` or less specific."""
    if one[0] in ("dyn", "any", "var", "error"):
        return True
    if two[0] in ("dyn", "any", "var", "error") or one[0] != two[0] or len(one) != len(two):
        return False
    return all(_no_narrower(a, b) for a, b in zip(one[1:], two[1:], strict=True))


def format_type(kind: Type) -> str:
    """A type's name as the API server writes it."""
    name = kind[0]
    if name == "list":
        return f"list({format_type(kind[1])})"
    if name == "map":
        return f"map({format_type(kind[1])}, {format_type(kind[2])})"
    if name == "optional":
        return f"optional_type({format_type(kind[1])})"
    if name == "type":
        return f"type({format_type(kind[1])})" if len(kind) > 1 else "type"
    return _SHOWN.get(name) or str(name)


def format_call(args: Sequence[Type], member: bool) -> str:
    """The types of a call: ``(int, string)``, or ``string.(int)`` for a member."""
    if member:
        return f"{format_type(args[0])}.({', '.join(map(format_type, args[1:]))})"
    return f"({', '.join(map(format_type, args))})"
