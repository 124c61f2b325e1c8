"""The verdict of a plan in words, as the panel says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..planner.naming import with_article
from ..planner.permission import refusal_words
from .plain import visible

VERDICTS = {
    "fits": "Fits now",
    "busy": "All taken for now",
    "impossible": "Not possible here",
    "invalid": "Needs a correction",
    "unknown": "Cannot be sure",
}
_FIXED = {
    "impossible": "No node has this, even with everything free.",
    "invalid": "The server would refuse this claim.",
    "unknown": "Launching tells.",
}


def head_of(plan: Mapping[str, Any]) -> str:
    """A few words: the verdict itself, or that it is not allowed."""
    refused = refusal_words(plan.get("launch") or {})
    if refused is not None:
        return refused[0]
    return VERDICTS.get(plan["verdict"], visible(plan["verdict"], 40))


def sentence_of(plan: Mapping[str, Any]) -> str:
    """What stands behind the verdict, with its numbers; what is not allowed, and what may be asked for."""
    launch = plan.get("launch") or {}
    refused = refusal_words(launch)
    if refused is not None:
        return visible(" ".join(filter(None, (refused[1], launch["params"].get("next")))), 300)
    counts = plan.get("counts") or {}
    matching = counts.get("matching") or 0
    if plan["verdict"] == "fits":
        free = counts.get("free") if counts.get("free") is not None else counts.get("free_at_most")
        devices = free if free is not None else matching
        return f"{_number(devices, 'device')} on {_number(counts.get('matching_nodes') or 0, 'node')}.{_likely(plan)}"
    if plan["verdict"] == "busy":
        return f"{_number(matching, 'device')} would fit, none is free."
    if plan["verdict"] == "unknown" and counts.get("free_at_most") is not None and matching:
        word = "matches" if matching == 1 else "match"
        return (
            f"{_number(matching, 'device')} {word}, at most {counts['free_at_most']:,} free. Launching tells."
        )
    return _FIXED.get(plan["verdict"], "")


def _number(count: int, word: str) -> str:
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def _likely(plan: Mapping[str, Any]) -> str:
    nodes = plan.get("nodes") or []
    node = next((one for one in nodes if one.get("likely")), nodes[0] if nodes else None)
    if not node or not node.get("devices"):
        return ""
    device = node["devices"][0]
    label = visible(device.get("label") or device["device"], 60)
    return f" Likely {with_article(label) if device.get('label') else label} on {visible(node['name'], 60)}."
