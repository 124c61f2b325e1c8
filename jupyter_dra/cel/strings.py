"""String functions (``cel-go/ext/strings.go``, ``formatting_v2.go``). Sizes and indexes count code points."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from jupyter_dra.cel import kinds, regex
from jupyter_dra.cel.kinds import Type
from jupyter_dra.cel.meter import Frame, charge, checked_size
from jupyter_dra.cel.numbers import double_text
from jupyter_dra.cel.times import duration_text, timestamp_text
from jupyter_dra.cel.values import CelMap, Duration, EvalError, Timestamp, TypeValue, UInt

__all__ = ["check_format", "format_text", "quote"]

# unicode.IsSpace of Go; Python's strip() takes U+001C to U+001F too.
_SPACE = "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
_SPACE += "\u2028\u2029\u202f\u205f\u3000"
_UPPER = {code: code + 32 for code in range(65, 91)}
_LOWER = {code: code - 32 for code in range(97, 123)}


def char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise EvalError(f"index out of range: {index}")
    return text[index : index + 1]


def index_of(text: str, part: str) -> int:
    return text.find(part)


def index_of_from(text: str, part: str, start: int) -> int:
    if start < 0:
        raise EvalError(f"index out of range: {start}")
    if part == "":
        return min(start, len(text))
    return text.find(part, start)


def last_index_of(text: str, part: str) -> int:
    return text.rfind(part)


def last_index_of_from(text: str, part: str, start: int) -> int:
    if start < 0:
        raise EvalError(f"index out of range: {start}")
    if part == "":
        return min(start, len(text))
    return text.rfind(part, 0, start + len(part)) if start < len(text) else -1


def lower_ascii(text: str) -> str:
    return text.translate(_UPPER)


def upper_ascii(text: str) -> str:
    return text.translate(_LOWER)


def trim(text: str) -> str:
    return text.strip(_SPACE)


def replace(frame: Frame, text: str, old: str, new: str, count: int = -1) -> str:
    found = text.count(old) if old else len(text) + 1
    times = found if count < 0 else min(found, count)
    checked_size(len(text) + times * len(new))
    charge(frame, len(text) + times * len(new))
    return text.replace(old, new, times)


def split(text: str, separator: str, count: int = -1) -> list[object]:
    if count == 0:
        return []
    if separator == "":
        parts: list[object] = list(text)
        if count < 0 or len(parts) <= count:
            return parts
        return [*parts[: count - 1], text[count - 1 :]]
    if count == 1:
        return [text]
    return list(text.split(separator, count - 1 if count > 0 else -1))


def substring(text: str, start: int, end: int | None = None) -> str:
    stop = len(text) if end is None else end
    if start > stop and end is not None:
        raise EvalError(f"invalid substring range. start: {start}, end: {stop}")
    if not 0 <= start <= len(text):
        raise EvalError(f"index out of range: {start}")
    if not 0 <= stop <= len(text):
        raise EvalError(f"index out of range: {stop}")
    return text[start:stop]


def join(frame: Frame, parts: list[object], separator: str = "") -> str:
    texts = [part for part in parts if type(part) is str]
    if len(texts) != len(parts):
        raise EvalError("no such overload: join")
    size = sum(map(len, texts)) + len(separator) * max(len(texts) - 1, 0)
    checked_size(size)
    charge(frame, size + len(texts))
    return separator.join(texts)


def find(frame: Frame, text: str, pattern: str) -> str:
    charge(frame, len(text) + 50)
    return regex.compiled(pattern).find(text) or ""


def find_all(frame: Frame, text: str, pattern: str, count: int = -1) -> list[object]:
    charge(frame, len(text) * 4 + 50)
    result: list[object] = []
    for found in regex.compiled(pattern).find_all(text):
        if 0 <= count <= len(result):
            break
        result.append(found)
    return result


def matches(frame: Frame, text: str, pattern: str) -> bool:
    charge(frame, len(text) + 50)
    return regex.compiled(pattern).matches(text)


_QUOTES = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}


def quote(text: str) -> str:
    """The text as a double-quoted CEL literal."""
    return '"' + "".join(_QUOTES.get(character, character) for character in text) + '"'


_CLAUSE = re.compile(r"%(?:%|(?:\.([0-9]+))?([A-Za-z])|(.?))", re.DOTALL)
_MAX_PRECISION = 1000
_TAKES: dict[str, frozenset[str]] = {
    "d": frozenset(("int", "uint", "double")),
    "f": frozenset(("int", "uint", "double")),
    "e": frozenset(("int", "uint", "double")),
    "b": frozenset(("int", "uint", "bool")),
    "x": frozenset(("int", "uint", "string", "bytes")),
    "X": frozenset(("int", "uint", "string", "bytes")),
    "o": frozenset(("int", "uint")),
}
_PRINTED_KINDS = "string bool bytes int uint double map list type duration timestamp null dyn error"
_PRINTED = frozenset(_PRINTED_KINDS.split())


def check_format(text: str, given: Sequence[Type]) -> None:
    """Check a literal format text against the static types of its arguments; raises EvalError."""
    index = 0
    for match in _CLAUSE.finditer(text):
        verb = _verb(match)
        if verb is None:
            continue
        if index >= len(given):
            raise EvalError(f"index {index} out of range")
        name = given[index][0]
        wanted = _PRINTED if verb == "s" else _TAKES[verb]
        if name not in wanted and given[index] not in (kinds.DYN, kinds.ERROR):
            raise EvalError(
                f"could not convert argument of type {kinds.format_type(given[index])} for %{verb}"
            )
        index += 1
    if index < len(given):
        raise EvalError(f"too many arguments supplied to string.format (expected {index}, got {len(given)})")


def _verb(match: re.Match[str]) -> str | None:
    """The letter of a clause, None for ``%%``; raises EvalError for anything else."""
    if match.group() == "%%":
        return None
    verb = match[2]
    if verb is None:
        raise EvalError("could not parse formatting clause: unexpected end of string")
    if verb != "s" and verb not in _TAKES:
        raise EvalError(f'could not parse formatting clause: unrecognized formatting clause "{verb}"')
    if match[1] and (len(match[1]) > 4 or int(match[1]) > _MAX_PRECISION):
        raise EvalError("could not parse formatting clause: precision too large")
    return verb


def format_text(frame: Frame, text: str, args: list[object]) -> str:
    """``"%s has %d".format([…])``; raises EvalError for a wrong clause or argument."""
    out: list[str] = []
    end = index = 0
    for match in _CLAUSE.finditer(text):
        out.append(text[end : match.start()])
        end = match.end()
        verb = _verb(match)
        if verb is None:
            out.append("%")
            continue
        if index >= len(args):
            raise EvalError(f"index {index} out of range")
        out.append(_formatted(frame, verb, int(match[1]) if match[1] else None, args[index]))
        charge(frame, len(out[-1]) + 50)
        index += 1
    out.append(text[end:])
    checked_size(sum(map(len, out)))
    return "".join(out)


def _formatted(frame: Frame, verb: str, precision: int | None, value: object) -> str:
    if verb == "s":
        return display(frame, value)
    kind = type(value)
    if verb in ("x", "X") and (kind is str or kind is bytes):
        raw = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
        shown = raw.hex() if isinstance(raw, bytes) else ""
        return shown.upper() if verb == "X" else shown
    if verb == "b" and kind is bool:
        return "1" if value else "0"
    if kind is int or kind is UInt:
        if verb in ("d", "b", "o", "x", "X"):
            return format(int(value), verb)  # type: ignore[call-overload]
        value = float(value)  # type: ignore[arg-type]
        kind = float
    if kind is float and isinstance(value, float):
        return _formatted_double(verb, precision, value)
    raise EvalError(f"error during formatting: no such overload for %{verb}")


def _formatted_double(verb: str, precision: int | None, value: float) -> str:
    if math.isnan(value) or math.isinf(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if verb == "d":
        return double_text(value, fixed=True)
    if verb in ("f", "e"):
        return format(value, f".{6 if precision is None else precision}{verb}")
    raise EvalError(f"error during formatting: no such overload for %{verb}")


def display(frame: Frame, value: object) -> str:
    """The text of ``%s``; lists and maps in CEL notation."""
    charge(frame, 50)
    kind = type(value)
    if isinstance(value, str):
        return value
    if kind is bool:
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, float):
        return double_text(value, fixed=True)
    if kind is int or kind is UInt:
        return str(int(value))  # type: ignore[call-overload]
    if isinstance(value, Duration):
        return duration_text(value)
    if isinstance(value, Timestamp):
        return timestamp_text(value)
    if isinstance(value, TypeValue):
        return value.name
    if isinstance(value, list):
        return "[" + ", ".join(display(frame, item) for item in value) + "]"
    if isinstance(value, CelMap):
        pairs = [f"{display(frame, key)}: {display(frame, item)}" for key, item in value.items()]
        return "{" + ", ".join(sorted(pairs)) + "}"
    raise EvalError(
        "error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles"
    )
