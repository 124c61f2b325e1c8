"""The API server's estimate of what a selector may cost at worst, by which it refuses what is too complex.

Follows ``cel-go/checker/cost.go``, ``k8s.io/apiserver/pkg/cel/library/cost.go`` and the sizes that
``dynamic-resource-allocation/cel/compile.go`` declares for a device. Only the upper ends of the estimates are kept:
they decide.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil
from typing import NamedTuple

from jupyter_dra.cel import kinds
from jupyter_dra.cel.checker import _Checker, _renamed
from jupyter_dra.cel.declarations import Overload
from jupyter_dra.cel.kinds import DYN, Substitution, Type
from jupyter_dra.cel.parser import parse
from jupyter_dra.cel.syntax import (
    Bind,
    Call,
    Comprehension,
    Has,
    Ident,
    ListLiteral,
    Literal,
    Logic,
    MapLiteral,
    Node,
    Select,
)

__all__ = ["COST_LIMIT", "estimate"]

COST_LIMIT = 1_000_000
UNKNOWN = 2**64 - 1
_LIST, _MAP, _TEXT, _REGEX = 10, 30, 0.1, 0.25

Path = tuple[str, ...]
"""Names that lead from ``device`` to a value; empty where a value is made on the way."""


class _Shape(NamedTuple):
    """A declared type: its largest size, and what lies below it."""

    most: int
    key: int = 0
    elem: _Shape | None = None
    fields: tuple[tuple[str, _Shape], ...] = ()


_ATTRIBUTE = _Shape(64)
_ATTRIBUTES = _Shape(32, 63, _Shape(32, 32, _ATTRIBUTE))
_CAPACITY = _Shape(32, 63, _Shape(32, 32, _Shape(0)))
_DEVICE = _Shape(
    0,
    fields=(
        ("driver", _Shape(63)),
        ("attributes", _ATTRIBUTES),
        ("capacity", _CAPACITY),
        ("allowMultipleAllocations", _Shape(1)),
    ),
)
_SCALARS = frozenset(("bool", "double", "duration", "int", "timestamp", "uint"))
_COMPARED = frozenset(("_<_", "_<=_", "_>_", "_>=_"))
_NOMINAL_WORDS = """
sign asInteger isInteger asApproximateFloat isGreaterThan isLessThan compareTo add sub major minor
patch masked prefixLength family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast
isGlobalUnicast getScheme getHostname getHost getPort getEscapedPath getQuery format.named
"""
_NOMINAL = frozenset(_NOMINAL_WORDS.split())
_KEPT = frozenset(["lowerAscii", "upperAscii", "substring", "trim"])
_READ_ONCE = frozenset(["quantity", "isQuantity", "semver", "isSemver", "ip", "isIP", "cidr", "isCIDR"])
_WALKED = frozenset(["isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"])
_SETS = {"sets.contains": 1, "sets.intersects": 1, "sets.equivalent": 2}
_FORMAT_REGEX = 128


class _Entry(NamedTuple):
    """Sizes of the keys and values of a container made in the expression."""

    of_list: bool
    key: int
    value: int


class _Local(NamedTuple):
    path: Path
    size: int | None
    entry: _Entry | None
    least: int = 0


@lru_cache(maxsize=2048)
def estimate(text: str, version: tuple[int, int]) -> int:
    """The highest cost of one evaluation of a selector that compiles; 2**64 - 1 where there is no bound."""
    node = parse(text)
    typing = _Typing(version)
    typing.check(node)
    return _Coster(typing).cost(node)


class _Typing(_Checker):
    """The type checker, remembering the type of every node."""

    def __init__(self, version: tuple[int, int]) -> None:
        super().__init__(version)
        self.kinds: dict[int, Type] = {}

    def check(self, node: Node) -> Type:
        kind = super().check(node)
        self.kinds[id(node)] = kind
        return kind

    def kind(self, node: Node) -> Type:
        return self.types.resolve(self.kinds.get(id(node), DYN), DYN)


def _add(*costs: int) -> int:
    return min(UNKNOWN, sum(costs))


def _times(one: int, other: int) -> int:
    return min(UNKNOWN, one * other)


def _part(size: int, factor: float) -> int:
    return UNKNOWN if size * factor >= 2.0**64 else ceil(size * factor)


class _Coster:
    def __init__(self, typing: _Typing) -> None:
        self.typing = typing
        self.paths: dict[int, Path] = {}
        self.sizes: dict[int, int] = {}
        self.entries: dict[int, _Entry] = {}
        self.locals: dict[str, list[_Local]] = {}

    # --- what is known of values ---

    def local(self, node: Node) -> _Local | None:
        stack = self.locals.get(node.name) if isinstance(node, Ident) else None
        return stack[-1] if stack else None

    def path(self, node: Node) -> Path:
        local = self.local(node)
        return local.path if local is not None else self.paths.get(id(node), ())

    def known_size(self, node: Node) -> int | None:
        if id(node) in self.sizes:
            return self.sizes[id(node)]
        if isinstance(node, Literal):
            return len(node.value) if isinstance(node.value, (str, bytes)) else 1
        if isinstance(node, ListLiteral):
            return len(node.elements)
        if isinstance(node, MapLiteral):
            return len(node.keys)
        declared = _declared(self.path(node))
        if declared is not None:
            self.sizes[id(node)] = declared
            return declared
        if _is_scalar(self.typing.kind(node)):
            return 1
        local = self.local(node)
        return local.size if local is not None else None

    def size(self, node: Node) -> int:
        known = self.known_size(node)
        return UNKNOWN if known is None else known

    def entry(self, node: Node) -> _Entry | None:
        if id(node) in self.entries:
            return self.entries[id(node)]
        local = self.local(node)
        return local.entry if local is not None else None

    def least(self, node: Node) -> int:
        """The smallest size of a value as far as the expression shows it."""
        local = self.local(node)
        if local is not None:
            return local.least
        if isinstance(node, Literal):
            return len(node.value) if isinstance(node.value, (str, bytes)) else 1
        if isinstance(node, Call) and node.target is not None and node.function in _KEPT:
            return self.least(node.target)
        if isinstance(node, Call) and node.function in ("_?_:_", "dyn"):
            return min(map(self.least, node.args[-2:]))
        return 0

    def _least_entry(self, node: Node) -> tuple[int, int]:
        """The smallest key and value of a container that is written out."""
        if isinstance(node, ListLiteral):
            return 1, min(map(self.least, node.elements), default=0)
        if isinstance(node, MapLiteral):
            return min(map(self.least, node.keys), default=0), min(map(self.least, node.values), default=0)
        return 0, 0

    # --- costs ---

    def cost(self, node: Node) -> int:
        if isinstance(node, Literal):
            return 0
        if isinstance(node, Ident):
            local = self.local(node)
            self.paths[id(node)] = (node.name,) if local is None else local.path
            return 1
        if isinstance(node, Has):
            return self.cost(node.operand)
        if isinstance(node, Select):
            return self._select(node)
        if isinstance(node, Logic):
            return _add(*(self.cost(term) for term in node.terms))
        if isinstance(node, ListLiteral):
            total = _add(_LIST, *(self.cost(element) for element in node.elements))
            widest = max((self.size(element) for element in node.elements), default=0)
            self.entries[id(node)] = _Entry(True, 1, widest)
            return total
        if isinstance(node, MapLiteral):
            total = _add(_MAP, *(self.cost(part) for part in (*node.keys, *node.values)))
            key = max((self.size(part) for part in node.keys), default=0)
            value = max((self.size(part) for part in node.values), default=0)
            self.entries[id(node)] = _Entry(False, key, value)
            return total
        if isinstance(node, Comprehension):
            return self._loop(node)
        if isinstance(node, Bind):
            return self._bind(node)
        assert isinstance(node, Call)
        return self._call(node)

    def _select(self, node: Select) -> int:
        operand = self.cost(node.operand)
        if node.optional:
            return _add(1, operand)
        self.paths[id(node)] = (*self.path(node.operand), node.field)
        kind = self.typing.kind(node.operand)
        return _add(operand, 1 if kind[0] == "map" or kind in kinds.OBJECTS else 0)

    def _loop(self, node: Comprehension) -> int:
        total = self.cost(node.range)
        kind, entry, path = self.typing.kind(node.range), self.entry(node.range), self.path(node.range)
        is_list = entry.of_list if entry is not None else kind[0] == "list"
        first, second = self._least_entry(node.range)
        keys = _Local((*path, "@indices" if is_list else "@keys"), entry.key if entry else None, None, first)
        items = (*path, "@items" if is_list else "@values")
        values = _Local(items, entry.value if entry else None, None, second)
        names = {node.element: values if is_list or node.key is not None else keys}
        if node.key is not None:
            names[node.key] = keys
        for name, local in names.items():
            self.locals.setdefault(name, []).append(local)
        body = self.cost(node.body)
        condition = None if node.condition is None else self.cost(node.condition)
        widest = self.size(node.body)
        for name in names:
            self.locals[name].pop()
        around, step = _macro(node.kind, body)
        if condition is not None:
            step = _add(condition, max(step, 1))
        count = self.size(node.range)
        if node.kind in ("all", "exists", "exists_one", "existsOne"):
            self.sizes[id(node)] = 1
        else:
            self.sizes[id(node)] = count
            if node.kind in ("map", "transformList"):
                self.entries[id(node)] = _Entry(True, 1, widest)
            elif node.kind == "filter":
                item = names[node.element]
                declared = _declared(item.path) if item.size is None else item.size
                self.entries[id(node)] = _Entry(True, 1, UNKNOWN if declared is None else declared)
        return _add(total, around, _times(count, step))

    def _bind(self, node: Bind) -> int:
        value = self.cost(node.value)
        if node.kind == "bind":
            known, entry = self.known_size(node.value), self.entry(node.value)
            local = _Local(self.path(node.value), known, entry, self.least(node.value))
            total = _add(_LIST, value)
        elif node.kind == "sortBy":
            return self._sort_by(node, value)
        else:
            # optMap and optFlatMap stand for hasValue() ? bind(value()) : none().
            local = _Local((), 1 if _is_scalar(self.typing.kind(node.value)) else None, None)
            wrapped = 1 if node.kind == "optMap" else 0
            total = _add(value, 1, wrapped, _LIST, value, 1)
        self.locals.setdefault(node.name, []).append(local)
        body = self.cost(node.body)
        # cel-go asks for the result's size when the name is gone again.
        self.locals[node.name].pop()
        if node.kind == "bind":
            known, entry = self.known_size(node.body), self.entry(node.body)
            if known is not None:
                self.sizes[id(node)] = known
            if entry is not None:
                self.entries[id(node)] = entry
        return _add(total, body)

    def _sort_by(self, node: Bind, value: int) -> int:
        count = self.size(node.value)
        entry = self.entry(node.value)
        local = _Local((*self.path(node.value), "@items"), entry.value if entry else None, None)
        self.locals.setdefault(node.name, []).append(local)
        keys = _add(1, _LIST, 1, _times(count, _add(12, self.cost(node.body))))
        self.locals[node.name].pop()
        of_text = self.typing.kind(node.body)[0] in ("string", "bytes", *kinds.WILD)
        sort = _add(_part(_times(count, count), 2 + _TEXT if of_text else 2), 1, _LIST)
        self.sizes[id(node)] = _times(count, count)
        return _add(_LIST, value, 1, keys, sort)

    def _call(self, node: Call) -> int:
        name = self.typing.checked.namespaced.get(id(node))
        target = node.target if name is None else None
        name = name or node.function
        arguments = [self.cost(argument) for argument in node.args]
        if name == "_?_:_":
            self.sizes[id(node)] = max(self.size(node.args[1]), self.size(node.args[2]))
            self._merge_entries(node, node.args[1], node.args[2])
            return _add(arguments[0], max(arguments[1], arguments[2]))
        if name == "dyn":
            known = self.known_size(node.args[0])
            if known is not None:
                self.sizes[id(node)] = known
            self._merge_entries(node, node.args[0], node.args[0])
            return _add(1, arguments[0])
        if target is not None:
            arguments.append(self.cost(target))
        if name == "_+_":
            self._merge_entries(node, node.args[0], node.args[1])
        own, result = self._function(name, target, node)
        if name == "_[_]":
            entry = self.entry(node.args[0])
            kind = self.typing.kind(node.args[0])
            below = "@items" if kind[0] == "list" else "@values"
            if kind[0] != "optional":
                self.paths[id(node)] = (*self.path(node.args[0]), below)
                result = entry.value if entry is not None else None
        if result is None:
            result = self.known_size(node)
        if result is not None:
            self.sizes[id(node)] = result
        return _add(own, *arguments)

    def _merge_entries(self, node: Node, one: Node, other: Node) -> None:
        """What holds the entries of either has entries as large as the larger."""
        first, second = self.entry(one), self.entry(other)
        if first is not None and second is not None:
            key, value = max(first.key, second.key), max(first.value, second.value)
            self.entries[id(node)] = _Entry(first.of_list, key, value)

    def _function(self, name: str, target: Node | None, node: Call) -> tuple[int, int | None]:
        """What a call costs beside its arguments, and the size of its result where that is known."""
        fixed = self._of_kubernetes(name, target, node.args)
        if fixed is not None:
            return fixed
        found = [
            self._of_overload(name, overload, target, node.args)
            for overload in self._overloads(name, target, node)
        ]
        sizes = [size for _, size in found if size is not None]
        return max((cost for cost, _ in found), default=0), max(sizes) if sizes else None

    def _overloads(self, name: str, target: Node | None, node: Call) -> list[Overload]:
        parts = [self.typing.kind(part) for part in ([target] if target is not None else []) + node.args]
        found = []
        for overload in self.typing.functions.get(name, ()):
            if overload.member is not (target is not None) or len(overload.parameters) != len(parts):
                continue
            types, parameters = Substitution(), overload.parameters
            if overload.generic:
                fresh = {("var", name): types.fresh() for name in "AB"}
                parameters = tuple(_renamed(kind, fresh) for kind in parameters)
            if types.accepts_all(parts, parameters):
                found.append(overload)
        return found

    def _of_kubernetes(
        self, name: str, target: Node | None, args: list[Node]
    ) -> tuple[int, int | None] | None:
        """``EstimateCallCost`` of the API server's library; None where it leaves the answer to cel-go."""
        if name in _NOMINAL or (name == "ip" and target is not None):
            return 1, None
        if name in _WALKED and target is not None:
            return self._walk(name, target), None
        if name == "url":
            return _part(self.size(args[0]), _TEXT), self.size(args[0])
        if name in _KEPT and target is not None:
            return _part(self.size(target), _TEXT), self.size(target)
        if name == "replace" and target is not None:
            return _part(self.size(target), 2 * _TEXT), self._replaced(target, args)
        if name == "split" and target is not None:
            limit = args[1].value if len(args) > 1 and isinstance(args[1], Literal) else None
            size = self.size(target)
            return _part(size, 2 * _TEXT), limit % 2**64 if isinstance(limit, int) else size
        if name == "join" and target is not None:
            element, count = self._element_size(target), self.size(target)
            size = 0 if element is None else _times(count, element)
            if args:
                size = _add(size, _times(self.size(args[0]), max(0, count - 1)))
            return _part(size, _TEXT), size
        if name in ("find", "findAll") and target is not None:
            size = self.size(target)
            return _times(_part(_add(size, 1), _TEXT), _part(self.size(args[0]), _REGEX)), size
        if name == "ip.isCanonical":
            return _part(self.size(args[0]), 2 * _TEXT), None
        if name in _READ_ONCE and args:
            return _part(self.size(args[0]), _TEXT), None
        if name in ("containsIP", "containsCIDR"):
            own = 4 if name == "containsIP" else 7
            if self.typing.kind(args[0]) in (kinds.STRING, kinds.DYN, kinds.ANY):
                own = _add(own, _part(self.size(args[0]), _TEXT))
            return own, None
        if name == "validate":
            return _part(_part(self.size(args[0]), _TEXT), _FORMAT_REGEX * _REGEX), None
        if name == "_==_":
            one, other = (self.typing.kind(argument) for argument in args)
            if one == other and one in (kinds.IP, kinds.CIDR, kinds.QUANTITY, kinds.SEMVER):
                return 1, None
            if one == other and one == kinds.FORMAT:
                return _part(64, _TEXT), None
            if one == other and one == kinds.URL:
                known = self.known_size(args[1])
                return _part(1 if known is None else known, _TEXT), None
        return self._of_lists(name, target, args)

    def _of_lists(self, name: str, target: Node | None, args: list[Node]) -> tuple[int, int | None] | None:
        """cel-go's ext/lists.go and ext/sets.go."""
        if name in _SETS:
            both = _times(self.size(args[0]), self.size(args[1]))
            return _add(_part(both, _SETS[name]), 1), None
        if name == "lists.range":
            size = _constant(args[0], UNKNOWN)
            return _add(size, 1, _LIST), size
        if target is None or name not in ("slice", "reverse", "flatten", "distinct", "sort"):
            return None
        size, factor = self.size(target), 1.0
        if name == "slice":
            size = (_constant(args[1], size) - _constant(args[0], 0)) % 2**64
        elif name == "flatten" and args:
            factor = _constant(args[0], UNKNOWN)
        elif name in ("distinct", "sort"):
            size, factor = _times(size, size), 2.0
            kind = self.typing.kind(target)
            if name == "sort" and (kind[0] != "list" or kind[1][0] in ("string", "bytes", *kinds.WILD)):
                factor += _TEXT
        return _add(_part(size, factor), 1, _LIST), size

    def _walk(self, name: str, target: Node) -> int:
        kind = self.typing.kind(target)
        if len(kind) == 1:
            return self.size(target) if name == "includes" else _part(self.size(target), _TEXT)
        one = 1
        if kind[1][0] in ("string", "bytes"):
            element = self._element_size(target)
            one = _add(1, _part(UNKNOWN if element is None else element, _TEXT))
        return _times(self.size(target), one)

    def _element_size(self, target: Node) -> int | None:
        """The size of a list's elements as the library sees it, by path only; None for what has no elements."""
        kind = self.typing.kind(target)
        if len(kind) == 1:
            return None
        path = self.path(target)
        declared = _declared((*path, "@items")) if path else None
        return UNKNOWN if declared is None else declared

    def _replaced(self, target: Node, args: list[Node]) -> int:
        size, made = self.size(target), self.size(args[1])
        least = self.least(args[0])
        if least == 0:
            return _add(_times(min(UNKNOWN, size + 1), made), size)
        if made <= least:
            return size
        return _times(_part(size, 1 / least), made)

    def _of_overload(
        self, name: str, overload: Overload, target: Node | None, args: list[Node]
    ) -> tuple[int, int | None]:
        """``functionCost`` of cel-go, by overload."""
        first = overload.parameters[0][0] if overload.parameters else ""
        if name == "format" and target is not None:
            return _part(self.size(target), _TEXT), None
        if name == "bytes" and first == "string":
            # Here and below cel-go's unsigned sizes wrap around.
            return _part(self.size(args[0]), _TEXT), self.size(args[0]) * 4 % 2**64
        if name == "string" and first == "bytes":
            return _part(self.size(args[0]), _TEXT), self.size(args[0])
        if name == "strings.quote":
            return _part(self.size(args[0]), _TEXT), (self.size(args[0]) * 2 + 2) % 2**64
        if name in ("startsWith", "endsWith"):
            return _part(self.size(args[0]), _TEXT), None
        if name == "@in" and overload.parameters[1][0] == "list":
            return self.size(args[1]), None
        if name == "matches":
            text, pattern = (target, args[0]) if target is not None else (args[0], args[1])
            return _times(_part(_add(self.size(text), 1), _TEXT), _part(self.size(pattern), _REGEX)), None
        if name == "contains" and target is not None:
            return _times(_part(self.size(target), _TEXT), _part(self.size(args[0]), _TEXT)), None
        if name == "_+_" and first in ("string", "bytes", "list"):
            size = _add(self.size(args[0]), self.size(args[1]))
            return (1 if first == "list" else _part(size, _TEXT)), size
        if name in ("_==_", "_!=_") or (name in _COMPARED and first in ("string", "bytes")):
            return _part(min(self.size(args[0]), self.size(args[1])), _TEXT), None
        return 1, None


def _constant(node: Node, default: int) -> int:
    value = node.value if isinstance(node, Literal) else None
    return max(0, value) if isinstance(value, int) and not isinstance(value, bool) else default


def _is_scalar(kind: Type) -> bool:
    return kind[0] in _SCALARS or (kind[0] == "optional" and _is_scalar(kind[1]))


def _macro(kind: str, body: int) -> tuple[int, int]:
    """What a macro costs around its loop, and each turn: condition of the loop and step."""
    if kind == "all":
        return 1, _add(2, 1, body)
    if kind == "exists":
        return 1, _add(3, 1, body)
    if kind in ("exists_one", "existsOne"):
        return 2, _add(body, 2)
    if kind == "filter":
        return _LIST + 1, _add(body, 13)
    if kind in ("map", "transformList"):
        return _LIST + 1, _add(12, body)
    return _MAP + 1, _add(3 if kind == "transformMap" else 2, body)


def _declared(path: Path) -> int | None:
    """The size of what a path from ``device`` leads to, as far as it is declared."""
    if not path or path[0] != "device":
        return None
    shape = _DEVICE
    for name in path[1:]:
        if name in ("@items", "@values"):
            if shape.elem is None:
                return None
            shape = shape.elem
        elif name == "@keys":
            if not shape.key:
                return None
            shape = _Shape(shape.key)
        else:
            found = dict(shape.fields).get(name)
            if found is None and shape.elem is _ATTRIBUTE:
                found = _ATTRIBUTE
            if found is None:
                return None
            shape = found
    return shape.most
