"""``jupyter dra sessions``: what you hold."""

from __future__ import annotations

import argparse
import asyncio
from datetime import datetime
from typing import Any

from .. import exits
from ..options import add_cluster, add_output
from ..output import show, table
from ..session_words import now, until


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--all-users", action="store_true", help="sessions of everyone, as far as you may see"
    )
    parser.add_argument("--ended", action="store_true", help="with those that ended in the last day, and why")
    parser.add_argument("--orphans", action="store_true", help="only sessions that nobody keeps any more")
    add_cluster(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    from ..surroundings import open_sessions

    async def look() -> tuple[dict[str, Any], list[dict[str, Any]]]:
        await sessions.inventory()  # for the devices' labels
        found = await sessions.list(everyone=arguments.all_users, ended=arguments.ended)
        records = [one.as_dict() for one in found]
        return await sessions.context(), records

    with open_sessions(arguments) as sessions:
        context, records = asyncio.run(look())
    if arguments.orphans:
        records = [record for record in records if record["orphan"]]
    document = {"kind": "SessionList", "version": 1, "context": context, "sessions": records}
    at = now()
    rows = [row(record, at) for record in records]
    head = ("SESSION", "STATE", "DEVICE", "NODE", "KERNELS", "ENDS", "NOTE")
    nothing = "No session is left behind." if arguments.orphans else "You hold no device."
    show(document, arguments.output, table(rows, head) if rows else nothing)
    return exits.DONE


def row(record: dict[str, Any], at: datetime) -> tuple[object, ...]:
    """One session as a line of the table."""
    first = record["devices"][0] if record["devices"] else {}
    more = len(record["devices"]) - 1
    device = first.get("label") or first.get("device") or ""
    notes = ["orphan"] if record["orphan"] else []
    notes += [] if record["mine"] else [f"of {record['user']}"]
    notes += ["simulated"] if record["simulated"] else []
    notes += [record["ended"]["code"]] if record["ended"] else []
    return (
        record["id"],
        record["state"],
        f"{device} +{more}" if more > 0 else device,
        first.get("node"),
        len(record["kernels"]),
        until((record["lease"] or {}).get("ends_at"), at),
        ", ".join(notes),
    )
