"""The verdict of the spawn form: whether what is chosen fits now, where, and on what the server would likely run."""

from __future__ import annotations

from typing import NamedTuple

from ..planner.naming import with_article
from .prospects import Prospect

__all__ = ["CHOOSE", "NO_DEVICE_WORDS", "Verdict", "judge"]


class Verdict(NamedTuple):
    """``code`` chooses the icon, ``lead`` is emphasized, ``rest`` follows it."""

    code: str
    lead: str
    rest: str = ""


CHOOSE = Verdict("none", "Choose a device.")
NO_DEVICE_WORDS = Verdict("none", "No device.", " The server starts at once.")
_GOES_ON = "The server waits and goes on by itself."


def judge(title: str, prospect: Prospect | None, count: int, most: int | None, *, memory: bool) -> Verdict:
    """Put the choice of ``count`` devices of a tier in words.

    Args:
        prospect: what the tier has at the chosen floor of memory; None where that is not known.
        most: devices of the node that has most of them; None where that is not known.
        memory: whether a floor of memory is chosen.
    """
    if prospect is None or prospect.total is None:
        rest = f" What is free of {title} cannot be seen here; the server waits for its device."
        return Verdict("none", "Not known.", rest)
    if prospect.total == 0 or prospect.verdict == "impossible":
        why = f" No {title} has that memory." if memory else " No node has this, even with everything free."
        return Verdict("impossible", "Not possible here.", why)
    if most is not None and count > most:
        return Verdict("impossible", "Not possible here.", f" No node has more than {most} of these.")
    if prospect.free < count:
        return _too_few(prospect, prospect.total, count)
    if prospect.whole and max(prospect.rooms, default=count) < count:
        rest = (
            f" {prospect.free} devices are free, but no node has more than {max(prospect.rooms)}. "
            f"A server runs on one node. {_GOES_ON}"
        )
        return Verdict("busy", "Too few on one node.", rest)
    if prospect.verdict == "busy":
        rest = f" What is free does not fit together with the rest of the request. {_GOES_ON}"
        return Verdict("busy", "Not free together now.", rest)
    return _fits(prospect, prospect.total, count)


def _too_few(prospect: Prospect, total: int, count: int) -> Verdict:
    if not prospect.free:
        return Verdict("busy", "All taken for now.", f" {total} of {total} are in use. {_GOES_ON}")
    rest = f" {prospect.free} of {total} {_are(prospect.free)} free, {count} are asked for. The server waits for more."
    return Verdict("busy", "Too few are free.", rest)


def _fits(prospect: Prospect, total: int, count: int) -> Verdict:
    holds = f"The server holds {'it' if count == 1 else 'them'} until you stop it."
    if not prospect.sure:
        lead = f"At most {prospect.free} of {total} {_are(prospect.free)} free."
        return Verdict("fits", lead, f" The server waits for what it needs. {holds}")
    if count == 1:
        where = f"{prospect.free} {_devices(prospect.free)} on {prospect.nodes} {_nodes(prospect.nodes)}"
    elif prospect.whole:
        nodes = sum(room >= count for room in prospect.rooms)
        where = f"{nodes} {_nodes(nodes)} {'has' if nodes == 1 else 'have'} {count} free devices"
    else:
        where = f"There are nodes with {count} free devices"
    return Verdict("fits", "Fits now.", f" {where}{_likely(prospect, count)}. {holds}")


def _likely(prospect: Prospect, count: int) -> str:
    """Said only where the node that the scheduler would take has room for all of them."""
    if prospect.likely is None or (prospect.rooms and prospect.rooms[0] < count):
        return ""
    number = max(count, prospect.taken)
    return f", likely {with_article(prospect.likely) if number == 1 else f'{number} × {prospect.likely}'}"


def _devices(number: int) -> str:
    return "device" if number == 1 else "devices"


def _nodes(number: int) -> str:
    return "node" if number == 1 else "nodes"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"
