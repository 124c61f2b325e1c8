"""Nodes to closures: each takes the frame and gives a value or raises EvalError (``cel-go/interpreter``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jupyter_dra.cel import kinds
from jupyter_dra.cel.accesses import (
    field_getter,
    index_getter,
    optional_getter,
    presence,
)
from jupyter_dra.cel.checker import Checked
from jupyter_dra.cel.conversions import go_type, name_of
from jupyter_dra.cel.kinds import Type
from jupyter_dra.cel.library import library
from jupyter_dra.cel.loops import build_comprehension, build_sort
from jupyter_dra.cel.meter import Frame
from jupyter_dra.cel.operators import OPERATORS, STRICT_OPERATORS, dispatched, in_constants, in_value
from jupyter_dra.cel.regex import compiled
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
from jupyter_dra.cel.values import (
    KEY_TYPES,
    MISSING,
    NONE,
    CelMap,
    CelOptional,
    Duration,
    EvalError,
    TypeValue,
    UInt,
    map_key,
)

__all__ = ["Closure", "ProgramProblem", "build"]

Closure = Callable[[Frame], Any]
_FOLDED = frozenset(("bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "uint"))
_ZEROS: dict[Type, object] = {kinds.UINT: UInt(0), kinds.DOUBLE: 0.0, kinds.DURATION: Duration(0)}


class ProgramProblem(Exception):
    """A constant that fails: the API server refuses the selector when it builds the program."""


def build(
    node: Node, checked: Checked, key_hint: str, *, strict_optionals: bool = True
) -> tuple[Closure, int, int]:
    """The closure of a checked expression, how many slots its frame needs, and of how many nodes it is made."""
    builder = Builder(checked, key_hint, STRICT_OPERATORS if strict_optionals else OPERATORS)
    closure = builder.build(node)
    return closure, builder.slots, builder.size


class Builder:
    """Carries the scopes of macro variables while closures are made."""

    def __init__(
        self, checked: Checked, key_hint: str, operators: Mapping[str, Callable[..., Closure]]
    ) -> None:
        self.operators = operators
        self.namespaced = checked.namespaced
        self.zeros = {
            id(call): _ZEROS[types[0][1]]
            for call, types in checked.calls
            if call.function == "sum" and types and types[0][0] == "list" and types[0][1] in _ZEROS
        }
        self.key_hint = key_hint
        self.scopes: list[dict[str, tuple[int, bool]]] = []
        self.slots = 2
        self.size = 0
        self.library = library()
        self.handlers: dict[type, Callable[[Any], Closure]] = {
            Literal: _literal,
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

    def build(self, node: Node) -> Closure:
        self.size += 1
        return self.handlers[type(node)](node)

    def slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    def scoped(self, node: Node, names: dict[str, tuple[int, bool]]) -> Closure:
        """Build a node in which these names are variables: name to slot and whether it is bound lazily."""
        self.scopes.append(names)
        closure = self.build(node)
        self.scopes.pop()
        return closure

    def variable(self, name: str) -> tuple[int, bool] | None:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def ident(self, node: Ident) -> Closure:
        found = self.variable(node.name)
        if found is not None:
            slot, lazy = found
            return _lazy_variable(slot) if lazy else lambda frame: frame[slot]
        if node.name == "device":
            return lambda frame: frame[0].as_map()
        value = TypeValue(node.name)
        return lambda frame: value

    def select(self, node: Select) -> Closure:
        name = self.namespaced.get(id(node))
        if name is not None:
            value = TypeValue(name)
            return lambda frame: value
        if isinstance(node.operand, Ident) and node.operand.name == "device" and not node.optional:
            field = self._device_field(node.field)
            if field is not None:
                return field
        operand = self.build(node.operand)
        if node.optional:
            return optional_getter(operand, node.field)
        return field_getter(operand, node.field, self.key_hint)

    def _device_field(self, name: str) -> Closure | None:
        if self.variable("device") is not None:
            return None
        fields: dict[str, Closure] = {
            "driver": lambda frame: frame[0].driver,
            "attributes": lambda frame: frame[0].attributes,
            "capacity": lambda frame: frame[0].capacity,
            "allowMultipleAllocations": lambda frame: frame[0].multiple,
        }
        return fields.get(name)

    def has(self, node: Has) -> Closure:
        operand, name = self.build(node.operand), node.field
        return lambda frame: presence(operand(frame), name)

    def logic(self, node: Logic) -> Closure:
        terms = tuple(map(self.build, node.terms))
        decides = node.function == "_||_"

        def logic(frame: Frame) -> bool:
            first: EvalError | None = None
            for term in terms:
                try:
                    value: object = term(frame)
                except EvalError as error:
                    if first is None:
                        first = error
                    continue
                if value is decides:
                    return decides
                if value is not (not decides) and first is None:
                    first = EvalError("no such overload")
            if first is not None:
                raise first
            return not decides

        return logic

    def list_literal(self, node: ListLiteral) -> Closure:
        if not node.optional and all(isinstance(element, Literal) for element in node.elements):
            constant = [element.value for element in node.elements if isinstance(element, Literal)]
            return lambda frame: constant
        elements = tuple(map(self.build, node.elements))
        if not node.optional:
            return lambda frame: [element(frame) for element in elements]
        optional = node.optional

        def mixed(frame: Frame) -> list[object]:
            values: list[object] = []
            for index, element in enumerate(elements):
                value = element(frame)
                if index in optional:
                    if not isinstance(value, CelOptional):
                        raise EvalError("cannot initialize optional list element from non-optional value")
                    if value.value is MISSING:
                        continue
                    value = value.value
                values.append(value)
            return values

        return mixed

    def map_literal(self, node: MapLiteral) -> Closure:
        keys, values = tuple(map(self.build, node.keys)), tuple(map(self.build, node.values))
        optional = node.optional

        def literal(frame: Frame) -> CelMap:
            data: dict[object, object] = {}
            for index, (key, value) in enumerate(zip(keys, values, strict=True)):
                name, found = map_key(key(frame)), value(frame)
                if index in optional:
                    if not isinstance(found, CelOptional):
                        raise EvalError("cannot initialize optional entry from non-optional value")
                    if found.value is MISSING:
                        data.pop(name, None)
                        continue
                    found = found.value
                data[name] = found
            return CelMap(data)

        return literal

    def comprehension(self, node: Comprehension) -> Closure:
        return build_comprehension(self, node)

    def bind(self, node: Bind) -> Closure:
        if node.kind == "sortBy":
            return build_sort(self, node)
        value, slot = self.build(node.value), self.slot()
        if node.kind == "bind":
            thunk = _Thunk(value)
            body = self.scoped(node.body, {node.name: (slot, True)})

            def bound(frame: Frame) -> object:
                frame[slot] = thunk
                return body(frame)

            return bound
        body = self.scoped(node.body, {node.name: (slot, False)})
        wrap = node.kind == "optMap"

        def mapped(frame: Frame) -> object:
            optional = value(frame)
            if not isinstance(optional, CelOptional):
                raise EvalError(f"no such overload: hasValue({name_of(type(optional))})")
            if optional.value is MISSING:
                return NONE
            frame[slot] = optional.value
            result = body(frame)
            return CelOptional(result) if wrap else result

        return mapped

    def call(self, node: Call) -> Closure:
        name = self.namespaced.get(id(node), node.function)
        nodes = node.args if node.target is None or id(node) in self.namespaced else [node.target, *node.args]
        if name == "@in":
            return self._in(nodes)
        args = tuple(map(self.build, nodes))
        if name in ("_[_]", "_[?_]"):
            constant = self._constant(nodes[1])
            if constant is not MISSING and type(constant) not in KEY_TYPES:
                raise ProgramProblem(f"invalid qualifier type: {go_type(constant)}")
            return index_getter(args[0], args[1], constant, name == "_[?_]", self.key_hint)
        special = self.operators.get(name)
        if special is not None:
            return special(*args)
        self._check_constants(name, nodes)
        if id(node) in self.zeros:
            return _sum_from(self.zeros[id(node)], args[0], dispatched(self.library[name, 1], args))
        return dispatched(self.library[name, len(args)], args)

    def _in(self, nodes: list[Node]) -> Closure:
        container = nodes[1]
        wanted = self.build(nodes[0])
        if isinstance(container, ListLiteral) and not container.elements:
            return lambda frame: False
        if isinstance(container, ListLiteral) and not container.optional:
            constants = list(map(self._constant, container.elements))
            if all(type(item) in KEY_TYPES for item in constants):
                return in_constants(
                    wanted, frozenset(map_key(item) if type(item) is bool else item for item in constants)
                )
        return in_value(wanted, self.build(container))

    def _check_constants(self, name: str, nodes: list[Node]) -> None:
        """Refuse what the API server refuses while it builds the program; raises ProgramProblem."""
        if name in _FOLDED and len(nodes) == 1:
            self._constant(Call(nodes[0].at, name, None, nodes))
        elif name in ("matches", "find", "findAll"):
            pattern = self._constant(nodes[1])
            try:
                if isinstance(pattern, str):
                    compiled(pattern)
            except EvalError as error:
                raise ProgramProblem(str(error)) from None

    def _constant(self, node: Node) -> object:
        """The value of a constant, conversions of constants included, or MISSING; raises ProgramProblem."""
        if isinstance(node, Literal):
            return node.value
        if isinstance(node, ListLiteral) and not node.optional:
            items = list(map(self._constant, node.elements))
            return MISSING if any(item is MISSING for item in items) else items
        if isinstance(node, MapLiteral) and not node.optional:
            keys, values = list(map(self._constant, node.keys)), list(map(self._constant, node.values))
            if any(item is MISSING for item in (*keys, *values)):
                return MISSING
            return CelMap({map_key(key): value for key, value in zip(keys, values, strict=True)})
        if not isinstance(node, Call) or node.target is not None or node.function not in _FOLDED:
            return MISSING
        value = self._constant(node.args[0]) if len(node.args) == 1 else MISSING
        if value is MISSING:
            return MISSING
        try:
            implementation, _ = self.library[node.function, 1].resolve((type(value),))
            return implementation(value)
        except EvalError as error:
            raise ProgramProblem(str(error)) from None


def _sum_from(zero: object, values: Closure, total: Closure) -> Closure:
    """The sum of an empty list has the type the checker found for its elements."""
    return lambda frame: total(frame) if values(frame) != [] else zero


class _Thunk:
    """A value of ``cel.bind`` that nobody has asked for yet."""

    __slots__ = ("value",)

    def __init__(self, value: Closure) -> None:
        self.value = value


def _lazy_variable(slot: int) -> Closure:
    def variable(frame: Frame) -> object:
        value = frame[slot]
        if type(value) is _Thunk:
            try:
                value = value.value(frame)
            except EvalError as error:
                value = error
            frame[slot] = value
        if type(value) is EvalError:
            raise value
        return value

    return variable


def _literal(node: Literal) -> Closure:
    value = node.value
    return lambda frame: value
