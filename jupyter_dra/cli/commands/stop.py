"""``jupyter dra stop``: end sessions and give their devices back."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from .. import exits
from ..options import add_cluster, add_output
from ..output import clean, show


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", nargs="*", help="ids or names of sessions")
    parser.add_argument("--all", action="store_true", help="all of your sessions")
    parser.add_argument("--no-wait", action="store_true", help="return before everything is given back")
    parser.add_argument(
        "--force", action="store_true", help="also end a session that carries your name but not your seal"
    )
    parser.add_argument(
        "--as-admin",
        action="store_true",
        help="end somebody else's session with your own rights in the namespace; its owner is told that you did",
    )
    parser.add_argument("--because", metavar="TEXT", help="with --as-admin: what its owner is told")
    add_cluster(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    from ...errors import InputError
    from ..surroundings import open_sessions

    if bool(arguments.session) == arguments.all:
        raise InputError("Name sessions, or say --all.", code="usage", next_step="See: jupyter dra sessions")
    if arguments.because and not arguments.as_admin:
        raise InputError(
            "--because is for --as-admin only.",
            code="usage",
            next_step="Leave it out for a session of your own.",
        )
    if arguments.as_admin and arguments.all:
        raise InputError(
            "--as-admin ends sessions by name only.",
            code="usage",
            next_step="Name the sessions instead of --all.",
        )
    with open_sessions(arguments) as sessions:
        stopped = asyncio.run(_stop(sessions, arguments))
    document = {"kind": "SessionList", "version": 1, "sessions": stopped}
    words = "\n".join(f"Session {clean(one['id'])}: {one['state']}." for one in stopped)
    show(document, arguments.output, words or "You hold no device.")
    return exits.DONE


async def _stop(sessions: Any, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    from ...sessions.naming import session_id_of

    if arguments.as_admin:
        return [await _stop_as_admin(sessions, one, arguments.because) for one in arguments.session]
    named = [await session_id_of(sessions, one) for one in arguments.session]
    ids = named or [one.id for one in await sessions.list()]
    records = [await sessions.stop(one, force=arguments.force) for one in ids]
    if not arguments.no_wait:
        records = list(await asyncio.gather(*(sessions.ended(one) for one in ids)))
    return [one.as_dict() for one in records]


async def _stop_as_admin(sessions: Any, session_id: str, because: str | None) -> dict[str, Any]:
    found = {one.id: one.as_dict() for one in await sessions.list(everyone=True)}
    await sessions.stop_as_admin(session_id, because=because)
    return {**found[session_id], "state": "releasing"}
