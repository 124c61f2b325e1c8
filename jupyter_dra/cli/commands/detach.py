"""``jupyter dra detach``: leave a session's objects to kubectl."""

from __future__ import annotations

import argparse
import asyncio

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
        record = asyncio.run(sessions.detach(session_id)).as_dict()
    words = f"Session {clean(record['id'])} is yours to manage with kubectl; its lease still ends the pod."
    show(record, arguments.output, words)
    return exits.DONE
