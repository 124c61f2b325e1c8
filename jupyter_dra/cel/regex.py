"""RE2 regular expressions: google-re2 where it is installed, else a checked subset on Python's ``re``.

The fallback (Pyodide has no google-re2) runs only patterns that cannot take long: no group with a repeat is repeated
itself, and few unbounded repeats. It refuses every other pattern in words, and never guesses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Protocol

from jupyter_dra.cel.values import EvalError

__all__ = ["Pattern", "compiled"]

_WORDS = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "unexpected )": "unexpected )",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "trailing \\": "trailing backslash at end of expression",
    "invalid character class range": "invalid character class range",
}


class Pattern(Protocol):
    """A compiled pattern that searches in linear time."""

    def matches(self, text: str) -> bool: ...

    def find(self, text: str) -> str | None: ...

    def find_all(self, text: str) -> Iterator[str]: ...


@lru_cache(maxsize=512)
def compiled(pattern: str) -> Pattern:
    """Compile a pattern; raises EvalError with the reason."""
    try:
        import re2
    except ImportError:
        return _Fallback(pattern)
    return _Re2(pattern, re2)


class _Re2:
    def __init__(self, pattern: str, re2: Any) -> None:
        if "\\C" in pattern and re.search(r"(?<!\\)(?:\\\\)*\\C", pattern):
            raise EvalError("error parsing regexp: invalid escape sequence: `\\C`")
        options = re2.Options()
        options.log_errors = False
        try:
            self.program = re2.compile(pattern, options)
        except (re2.error, ValueError, UnicodeError) as error:
            raise EvalError(_reason(error)) from None

    def matches(self, text: str) -> bool:
        try:
            return self.program.search(text) is not None
        except UnicodeError:
            raise EvalError("invalid UTF-8 in string") from None

    def find(self, text: str) -> str | None:
        try:
            found = self.program.search(text)
        except UnicodeError:
            raise EvalError("invalid UTF-8 in string") from None
        return None if found is None else str(found.group())

    def find_all(self, text: str) -> Iterator[str]:
        try:
            last = -1
            for found in self.program.finditer(text):
                # Go leaves out an empty match right behind the one before (regexp.allMatches).
                if found.end() > found.start() or found.start() != last:
                    yield str(found.group())
                last = found.end()
        except UnicodeError:
            raise EvalError("invalid UTF-8 in string") from None


def _reason(error: Exception) -> str:
    detail = error.args[0] if error.args else ""
    text = detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
    problem, separator, part = text.partition(": ")
    problem = _WORDS.get(problem, problem)
    return f"error parsing regexp: {problem}: `{part}`" if separator else f"error parsing regexp: {problem}"


_POSIX = {
    "alpha": "A-Za-z",
    "digit": "0-9",
    "alnum": "0-9A-Za-z",
    "upper": "A-Z",
    "lower": "a-z",
    "space": "\\t\\n\\v\\f\\r ",
    "xdigit": "0-9A-Fa-f",
    "word": "0-9A-Za-z_",
    "punct": "!-/:-@\\[-`{-~",
}
_ITEM = re.compile(
    r"""(?P<flags>\(\?i\)) | (?P<open>\((?:\?:|\?P?<[A-Za-z_][A-Za-z0-9_]*>)?(?!\?)) | (?P<close>\))
      | (?P<class>\[\^?\]?(?:\[:\^?[a-z]+:\]|\\[^pPQEC]|[^\]\\\[])*\])
      | (?P<repeat>(?:[*+?]|\{[0-9]{1,4}(?:,[0-9]{0,4})?\})\??)
      | (?P<escape>\\[dDwWsSbBAzafnrtv.*+?()|\[\]{}^$\\/_-]|\\x[0-9a-fA-F]{2})
      | (?P<anchor>[\^$]) | (?P<plain>[^\\\[\](){}*+?|^$]) | (?P<or>\|)""",
    re.VERBOSE,
)
_MAX_VARIABLE = 3
_MAX_CHOICES = 1024
_MAX_WORK = 20_000_000


class _Fallback:
    """A subset of RE2 on Python's ``re``; see the module's text."""

    def __init__(self, pattern: str) -> None:
        self.variable = 0
        self.choices = 1
        translated = self._translated(pattern)
        if self.variable > _MAX_VARIABLE or self.choices > _MAX_CHOICES:
            raise _refused(pattern)
        try:
            self.program = re.compile(translated, re.ASCII)
        except (re.error, OverflowError, RecursionError) as error:
            raise EvalError(f"error parsing regexp: {error}") from None

    def _translated(self, pattern: str) -> str:
        out: list[str] = []
        groups = [[0, 0]]  # alternatives and repeats inside each open group
        closed = groups[0]
        offset, previous = 0, "start"
        while offset < len(pattern):
            match = _ITEM.match(pattern, offset)
            if match is None or (match.lastgroup == "flags" and offset != 0):
                raise _refused(pattern)
            kind, text = str(match.lastgroup), match.group()
            if kind == "open":
                groups.append([0, 0])
            elif kind == "close":
                if len(groups) == 1:
                    raise EvalError("error parsing regexp: unexpected ): `)`")
                closed = groups.pop()
                self.choices *= closed[0] + 1
            elif kind == "or":
                groups[-1][0] += 1
            elif kind == "repeat":
                if previous in ("start", "repeat", "or", "open", "anchor", "flags"):
                    raise EvalError(
                        f"error parsing regexp: missing argument to repetition operator: `{text}`"
                    )
                if previous == "close" and (text[0] != "?" or closed[1]):
                    raise _refused(pattern)
                self.variable += text[0] in "*+" or "," in text
                self.choices *= 2 if text[0] == "?" else 1
                for group in groups:
                    group[1] += 1
            out.append(_python_item(kind, text, pattern))
            offset, previous = match.end(), kind
        if len(groups) > 1:
            raise EvalError(f"error parsing regexp: missing closing ): `{pattern}`")
        self.choices *= groups[0][0] + 1
        return "".join(out)

    def _search(self, text: str) -> re.Match[str] | None:
        # Each repeat of variable length may try every length again, and the search every start.
        if self.choices * (len(text) + 1) ** (self.variable + 1) > _MAX_WORK:
            raise EvalError("a text of this length cannot be searched safely without google-re2")
        return self.program.search(text)

    def matches(self, text: str) -> bool:
        return self._search(text) is not None

    def find(self, text: str) -> str | None:
        found = self._search(text)
        return None if found is None else found.group()

    def find_all(self, text: str) -> Iterator[str]:
        found = self._search(text)
        position, last = 0, -1
        while found is not None:
            start, end = found.span()
            if end > start or start != last:
                yield found.group()
            position = position + 1 if end == position else end
            last = end
            found = self.program.search(text, position) if position <= len(text) else None


def _python_item(kind: str, text: str, pattern: str) -> str:
    if kind == "anchor":
        return "\\Z" if text == "$" else text
    if kind == "open":
        return text.replace("(?<", "(?P<")
    if kind == "escape":
        return {"\\z": "\\Z", "\\_": "_", "\\/": "/", "\\a": "\\x07", "\\f": "\\x0c", "\\v": "\\x0b"}.get(
            text, text
        )
    if kind == "class":
        return _python_class(text, pattern)
    if kind == "repeat" and text[0] == "{":
        numbers = [int(number) for number in re.findall("[0-9]+", text)]
        if max(numbers) > 1000 or numbers[0] > numbers[-1]:
            raise EvalError(f"error parsing regexp: invalid repeat count: `{text}`")
    return text


def _python_class(text: str, pattern: str) -> str:
    def posix(match: re.Match[str]) -> str:
        if match[1] not in _POSIX:
            raise EvalError(f"error parsing regexp: invalid character class range: `{match.group()}`")
        return _POSIX[match[1]]

    if "[:^" in text:
        raise _refused(pattern)
    return re.sub(r"\[:([a-z]+):\]", posix, text)


def _refused(pattern: str) -> EvalError:
    return EvalError(f"the pattern `{pattern}` cannot be run safely without google-re2")
