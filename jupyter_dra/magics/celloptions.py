"""The words after ``%%dra``; nothing here talks to anything."""

from __future__ import annotations

import argparse
import keyword
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import InputError
from .commands import make_parser

BRIEF = "2m"
"""How long a session that nobody asked to keep may idle: when the notebook's kernel is killed while a cell runs."""


@dataclass(frozen=True, slots=True)
class CellOptions:
    """One use of ``%%dra``.

    Attributes:
        wish: requirement fields as given.
        send, bring: names of variables.
        keep: seconds the session may idle after the cell; None gives it back at once.
        name: of a kept session; None where none was given.
        wait: seconds to wait for a free device; None not at all.
        pickle: whether values that are no data may travel as pickles, which run code when loaded.
        arguments: as parsed, for a request card.
    """

    wish: dict[str, Any]
    send: tuple[str, ...]
    bring: tuple[str, ...]
    keep: int | None
    name: str | None
    wait: float | None
    pickle: bool
    arguments: argparse.Namespace


def parse_cell(words: Sequence[str]) -> CellOptions:
    """Parse the words after ``%%dra``; raises InputError, RequirementError or HelpShown."""
    from ..claims import parse_duration
    from ..claims.arguments import add_requirement_arguments, requirement_values

    parser = make_parser("%dra", "run this cell on a device that is held while it runs")
    parser.add_argument("cell_tier", nargs="?", metavar="TIER", help="short for --tier")
    parser.add_argument("--in", dest="send", metavar="NAMES", action="append", help="variables to send: a,b")
    parser.add_argument("--out", dest="bring", metavar="NAMES", action="append", help="results to bring back")
    parser.add_argument("--keep", metavar="TIME", help="keep the session warm until it idled so long")
    parser.add_argument("--wait", metavar="TIME", nargs="?", const="2h", help="wait for a free device")
    parser.add_argument("--pickle", action="store_true", help="send and load anything; a pickle runs code")
    add_requirement_arguments(parser, session=True)
    arguments = parser.parse_args(list(words))
    if arguments.cell_tier and arguments.req_tier:
        raise InputError(
            "%%dra: the tier is given twice.",
            code="usage",
            path="tier",
            next_step="Leave out one of the two.",
        )
    arguments.req_tier = arguments.req_tier or arguments.cell_tier
    wish = requirement_values(arguments)
    name = wish.pop("name", None)
    keep = None if arguments.keep is None else int(parse_duration(arguments.keep, "--keep"))
    return CellOptions(
        wish=wish,
        send=_names(arguments.send, "--in"),
        bring=_names(arguments.bring, "--out"),
        keep=keep,
        name=None if name is None else str(name),
        wait=None if arguments.wait is None else float(parse_duration(arguments.wait, "--wait")),
        pickle=arguments.pickle,
        arguments=arguments,
    )


def _names(given: list[str] | None, option: str) -> tuple[str, ...]:
    found = [name.strip() for text in given or [] for name in text.split(",") if name.strip()]
    for name in found:
        if not name.isidentifier() or keyword.iskeyword(name):
            raise InputError(
                f"%%dra: {option} {name[:60]!r} is no name of a variable.",
                code="usage",
                next_step="Give names of variables, with commas between them.",
            )
    return tuple(dict.fromkeys(found))
