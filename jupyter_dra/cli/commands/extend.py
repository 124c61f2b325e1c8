"""``jupyter dra extend``: keep a session longer."""

from __future__ import annotations

import argparse
import asyncio
from typing import TYPE_CHECKING, Any

from ...claims import parse_duration
from ...errors import ConflictError, InputError
from .. import exits
from ..options import add_cluster, add_output
from ..output import clean, show
from ..session_words import lease_line, now

if TYPE_CHECKING:
    from ...sessions.service import Sessions


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", help="the session's id or name")
    parser.add_argument("time", nargs="?", metavar="TIME", help="how much longer, such as 90m (default: 2h)")
    parser.add_argument("--by", metavar="TIME", help="the same as an option")
    parser.add_argument("--idle-timeout", metavar="TIME", help="another idle limit")
    add_cluster(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    from ..surroundings import open_session

    if arguments.time and arguments.by:
        raise InputError("The time stands there twice.", path="--by", next_step="Leave out one of the two.")
    seconds = parse_duration(arguments.by or arguments.time or "2h", "--by")
    idle = (
        None if arguments.idle_timeout is None else parse_duration(arguments.idle_timeout, "--idle-timeout")
    )
    with open_session(arguments) as (sessions, session_id):
        record = asyncio.run(_extend(sessions, session_id, seconds, idle))
    show(record, arguments.output, f"Session {clean(record['id'])} {lease_line(record['lease'], now())}.")
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
            next_step="Extend it by less, and start a new one later.",
            params=error.params,
        ) from error
