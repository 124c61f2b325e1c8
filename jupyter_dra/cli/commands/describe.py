"""``jupyter dra describe``: one session in full."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterable, Iterator
from typing import Any

from .. import exits
from ..options import add_cluster, add_output
from ..output import clean, duration, show
from ..session_words import (
    STEP_WORDS,
    cost_line,
    device_lines,
    ended_line,
    hint_line,
    history_lines,
    lease_line,
    now,
    usage_line,
    wait_line,
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", help="the session's id or name")
    add_cluster(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    from ..surroundings import open_session

    with open_session(arguments) as (sessions, session_id):
        record = asyncio.run(_get(sessions, session_id))
    show(record, arguments.output, _in_words(record))
    return exits.DONE


async def _get(sessions: Any, session_id: str) -> dict[str, Any]:
    await sessions.inventory()  # for the devices' labels
    document: dict[str, Any] = (await sessions.get(session_id)).as_dict()
    return document


def _in_words(record: dict[str, Any]) -> str:
    claim = record["claim"] or {}
    lines = [
        f"Session     {clean(record['id'])} ({clean(record['name'])}), {record['state']}",
        f"Namespace   {clean(record['namespace'])}",
        f"Claim       {clean(claim.get('name') or '-')}"
        + ("" if claim.get("made_by_us", True) else ", not ours"),
    ]
    for device in record["devices"]:
        lines += _under("Device", device_lines(device))
    for kernel in record["kernels"]:
        secured = "encrypted" if kernel["encrypted"] else "NOT ENCRYPTED"
        about = ", ".join(
            clean(one) for one in (kernel["state"], kernel["transport"], secured, kernel["notebook"]) if one
        )
        lines.append(f"Kernel      {clean(kernel['id'])} in pod {clean(kernel['pod'])}: {about}")
    at = now()
    if record["lease"]:
        lines.append(f"Lease       {lease_line(record['lease'], at)}")
    if record["wait"]:
        lines.append(f"Waits       {wait_line(record['wait'], at)}")
    if record["usage"]:
        lines.append(f"Use         {usage_line(record['usage'])}")
    if record["price"]:
        lines.append(f"Cost        {cost_line(record['price'])}")
    lines += _under("Steps", (_step(step) for step in record["steps"]))
    lines += _under("History", history_lines(record.get("history") or [], at))
    if record["ended"]:
        lines.append(f"Ended       {ended_line(record['ended'])}")
    if record.get("right_size"):
        lines.append(f"Hint        {hint_line(record['right_size'])}")
    return "\n".join(lines)


def _step(step: dict[str, Any]) -> str:
    words = STEP_WORDS.get(step["code"], clean(step["code"]))
    state = "" if step["state"] == "done" else f" ({step['state']})"
    return f"{words}{state}  {duration(step.get('seconds'))}"


def _under(head: str, lines: Iterable[str]) -> Iterator[str]:
    """Lines below one another, the first beside its head."""
    for line in lines:
        yield f"{head:<12}{line}"
        head = ""
