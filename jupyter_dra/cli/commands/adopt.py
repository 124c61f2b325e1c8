"""``jupyter dra adopt``: take over a claim that was made with kubectl."""

from __future__ import annotations

import argparse
import asyncio
from typing import TYPE_CHECKING, Any

from .. import exits
from ..options import add_cluster, add_output
from ..output import clean, show
from .launch import follow

if TYPE_CHECKING:
    from ...sessions.service import Sessions


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("claim", help="name of the ResourceClaim")
    add_cluster(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    from ..surroundings import open_sessions

    with open_sessions(arguments) as sessions:
        record = asyncio.run(_adopt(sessions, arguments.claim))
    show(record, arguments.output, f"Claim {clean(arguments.claim)} is session {clean(record['id'])} now.")
    return exits.DONE


async def _adopt(sessions: Sessions, claim: str) -> dict[str, Any]:
    """Take the claim over and wait for its kernel: a claim without a pod would lose its device at once."""
    begun = await sessions.adopt(claim)
    await follow(sessions, begun.id)
    return (await sessions.get(begun.id)).as_dict()
