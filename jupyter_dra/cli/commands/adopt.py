"""``jupyter dra adopt``: take over a claim that was made with kubectl."""

from __future__ import annotations

import argparse
import asyncio

from .. import exits
from ..options import add_cluster, add_output
from ..output import clean, show


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("claim", help="name of the ResourceClaim")
    add_cluster(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    from ..surroundings import open_sessions

    with open_sessions(arguments) as sessions:
        record = asyncio.run(sessions.adopt(arguments.claim)).as_dict()
    show(record, arguments.output, f"Claim {clean(arguments.claim)} is session {clean(record['id'])} now.")
    return exits.DONE
