"""Text to tokens (``cel-go/parser/gen/CEL.g4``)."""

from __future__ import annotations

import re
from typing import NamedTuple

from jupyter_dra.cel.issues import SyntaxProblem
from jupyter_dra.cel.values import UInt

__all__ = ["RESERVED", "Token", "tokenize"]

_RESERVED = (
    "as break const continue else for function if import let loop namespace package return var void while"
)
RESERVED = frozenset(_RESERVED.split())
_WORDS = frozenset(("true", "false", "null", "in"))
_ESCAPE = r"""\\(?:[abfnrtv"'`\\?]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})"""
_QUOTED = (
    rf'"""(?:{_ESCAPE}|[^\\])*?"""'
    rf"|'''(?:{_ESCAPE}|[^\\])*?'''"
    rf'|"(?:{_ESCAPE}|[^\\"\n\r])*"'
    rf"|'(?:{_ESCAPE}|[^\\'\n\r])*'"
)
_RAW = r'''[rR](?:"""(?:.|\n|\r)*?"""|\'\'\'(?:.|\n|\r)*?\'\'\'|"[^"\n\r]*"|'[^'\n\r]*')'''
_TOKEN = re.compile(
    rf"""
    (?P<space>[\t\ \r\n\f]+|//[^\n]*)
  | (?P<bytes>[bB](?:{_RAW}|{_QUOTED}))
  | (?P<string>{_RAW}|{_QUOTED})
  | (?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
  | (?P<uint>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])
  | (?P<int>0x[0-9a-fA-F]+|[0-9]+)
  | (?P<ident>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<op>==|!=|<=|>=|&&|\|\||[<>\[\]{{}}().,\-!?:+*/%])
    """,
    re.VERBOSE,
)
_ESCAPES = re.compile(_ESCAPE + r"|\r\n?", re.DOTALL)
_SIMPLE = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}


class Token(NamedTuple):
    """``kind``: op, ident, word, int, uint, float, string, bytes, end. ``text`` is as written."""

    kind: str
    text: str
    at: int
    value: object = None


def tokenize(text: str) -> list[Token]:
    """All tokens and one ``end``; raises SyntaxProblem where no token can be read."""
    tokens: list[Token] = []
    offset, size = 0, len(text)
    match_at = _TOKEN.match
    while offset < size:
        match = match_at(text, offset)
        if match is None:
            raise SyntaxProblem(f"Syntax error: token recognition error at: '{_bad(text, offset)}'", offset)
        kind = match.lastgroup
        found = match.group()
        if kind == "op":
            tokens.append(Token("op", found, offset))
        elif kind == "ident":
            tokens.append(Token("word" if found in _WORDS else "ident", found, offset))
        elif kind != "space" and kind is not None:
            tokens.append(Token(kind, found, offset, _value(kind, found, offset)))
        offset = match.end()
    tokens.append(Token("end", "<EOF>", size))
    return tokens


def _bad(text: str, offset: int) -> str:
    """What the server's lexer would quote: an open string to the end of its line, else one or two characters."""
    here = text[offset]
    if here in "\"'":
        return text[offset:].split("\n")[0].replace("'", "\\'")
    return text[offset : offset + (2 if here in "=&|" else 1)]


def _value(kind: str, text: str, offset: int) -> object:
    if kind == "string":
        return _unquote(text, offset)
    if kind == "bytes":
        return _unquote_bytes(text[1:], offset)
    if kind == "float":
        return float(text)
    if kind == "uint":
        number = int(text[:-1], 0) if text.startswith("0x") else int(text[:-1])
        if number >= 2**64:
            raise SyntaxProblem("invalid uint literal", offset)
        return UInt(number)
    return int(text, 0) if text.startswith("0x") else int(text)


def _inner(text: str) -> tuple[str, bool]:
    raw = text[0] in "rR"
    if raw:
        text = text[1:]
    quotes = 3 if text[:3] in ('"""', "'''") and len(text) >= 6 else 1
    return text[quotes:-quotes], raw


def _unquote(text: str, offset: int) -> str:
    inner, raw = _inner(text)
    if raw:
        return inner.replace("\r\n", "\n").replace("\r", "\n")

    def replaced(match: re.Match[str]) -> str:
        code = _code(match.group())
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise SyntaxProblem("invalid unicode code point", offset)
        return chr(code)

    return _ESCAPES.sub(replaced, inner) if "\\" in inner or "\r" in inner else inner


def _unquote_bytes(text: str, offset: int) -> bytes:
    inner, raw = _inner(text)
    if raw:
        return inner.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "surrogatepass")
    result, end = b"", 0
    for match in _ESCAPES.finditer(inner):
        result += inner[end : match.start()].encode("utf-8", "surrogatepass")
        escape, end = match.group(), match.end()
        if escape[:2] in ("\\u", "\\U"):
            raise SyntaxProblem("unable to unescape string", offset)
        result += bytes((_code(escape),))
    return result + inner[end:].encode("utf-8", "surrogatepass")


def _code(escape: str) -> int:
    if escape[0] == "\r":
        return 10
    kind = escape[1]
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if kind in "xXuU":
        return int(escape[2:], 16)
    return int(escape[1:], 8) if kind.isdigit() else ord(kind)
