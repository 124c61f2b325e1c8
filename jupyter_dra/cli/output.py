"""Printing: tables, JSON, YAML, and foreign text made harmless."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

from ..errors import one_line


def clean(text: object) -> str:
    """Foreign text with control and direction characters shown as escapes; one line stays one line.

    >>> clean("gpu\\x1b[31m\\n")
    'gpu\\\\x1b[31m\\\\n'
    """
    return one_line(str(text).replace("\t", " "))


def clean_block(text: str) -> str:
    """Like `clean` for text of several lines; line ends stay."""
    return "\n".join(clean(line) for line in text.split("\n"))


def write(text: str = "", stream: TextIO | None = None) -> None:
    """One line of our own text, already clean."""
    print(text, file=stream or sys.stdout)


def table(rows: Iterable[Sequence[object]], head: Sequence[str]) -> str:
    """Columns wide enough for their content; empty cells are a dash."""
    body = [[clean(cell) if cell not in (None, "") else "-" for cell in row] for row in rows]
    lines = [list(head), *body]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def show(document: Mapping[str, Any], form: str, text: str) -> None:
    """Print *document* as JSON or YAML, or *text* for people."""
    if form == "json":
        write(json.dumps(document, ensure_ascii=True, indent=2, default=dict))
    elif form == "yaml":
        from ..claims import to_yaml

        plain = json.loads(json.dumps(document, default=dict))
        write(clean_block(to_yaml(plain).rstrip("\n")))
    else:
        write(text)


def gigabytes(count: int | None) -> str:
    """Device memory for people: whole decimal GB, rounded down; a dash when unknown."""
    return "-" if count is None else f"{count // 10**9} GB"


def free_text(free: int | None, at_most: int | None) -> str:
    """``5``, ``at most 5`` or ``?``: a number says how it is known."""
    if free is not None:
        return str(free)
    return "?" if at_most is None else f"at most {at_most}"


def several(count: int, word: str) -> str:
    """``1 node``, ``2 nodes``."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def duration(seconds: float | None) -> str:
    """0.7 s, 48 s, 26 min, 1 h 58 min, 2 d 4 h."""
    if seconds is None:
        return "-"
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"
