"""Selectors taken apart: which condition of a selector is it that a device does not meet?"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from jupyter_dra.cel import compile_selector
from jupyter_dra.claims import expressions
from jupyter_dra.errors import CELCompileError
from jupyter_dra.model import Quantity

__all__ = ["Term", "asked_bytes", "read_terms", "split_and"]

_NAME = re.compile(r"""\]\s*\.\s*\??\s*([A-Za-z_]\w*)|\[\s*["']([A-Za-z_]\w*)["']\s*\]""")
_QUANTITY = re.compile(r"""quantity\(\s*["']([^"']+)["']\s*\)""")
_OPENING, _CLOSING = "([{", ")]}"


@dataclass(frozen=True, slots=True)
class Term:
    """One condition: ``text`` is CEL, ``selector`` the number of the selector it comes from.

    ``topic`` is what the contract's reasons call it: kind, memory or condition. ``field`` names what is read (a
    requirement field where we wrote the selector, else the attribute), ``value`` what is asked for, if known.
    """

    text: str
    topic: Literal["kind", "memory", "condition"]
    field: str
    value: Any
    selector: int
    of_class: bool
    direction: str | None = None


def read_terms(selectors: Iterable[str], of_class: bool, version: str) -> list[Term]:
    """The conditions of a list of selectors, in order."""
    found: list[Term] = []
    for number, text in enumerate(selectors):
        known = expressions.read(text)
        if known is not None:
            found.append(_known(text, *known, number, of_class))
            continue
        parts = split_and(text)
        if len(parts) > 1 and not all(_compiles(part, version) for part in parts):
            parts = [text]
        found += [_plain(part, number, of_class) for part in parts]
    return found


def _known(text: str, field: str, value: Any, number: int, of_class: bool) -> Term:
    if field in ("vram", "max_vram"):
        return Term(text, "memory", field, value, number, of_class, "less" if field == "vram" else "more")
    topic: Literal["kind", "condition"] = "kind" if field == "shareable" else "condition"
    return Term(text, topic, field, value, number, of_class)


def _plain(text: str, number: int, of_class: bool) -> Term:
    names = [one or other for one, other in _NAME.findall(text)]
    # The domain in brackets is no name: ["gpu.nvidia.com"] has dots, so only plain identifiers are left here.
    if any(name.lower() == "memory" for name in names) and "capacity" in text:
        asked = _QUANTITY.findall(text)
        more = re.search(r"isLessThan|<=?\s*0", text) is not None
        return Term(
            text,
            "memory",
            "memory",
            asked[-1] if asked else None,
            number,
            of_class,
            "more" if more else "less",
        )
    if not names or set(names) <= {"type"}:
        return Term(text, "kind", "type" if names else "driver", None, number, of_class)
    return Term(text, "condition", names[0], None, number, of_class)


def _compiles(text: str, version: str) -> bool:
    try:
        compile_selector(text, version)
    except CELCompileError:
        return False
    return True


def asked_bytes(term: Term) -> int | None:
    """The amount of memory a term asks for, if it can be told."""
    if not isinstance(term.value, str):
        return None
    return Quantity.parse(term.value).bytes if Quantity.is_valid(term.value) else None


def split_and(text: str) -> list[str]:
    """The operands of the outermost ``&&``; the whole text where ``||`` or ``?:`` stands beside it.

    >>> split_and('a == "x && y" && (b || c)')
    ['a == "x && y"', '(b || c)']
    """
    parts: list[str] = []
    depth = start = position = 0
    while position < len(text):
        character = text[position]
        if character in "\"'":
            position = _after_string(text, position)
            continue
        if character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth -= 1
        elif depth == 0:
            if text.startswith("||", position) or (
                character == "?" and text[position - 1 : position] not in (".", "[")
            ):
                return [text.strip()]
            if text.startswith("&&", position):
                parts.append(text[start:position].strip())
                position = start = position + 2
                continue
        position += 1
    parts.append(text[start:].strip())
    return [part for part in parts if part] or [text]


def _after_string(text: str, start: int) -> int:
    quote = text[start]
    raw = start > 0 and text[start - 1] in "rR" and not text[max(0, start - 2) : start - 1].isalnum()
    end = quote * 3 if text.startswith(quote * 3, start) else quote
    position = start + len(end)
    while position < len(text):
        if text[position] == "\\" and not raw:
            position += 2
        elif text.startswith(end, position):
            return position + len(end)
        else:
            position += 1
    return len(text)
