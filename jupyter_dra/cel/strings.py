"""String functions (``cel-go/ext/strings.go``). Sizes and indexes count code points."""

from __future__ import annotations

from jupyter_dra.cel import regex
from jupyter_dra.cel.meter import Frame, charge, checked_size
from jupyter_dra.cel.values import EvalError

__all__ = ["find", "find_all", "join", "matches", "quote", "replace", "split", "substring", "trim"]

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
