"""``jupyter dra attach``: another kernel on a session's device."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from .. import exits
from ..options import add_cluster, add_output
from ..output import clean, show


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", help="the session's id or name")
    add_cluster(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    from ..surroundings import open_session

    with open_session(arguments) as (sessions, session_id):
        record = asyncio.run(_attach(sessions, session_id))
    kernel = record["kernels"][-1]
    words = (
        f"Kernel {clean(kernel['id'])} joined {clean(record['id'])}. They share all of its memory; "
        "nothing keeps them apart."
    )
    show(record, arguments.output, words)
    return exits.DONE


async def _attach(sessions: Any, session_id: str) -> dict[str, Any]:
    begun = await sessions.attach(session_id)
    kernel_id = begun.as_dict()["kernels"][-1]["id"]
    await sessions.ready(session_id, kernel_id)
    document: dict[str, Any] = (await sessions.get(session_id)).as_dict()
    return document
