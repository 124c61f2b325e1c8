"""The closures of operators and of functions by run-time type (``cel-go/interpreter``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jupyter_dra.cel.equality import equal, settled_equal
from jupyter_dra.cel.library import Dispatch
from jupyter_dra.cel.lists import compare_values
from jupyter_dra.cel.meter import SMALL, Frame, charge
from jupyter_dra.cel.values import KEY_TYPES, MISSING, UNHASHABLE, CelMap, CelOptional, EvalError, map_key

__all__ = ["OPERATORS", "STRICT_OPERATORS", "dispatched", "in_constants", "in_value"]

Closure = Callable[[Frame], Any]
_SIZED = frozenset((str, bytes, list))


def dispatched(dispatch: Dispatch, args: tuple[Closure, ...]) -> Closure:
    known = dispatch.known.get
    if len(args) == 1:
        one = args[0]

        def call1(frame: Frame) -> object:
            a = one(frame)
            kind = type(a)
            if kind in _SIZED and len(a) > SMALL:
                charge(frame, len(a))
            implementation, metered = known((kind,)) or dispatch.resolve((kind,))
            return implementation(frame, a) if metered else implementation(a)

        return call1
    if len(args) == 2:
        left, right = args

        def call2(frame: Frame) -> object:
            a, b = left(frame), right(frame)
            kind = type(a)
            if kind in _SIZED and len(a) > SMALL:
                charge(frame, len(a))
            types = (kind, type(b))
            implementation, metered = known(types) or dispatch.resolve(types)
            return implementation(frame, a, b) if metered else implementation(a, b)

        return call2

    def call(frame: Frame) -> object:
        values = [arg(frame) for arg in args]
        for value in values:
            if type(value) in _SIZED and len(value) > SMALL:
                charge(frame, len(value))
        types = tuple(map(type, values))
        implementation, metered = known(types) or dispatch.resolve(types)
        return implementation(frame, *values) if metered else implementation(*values)

    return call


def in_constants(wanted: Closure, constants: frozenset[object]) -> Closure:
    def contained(frame: Frame) -> bool:
        value = wanted(frame)
        kind = type(value)
        if kind in KEY_TYPES:
            return (value if kind is not bool else map_key(value)) in constants
        if kind in UNHASHABLE:
            raise EvalError(UNHASHABLE[kind])
        return False

    return contained


def in_value(wanted: Closure, container: Closure) -> Closure:
    def contained(frame: Frame) -> bool:
        value, values = wanted(frame), container(frame)
        if isinstance(values, CelMap):
            return values.contains(value)
        if isinstance(values, list):
            charge(frame, len(values))
            return any(settled_equal(frame, value, item) is True for item in values)
        raise EvalError("no such overload")

    return contained


def _equals(left: Closure, right: Closure) -> Closure:
    def equals(frame: Frame) -> bool:
        a, b = left(frame), right(frame)
        if type(a) is str and len(a) <= SMALL:
            return type(b) is str and a == b
        return equal(frame, a, b)

    return equals


def _differs(left: Closure, right: Closure) -> Closure:
    return lambda frame: settled_equal(frame, left(frame), right(frame)) is not True


def _not(operand: Closure) -> Closure:
    def inverted(frame: Frame) -> bool:
        value = operand(frame)
        if value is True or value is False:
            return not value
        raise EvalError("no such overload")

    return inverted


def _conditional(condition: Closure, yes: Closure, no: Closure) -> Closure:
    def conditional(frame: Frame) -> object:
        value = condition(frame)
        if value is True:
            return yes(frame)
        if value is False:
            return no(frame)
        raise EvalError("no such overload")

    return conditional


def _ordering(test: Callable[[int], bool]) -> Callable[[Closure, Closure], Closure]:
    def make(left: Closure, right: Closure) -> Closure:
        def ordering(frame: Frame) -> bool:
            a, b = left(frame), right(frame)
            return test(compare_values(a, b))

        return ordering

    return make


def _or(optional: Closure, other: Closure) -> Closure:
    def alternative(frame: Frame) -> object:
        value = optional(frame)
        if isinstance(value, CelOptional) and value.value is MISSING:
            return other(frame)
        return value

    return alternative


def _or_value(optional: Closure, other: Closure) -> Closure:
    def alternative(frame: Frame) -> object:
        value = optional(frame)
        if type(value) is CelOptional:
            return other(frame) if value.value is MISSING else value.value
        return value

    return alternative


def _only_optionals(make: Callable[[Closure, Closure], Closure]) -> Callable[[Closure, Closure], Closure]:
    def strict(optional: Closure, other: Closure) -> Closure:
        def checked(frame: Frame) -> object:
            value = optional(frame)
            if type(value) is not CelOptional:
                raise EvalError("no such overload")
            return value

        return make(checked, other)

    return strict


OPERATORS: dict[str, Callable[..., Closure]] = {
    "_==_": _equals,
    "_!=_": _differs,
    "!_": _not,
    "_?_:_": _conditional,
    "_<_": _ordering(lambda order: order < 0),
    "_<=_": _ordering(lambda order: order <= 0),
    "_>_": _ordering(lambda order: order > 0),
    "_>=_": _ordering(lambda order: order >= 0),
    "or": _or,
    "orValue": _or_value,
}
# cel-go 0.29 (Kubernetes 1.37) no longer takes a plain value for a filled optional.
STRICT_OPERATORS = {**OPERATORS, "or": _only_optionals(_or), "orValue": _only_optionals(_or_value)}
