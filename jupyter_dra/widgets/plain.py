"""Foreign text made harmless: one escaper for text, one builder for HTML, and sizes in words.

Also laid out by podside in images that lack this package: standard library only, Python 3.8 and later.
"""

from __future__ import annotations

import html
import unicodedata
from typing import Any

LIMIT = 500
# Controls, formats (bidi, zero width), surrogates, private use, line and paragraph separators.
HIDDEN = frozenset(["Cc", "Cf", "Cs", "Co", "Zl", "Zp"])
TAGS = frozenset(
    [
        "section",
        "div",
        "h4",
        "p",
        "dl",
        "dt",
        "dd",
        "b",
        "span",
        "bdi",
        "code",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "details",
        "summary",
        "ul",
        "li",
        "pre",
    ]
)
CLASSES = frozenset(["dra-card", "dra-facts", "dra-note", "dra-sub", "dra-list"])
SIZES = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def visible(value: Any, limit: int = LIMIT) -> str:
    """The text of ``value`` with control and format characters written as escapes, cut at ``limit`` characters."""
    text = value if isinstance(value, str) else str(value)
    cut = text[:limit]
    shown = "".join(
        character if unicodedata.category(character) not in HIDDEN else _escape(character)
        for character in cut
    )
    return shown + ("…" if len(text) > limit else "")


def _escape(character: str) -> str:
    number = ord(character)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def visible_lines(text: str, limit: int = 4000) -> str:
    """Text of several lines with its own line ends and indentation; each line as `visible` shows it."""
    return "\n".join(visible(line, limit) for line in text.split("\n"))


class Element:
    """A piece of HTML whose text is already escaped; made by `element` only."""

    def __init__(self, markup: str) -> None:
        self.markup = markup


def element(tag: str, *children: Element | str | None, name: str | None = None) -> Element:
    """``<tag class=name>children</tag>``: strings become text, never markup; unknown tags are refused."""
    if tag not in TAGS or (name is not None and name not in CLASSES):
        raise ValueError(f"not an allowed element: {tag} {name}")
    inner = "".join(
        child.markup if isinstance(child, Element) else html.escape(visible(child, 4000), quote=True)
        for child in children
        if child is not None
    )
    opening = tag if name is None else f'{tag} class="{name}"'
    return Element(f"<{opening}>{inner}</{tag}>")


def size(count: Any) -> str | None:
    """``79.6 GiB`` for a number of bytes; None for what is none."""
    if isinstance(count, bool) or not isinstance(count, (int, float)) or count < 0:
        return None
    for unit, name in SIZES:
        if count >= unit:
            return (f"{count / unit:.1f} {name}").replace(".0 ", " ")
    return f"{int(count)} B"


def table(heads: list[str], rows: list[list[Any]]) -> str:
    """Rows under heads in columns, as text; one row is one line whatever the cells hold."""
    lines = [[visible(cell if cell is not None else "–", 60) for cell in row] for row in [heads, *rows]]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    return "\n".join(
        "  ".join(cell.ljust(widths[column]) for column, cell in enumerate(line)).rstrip() for line in lines
    )


def html_table(heads: list[str], rows: list[list[Any]]) -> Element:
    head = element("tr", *[element("th", text) for text in heads])
    body = [
        element("tr", *[element("td", "–" if cell is None else str(cell)) for cell in row]) for row in rows
    ]
    return element("table", element("thead", head), element("tbody", *body), name="dra-list")


def code_block(text: str) -> Element:
    """Text with its own line ends and indentation, everything else shown as `visible` does."""
    inner = html.escape(visible_lines(text), quote=True)
    return Element(f"<pre><code>{inner}</code></pre>")
