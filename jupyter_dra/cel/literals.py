"""Texts as CEL literals: the one place that escapes."""

from __future__ import annotations

__all__ = ["string_literal"]

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def string_literal(text: str) -> str:
    r"""A double-quoted CEL literal that evaluates to exactly this text.

    >>> string_literal('A "big" card')
    '"A \\"big\\" card"'
    """
    return '"' + "".join(_escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    simple = _ESCAPES.get(character)
    if simple is not None:
        return simple
    code = ord(character)
    if 0x20 <= code < 0x7F or (code >= 0xA0 and character.isprintable()):
        return character
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
