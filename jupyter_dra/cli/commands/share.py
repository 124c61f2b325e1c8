"""``jupyter dra share``: let other users of the namespace join a session."""

from __future__ import annotations

import argparse
import asyncio

from .. import exits
from ..options import add_cluster, add_output
from ..output import clean, show


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", help="the session's id or name")
    parser.add_argument("user", nargs="*", help="who may join; nobody takes it back")
    add_cluster(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    from ..surroundings import open_session

    with open_session(arguments) as (sessions, session_id):
        record = asyncio.run(sessions.share(session_id, arguments.user)).as_dict()
    names = ", ".join(map(clean, record["shared_with"]))
    words = (
        f"{names} may join {clean(record['id'])} with `jupyter dra attach {clean(record['id'])}`. "
        "You share all of its memory; nothing keeps you apart. It ends with your session."
        if names
        else f"Nobody else may join {clean(record['id'])} any more; who joined stays until it ends."
    )
    show(record, arguments.output, words)
    return exits.DONE
