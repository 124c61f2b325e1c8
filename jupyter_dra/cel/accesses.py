"""Reading fields and indexes: maps, lists, optionals (``cel-go/interpreter/attributes.go``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jupyter_dra.cel.conversions import go_type, type_of
from jupyter_dra.cel.meter import Frame
from jupyter_dra.cel.numbers import double_text
from jupyter_dra.cel.values import (
    KEY_TYPES,
    MISSING,
    NONE,
    TRAP,
    CelMap,
    CelOptional,
    EvalError,
    TrapRead,
    UInt,
)

__all__ = ["field_getter", "index_getter", "optional_getter", "presence"]

Closure = Callable[[Frame], Any]


def field_getter(operand: Closure, name: str, key_hint: str) -> Closure:
    """``operand.name`` and ``operand["name"]``."""
    message = f"no such key: {name}{key_hint}"

    def get(frame: Frame) -> object:
        value = operand(frame)
        if type(value) is CelMap:
            found = value.data.get(name, MISSING)
            if found is TRAP:
                raise TrapRead
            if found is MISSING:
                raise EvalError(message)
            return found
        if isinstance(value, CelMap):
            found = value.find(name)
            if found is not MISSING:
                return found
        elif type(value) is CelOptional:
            return lookup_optional(value, name)
        elif isinstance(value, list):
            raise EvalError("unsupported index type 'string' in list")
        raise EvalError(message)

    return get


def optional_getter(operand: Closure, name: str) -> Closure:
    """``operand.?name``."""

    def get(frame: Frame) -> CelOptional:
        value = operand(frame)
        if type(value) is CelMap:
            found = value.data.get(name, MISSING)
            if found is TRAP:
                raise TrapRead
            return NONE if found is MISSING else CelOptional(found)
        return lookup_optional(value, name)

    return get


def index_getter(
    operand: Closure, index: Closure, constant: object, optional: bool, key_hint: str
) -> Closure:
    """``operand[index]`` and ``operand[?index]``; ``constant`` is the index where it is a literal."""
    if type(constant) is str:
        return optional_getter(operand, constant) if optional else field_getter(operand, constant, key_hint)

    def get(frame: Frame) -> object:
        value = operand(frame)
        if type(value) is CelOptional and value.value is MISSING:
            return NONE
        key = index(frame)
        if type(key) not in KEY_TYPES:
            raise EvalError(f"invalid qualifier type: {go_type(key)}")
        if optional or type(value) is CelOptional:
            return lookup_optional(value, key)
        if isinstance(value, list):
            position = list_index(key)
            if 0 <= position < len(value):
                return value[position]
            raise EvalError(f"index out of bounds: {position}")
        found = value.find(key) if isinstance(value, CelMap) else MISSING
        if found is MISSING:
            raise EvalError(f"no such key: {_shown(key)}{key_hint}")
        return found

    return get


def lookup_optional(value: object, key: object) -> CelOptional:
    """What is at ``key`` of a value or of an optional's value; none where there is nothing."""
    if isinstance(value, CelOptional):
        if value.value is MISSING:
            return NONE
        value = value.value
    if isinstance(value, CelMap):
        found = value.find(key)
    elif isinstance(value, list):
        position = list_index(key)
        found = value[position] if 0 <= position < len(value) else MISSING
    else:
        found = MISSING
    return NONE if found is MISSING else CelOptional(found)


def list_index(key: object) -> int:
    """A whole number of any numeric type; raises EvalError."""
    if type(key) is int or type(key) is UInt:
        return key
    if isinstance(key, float) and key.is_integer():
        return int(key)
    raise EvalError(f"unsupported index type '{type_of(key).name}' in list")


def presence(value: object, name: str) -> bool:
    """``has(value.name)``: never an error, never reads the value."""
    if isinstance(value, CelOptional):
        return value.value is not MISSING and presence(value.value, name)
    return isinstance(value, CelMap) and value.present(name)


def _shown(key: object) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, float):
        return double_text(key)
    if isinstance(key, (str, int)):
        return str(key)
    return type_of(key).name
