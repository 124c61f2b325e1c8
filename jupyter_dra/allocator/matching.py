"""Selectors evaluated once per kind, and device by device only where a nearly unique attribute is read.

A kind's view holds a trap in place of each unique value; a selector that steps on one tells so by having no outcome.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from jupyter_dra.allocator.kinds import DeviceEntry, DeviceKind
from jupyter_dra.cel import DeviceView, Selector, SelectorCompileError, compile_selector
from jupyter_dra.cel.meter import Allowance
from jupyter_dra.cel.values import TRAP, CelMap
from jupyter_dra.errors import CELCompileError, CELRuntimeError, DRAError

__all__ = ["Failure", "Match", "SelectorTable"]

_KEPT_PROGRAMS = 256


@dataclass(frozen=True, slots=True)
class Failure:
    """A selector that cannot be answered: ``kind`` is cel-runtime or cel-compile."""

    kind: str
    message: str
    selector: str
    error: DRAError


Match = bool | Failure


class _Program:
    """One selector text with its results by kind; None where the devices of a kind differ."""

    __slots__ = ("by_kind", "failure", "selector", "text")

    def __init__(self, text: str, version: str) -> None:
        self.text = text
        self.selector: Selector | None = None
        self.failure: Failure | None = None
        try:
            self.selector = compile_selector(text, version)
        except CELCompileError as error:
            whole = error.server_text() if isinstance(error, SelectorCompileError) else error.message
            self.failure = Failure("cel-compile", whole, text, error)
        self.by_kind: dict[int, Match | None] = {}

    def outcome(self, view: DeviceView | CELRuntimeError, allowance: Allowance | None) -> Match | None:
        """True, False or the failure; None where a trap was read."""
        if self.failure is not None or self.selector is None:
            return self.failure
        found = view if isinstance(view, CELRuntimeError) else self.selector.outcome(view, allowance)
        if isinstance(found, CELRuntimeError):
            return Failure("cel-runtime", found.message, self.text, found)
        return found


class SelectorTable:
    """Every selector seen so far; one per cluster state, because results hang on its kinds."""

    def __init__(self, version: str = "1.37") -> None:
        self._version = version
        self._programs: dict[str, _Program] = {}
        self._views: dict[int, DeviceView | CELRuntimeError] = {}
        self._allowance: Allowance | None = None

    @contextmanager
    def within(self, allowance: Allowance) -> Iterator[None]:
        """Inside, whatever evaluates a selector raises BudgetExceeded once the allowance is used up.

        What was found out before is kept: the same question asked again gets further.
        """
        self._allowance = allowance
        try:
            yield
        finally:
            self._allowance = None

    def match(self, text: str, device: DeviceEntry) -> Match:
        """True, False, or why the selector cannot be answered for this device."""
        program = self._programs.get(text)
        if program is None:
            program = self._program(text)
        number = device.kind.number
        found = program.by_kind.get(number, TRAP)
        if found is TRAP:
            found = program.by_kind[number] = program.outcome(self._view(device.kind), self._allowance)
        if found is None:
            found = program.outcome(_real_view(device), self._allowance)
            assert found is not None
        return found  # type: ignore[return-value]

    def match_all(self, texts: Sequence[str], device: DeviceEntry) -> Match:
        """All selectors in order; the first that is false or fails decides."""
        for text in texts:
            found = self.match(text, device)
            if found is not True:
                return found
        return True

    def differs(self, texts: Sequence[str], device: DeviceEntry) -> bool:
        """Tell whether devices of this one's kind may be answered differently."""
        if not device.kind.unique:
            return False
        for text in texts:
            found = self.match(text, device)
            if self._programs[text].by_kind[device.kind.number] is None:
                return True
            if found is not True:
                return False
        return False

    def _program(self, text: str) -> _Program:
        if len(self._programs) > _KEPT_PROGRAMS:
            self._programs.clear()
        program = self._programs[text] = _Program(text, self._version)
        return program

    def _view(self, kind: DeviceKind) -> DeviceView | CELRuntimeError:
        view = self._views.get(kind.number)
        if view is None:
            view = self._views[kind.number] = _trapped_view(kind)
        return view


def _trapped_view(kind: DeviceKind) -> DeviceView | CELRuntimeError:
    try:
        view = DeviceView.of(
            {
                "attributes": kind.source.get("attributes", {}),
                "capacity": kind.source.get("capacity", {}),
                "allowMultipleAllocations": kind.shared,
            },
            kind.driver,
        )
    except CELRuntimeError as error:
        return error
    for name in kind.unique:
        domain, slash, short = name.rpartition("/")
        inner = view.attributes.data.get(domain if slash else kind.driver)
        if isinstance(inner, CelMap):
            inner.data[short] = TRAP
    return view


def _real_view(device: DeviceEntry) -> DeviceView | CELRuntimeError:
    try:
        return DeviceView.of(device.as_cel(), device.kind.driver)
    except CELRuntimeError as error:
        return error
