"""Text that strangers may put into every name, attribute and message."""

from __future__ import annotations

from typing import Any

TEXTS = [
    "<script>canary()</script>",
    "<img src=x onerror=canary()>",
    "</section><style>*{display:none}</style>",
    "<a data-commandlinker-command='jupyter-dra:stop'>x</a>",
    "\x1b[2J\x1b]52;c;Y2FuYXJ5\x07",
    "one\rtwo\nthree",
    "safe\u202egpj.exe\u2066x\u2069\u200b",
    "\"'`${x}{x.__class__}$(touch canary)",
    "x\nkind: Pod\n---\n",
    "../../../etc/passwd",
    "javascript:canary()",
    "a" * 300,
]
ALLOWED_CONTROL = {"\n"}
HIDDEN = [
    chr(code) for code in (*range(0x00, 0x20), 0x7F, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200B)
]


def has_hidden(text: str) -> bool:
    """Whether text holds a character that a terminal or page would obey instead of show."""
    return any(character in text for character in HIDDEN if character not in ALLOWED_CONTROL)


def held(text: str) -> dict[str, Any]:
    """What a kernel may be told about its device, with one text in every place."""
    device = {
        "request": text,
        "driver": text,
        "pool": text,
        "name": text,
        "product": text,
        "node": text,
        "label": text,
        "attributes": {f"{text}/architecture": {"string": text}, "x/uuid": {"string": text}, text: text},
        "capacity": {"x/memory": {"value": text}},
        "sources": {f"{text}/architecture": text},
        "found_in": [text],
        "simulated": True,
    }
    return {
        "as_of": text,
        "session": {"id": text, "name": text, "node": text},
        "claim": {"name": text},
        "devices": [device],
        "lease": {"ends_at": text},
        "usage": {"memory_used_bytes": 5, "memory_total_bytes": 10, "utilisation_percent": text, "at": text},
        "comparison": {"given": 1, "sees": 2, "extra": [text], "missing": [text]},
    }
