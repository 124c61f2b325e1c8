"""The functions by name, number of arguments and run-time types.

A call finds its implementation by the exact Python types of its arguments in a table that fills itself; a function
that needs the step limit gets the frame as its first argument.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from jupyter_dra.cel import conversions, formats, formatting, lists, network, numbers, strings, times
from jupyter_dra.cel.declarations import FORMAT_NAMES
from jupyter_dra.cel.meter import Frame, charge, checked_size
from jupyter_dra.cel.network import Cidr, Ip, Url
from jupyter_dra.cel.values import (
    NONE,
    CelMap,
    CelOptional,
    Duration,
    EvalError,
    SumQuantity,
    Timestamp,
    UInt,
)
from jupyter_dra.errors import QuantityError, VersionError
from jupyter_dra.model import Quantity, Semver

__all__ = ["Dispatch", "library"]

Implementation = Callable[..., Any]
Form = tuple[tuple[type, ...], Implementation, bool]


class Dispatch:
    """One function with one number of arguments."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.forms: list[Form] = []
        self.known: dict[tuple[type, ...], tuple[Implementation, bool]] = {}

    def resolve(self, types: tuple[type, ...]) -> tuple[Implementation, bool]:
        """The implementation for these types and whether it wants the frame; raises EvalError."""
        for wanted, implementation, metered in self.forms:
            if all(_takes(want, given) for want, given in zip(wanted, types, strict=True)):
                self.known[types] = implementation, metered
                return implementation, metered
        raise EvalError(_no_overload(self.name, types))


_TERSE = frozenset(("startsWith", "endsWith", "contains", "matches", "find", "findAll"))


def _no_overload(name: str, types: tuple[type, ...]) -> str:
    """Operators and old functions name no types, ``size`` only itself, all others what they were given."""
    if name in _TERSE or not name[0].isalpha():
        return "no such overload"
    if name == "size":
        return "no such overload: size"
    return f"no such overload: {name}({', '.join(map(conversions.name_of, types))})"


def _takes(wanted: type, given: type) -> bool:
    if wanted is object or wanted is given:
        return True
    return wanted in (Quantity, CelMap) and issubclass(given, wanted)


class _Library:
    def __init__(self) -> None:
        self.table: dict[tuple[str, int], Dispatch] = {}

    def add(
        self, name: str, types: tuple[type, ...], implementation: Implementation, metered: bool = False
    ) -> None:
        key = name, len(types)
        dispatch = self.table.get(key)
        if dispatch is None:
            dispatch = self.table[key] = Dispatch(name)
        dispatch.forms.append((types, implementation, metered))

    def metered(self, name: str, types: tuple[type, ...], implementation: Implementation) -> None:
        self.add(name, types, implementation, True)


@lru_cache(maxsize=1)
def library() -> dict[tuple[str, int], Dispatch]:
    """All functions; built once, when first used."""
    table = _Library()
    for fill in (
        _operators,
        _strings,
        _lists,
        _conversions,
        _optionals,
        _times,
        _quantities,
        _versions,
        _network,
        _formats,
    ):
        fill(table)
    return table.table


def _added_text(frame: Frame, left: str, right: str) -> str:
    checked_size(len(left) + len(right))
    charge(frame, len(left) + len(right))
    return left + right


def _added_list(frame: Frame, left: list[object], right: list[object]) -> list[object]:
    checked_size(len(left) + len(right))
    charge(frame, len(left) + len(right))
    return left + right


def _duration(number: int) -> Duration:
    return Duration(numbers.as_int(number))


def _timestamp(number: int) -> Timestamp:
    if not times.MIN_SECONDS <= number // 10**9 <= times.MAX_SECONDS:
        raise EvalError("timestamp overflow")
    return Timestamp(number)


def _operators(add: _Library) -> None:
    whole, unsigned = numbers.as_int, numbers.as_uint
    add.add("_+_", (int, int), lambda a, b: whole(a + b))
    add.add("_+_", (UInt, UInt), lambda a, b: unsigned(int(a) + int(b)))
    add.add("_+_", (float, float), lambda a, b: a + b)
    add.metered("_+_", (str, str), _added_text)
    add.metered("_+_", (bytes, bytes), _added_text)
    add.metered("_+_", (list, list), _added_list)
    add.add("_+_", (Duration, Duration), lambda a, b: _duration(int(a) + int(b)))
    add.add("_+_", (Timestamp, Duration), lambda a, b: _timestamp(int(a) + int(b)))
    add.add("_+_", (Duration, Timestamp), lambda a, b: _timestamp(int(a) + int(b)))
    add.add("_-_", (int, int), lambda a, b: whole(a - b))
    add.add("_-_", (UInt, UInt), lambda a, b: unsigned(int(a) - int(b)))
    add.add("_-_", (float, float), lambda a, b: a - b)
    add.add("_-_", (Duration, Duration), lambda a, b: _duration(int(a) - int(b)))
    add.add("_-_", (Timestamp, Duration), lambda a, b: _timestamp(int(a) - int(b)))
    add.add("_-_", (Timestamp, Timestamp), lambda a, b: _duration(int(a) - int(b)))
    add.add("_*_", (int, int), lambda a, b: whole(a * b))
    add.add("_*_", (UInt, UInt), lambda a, b: unsigned(int(a) * int(b)))
    add.add("_*_", (float, float), lambda a, b: a * b)
    add.add("_/_", (int, int), numbers.divide)
    add.add("_/_", (UInt, UInt), lambda a, b: unsigned(numbers.divide_uint(a, b)))
    add.add("_/_", (float, float), numbers.divide_double)
    add.add("_%_", (int, int), numbers.modulus)
    add.add("_%_", (UInt, UInt), lambda a, b: unsigned(numbers.modulus(int(a), int(b))))
    add.add("-_", (int,), lambda a: whole(-a))
    add.add("-_", (float,), lambda a: -a)
    add.add("-_", (Duration,), lambda a: _duration(-int(a)))


def _strings(add: _Library) -> None:
    for kind in (str, bytes, list, CelMap):
        add.add("size", (kind,), len)
    add.add("startsWith", (str, str), str.startswith)
    add.add("endsWith", (str, str), str.endswith)
    add.add("contains", (str, str), lambda text, part: part in text)
    add.metered("matches", (str, str), strings.matches)
    add.metered("find", (str, str), strings.find)
    add.metered("findAll", (str, str), strings.find_all)
    add.metered("findAll", (str, str, int), strings.find_all)
    add.add("charAt", (str, int), strings.char_at)
    add.add("indexOf", (str, str), strings.index_of)
    add.add("indexOf", (str, str, int), strings.index_of_from)
    add.add("lastIndexOf", (str, str), strings.last_index_of)
    add.add("lastIndexOf", (str, str, int), strings.last_index_of_from)
    add.add("lowerAscii", (str,), strings.lower_ascii)
    add.add("upperAscii", (str,), strings.upper_ascii)
    add.add("trim", (str,), strings.trim)
    add.add("strings.quote", (str,), strings.quote)
    add.metered("replace", (str, str, str), strings.replace)
    add.metered("replace", (str, str, str, int), strings.replace)
    add.add("split", (str, str), strings.split)
    add.add("split", (str, str, int), strings.split)
    add.add("substring", (str, int), strings.substring)
    add.add("substring", (str, int, int), strings.substring)
    add.metered("join", (list,), strings.join)
    add.metered("join", (list, str), strings.join)
    add.metered("format", (str, list), formatting.format_text)


def _lists(add: _Library) -> None:
    add.metered("isSorted", (list,), lists.is_sorted)
    add.metered("min", (list,), lists.minimum)
    add.metered("max", (list,), lists.maximum)
    add.metered("sort", (list,), lists.sort_values)
    add.metered("sum", (list,), lists.total)
    add.metered("indexOf", (list, object), lists.index_of)
    add.metered("lastIndexOf", (list, object), lists.last_index_of)
    add.metered("slice", (list, int, int), lists.slice_of)
    add.metered("flatten", (list,), lists.flatten)
    add.metered("flatten", (list, int), lists.flatten)
    add.metered("distinct", (list,), lists.distinct)
    add.metered("reverse", (list,), lists.reverse)
    add.add("first", (list,), lists.first)
    add.add("last", (list,), lists.last)
    add.metered("lists.range", (int,), lists.number_range)
    add.metered("sets.contains", (list, list), lists.sets_contains)
    add.metered("sets.equivalent", (list, list), lists.sets_equivalent)
    add.metered("sets.intersects", (list, list), lists.sets_intersects)
    add.metered("includes", (object, object), lists.includes)


def _conversions(add: _Library) -> None:
    for name, kind in (
        ("bool", bool),
        ("bytes", bytes),
        ("double", float),
        ("duration", Duration),
        ("int", int),
    ):
        add.add(name, (kind,), lambda value: value)
    same: dict[str, type] = {"bool": bool, "bytes": bytes, "double": float, "duration": Duration, "int": int}
    same |= {"string": str, "timestamp": Timestamp, "uint": UInt, "dyn": object}
    for name, own in same.items():
        add.add(name, (own,), lambda value: value)
    add.add("bool", (str,), conversions.text_to_bool)
    add.add("bytes", (str,), conversions.text_to_bytes)
    add.add("double", (int,), float)
    add.add("double", (UInt,), lambda value: float(int(value)))
    add.add("double", (str,), numbers.double_from_text)
    add.add("duration", (str,), times.parse_duration)
    add.add("int", (float,), numbers.double_to_int)
    add.add("int", (Duration,), int)
    add.add("int", (str,), numbers.int_from_text)
    add.add("int", (Timestamp,), lambda value: int(value) // 10**9)
    add.add("int", (UInt,), lambda value: numbers.as_int(int(value)))
    add.add("string", (bool,), lambda value: "true" if value else "false")
    add.add("string", (bytes,), conversions.bytes_to_text)
    add.add("string", (float,), numbers.double_text)
    add.add("string", (int,), str)
    add.add("string", (UInt,), lambda value: str(int(value)))
    add.add("string", (Duration,), times.duration_text)
    add.add("string", (Timestamp,), times.timestamp_text)
    add.add("string", (Ip,), str)
    add.add("string", (Cidr,), str)
    add.add("timestamp", (int,), conversions.int_to_timestamp)
    add.add("timestamp", (str,), times.parse_timestamp)
    add.add("uint", (float,), numbers.double_to_uint)
    add.add("uint", (int,), numbers.as_uint)
    add.add("uint", (str,), numbers.uint_from_text)
    add.add("type", (object,), conversions.type_of)


def _optionals(add: _Library) -> None:
    add.add("optional.of", (object,), CelOptional)
    add.add("optional.none", (), lambda: NONE)
    add.add("optional.ofNonZeroValue", (object,), conversions.non_zero)
    add.add("hasValue", (CelOptional,), conversions.has_value)
    add.add("value", (CelOptional,), conversions.value_of)


def _times(add: _Library) -> None:
    for name, part in conversions.timestamp_parts().items():
        add.add(name, (Timestamp,), part)
        add.add(name, (Timestamp, str), part)
    for name, whole in conversions.duration_parts().items():
        add.add(name, (Duration,), whole)


def _quantity(text: str) -> Quantity:
    try:
        return Quantity.parse(text)
    except QuantityError as error:
        raise EvalError(error.message) from None


def _sum(left: Quantity, right: Quantity) -> SumQuantity:
    total = left + right
    return SumQuantity(total.text, total.nanos, total.fast, total.style)


def _difference(left: Quantity, right: Quantity) -> SumQuantity:
    rest = left - right
    return SumQuantity(rest.text, rest.nanos, rest.fast, rest.style)


def _whole_quantity(quantity: Quantity) -> int:
    number = quantity.as_integer
    if number is None:
        raise EvalError("cannot convert value to integer")
    return number


def _quantities(add: _Library) -> None:
    both = (Quantity, Quantity)
    add.add("quantity", (str,), _quantity)
    add.add("isQuantity", (str,), Quantity.is_valid)
    add.add("sign", (Quantity,), lambda value: value.sign)
    add.add("isGreaterThan", both, lambda a, b: a.nanos > b.nanos)
    add.add("isLessThan", both, lambda a, b: a.nanos < b.nanos)
    add.add("compareTo", both, lambda a, b: a.compare(b))
    add.add("asInteger", (Quantity,), _whole_quantity)
    add.add("asApproximateFloat", (Quantity,), lambda value: value.as_float)
    add.add("isInteger", (Quantity,), lambda value: value.is_integer)
    add.add("add", both, _sum)
    add.add("add", (Quantity, int), lambda a, b: _sum(a, Quantity.from_int(b)))
    add.add("sub", both, _difference)
    add.add("sub", (Quantity, int), lambda a, b: _difference(a, Quantity.from_int(b)))


def _semver(text: str, normalize: bool = False) -> Semver:
    try:
        return Semver.parse(text, normalize)
    except VersionError as error:
        raise EvalError(error.message) from None


def _signed(number: int) -> int:
    """A 64-bit unsigned part of a version as upstream's int: large ones wrap around."""
    return number - 2**64 if number >= 2**63 else number


def _versions(add: _Library) -> None:
    both = (Semver, Semver)
    add.add("semver", (str,), _semver)
    add.add("semver", (str, bool), _semver)
    add.add("isSemver", (str,), Semver.is_valid)
    add.add("isSemver", (str, bool), Semver.is_valid)
    add.add("isGreaterThan", both, lambda a, b: a > b)
    add.add("isLessThan", both, lambda a, b: a < b)
    add.add("compareTo", both, lambda a, b: a.compare(b))
    add.add("major", (Semver,), lambda value: _signed(value.major))
    add.add("minor", (Semver,), lambda value: _signed(value.minor))
    add.add("patch", (Semver,), lambda value: _signed(value.patch))


def _network(add: _Library) -> None:
    add.add("ip", (str,), network.ip)
    add.add("isIP", (str,), network.is_ip)
    add.add("ip.isCanonical", (str,), network.is_canonical)
    add.add("family", (Ip,), network.family)
    add.add("isUnspecified", (Ip,), network.is_unspecified)
    add.add("isLoopback", (Ip,), network.is_loopback)
    add.add("isLinkLocalMulticast", (Ip,), network.is_link_local_multicast)
    add.add("isLinkLocalUnicast", (Ip,), network.is_link_local_unicast)
    add.add("isGlobalUnicast", (Ip,), network.is_global_unicast)
    add.add("cidr", (str,), network.cidr)
    add.add("isCIDR", (str,), network.is_cidr)
    add.add("containsIP", (Cidr, Ip), network.contains_ip)
    add.add("containsIP", (Cidr, str), network.contains_ip_text)
    add.add("containsCIDR", (Cidr, Cidr), network.contains_cidr)
    add.add("containsCIDR", (Cidr, str), network.contains_cidr_text)
    add.add("ip", (Cidr,), network.address_of)
    add.add("masked", (Cidr,), network.masked)
    add.add("prefixLength", (Cidr,), network.prefix_length)
    add.add("url", (str,), network.url)
    add.add("isURL", (str,), network.is_url)
    add.add("getScheme", (Url,), lambda value: value.scheme)
    add.add("getHost", (Url,), lambda value: value.host)
    add.add("getHostname", (Url,), lambda value: value.hostname)
    add.add("getPort", (Url,), lambda value: value.port)
    add.add("getEscapedPath", (Url,), lambda value: value.path)
    add.add("getQuery", (Url,), network.query_of)


def _formats(add: _Library) -> None:
    add.add("format.named", (str,), formats.named)
    add.add("validate", (formats.NamedFormat, str), formats.validate)
    for name in FORMAT_NAMES:
        add.add(f"format.{name}", (), lambda name=name: formats.NamedFormat(name))
