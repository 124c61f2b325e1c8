"""What a session is told in at the shell: waiting, use, cost, the hint, the end."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from jupyter_dra.cli.session_words import (
    cost_line,
    ended_line,
    hint_line,
    history_lines,
    lease_line,
    usage_line,
    wait_line,
)

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
GIB = 1 << 30


def test_a_wait_names_the_queue_the_reasons_and_what_is_expected() -> None:
    queue: dict[str, Any] = {"name": "team-a", "position": 3, "message": "no quota left", "as_of": None}
    wait = {
        "reasons": [{"message": "8 taken · 1 by you"}],
        "next_change": {"code": "lease-ends", "at": "2026-11-30T14:30:00Z"},
        "queue": queue,
    }
    assert wait_line(wait, NOON) == (
        "place 3 in queue team-a (no quota left); 8 taken · 1 by you; a lease ends at 14:30"
    )
    assert wait_line({"reasons": [], "queue": {**queue, "position": None, "message": None}}, NOON) == (
        "queue team-a"
    )


def test_use_says_what_is_not_known_and_marks_what_is_simulated() -> None:
    known = {
        "memory_used_bytes": 9 * GIB,
        "memory_total_bytes": 80 * GIB,
        "utilisation_percent": 40,
        "peak_bytes": 12 * GIB,
        "device_seconds": 90,
        "simulated": True,
    }
    assert usage_line(known) == "9.0 of 80.0 GiB · 40 % busy · peak 12.0 GiB · device time 1 min · simulated"
    assert usage_line({}) == "memory not known · use not known"


def test_cost_hint_and_end_are_one_line_each() -> None:
    price = {"amount": "2.90", "currency": "EUR", "per": "hour", "so_far": "1.45"}
    assert cost_line(price) == "1.45 EUR so far (2.90 EUR/hour)"
    joined = {**price, "so_far": "0.00", "counted_with": "bert-9d3fk"}
    assert cost_line(joined) == "counted with bert-9d3fk (2.90 EUR/hour)"
    hint = {"peak_bytes": 9 * GIB, "total_bytes": 80 * GIB, "label": "24 GB", "tier": "l4", "price": price}
    assert hint_line(hint) == "peak 9.0 of 80.0 GiB: tier l4 (24 GB) would do, 2.90 EUR/hour"
    ended = {
        "code": "evicted",
        "message": "Evicted.",
        "params": {"detail": "low disk"},
        "next": "Start again.",
    }
    assert ended_line(ended) == "evicted: Evicted. low disk Start again."


def test_a_lease_says_that_an_idle_device_of_unknown_use_is_kept() -> None:
    lease = {
        "ends_at": "2026-11-30T14:00:00Z",
        "longest_until": None,
        "idle_limit_seconds": 1800,
        "idle_since": "2026-11-30T11:00:00Z",
        "device_use": "unknown",
    }
    assert lease_line(lease, NOON).endswith("without use (the device's use is not known, so it is kept)")
    assert lease_line({**lease, "device_use": "unused"}, NOON).endswith("without use")


def test_the_history_says_why_a_pod_was_lost_and_whether_the_device_stayed() -> None:
    history: list[Mapping[str, Any]] = [
        {"at": 1796040000, "event": "pod-lost", "pod": "bert-0", "code": "evicted", "detail": "low on disk"},
        {"at": 1796040003, "event": "replaced", "pod": "bert-1", "same_device": False},
    ]
    lost, back = (line.partition("  ")[2] for line in history_lines(history, NOON))
    assert lost == (
        "The pod bert-0 was lost: The node ran short of something and evicted the pod. low on disk"
    )
    assert back == "The kernel started anew in pod bert-1, on another device; its variables are gone."
