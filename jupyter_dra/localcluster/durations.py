"""Ages as kubectl's tables show them (k8s.io/apimachinery ``pkg/util/duration/duration.go``)."""

from __future__ import annotations

from typing import Any

from jupyter_dra.localcluster.clock import parse_stamp


def human_duration(seconds: float) -> str:
    """``59s``, ``5m30s``, ``3h``, ``2d``: fewer digits the longer it is."""
    if seconds < -1:
        return "<invalid>"
    total = max(int(seconds), 0)
    if total < 120:
        return f"{total}s"
    minutes, hours, days = total // 60, total // 3600, total // 86400
    if minutes < 10:
        return f"{minutes}m{total % 60}s" if total % 60 else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    if hours < 192:
        return f"{days}d{hours % 24}h" if hours % 24 else f"{days}d"
    if days < 730:
        return f"{days}d"
    if days < 2920:
        return f"{days // 365}y{days % 365}d" if days % 365 else f"{days // 365}y"
    return f"{days // 365}y"


def age(text: Any, now: float) -> str:
    """The age of a timestamp, ``<unknown>`` where there is none."""
    if not isinstance(text, str) or not text:
        return "<unknown>"
    try:
        return human_duration(now - parse_stamp(text))
    except ValueError:
        return "<unknown>"
