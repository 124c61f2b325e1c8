"""``jupyter dra logs``: what a session's kernel printed."""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import Any

from .. import exits
from ..options import add_cluster
from ..output import clean_block


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", help="the session's id or name")
    parser.add_argument("--kernel", metavar="ID", help="which kernel, when several share the session")
    parser.add_argument("--tail", type=int, metavar="N", help="only the last N lines")
    parser.add_argument("-f", "--follow", action="store_true", help="go on until the kernel ends")
    parser.add_argument("--raw", action="store_true", help="bytes as they are, control characters too")
    add_cluster(parser)


def run(arguments: argparse.Namespace) -> int:
    from ..surroundings import open_session

    with open_session(arguments) as (sessions, session_id):
        asyncio.run(_copy(sessions, session_id, arguments))
    return exits.DONE


async def _copy(sessions: Any, session_id: str, arguments: argparse.Namespace) -> None:
    rest = b""
    async for chunk in sessions.logs(
        session_id, kernel_id=arguments.kernel, tail=arguments.tail, follow=arguments.follow
    ):
        if arguments.raw:
            sys.stdout.buffer.write(chunk)
        else:
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                sys.stdout.write(clean_block(line.decode("utf-8", "replace")) + "\n")
        sys.stdout.flush()
    if rest:
        sys.stdout.write(clean_block(rest.decode("utf-8", "replace")) + "\n")
