"""Each further condition of a request in a few words, as it stands on its chip."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..claims import Requirement
from ..planner.naming import generation_from
from .plain import visible

__all__ = ["chips"]


def chips(wish: Requirement) -> list[tuple[str, str]]:
    """Field and words of what narrows the choice beside tier and memory, in reading order."""
    asked = wish.as_dict()
    words = {
        "count": _count(asked.get("count")),
        "product": _names(asked.get("product")),
        "architecture": _names(asked.get("architecture")),
        "compute_capability": _capability(str(asked.get("compute_capability") or "")),
        "driver_version": _told("driver", asked.get("driver_version")),
        "where": _some("own condition", asked.get("where")),
        "near": _near(asked),
        "spread": _told("spread over", asked.get("spread")),
        "share": _share(asked.get("share")),
        "or_else": _some("other choice", asked.get("or_else")),
        "tolerate": "marked devices accepted",
    }
    return [(field, visible(text, 80)) for field, text in words.items() if asked.get(field) and text]


def _count(count: object) -> str:
    if count == "all":
        return "all devices of a node"
    return f"{count} devices" if count not in (None, 1) else ""


def _names(value: object) -> str:
    return value if isinstance(value, str) else ", ".join(map(str, _list(value)))


def _list(value: object) -> list[object]:
    return (
        list(value)
        if isinstance(value, Iterable) and not isinstance(value, str)
        else [value]
        if value
        else []
    )


def _capability(text: str) -> str:
    name = generation_from(text)
    return f"{name} or newer" if name else f"compute capability {text}"


def _told(word: str, value: object) -> str:
    return f"{word} {value}" if value else ""


def _some(word: str, value: object) -> str:
    number = len(_list(value))
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _near(asked: dict[str, object]) -> str:
    align = re.sub(r".*/", "", str(asked.get("align") or "pcieRoot"))
    place = {"pcieRoot": "PCIe root", "numaNode": "NUMA node"}.get(align, align)
    partners = [one.get("tier") or "partner" for one in _list(asked.get("near")) if isinstance(one, dict)]
    return f"{', '.join(map(str, partners))}, same {place}" if partners else ""


def _share(share: object) -> str:
    if not isinstance(share, dict):
        return ""
    if share.get("profile"):
        return f"part {share['profile']}"
    if share.get("memory"):
        return f"{share['memory']} of a shared device"
    return "side by side (MPS)" if share.get("strategy") == "mps" else "taking turns (time slices)"
