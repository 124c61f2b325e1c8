"""Plain YAML scalars as kubectl reads them: YAML 1.1 by go-yaml v2, whose booleans and octals surprise people."""

from __future__ import annotations

import re
from typing import Any

TRUE = {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"}
FALSE = {"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"}
NULL = {"", "~", "null", "Null", "NULL"}
SURPRISING = (TRUE | FALSE) - {"true", "True", "TRUE", "false", "False", "FALSE"}
_INT = re.compile(r"[-+]?(0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*)", re.ASCII)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)


def resolve(text: str) -> Any:
    """The value of a plain scalar; infinities and dates stay texts, since JSON has none."""
    if text in NULL:
        return None
    if text in TRUE:
        return True
    if text in FALSE:
        return False
    if len(text) > 60 or not (text[0].isdigit() or text[0] in "+-."):
        return text
    if _INT.fullmatch(text):
        return _integer(text)
    if _FLOAT.fullmatch(text):
        number = float(text)
        return text if number in (float("inf"), float("-inf")) else number
    return text


def _integer(text: str) -> int | str:
    digits = text.replace("_", "")
    sign = -1 if digits[0] == "-" else 1
    body = digits.lstrip("+-")
    if body.startswith("0b"):
        return sign * int(body[2:], 2)
    if body.startswith("0x"):
        return sign * int(body[2:], 16)
    if len(body) > 1 and body[0] == "0":
        return sign * int(body, 8)
    return sign * int(body)


def needs_quotes(text: str) -> bool:
    """Whether a text would be read as something else, or not at all, when written plain."""
    if not text or text != text.strip() or resolve(text) != text:
        return True
    if text[0] in "!&*-?:,[]{}#|>@`'\"%=" and not re.match(r"[-?:][^\s]", text):
        return True
    if re.search(r": |:$| #|[\n\t,\[\]{}]", text):
        return True
    return text.startswith(("---", "...", "<<")) or bool(re.match(r"\d{4}-\d\d?-\d\d?", text))
