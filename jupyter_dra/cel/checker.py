"""The type checker: what makes most wrong selectors an error when they are stored (``cel-go/checker/checker.go``)."""

from __future__ import annotations

from dataclasses import dataclass, field

from jupyter_dra.cel import kinds
from jupyter_dra.cel.declarations import Overload, functions, type_names
from jupyter_dra.cel.kinds import DYN, ERROR, Substitution, Type, format_call, format_type
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
from jupyter_dra.cel.values import UInt

__all__ = ["Checked", "Problem", "check"]

MAX_TREE_DEPTH = 300
_LITERALS: dict[type, Type] = {
    bool: kinds.BOOL,
    int: kinds.INT,
    UInt: kinds.UINT,
    float: kinds.DOUBLE,
    str: kinds.STRING,
    bytes: kinds.BYTES,
    type(None): kinds.NULL,
}


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """A compile error with what a hint needs: the node, the function and the types of its arguments."""

    message: str
    at: int
    node: Node | None = None
    types: tuple[Type, ...] = ()


@dataclass(slots=True, eq=False)
class Checked:
    """The outcome: problems in the order of their position, the result type, the types of nodes."""

    problems: list[Problem] = field(default_factory=list)
    result: Type = DYN
    literals: list[tuple[Node, list[Node], list[Type]]] = field(default_factory=list)
    calls: list[tuple[Call, list[Type]]] = field(default_factory=list)
    namespaced: dict[int, str] = field(default_factory=dict)


def check(node: Node, version: tuple[int, int]) -> Checked:
    """Give every node a type; problems are sorted by position, as the API server prints them."""
    checker = _Checker(version)
    result = checker.check(node)
    checked = checker.checked
    checked.result = checker.types.resolve(result, DYN)
    for index, (call, args) in enumerate(checked.calls):
        checked.calls[index] = (call, [checker.types.resolve(kind, DYN) for kind in args])
    for index, (literal, parts, given) in enumerate(checked.literals):
        checked.literals[index] = (literal, parts, [checker.types.resolve(kind, DYN) for kind in given])
    checked.problems.sort(key=lambda problem: problem.at)
    return checked


class _Checker:
    def __init__(self, version: tuple[int, int]) -> None:
        self.types = Substitution()
        self.functions = functions(version)
        self.checked = Checked()
        value = DYN if version >= (1, 36) else kinds.ANY
        inner = kinds.map_of(kinds.STRING, value)
        self.device: dict[str, Type] = {
            "driver": kinds.STRING,
            "attributes": kinds.map_of(kinds.STRING, inner),
            "capacity": kinds.map_of(kinds.STRING, kinds.map_of(kinds.STRING, kinds.QUANTITY)),
            "allowMultipleAllocations": kinds.BOOL,
        }
        self.scopes: list[dict[str, Type]] = [{"device": kinds.DEVICE}]
        self.names = type_names()
        self.depth = 0
        self.handlers = {
            Literal: self.literal,
            Ident: self.ident,
            Select: self.select,
            Has: self.has,
            Call: self.call,
            Logic: self.logic,
            ListLiteral: self.list_literal,
            MapLiteral: self.map_literal,
            Comprehension: self.comprehension,
            Bind: self.bind,
        }

    def check(self, node: Node) -> Type:
        self.depth += 1
        if self.depth > MAX_TREE_DEPTH:
            self.problem("expression recursion limit exceeded: 250", node.at)
            kind = ERROR
        else:
            kind = self.handlers[type(node)](node)  # type: ignore[operator]
        self.depth -= 1
        return kind

    def problem(self, message: str, at: int, node: Node | None = None, types: tuple[Type, ...] = ()) -> Type:
        self.checked.problems.append(Problem(message, at, node, types))
        return ERROR

    def undeclared(self, name: str, node: Node) -> Type:
        return self.problem(f"undeclared reference to '{name}' (in container '')", node.at, node)

    def literal(self, node: Literal) -> Type:
        return _LITERALS[type(node.value)]

    def ident(self, node: Ident) -> Type:
        for scope in reversed(self.scopes):
            if node.name in scope:
                return scope[node.name]
        if node.name in self.names:
            return ("type", self.names[node.name])
        return self.undeclared(node.name, node)

    def select(self, node: Select) -> Type:
        name = qualified(node)
        if name is not None and name in self.names and not self._is_variable(name):
            self.checked.namespaced[id(node)] = name
            return ("type", self.names[name])
        return self._field(self.check(node.operand), node.field, node, node.optional)

    def has(self, node: Has) -> Type:
        select = Select(node.select_at, node.operand, node.field)
        self._field(self.check(node.operand), node.field, select, False)
        return kinds.BOOL

    def _is_variable(self, name: str) -> bool:
        head = name.partition(".")[0]
        return any(head in scope for scope in self.scopes)

    def _field(self, operand: Type, name: str, node: Select, optional: bool) -> Type:
        operand = self.types.resolve(operand)
        unwrapped = operand[0] == "optional"
        if unwrapped:
            operand = self.types.resolve(operand[1])
        result: Type = DYN
        if operand[0] == "map":
            result = operand[2]
        elif operand == kinds.DEVICE:
            known = self.device.get(name)
            result = (
                self.problem(f"undefined field '{name}'", node.at, node, (operand,))
                if known is None
                else known
            )
        elif operand in kinds.OBJECTS:
            message = f"unexpected failed resolution of '{format_type(operand)}'"
            result = self.problem(message, node.at, node, (operand,))
        elif operand[0] == "var":
            self.types.accepts(DYN, operand)
        elif operand[0] not in kinds.WILD:
            message = f"type '{format_type(operand)}' does not support field selection"
            result = self.problem(message, node.at, node, (operand,))
        return kinds.optional_of(result) if unwrapped or optional else result

    def call(self, node: Call) -> Type:
        args = [self.check(arg) for arg in node.args]
        target = node.target
        if target is None:
            overloads = self.functions.get(node.function)
            if overloads is None:
                return self.undeclared(node.function, node)
            return self.resolve(node, node.function, overloads, args, False)
        prefix = qualified(target)
        if prefix is not None:
            full = f"{prefix}.{node.function}"
            overloads = self.functions.get(full)
            if overloads is not None and not self._is_variable(full):
                self.checked.namespaced[id(node)] = full
                return self.resolve(node, full, overloads, args, False)
        args.insert(0, self.check(target))
        overloads = self.functions.get(node.function)
        if overloads is None:
            return self.undeclared(node.function, node)
        return self.resolve(node, node.function, overloads, args, True)

    def resolve(
        self, node: Node, name: str, overloads: tuple[Overload, ...], args: list[Type], member: bool
    ) -> Type:
        if isinstance(node, Call):
            self.checked.calls.append((node, args))
        result: Type | None = None
        for overload in overloads:
            if overload.member is not member or len(overload.parameters) != len(args):
                continue
            parameters, outcome = overload.parameters, overload.result
            if overload.generic:
                fresh = {("var", name): self.types.fresh() for name in "AB"}
                parameters = tuple(_renamed(kind, fresh) for kind in parameters)
                outcome = _renamed(outcome, fresh)
            if self.types.accepts_all(args, parameters):
                found = self.types.resolve(outcome)
                if result is None:
                    result = found
                elif result != DYN and found != result:
                    result = DYN
        if result is None:
            shown = tuple(self.types.resolve(kind, DYN) for kind in args)
            text = f"found no matching overload for '{name}' applied to '{format_call(shown, member)}'"
            return self.problem(text, node.at, node, shown)
        return result

    def operator(self, name: str, args: list[Type], node: Node, at: int | None = None) -> Type:
        """Check an operator that a macro stands for, at the macro's position."""
        spot = Node(node.at if at is None else at)
        return self.resolve(spot, name, self.functions[name], args, False)

    def logic(self, node: Logic) -> Type:
        result = kinds.BOOL
        for term in node.terms:
            result = self.condition(self.check(term), term, result)
        return result

    def condition(self, kind: Type, node: Node, result: Type = kinds.BOOL) -> Type:
        """A term of && and ||, or the predicate of all and exists: the result, an error where it is no bool."""
        if self.types.accepts(kind, kinds.BOOL):
            return result
        shown = self.types.resolve(kind, DYN)
        return self.problem(f"expected type 'bool' but found '{format_type(shown)}'", node.at, node, (shown,))

    def list_literal(self, node: ListLiteral) -> Type:
        joined: Type | None = None
        given: list[Type] = []
        for index, element in enumerate(node.elements):
            kind = self._unwrapped(element, index in node.optional)
            given.append(kind)
            joined = self.types.join(joined, kind)
        self.checked.literals.append((node, node.elements, given))
        return kinds.list_of(self.types.fresh() if joined is None else joined)

    def map_literal(self, node: MapLiteral) -> Type:
        key: Type | None = None
        value: Type | None = None
        keys: list[Type] = []
        values: list[Type] = []
        for index, (one, two) in enumerate(zip(node.keys, node.values, strict=True)):
            keys.append(self.check(one))
            values.append(self._unwrapped(two, index in node.optional))
            key, value = self.types.join(key, keys[-1]), self.types.join(value, values[-1])
        self.checked.literals += [(node, node.keys, keys), (node, node.values, values)]
        if key is None or value is None:
            return kinds.map_of(self.types.fresh(), self.types.fresh())
        return kinds.map_of(key, value)

    def _unwrapped(self, node: Node, optional: bool) -> Type:
        kind = self.check(node)
        if not optional:
            return kind
        kind = self.types.resolve(kind)
        if kind[0] == "optional":
            return self.types.resolve(kind[1])
        if kind[0] in ("dyn", "error", "var"):
            return kind
        wanted = format_type(kinds.optional_of(kind))
        return self.problem(f"expected type '{wanted}' but found '{format_type(kind)}'", node.at, node)

    def comprehension(self, node: Comprehension) -> Type:
        scope, over_map = self._variables(node)
        self.scopes.append(scope)
        condition = None if node.condition is None else self.check(node.condition)
        body = self.check(node.body)
        self.scopes.pop()
        kind = node.kind
        if kind in ("all", "exists"):
            return self.condition(body, node.body)
        if kind == "exists_one":
            self.operator("_?_:_", [body, kinds.INT, kinds.INT], node)
            return kinds.BOOL
        if kind == "filter":
            result = kinds.list_of(scope[node.element])
            return self.operator("_?_:_", [body, result, result], node)
        if kind in ("map", "transformList"):
            result = kinds.list_of(body)
        elif kind == "transformMap":
            key = scope[node.key] if node.key is not None else DYN
            result = kinds.map_of(key if over_map else kinds.INT, body)
        else:
            result = body
        if condition is not None:
            self.operator("_?_:_", [condition, result, result], node)
        return result

    def _variables(self, node: Comprehension) -> tuple[dict[str, Type], bool]:
        """The macro's variables, and whether it walks a map."""
        kind = self.types.resolve(self.check(node.range))
        key: Type = DYN
        element: Type = DYN
        if kind[0] == "list":
            key, element = kinds.INT, kind[1]
        elif kind[0] == "map":
            key, element = kind[1], kind[2] if node.key is not None else kind[1]
        elif kind[0] == "var":
            self.types.accepts(DYN, kind)
        elif kind[0] not in ("dyn", "error"):
            message = f"expression of type '{format_type(kind)}' cannot be range of a comprehension"
            self.problem(message + " (must be list, map, or dynamic)", node.range.at, node, (kind,))
            key = element = ERROR
        scope = {node.element: element}
        if node.key is not None:
            scope[node.key] = key
        return scope, kind[0] != "list"

    def bind(self, node: Bind) -> Type:
        kind = self.types.resolve(self.check(node.value))
        if node.kind == "bind":
            bound = kind
        elif node.kind == "sortBy":
            return self._sort_by(node, kind)
        else:
            self.resolve(Node(node.at), "hasValue", self.functions["hasValue"], [kind], True)
            bound = self.resolve(Node(node.at), "value", self.functions["value"], [kind], True)
        self.scopes.append({node.name: bound})
        body = self.check(node.body)
        self.scopes.pop()
        if node.kind == "optMap":
            return kinds.optional_of(body)
        if node.kind == "optFlatMap":
            none = kinds.optional_of(self.types.fresh())
            return self.operator("_?_:_", [kinds.BOOL, body, none], node)
        return body

    def _sort_by(self, node: Bind, kind: Type) -> Type:
        element: Type = DYN
        if kind[0] == "list":
            element = kind[1]
        elif kind[0] not in ("dyn", "error", "var"):
            message = f"expression of type '{format_type(kind)}' cannot be range of a comprehension"
            self.problem(message + " (must be list, map, or dynamic)", node.value.at, node, (kind,))
        self.scopes.append({node.name: element})
        key = kinds.list_of(self.check(node.body))
        self.scopes.pop()
        self.resolve(Node(node.at), "sort", self.functions["sort"], [key], True)
        return kinds.list_of(element)


def qualified(node: Node) -> str | None:
    """``a.b.c`` as a name, or None where the node is more than names and points."""
    names: list[str] = []
    while isinstance(node, Select) and not node.optional:
        names.append(node.field)
        node = node.operand
    if not isinstance(node, Ident):
        return None
    return ".".join([node.name, *reversed(names)])


def _renamed(kind: Type, fresh: dict[Type, Type]) -> Type:
    if len(kind) == 1:
        return kind
    if kind[0] == "var":
        return fresh[kind]
    return (kind[0], *(_renamed(part, fresh) for part in kind[1:]))
