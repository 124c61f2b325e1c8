"""``jupyter dra launch``: start a session and leave it running."""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import TYPE_CHECKING, Any

from ...claims import parse_duration
from ...claims.arguments import add_requirement_arguments, requirement_from_arguments
from .. import exits
from ..options import add_cluster, add_output
from ..output import clean, duration, show, write
from ..session_words import STEP_WORDS, now, wait_line

if TYPE_CHECKING:
    from ...sessions.service import Sessions

DEFAULT_WAIT = 7200


def configure(parser: argparse.ArgumentParser) -> None:
    add_requirement_arguments(parser, session=True)
    add_wait(parser)
    parser.add_argument("--force", action="store_true", help="go on although the plan says impossible")
    parser.add_argument("--no-follow", action="store_true", help="return as soon as the session is begun")
    add_cluster(parser)
    add_output(parser)


def add_wait(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--wait",
        nargs="?",
        const=str(DEFAULT_WAIT),
        metavar="TIME",
        help="wait for a free device (default with the option: 2h)",
    )


def wait_seconds(arguments: argparse.Namespace) -> float | None:
    """Seconds to wait for a free device; None when not asked to."""
    return None if arguments.wait is None else parse_duration(arguments.wait, "--wait")


def run(arguments: argparse.Namespace) -> int:
    from ..surroundings import open_sessions

    requirement = requirement_from_arguments(arguments)
    with open_sessions(arguments) as sessions:
        record = asyncio.run(_launch(sessions, arguments, requirement))
    show(record, arguments.output, _in_words(record))
    return exits.DONE


async def _launch(sessions: Sessions, arguments: argparse.Namespace, requirement: Any) -> dict[str, Any]:
    begun = await sessions.launch(
        requirement, wait=wait_seconds(arguments), force=arguments.force, name=requirement.name
    )
    if arguments.no_follow:
        return begun.as_dict()
    try:
        await follow(sessions, begun.id)
    except BaseException:
        await sessions.stop(begun.id)
        await sessions.ended(begun.id)
        raise
    return (await sessions.get(begun.id)).as_dict()


async def follow(sessions: Sessions, session_id: str) -> None:
    """Tell each step on stderr as it is done, until the kernel is connected; raises SessionEnded when it never is."""
    here = asyncio.get_running_loop()
    changed = asyncio.Event()

    def wake(_: object) -> None:
        here.call_soon_threadsafe(changed.set)

    end = sessions.subscribe(wake, every=True)
    ready = asyncio.ensure_future(sessions.ready(session_id))
    told: set[str] = set()
    try:
        while True:
            await _tell(sessions, session_id, told)
            if ready.done():
                ready.result()
                return
            changed.clear()
            waiter = asyncio.ensure_future(changed.wait())
            await asyncio.wait({ready, waiter}, return_when=asyncio.FIRST_COMPLETED)
            waiter.cancel()
    finally:
        end()
        ready.cancel()


async def _tell(sessions: Sessions, session_id: str, told: set[str]) -> None:
    record = (await sessions.get(session_id)).as_dict()
    for step in record["steps"]:
        if step["state"] == "done" and step["code"] not in told:
            told.add(step["code"])
            write(f"  {STEP_WORDS.get(step['code'], step['code'])}{_detail(record, step)}", sys.stderr)
    if record["state"] == "waiting" and record["wait"]:
        words = wait_line(record["wait"], now())
        if words not in told:
            told.add(words)
            write(f"  Waiting for a device: {words}", sys.stderr)


def _detail(record: dict[str, Any], step: dict[str, Any]) -> str:
    time = f"  {duration(step['seconds'])}" if step.get("seconds") is not None else ""
    if step["code"] == "allocated" and record["devices"]:
        first = record["devices"][0]
        place = f"{clean(first['device'])} on {clean(first['node'])}"
        return f": {clean(first['label'] or first['device'])} · {place}{time}"
    return time


def _in_words(record: dict[str, Any]) -> str:
    lines = [f"Session {clean(record['id'])} is {record['state']}."]
    lines.append(f"  jupyter dra describe {clean(record['id'])}")
    lines.append(f"  jupyter dra stop {clean(record['id'])}")
    return "\n".join(lines)
