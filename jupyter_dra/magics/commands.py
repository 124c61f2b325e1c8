"""The words after ``%dra`` and their options; nothing here talks to anything."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from ..errors import InputError

#: Word → one line of help, in the order they are listed.
WORDS = {
    "card": "what this kernel holds (the same as %dra alone)",
    "tiers": "what the cluster offers, and what is free",
    "devices": "every device, its memory, state and holder",
    "plan": "would it fit, where, why not, and what would help",
    "claim": "the ResourceClaim of a requirement",
    "launch": "start a session",
    "sessions": "your sessions",
    "attach": "another kernel on a session's device",
    "extend": "keep a session longer",
    "stop": "end a session and give its device back",
    "measure": "on or off: after each cell, its peak of device memory and its device time",
    "check": "check a manifest as the API server and the scheduler would",
    "ui": "choose a device by hand",
    "help": "this list",
}


class _Parser(argparse.ArgumentParser):
    """Reports mistakes as our error instead of ending the process, which here is the kernel."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"%{self.prog}: {message}", code="usage", next_step=f"See %{self.prog} --help")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise HelpShown(message or "")


class HelpShown(Exception):
    """``--help`` was asked for; argparse has printed it."""


@dataclass(frozen=True, slots=True)
class Call:
    """One use of the magic: the word and what follows, parsed."""

    word: str
    arguments: argparse.Namespace


def parse(words: Sequence[str]) -> Call:
    """Parse the words after ``%dra``.

    Raises:
        InputError: ``usage``, a word or option that does not exist. HelpShown: help was asked for.
    """
    word = words[0] if words else "card"
    if word.startswith("-"):
        word = "help" if word in ("-h", "--help") else "card"
    if word not in WORDS:
        raise InputError(f"%dra {word[:40]}: there is no such word.", code="usage", next_step="See %dra help")
    parser = _Parser(prog=f"dra {word}", description=WORDS[word], allow_abbrev=False)
    add_options = _OPTIONS.get(word)
    if add_options is not None:
        add_options(parser)
    return Call(word, parser.parse_args(list(words[1:])))


def make_parser(prog: str, description: str) -> argparse.ArgumentParser:
    """A parser that raises InputError and HelpShown; ``prog`` without its first percent sign."""
    return _Parser(prog=prog, description=description, allow_abbrev=False)


def help_text() -> str:
    width = max(len(word) for word in WORDS)
    lines = [f"%dra {word:<{width}}  {text}" for word, text in WORDS.items()]
    cell = "%%dra TIER --in a --out b  runs the cell on a device held only meanwhile: %%dra --help"
    return "\n".join([*lines, "", cell, "%dra WORD --help tells more."])


def _requirement(parser: argparse.ArgumentParser, *, session: bool) -> None:
    from ..claims.arguments import add_requirement_arguments

    add_requirement_arguments(parser, session=session)


def _devices(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tier", metavar="NAME", help="only devices of this tier")
    parser.add_argument("--node", metavar="NAME", help="only devices of this node")


def _plan(parser: argparse.ArgumentParser) -> None:
    _requirement(parser, session=False)
    parser.add_argument("-f", "--file", metavar="FILE", help="a claim's manifest instead")


def _claim(parser: argparse.ArgumentParser) -> None:
    _requirement(parser, session=False)
    parser.add_argument("--claim-name", metavar="NAME", default="claim", help="the claim's name")


def _launch(parser: argparse.ArgumentParser) -> None:
    _requirement(parser, session=True)
    parser.add_argument("--wait", metavar="TIME", nargs="?", const="2h", help="wait for a free device")


def _session(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "session", nargs="?", metavar="SESSION", help="its id or name; without one: this kernel's own"
    )


def _extend(parser: argparse.ArgumentParser) -> None:
    _session(parser)
    parser.add_argument("--by", metavar="TIME", default="1h", help="how much longer (default 1h)")


def _measure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("switch", choices=("on", "off"))


def _check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--fix", action="store_true", help="show the corrected manifest")
    parser.add_argument("--target", metavar="VERSION", default="1.37", help="Kubernetes version to check for")


_OPTIONS: dict[str, Callable[[argparse.ArgumentParser], Any]] = {
    "devices": _devices,
    "plan": _plan,
    "claim": _claim,
    "launch": _launch,
    "attach": _session,
    "extend": _extend,
    "stop": _session,
    "measure": _measure,
    "check": _check,
}
