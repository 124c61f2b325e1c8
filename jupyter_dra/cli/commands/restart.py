"""``jupyter dra restart``: restart a session's kernel in place."""

from __future__ import annotations

import argparse
import asyncio

from .. import exits
from ..options import add_cluster, add_output
from ..output import clean, show


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", help="the session's id")
    parser.add_argument("--kernel", metavar="ID", help="which kernel, when several share the session")
    add_cluster(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    from ..surroundings import open_sessions

    with open_sessions(arguments) as sessions:
        record = asyncio.run(sessions.restart_kernel(arguments.session, arguments.kernel)).as_dict()
    show(record, arguments.output, f"Kernel of {clean(record['id'])} restarted on the same device.")
    return exits.DONE
