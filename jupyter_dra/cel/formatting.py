"""``"%s has %d".format([…])`` (``cel-go/ext/formatting.go``), and the check of literal format texts.

Numbers are written as for the locale en_US, as upstream does: ``%.2f`` of 1234.5 is ``1,234.50``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from jupyter_dra.cel.conversions import bytes_to_text, name_of
from jupyter_dra.cel.kinds import Type
from jupyter_dra.cel.meter import MAX_SIZE, Frame, charge, checked_size
from jupyter_dra.cel.numbers import double_text
from jupyter_dra.cel.times import duration_text, timestamp_text
from jupyter_dra.cel.values import CelMap, Duration, EvalError, StepsExhausted, Timestamp, TypeValue, UInt

__all__ = ["FormatMistake", "check_format", "format_text"]

_PRINTED_KINDS = "string bool bytes int uint double map list type duration timestamp null"
# What each verb takes, and the sentence for anything else.
_VERBS: dict[str, tuple[str, str]] = {
    "s": (
        _PRINTED_KINDS,
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations,"
        " and timestamps",
    ),
    "d": ("int uint", "decimal clause can only be used on integers"),
    "f": ("double string", "fixed-point clause can only be used on doubles"),
    "e": ("double string", "scientific clause can only be used on doubles"),
    "b": ("int uint bool", "only integers and bools can be formatted as binary"),
    "x": ("int uint string bytes", "only integers, byte buffers, and strings can be formatted as hex"),
    "o": ("int uint", "octal clause can only be used on integers"),
}
_VERBS["X"] = _VERBS["x"]
_SHORT = {
    "google.protobuf.Duration": "duration",
    "google.protobuf.Timestamp": "timestamp",
    "null_type": "null",
}
_LONG = {short: long for long, short in _SHORT.items()} | {"optional": "optional_type"}
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_DIGITS = frozenset("0123456789")


class FormatMistake(EvalError):
    """A format text that cannot work; ``argument`` is the index of a wrong argument, None for the text itself."""

    def __init__(self, message: str, argument: int | None = None) -> None:
        super().__init__(message)
        self.argument = argument


def check_format(text: str, given: Sequence[Type]) -> None:
    """Check a literal format text against the static types of its arguments; raises FormatMistake."""
    try:
        _check(text, given)
    except FormatMistake:
        raise
    except EvalError as error:
        raise FormatMistake(str(error)) from None


def _check(text: str, given: Sequence[Type]) -> None:
    index = 0
    for part in _clauses(text):
        if isinstance(part, str):
            continue
        verb, _ = part(index, len(given))
        name = str(given[index][0])
        if name not in (*_VERBS[verb][0].split(), "dyn", "error", "var"):
            raise FormatMistake(_wrong_text(verb, _LONG.get(name, name)), index)
        index += 1
    if index < len(given):
        raise EvalError(f"too many arguments supplied to string.format (expected {index}, got {len(given)})")


def format_text(frame: Frame, text: str, args: list[object]) -> str:
    """The text with its clauses replaced; raises EvalError for a wrong clause or argument."""
    out: list[str] = []
    index = 0
    for part in _clauses(text):
        if isinstance(part, str):
            out.append(part)
            continue
        verb, precision = part(index, len(args))
        shown = _formatted(frame, verb, precision, args[index])
        charge(frame, len(shown) + 50)
        out.append(shown)
        index += 1
    checked_size(sum(map(len, out)))
    return "".join(out)


Clause = Callable[[int, int], tuple[str, int | None]]


def _clauses(text: str) -> Iterator[str | Clause]:
    """Plain text and clauses; a clause, called with its argument's index and their number, gives verb and precision."""
    offset = 0
    while offset < len(text):
        start = text.find("%", offset)
        if start < 0:
            yield text[offset:]
            return
        if start > offset:
            yield text[offset:start]
        if text[start + 1 : start + 2] == "%":
            yield "%"
            offset = start + 2
            continue
        end = [start + 1]

        def clause(index: int, count: int, end: list[int] = end) -> tuple[str, int | None]:
            if index >= count:
                raise EvalError(f"index {index} out of range")
            if end[0] >= len(text):
                raise EvalError("unexpected end of string")
            precision = _precision(text, end)
            verb = text[end[0]]
            end[0] += 1
            if verb not in _VERBS:
                raise EvalError(f'could not parse formatting clause: unrecognized formatting clause "{verb}"')
            return verb, precision

        yield clause
        offset = end[0]


def _precision(text: str, end: list[int]) -> int | None:
    if text[end[0]] != ".":
        return None
    start = end[0] = end[0] + 1
    while end[0] < len(text) and text[end[0]] in _DIGITS:
        end[0] += 1
    problem = "could not parse formatting clause: error while parsing precision: "
    if end[0] >= len(text):
        raise EvalError(problem + "could not find end of precision specifier")
    digits = text[start : end[0]]
    if not digits:
        raise EvalError(
            problem + 'error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax'
        )
    return min(int(digits[:8]), MAX_SIZE)


def _wrong_text(verb: str, name: str) -> str:
    return f"error during formatting: {_VERBS[verb][1]}, was given {name}"


def _formatted(frame: Frame, verb: str, precision: int | None, value: object) -> str:
    name = name_of(type(value))
    kind = _SHORT.get(name, name)
    if kind not in _VERBS[verb][0].split() or (verb in "fe" and kind == "string" and value not in _SPECIAL):
        raise EvalError(_wrong_text(verb, name))
    if verb == "s":
        return _text(frame, value)
    if verb in ("f", "e"):
        number = _SPECIAL[value] if isinstance(value, str) else float(value)  # type: ignore[arg-type]
        return _fixed(number, 6 if precision is None else precision) if verb == "f" else _scientific(number)
    if isinstance(value, (str, bytes)):
        shown = (value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value).hex()
        return shown.upper() if verb == "X" else shown
    return format(int(value), verb)  # type: ignore[call-overload]


def _fixed(number: float, precision: int) -> str:
    if precision >= MAX_SIZE:
        raise StepsExhausted
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "∞" if number > 0 else "-∞"
    return format(abs(number) if number == 0 else number, f",.{precision}f")


def _scientific(number: float) -> str:
    """Upstream's printer ignores the precision and pads what is no number."""
    if math.isnan(number):
        return "   NaN"
    if math.isinf(number):
        return "     ∞" if number > 0 else "    -∞"
    mantissa, _, exponent = format(abs(number) if number == 0 else number, ".6e").partition("e")
    return f"{mantissa}×10{exponent.removeprefix('+').translate(_SUPERSCRIPTS)}"


def _text(frame: Frame, value: object) -> str:
    """What ``%s`` shows."""
    charge(frame, 50)
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        try:
            return bytes_to_text(value)
        except EvalError as error:
            raise EvalError(
                f'error during formatting: could not convert argument "{error}" to string'
            ) from None
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, Duration):
        return duration_text(value)
    if isinstance(value, Timestamp):
        return timestamp_text(value)
    if isinstance(value, (list, CelMap)):
        return _literal(frame, value)
    return _plain(value)


def _plain(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, TypeValue):
        return value.name
    return str(int(value))  # type: ignore[call-overload]


def _literal(frame: Frame, value: object) -> str:
    """A value inside a list or map, as CEL would write it."""
    charge(frame, 50)
    if isinstance(value, (str, bytes)):
        return ("b" if isinstance(value, bytes) else "") + _go_quoted(_text(frame, value))
    if isinstance(value, float):
        return format(value, ".6f") if math.isfinite(value) else f'"{double_text(value)}"'
    if isinstance(value, Duration):
        return f'duration("{duration_text(value)}")'
    if isinstance(value, Timestamp):
        return f'timestamp("{timestamp_text(value)}")'
    if isinstance(value, list):
        return "[" + ", ".join(_literal(frame, item) for item in value) + "]"
    if isinstance(value, CelMap):
        pairs = sorted((_key(frame, key), item) for key, item in _by_text(frame, value))
        return "{" + ", ".join(f"{key}:{item}" for key, item in pairs) + "}"
    if value is None or isinstance(value, (bool, int, UInt, TypeValue)):
        return _plain(value)
    raise EvalError(f"error during formatting: no formatting function for {name_of(type(value))}")


def _by_text(frame: Frame, value: CelMap) -> Iterator[tuple[object, str]]:
    for key, item in value.items():
        yield key, _literal(frame, item)


def _key(frame: Frame, key: object) -> str:
    if isinstance(key, (str, bool, int)):
        return _literal(frame, key)
    raise EvalError(
        f"error during formatting: no formatting function for map key of type {name_of(type(key))}"
    )


_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}


def _go_quoted(text: str) -> str:
    """Go's ``%q``."""
    out = []
    for character in text:
        code = ord(character)
        if character in '"\\':
            out.append("\\" + character)
        elif character in _ESCAPES:
            out.append(_ESCAPES[character])
        elif code < 0x20 or code == 0x7F:
            out.append(f"\\x{code:02x}")
        elif character.isprintable():
            out.append(character)
        else:
            out.append(f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}")
    return '"' + "".join(out) + '"'
