"""``jupyter dra extend``: keep a session longer."""

from __future__ import annotations

import argparse
import asyncio
from typing import TYPE_CHECKING, Any

from ...claims import parse_duration
from ...errors import ConflictError
from .. import exits
from ..options import add_cluster, add_output
from ..output import clean, show

if TYPE_CHECKING:
    from ...sessions.service import Sessions


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
        record = asyncio.run(_extend(sessions, arguments.session, seconds, idle))
    ends = (record["lease"] or {}).get("ends_at")
    show(record, arguments.output, f"Session {clean(record['id'])} ends at {clean(ends)} now.")
    return exits.DONE


async def _extend(sessions: Sessions, session_id: str, seconds: float, idle: float | None) -> dict[str, Any]:
    try:
        return (await sessions.extend(session_id, extend_seconds=seconds, idle_seconds=idle)).as_dict()
    except ConflictError as error:
        if error.code != "longest-lease":
            raise
        longest = (await sessions.get(session_id)).as_dict()["lease"]["longest_until"]
        raise ConflictError(
            f"Session {session_id} cannot live longer than {longest}.",
            code=error.code,
            next_step="Extend it less with --by, and start a new one later.",
            params=error.params,
        ) from error
