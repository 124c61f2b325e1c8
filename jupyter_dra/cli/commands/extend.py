"""``jupyter dra extend``: keep a session longer."""

from __future__ import annotations

import argparse
import asyncio

from ...claims import parse_duration
from .. import exits
from ..options import add_cluster, add_output
from ..output import clean, show


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", help="the session's id")
    parser.add_argument("--by", metavar="TIME", default="2h", help="how much longer (default: 2h)")
    parser.add_argument("--idle-timeout", metavar="TIME", help="another idle limit")
    add_cluster(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    from ..surroundings import open_sessions

    seconds = parse_duration(arguments.by, "--by")
    idle = (
        None if arguments.idle_timeout is None else parse_duration(arguments.idle_timeout, "--idle-timeout")
    )
    with open_sessions(arguments) as sessions:
        record = asyncio.run(
            sessions.extend(arguments.session, extend_seconds=seconds, idle_seconds=idle)
        ).as_dict()
    ends = (record["lease"] or {}).get("ends_at")
    show(record, arguments.output, f"Session {clean(record['id'])} ends at {clean(ends)} now.")
    return exits.DONE
