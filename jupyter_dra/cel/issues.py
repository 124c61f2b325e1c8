"""Compile errors with a position and the API server's layout (``cel-go/common/error.go``)."""

from __future__ import annotations

from dataclasses import dataclass

from jupyter_dra.errors import CELCompileError

__all__ = ["Issue", "SelectorCompileError", "position"]


@dataclass(frozen=True, slots=True)
class Issue:
    """One error: ``message`` as the API server words it, ``offset`` in characters."""

    message: str
    offset: int


def position(text: str, offset: int) -> tuple[int, int]:
    """Line and column, both counted from 1."""
    start = text.rfind("\n", 0, offset) + 1
    return text.count("\n", 0, offset) + 1, offset - start + 1


class SelectorCompileError(CELCompileError):
    """The API server would refuse this selector.

    ``message`` is the first error in the API server's words, ``issues`` are all of them, ``stage`` says who refuses:
    ``compile`` (parser, type checker), ``program`` (constants), ``result`` (not a bool), ``length``.
    """

    def __init__(
        self, text: str, issues: tuple[Issue, ...], *, stage: str = "compile", hint: str | None = None
    ) -> None:
        first = issues[0]
        line, column = position(text, first.offset)
        super().__init__(first.message, line=line, column=column, hint=hint)
        self.text = text
        self.issues = issues
        self.stage = stage

    def server_text(self) -> str:
        """The whole text the API server puts behind ``Invalid value: "…": ``."""
        if self.stage == "program":
            return f"program instantiation failed: {self.message}"
        if self.stage != "compile":
            return self.message
        return "compilation failed: " + "\n".join(_display(self.text, issue) for issue in self.issues)


def _display(text: str, issue: Issue) -> str:
    line, column = position(text, issue.offset)
    source = text.split("\n")[line - 1].replace("\t", " ")
    before = "".join("." if character.isascii() else "\uff0e" for character in source[: column - 1])
    here = source[column - 1 : column]
    mark = "^" if not here or here.isascii() else "\uff3e"
    return f"ERROR: <input>:{line}:{column}: {issue.message}\n | {source}\n | {before}{mark}"


class SyntaxProblem(Exception):
    """Raised inside the parser; the compiler turns it into an Issue."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
