"""Selectors evaluated once per kind, and device by device only where a nearly unique attribute is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from jupyter_dra.allocator.kinds import DeviceEntry
from jupyter_dra.cel import compile_selector
from jupyter_dra.errors import CELCompileError, DRAError

__all__ = ["Failure", "Match", "SelectorTable"]


@dataclass(frozen=True, slots=True)
class Failure:
    """A selector that cannot be answered: ``kind`` is cel-runtime or cel-compile."""

    kind: str
    message: str
    selector: str
    error: DRAError


Match = bool | Failure

_DIRECT = re.compile(
    r"""device\s*\.\s*(?:attributes|capacity)\s*\[\s*(?:"[^"\\]*"|'[^'\\]*'|device\s*\.\s*driver)\s*\]\s*\.\s*\??\s*([A-Za-z_]\w*)"""
)
_HARMLESS = re.compile(r"\bdevice\s*\.\s*(?:driver|allowMultipleAllocations)\b")
_ANY_USE = re.compile(r"\bdevice\b")


class _Program:
    """One selector text with its results by kind."""

    __slots__ = ("by_kind", "error", "evaluate", "names", "text", "whole")

    def __init__(self, text: str, version: str) -> None:
        self.text = text
        self.error: CELCompileError | None = None
        self.evaluate: Callable[[Any], bool] | None = None
        try:
            self.evaluate = compile_selector(text, version).evaluate
        except CELCompileError as error:
            self.error = error
        self.names = frozenset(_DIRECT.findall(text))
        self.whole = bool(_ANY_USE.search(_HARMLESS.sub("", _DIRECT.sub("", text))))
        self.by_kind: dict[int, Match] = {}

    def reads(self, unique: Sequence[str]) -> bool:
        """Tell whether it may read one of these attributes; in doubt it does."""
        return bool(unique) and (self.whole or any(name.rpartition("/")[2] in self.names for name in unique))


class SelectorTable:
    """Every selector seen so far; one per cluster state, because results hang on its kinds."""

    def __init__(self, version: str = "1.37") -> None:
        self._version = version
        self._programs: dict[str, _Program] = {}

    def program(self, text: str) -> _Program:
        found = self._programs.get(text)
        if found is None:
            if len(self._programs) > 2000:
                self._programs.clear()
            found = self._programs[text] = _Program(text, self._version)
        return found

    def match(self, text: str, device: DeviceEntry) -> Match:
        """True, False, or why the selector cannot be answered for this device."""
        program = self.program(text)
        kind = device.kind
        if kind.unique and program.reads(kind.unique):
            return self._evaluate(program, device)
        found = program.by_kind.get(kind.number)
        if found is None:
            found = program.by_kind[kind.number] = self._evaluate(program, device)
        return found

    def match_all(self, texts: Sequence[str], device: DeviceEntry) -> Match:
        """All selectors in order; the first that is false or fails decides."""
        for text in texts:
            found = self.match(text, device)
            if found is not True:
                return found
        return True

    def reads_unique(self, texts: Sequence[str], unique: Sequence[str]) -> bool:
        """Tell whether any of these selectors may read one of these attributes."""
        return any(self.program(text).reads(unique) for text in texts)

    @staticmethod
    def _evaluate(program: _Program, device: DeviceEntry) -> Match:
        if program.error is not None:
            return Failure("cel-compile", program.error.message, program.text, program.error)
        assert program.evaluate is not None
        try:
            return program.evaluate(device.as_cel())
        except DRAError as error:
            return Failure("cel-runtime", error.message, program.text, error)
