"""Tolerant reading of JSON: a missing or ill-typed field reads as its empty value; validation tells it elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Json = Mapping[str, Any]
EMPTY: Json = {}


def mapping(value: object) -> Json:
    """The value where it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else EMPTY


def json_object(value: object) -> Json:
    """The JSON object in a stranger's text; empty where it holds none, or nests too deeply to be read."""
    try:
        found = json.loads(value) if isinstance(value, (str, bytes)) else None
    except (ValueError, RecursionError):
        found = None
    return mapping(found)


def items(value: object) -> list[Json]:
    """The mappings of a list; anything else gives an empty list."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, (list, tuple)) else []


def texts(value: object) -> tuple[str, ...]:
    """The texts of a list."""
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, (list, tuple)) else ()


def text(value: object) -> str:
    """The value where it is a text, else the empty text."""
    return value if isinstance(value, str) else ""


def optional_text(value: object) -> str | None:
    """The value where it is a text that is not empty."""
    return value if isinstance(value, str) and value else None


def integer(value: object) -> int | None:
    """The value where it is a whole number."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def text_map(value: object) -> Mapping[str, str]:
    """A map of texts; entries of other types are left out."""
    if not isinstance(value, Mapping):
        return {}
    return {key: item for key, item in value.items() if isinstance(key, str) and isinstance(item, str)}
