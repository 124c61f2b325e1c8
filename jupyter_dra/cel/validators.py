"""Checks of constants that the API server makes after the type checker (``cel-go/cel/validator.go``)."""

from __future__ import annotations

from collections.abc import Iterator

from jupyter_dra.cel import regex, times
from jupyter_dra.cel.checker import Checked, Problem
from jupyter_dra.cel.formatting import FormatMistake, check_format
from jupyter_dra.cel.kinds import DYN, Type, format_type
from jupyter_dra.cel.syntax import Call, ListLiteral, Literal, Node, children
from jupyter_dra.cel.values import EvalError
from jupyter_dra.errors import QuantityError, VersionError
from jupyter_dra.model import Quantity, Semver

__all__ = ["failing_constants", "validate_literals"]


def validate_literals(checked: Checked) -> list[Problem]:
    """Literal patterns, durations, timestamps, format texts, and lists and maps of mixed types."""
    exempt = {id(part) for call, _ in checked.calls if _is_format(call) for part in _below(call)}
    problems = [problem for call, _ in checked.calls for problem in _call_problems(call, checked)]
    for literal, parts, given in checked.literals:
        if id(literal) not in exempt:
            problems += _mixed(parts, given)
    return sorted(problems, key=lambda problem: problem.at)


def _below(node: Node) -> Iterator[Node]:
    stack = [node]
    while stack:
        stack += (found := children(stack.pop()))
        yield from found


def _is_format(call: Call) -> bool:
    return call.function == "format" and call.target is not None and len(call.args) == 1


def _mixed(parts: list[Node], given: list[Type]) -> Iterator[Problem]:
    for part, kind in zip(parts[1:], given[1:], strict=True):
        if kind != given[0]:
            message = f"expected type '{format_type(given[0])}' but found '{format_type(kind)}'"
            yield Problem(message, part.at, part, (given[0], kind))
            return


def _call_problems(call: Call, checked: Checked) -> Iterator[Problem]:
    name = call.function
    if name == "matches":
        # The first argument, also of matches(text, pattern): upstream takes the text for the pattern there.
        pattern = call.args[0] if call.args else None
        if isinstance(pattern, Literal) and isinstance(pattern.value, str):
            try:
                regex.compiled(pattern.value)
            except EvalError:
                yield Problem("invalid matches argument", pattern.at, call)
    elif name in ("duration", "timestamp") and call.target is None and len(call.args) == 1:
        argument = call.args[0]
        if isinstance(argument, Literal) and isinstance(argument.value, str):
            try:
                (times.parse_duration if name == "duration" else times.parse_timestamp)(argument.value)
            except EvalError:
                yield Problem(f"invalid {name} argument", argument.at, call)
    elif _is_format(call) and isinstance(call.target, Literal) and isinstance(call.target.value, str):
        yield from _format_problems(call, call.target.value, checked)


def _format_problems(call: Call, text: str, checked: Checked) -> Iterator[Problem]:
    argument = call.args[0]
    if not isinstance(argument, ListLiteral):
        return
    given = next((kinds for literal, _, kinds in checked.literals if literal is argument), [DYN])
    try:
        check_format(text, given)
    except FormatMistake as error:
        at = call.at if error.argument is None else argument.elements[error.argument].at
        yield Problem(str(error), at, call)


def failing_constants(node: Node) -> Iterator[tuple[int, str]]:
    """Position and reason of literal quantities and versions that cannot be read; depth first."""
    stack = [node]
    while stack:
        part = stack.pop()
        stack += children(part)
        if (
            not isinstance(part, Call)
            or part.target is not None
            or part.function not in ("quantity", "semver")
        ):
            continue
        values = [arg.value for arg in part.args if isinstance(arg, Literal)]
        if len(values) != len(part.args) or not values or not isinstance(values[0], str):
            continue
        try:
            if part.function == "quantity":
                Quantity.parse(values[0])
            else:
                Semver.parse(values[0], len(values) > 1 and values[1] is True)
        except (QuantityError, VersionError) as error:
            yield part.args[0].at, error.message
