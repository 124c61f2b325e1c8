"""Conversions between types, ``type``, optionals and the parts of times (``cel-go/common/types``)."""

from __future__ import annotations

from collections.abc import Callable

from jupyter_dra.cel.network import Cidr, Ip, Url
from jupyter_dra.cel.times import local_time
from jupyter_dra.cel.values import (
    MISSING,
    NONE,
    CelMap,
    CelOptional,
    Duration,
    EvalError,
    Timestamp,
    TypeValue,
    UInt,
)
from jupyter_dra.model import Quantity, Semver

__all__ = ["go_type", "not_bool_text", "type_of"]

_TYPE_NAMES: dict[type, str] = {
    bool: "bool",
    int: "int",
    UInt: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    list: "list",
    Duration: "google.protobuf.Duration",
    Timestamp: "google.protobuf.Timestamp",
    TypeValue: "type",
    CelOptional: "optional_type",
    Semver: "kubernetes.Semver",
    Ip: "net.IP",
    Cidr: "net.CIDR",
    Url: "kubernetes.URL",
}


def name_of(kind: type) -> str:
    """The CEL name of a run-time type."""
    if issubclass(kind, CelMap):
        return "map"
    if issubclass(kind, Quantity):
        return "kubernetes.Quantity"
    return _TYPE_NAMES.get(kind, "kubernetes.NamedFormat")


def type_of(value: object) -> TypeValue:
    """The run-time type as a value."""
    return TypeValue(name_of(type(value)))


_GO_NAMES = {
    "bool": "types.Bool",
    "int": "types.Int",
    "uint": "types.Uint",
    "double": "types.Double",
    "string": "types.String",
    "bytes": "types.Bytes",
    "null_type": "types.Null",
    "list": "*types.baseList",
    "map": "*types.baseMap",
    "google.protobuf.Duration": "types.Duration",
    "google.protobuf.Timestamp": "types.Timestamp",
    "type": "*types.Type",
    "optional_type": "*types.Optional",
}


def go_type(value: object) -> str:
    """The type as Go prints it, which some messages show."""
    name = type_of(value).name
    return _GO_NAMES.get(name, "cel." + name.rpartition(".")[2])


def not_bool_text(value: object) -> str:
    """Why a value is no answer, as the scheduler words it."""
    name = type_of(value).name
    if name in ("int", "uint"):
        return f"unsupported type conversion from '{name}' to bool"
    if name == "string":
        return "unsupported native conversion from string to 'bool'"
    if isinstance(value, CelOptional):
        return "optional.none() dereference" if value.value is MISSING else not_bool_text(value.value)
    if name in ("list", "map"):
        return f"type conversion error from {name} to 'bool'"
    if name in ("double", "bytes"):
        return f"type conversion error from {name.capitalize()} to 'bool'"
    return f"type conversion error from '{name.rpartition('.')[2]}' to 'bool'"


def text_to_bool(text: str) -> bool:
    if text in ("1", "t", "T", "true", "TRUE", "True"):
        return True
    if text in ("0", "f", "F", "false", "FALSE", "False"):
        return False
    raise EvalError("type conversion error from 'string' to 'bool'")


def bytes_to_text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise EvalError("invalid UTF-8 in bytes, cannot convert to string") from None


def text_to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def int_to_timestamp(seconds: int) -> Timestamp:
    if not -62135596800 <= seconds <= 253402300799:
        raise EvalError("range error converting int to timestamp")
    return Timestamp(seconds * 10**9)


def non_zero(value: object) -> CelOptional:
    """``optional.ofNonZeroValue``: none for zero, empty and null."""
    if value is None or isinstance(value, (str, bytes, list, CelMap)):
        zero = value is None or len(value) == 0
    elif isinstance(value, (bool, int, float)):
        zero = value == 0
    elif isinstance(value, CelOptional):
        zero = value.value is MISSING
    else:
        zero = False
    return NONE if zero else CelOptional(value)


def has_value(optional: CelOptional) -> bool:
    return optional.value is not MISSING


def value_of(optional: CelOptional) -> object:
    if optional.value is MISSING:
        raise EvalError("optional.none() dereference")
    return optional.value


def timestamp_parts() -> dict[str, Callable[[int, str | None], int]]:
    """The parts of a calendar time; months, days of month, week and year count from 0, ``getDate`` from 1."""

    def part(read: str) -> Callable[[int, str | None], int]:
        def accessor(timestamp: int, zone: str | None = None) -> int:
            moment = local_time(timestamp, zone)
            return {
                "getFullYear": moment.year,
                "getMonth": moment.month - 1,
                "getDayOfYear": moment.timetuple().tm_yday - 1,
                "getDate": moment.day,
                "getDayOfMonth": moment.day - 1,
                "getDayOfWeek": (moment.weekday() + 1) % 7,
                "getHours": moment.hour,
                "getMinutes": moment.minute,
                "getSeconds": moment.second,
                "getMilliseconds": timestamp % 10**9 // 10**6,
            }[read]

        return accessor

    names = (
        "getFullYear getMonth getDayOfYear getDate getDayOfMonth getDayOfWeek getHours getMinutes getSeconds"
    )
    return {name: part(name) for name in [*names.split(), "getMilliseconds"]}


def _whole(duration: int, unit: int) -> int:
    size = abs(duration) // unit
    return size if duration >= 0 else -size


def duration_parts() -> dict[str, Callable[[int], int]]:
    """The whole duration in a unit; milliseconds are those within the second."""
    return {
        "getHours": lambda duration: _whole(duration, 3600 * 10**9),
        "getMinutes": lambda duration: _whole(duration, 60 * 10**9),
        "getSeconds": lambda duration: _whole(duration, 10**9),
        "getMilliseconds": lambda duration: _whole(duration, 10**6),
    }
