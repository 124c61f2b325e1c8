"""``jupyter dra``: the table of commands, and how outcomes become words and exit statuses."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NamedTuple, NoReturn

from .._version import __version__
from ..errors import DRAError
from . import exits
from .output import clean, write


class Command(NamedTuple):
    """``module`` in ``commands/`` holds ``configure`` and ``run``, loaded when the command is called."""

    name: str
    module: str
    summary: str


COMMANDS = (
    Command("demo", "demo", "local cluster and JupyterLab with the example notebooks"),
    Command("local", "local", "the local cluster: up, down, status"),
    Command("tiers", "tiers", "what the cluster offers, and what is free"),
    Command("devices", "devices", "every device, its memory, state and holder"),
    Command("claim", "claim", "print the ResourceClaim of a requirement"),
    Command("plan", "plan", "would it fit, where, why not, and what would help"),
    Command("check", "check", "check manifests as the API server and the scheduler would; --fix mends them"),
    Command("run", "run", "run a notebook or script on a session, then give everything back"),
    Command("launch", "launch", "start a session"),
    Command("sessions", "sessions", "your sessions"),
    Command("describe", "describe", "one session in full"),
    Command("attach", "attach", "another kernel on a session's device"),
    Command("share", "share", "let other users join a session"),
    Command("extend", "extend", "keep a session longer"),
    Command("restart", "restart", "restart a session's kernel on the same device"),
    Command("stop", "stop", "end a session and give its device back"),
    Command("logs", "logs", "what a session's kernel printed"),
    Command("detach", "detach", "leave a session to kubectl"),
    Command("adopt", "adopt", "take over a claim made with kubectl"),
    Command("allow", "allow", "let a notebook start on the tier its file names"),
    Command("kernelspec", "kernelspec", "kernels per tier: install, list, remove"),
    Command("doctor", "doctor", "what is wrong with this cluster for us, and the fix"),
    Command("rbac", "rbac", "print the least rights for user, hub, admin"),
)


class CommandParser(argparse.ArgumentParser):
    """A command's options; says which of two memories is meant where somebody writes ``--memory``."""

    def error(self, message: str) -> NoReturn:
        if "--memory" in message:
            message += " (--vram, the device's own, or --host-memory, the pod's?)"
        super().error(message)


def build_parser() -> argparse.ArgumentParser:
    """The parser of the command line without the commands' own options."""
    width = max(len(one.name) for one in COMMANDS)
    listing = "\n".join(f"  {one.name:<{width}}  {one.summary}" for one in COMMANDS)
    parser = argparse.ArgumentParser(
        prog="jupyter dra",
        usage="jupyter dra COMMAND [options]",
        description="Accelerators in Jupyter through Kubernetes Dynamic Resource Allocation.",
        epilog=f"commands:\n{listing}\n\n{exits.MEANING}\njupyter dra COMMAND --help tells more.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"jupyter-dra {__version__}")
    parser.add_argument("command", nargs="?", metavar="COMMAND", help=argparse.SUPPRESS)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit status and never shows a traceback for an expected failure."""
    words = list(sys.argv[1:] if argv is None else argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # What the terminal's or the pipe's encoding lacks is written as an escape, as on stderr; not every one has "·".
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        return _run(words)
    except BrokenPipeError:
        # The reader of our output went away (`| head`): nothing left to say, and Python must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exits.DONE


def _run(words: list[str]) -> int:
    parser = build_parser()
    if not words or words[0].startswith("-"):
        parser.parse_args(words)
        parser.print_help()
        return exits.USAGE if not words else exits.DONE
    command = next((one for one in COMMANDS if one.name == words[0]), None)
    if command is None:
        write(f"jupyter dra: there is no command {clean(words[0][:40])}. See: jupyter dra --help", sys.stderr)
        return exits.USAGE
    module = import_module(f".commands.{command.module}", __package__)
    own = CommandParser(
        prog=f"jupyter dra {command.name}",
        description=command.summary[0].upper() + command.summary[1:] + ".",
        epilog=exits.MEANING,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    configure: Callable[[argparse.ArgumentParser], None] = module.configure
    run: Callable[[argparse.Namespace], int] = module.run
    configure(own)
    arguments = own.parse_args(words[1:])
    arguments.command = command.name
    try:
        return run(arguments)
    except DRAError as error:
        tell(error)
        return exits.status_of(error)
    except KeyboardInterrupt:
        write("Interrupted.", sys.stderr)
        return exits.INTERRUPTED
    except BrokenPipeError:
        raise
    except Exception as error:
        if sys.flags.dev_mode:
            raise
        write(f"jupyter dra: a fault of ours: {type(error).__name__}: {clean(error)}", sys.stderr)
        write("  → Report it with what `python -X dev -m jupyter_dra.cli.main …` prints.", sys.stderr)
        return exits.FINDINGS


def tell(error: DRAError) -> None:
    """One error in words on stderr: object and path, reason, next step."""
    about = []
    if error.object is not None:
        about.append(" ".join(part for part in (error.object.kind, error.object.name) if part))
    if error.path:
        about.append(error.path)
    prefix = f"{clean(', '.join(about))}: " if about and not _named(error, about) else ""
    write(f"jupyter dra: {prefix}{clean(error.message)}", sys.stderr)
    if error.next_step:
        write(f"  → {clean(error.next_step)}", sys.stderr)


def _named(error: DRAError, about: list[str]) -> bool:
    return all(one in error.message for one in about)


if __name__ == "__main__":
    sys.exit(main())
