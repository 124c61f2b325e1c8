"""``jupyter dra restart``: restart a session's kernel on its device, in place or with another image or size."""

from __future__ import annotations

import argparse
import asyncio

from .. import exits
from ..options import add_cluster, add_output
from ..output import clean, show


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", help="the session's id or name")
    parser.add_argument("--kernel", metavar="ID", help="which kernel, when several share the session")
    parser.add_argument("--image", help="another image; the kernel moves to another pod, the device stays")
    parser.add_argument("--cpu", help="another number of CPUs, likewise")
    parser.add_argument("--host-memory", metavar="SIZE", help="another amount of memory, likewise")
    add_cluster(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    from ...sessions import PodChange
    from ..surroundings import open_session

    change = PodChange(arguments.image, arguments.cpu, arguments.host_memory)
    with open_session(arguments) as (sessions, session_id):
        record = asyncio.run(sessions.restart_kernel(session_id, arguments.kernel, change=change)).as_dict()
    show(record, arguments.output, f"Kernel of {clean(record['id'])} restarted on the same device.")
    return exits.DONE
