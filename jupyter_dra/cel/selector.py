"""``compile_selector``: text to a selector that can be evaluated on devices."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from jupyter_dra.cel import kinds
from jupyter_dra.cel.checker import Problem, check
from jupyter_dra.cel.conversions import not_bool_text, type_of
from jupyter_dra.cel.device import DeviceView
from jupyter_dra.cel.evaluator import Closure, ProgramProblem, build
from jupyter_dra.cel.hints import hint_for, hint_for_runtime, hint_for_syntax
from jupyter_dra.cel.issues import Issue, SelectorCompileError, SyntaxProblem
from jupyter_dra.cel.meter import STEPS, Allowance
from jupyter_dra.cel.parser import parse
from jupyter_dra.cel.syntax import Node
from jupyter_dra.cel.validators import failing_constants, validate_literals
from jupyter_dra.cel.values import CelOptional, EvalError, StepsExhausted, TrapRead
from jupyter_dra.errors import CELRuntimeError
from jupyter_dra.model import Device
from jupyter_dra.model.limits import CEL_EXPRESSION_MAX

__all__ = ["Outcome", "Selector", "compile_selector", "constant_problems"]

_KEY_HINT_1_37 = (
    ". consider using CEL optional chaining (.? followed by orValue())"
    " or guarding the check with has() for optional fields"
)
_PATIENCE = 3
_FEW_STEPS = STEPS // 40
COST_EXCEEDED = "actual cost limit exceeded"


Outcome = bool | CELRuntimeError


class Selector:
    """A compiled selector; safe to share between threads.

    ``text`` is the expression, ``version`` the Kubernetes version whose rules it was compiled with, ``size`` the number
    of nodes.
    """

    __slots__ = ("_exceeded", "_program", "_slots", "node", "size", "text", "version")

    def __init__(self, text: str, version: str, node: Node, program: Closure, slots: int, size: int) -> None:
        self.text = text
        self.version = version
        self.node = node
        self._program = program
        self._slots = slots
        self.size = size
        self._exceeded = 0

    def __repr__(self) -> str:
        return f"Selector({self.text!r})"

    def evaluate(self, device: DeviceView | Device | Mapping[str, Any], driver: str | None = None) -> bool:
        """Tell whether a device matches.

        ``driver`` is needed for a :class:`~jupyter_dra.model.Device`, which does not know its own; a mapping may have
        it as a key. Raises CELRuntimeError where the scheduler's evaluation fails: that ends the whole attempt and is
        never the same as false.
        """
        view = device if isinstance(device, DeviceView) else DeviceView.of(device, driver)
        return self.run(view)

    def run(self, view: DeviceView) -> bool:
        """The same for a prepared device, without a look at what it is."""
        outcome = self.outcome(view)
        if isinstance(outcome, CELRuntimeError):
            raise outcome
        if outcome is None:
            raise CELRuntimeError("a profile's placeholder was read")
        return outcome

    def outcome(self, view: DeviceView, allowance: Allowance | None = None) -> Outcome | None:
        """True, False, the error as a value, or None where the view is a profile and a placeholder was read.

        Raises BudgetExceeded where ``allowance`` was used up before.
        """
        frame: list[Any] = [None] * self._slots
        # The API server stores no selector that can exceed the limit. One that does so again and again would hold up
        # a whole inventory, so it gets less time.
        frame[0], frame[1] = view, STEPS if self._exceeded < _PATIENCE else _FEW_STEPS
        if allowance is None:
            return self._outcome(frame)
        allowance.check()
        steps = frame[1]
        found = self._outcome(frame)
        allowance.pay(self.size, steps - frame[1])
        return found

    def _outcome(self, frame: list[Any]) -> Outcome | None:
        try:
            value = self._program(frame)
            if isinstance(value, CelOptional) and isinstance(value.value, bool):
                value = value.value
            if value is True or value is False:
                return value
            name = type_of(value).name
            return CELRuntimeError(
                f"CEL result of type {name} could not be converted to bool: {not_bool_text(value)}"
            )
        except TrapRead:
            return None
        except EvalError as error:
            message = str(error)
            return CELRuntimeError(message, next_step=hint_for_runtime(message))
        except StepsExhausted:
            self._exceeded += 1
            return CELRuntimeError(COST_EXCEEDED, params={"reason": "cost"})
        except RecursionError:
            return CELRuntimeError("the values are nested too deeply to be compared")


def constant_problems(selector: Selector) -> tuple[Issue, ...]:
    """Constants the server accepts and every evaluation fails on: ``quantity("40GB")``, ``semver("1.2")``."""
    found = [Issue(message, at) for at, message in failing_constants(selector.node)]
    return tuple(sorted(found, key=lambda issue: issue.offset))


def compile_selector(text: str, version: str = "1.37") -> Selector:
    """Compile a device selector as the API server of a Kubernetes version (1.34 to 1.37) would.

    Raises :class:`~jupyter_dra.errors.CELCompileError` with line, column and, for common mistakes, a hint.

    >>> selector = compile_selector('device.driver == "gpu.nvidia.com"')
    >>> selector.evaluate({"driver": "gpu.nvidia.com"})
    True
    """
    return _compiled(text, version_of(version))


def version_of(text: str) -> tuple[int, int]:
    """``1.37`` or ``v1.37.2`` as numbers, within the range this engine knows."""
    major, _, rest = text.removeprefix("v").partition(".")
    minor = rest.partition(".")[0]
    if major != "1" or not minor.isdigit():
        raise ValueError(f"not a Kubernetes version: {text!r}")
    return 1, min(max(int(minor), 34), 37)


@lru_cache(maxsize=2048)
def _compiled(text: str, version: tuple[int, int]) -> Selector:
    if len(text.encode("utf-8", "surrogatepass")) > CEL_EXPRESSION_MAX:
        message = f"Too long: may not be more than {CEL_EXPRESSION_MAX} bytes"
        raise _refused(text, [Problem(message, 0)], "length")
    try:
        return _compile(text, version)
    except RecursionError:
        issue = Issue("expression recursion limit exceeded: 250", 0)
        raise SelectorCompileError(text, (issue,)) from None


def _compile(text: str, version: tuple[int, int]) -> Selector:
    try:
        node = parse(text)
    except SyntaxProblem as problem:
        issue = Issue(problem.message, problem.offset)
        raise SelectorCompileError(text, (issue,), hint=hint_for_syntax(text, problem)) from None
    checked = check(node, version)
    problems = checked.problems or validate_literals(checked)
    if problems:
        raise _refused(text, problems, "compile")
    accepted = (kinds.BOOL, kinds.DYN) if version >= (1, 36) else (kinds.BOOL,)
    if checked.result not in (*accepted, kinds.ANY):
        found = kinds.format_type(checked.result)
        message = f"must evaluate to bool or the unknown type, not {found}"
        raise _refused(text, [Problem(message, 0, node, (checked.result,))], "result")
    hint = _KEY_HINT_1_37 if version >= (1, 37) else ""
    try:
        program, slots, size = build(node, checked, hint, strict_optionals=version >= (1, 37))
    except ProgramProblem as problem:
        raise _refused(text, [Problem(str(problem), 0)], "program") from None
    return Selector(text, f"{version[0]}.{version[1]}", node, program, slots, size)


def _refused(text: str, problems: list[Problem], stage: str) -> SelectorCompileError:
    issues = tuple(Issue(problem.message, problem.at) for problem in problems)
    return SelectorCompileError(text, issues, stage=stage, hint=hint_for(problems[0], text))
