"""Run-time values: what Python's own types cannot stand for, and how values compare.

bool, int, float, str, bytes, None and list are themselves; the rest is here, in the model (Quantity, Semver) or in
``network.py``. Lists are never changed once made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from jupyter_dra.model import Quantity, Semver

__all__ = [
    "KEY_TYPES",
    "MISSING",
    "NONE",
    "TRAP",
    "UNHASHABLE",
    "CelMap",
    "CelOptional",
    "Duration",
    "EvalError",
    "OuterMap",
    "StepsExhausted",
    "SumQuantity",
    "Timestamp",
    "TrapRead",
    "TypeValue",
    "UInt",
]


class EvalError(Exception):
    """A run-time error; ``&&`` and ``||`` may absorb it."""


class StepsExhausted(Exception):
    """The evaluation cost too much; nothing absorbs it."""


class TrapRead(Exception):
    """A profile's placeholder was read: the devices must be evaluated one by one. Nothing absorbs it."""


class _Marker:
    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


MISSING: Final = _Marker("MISSING")
TRAP: Final = _Marker("TRAP")


class UInt(int):
    """An unsigned 64-bit integer."""

    __slots__ = ()


class Duration(int):
    """Nanoseconds between two times."""

    __slots__ = ()


class Timestamp(int):
    """Nanoseconds since 1970-01-01T00:00:00Z."""

    __slots__ = ()


class SumQuantity(Quantity):
    """The result of add or sub: Kubernetes hands out a pointer, which ``==`` does not know on its right side."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class TypeValue:
    """A type as a value, by its run-time name."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class CelOptional:
    """An optional; ``value`` is MISSING for none."""

    value: object = MISSING


NONE: Final = CelOptional()


@dataclass(frozen=True, slots=True)
class _BoolKey:
    value: bool


_TRUE, _FALSE = _BoolKey(True), _BoolKey(False)


@dataclass(frozen=True, slots=True)
class _DoubleKey:
    value: float


@dataclass(frozen=True, slots=True, eq=False)
class _OtherKey:
    value: object


class CelMap:
    """A map; int and uint are one key, ``8.0`` finds ``8`` but ``8`` does not find ``8.0``, true is not 1."""

    __slots__ = ("data",)

    def __init__(self, data: dict[object, object]) -> None:
        self.data = data

    def find(self, key: object) -> object:
        """The value or MISSING; raises TrapRead where a profile knows only that there is one."""
        value = self.data.get(key if type(key) is str else map_key(key), MISSING)
        if value is MISSING and type(key) is float and key.is_integer():
            value = self.data.get(int(key), MISSING)
        if value is TRAP:
            raise TrapRead
        return value

    def present(self, key: object) -> bool:
        """``has``: never reads the value."""
        return map_key(key) in self.data or (
            type(key) is float and key.is_integer() and int(key) in self.data
        )

    def contains(self, key: object) -> bool:
        """``in``: the real keys; a key of another type is not there, and in an empty map none is looked for."""
        return bool(self.data) and CelMap.present(self, key)

    def keys(self) -> list[object]:
        return [key.value if isinstance(key, (_BoolKey, _DoubleKey, _OtherKey)) else key for key in self.data]

    def items(self) -> list[tuple[object, object]]:
        values = self.data.values()
        if TRAP in values:
            raise TrapRead
        return list(zip(self.keys(), values, strict=True))

    def __len__(self) -> int:
        return len(self.data)


_EMPTY: Final = CelMap({})


class OuterMap(CelMap):
    """``device.attributes`` and ``device.capacity``: an unknown domain is an empty map."""

    __slots__ = ()

    def find(self, key: object) -> object:
        return self.data.get(key, _EMPTY) if type(key) is str else _EMPTY

    def present(self, key: object) -> bool:
        return True


KEY_TYPES = frozenset((bool, int, UInt, float, str))
_PANIC = "internal error: runtime error: hash of unhashable type "
UNHASHABLE: dict[type, str] = {Semver: _PANIC + "cel.Semver", bytes: _PANIC + "types.Bytes"}


def map_key(key: object) -> object:
    """The key a map keeps. Other types may be keys of a literal, but nothing equals them."""
    kind = type(key)
    if kind is str or kind is int or kind is UInt:
        return key
    if isinstance(key, float):
        return _DoubleKey(key)
    if kind is bool:
        return _TRUE if key else _FALSE
    if kind in UNHASHABLE:
        # cel-go puts keys into a Go map, which panics for these.
        raise EvalError(UNHASHABLE[kind])
    return _OtherKey(key)
