"""YAML written so that kubectl reads back what was meant."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from jupyter_dra.checker.scalars import needs_quotes


def dump(value: Any, indent: int = 0) -> str:
    """Block YAML of plain values, two spaces per level, lists at the depth of their field, newline at the end."""
    return "\n".join(lines(value, indent)) + "\n"


def lines(value: Any, indent: int = 0) -> list[str]:
    pad = " " * indent
    if isinstance(value, Mapping) and value:
        found = []
        for key, entry in value.items():
            name = scalar(str(key))
            if isinstance(entry, Mapping) and entry:
                found += [f"{pad}{name}:", *lines(entry, indent + 2)]
            elif isinstance(entry, list) and entry:
                found += [f"{pad}{name}:", *lines(entry, indent)]
            else:
                found.append(f"{pad}{name}: {scalar(entry)}")
        return found
    if isinstance(value, list) and value:
        found = []
        for entry in value:
            inner = lines(entry, indent + 2)
            found += [f"{pad}- {inner[0].lstrip()}", *inner[1:]]
        return found
    return [f"{pad}{scalar(value)}"]


def scalar(value: Any) -> str:
    """A scalar, or an empty or nested value in flow form, on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, str):
        return quoted(value) if needs_quotes(value) else value
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(str(key))}: {scalar(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(scalar(entry) for entry in value) + "]"
    return json.dumps(value)


def quoted(text: str, style: str = "") -> str:
    """A text in quotes; in the given style where that can hold it."""
    if style == "'" or (not style and '"' in text and "\n" not in text and "\t" not in text):
        return "'" + text.replace("'", "''") + "'"
    return json.dumps(text, ensure_ascii=False)
