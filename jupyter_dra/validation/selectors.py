"""CEL selectors as the API server judges them: length, compilation, result type, cost."""

from __future__ import annotations

from jupyter_dra.errors import CELCompileError
from jupyter_dra.model import limits
from jupyter_dra.validation.fielderrors import Report
from jupyter_dra.validation.paths import Path

TOO_COMPLEX = "too complex, exceeds cost limit"
_COMPLETE = ("must evaluate to", "compilation failed:", "unexpected type name")


def check_expression(report: Report, expression: str, path: Path) -> None:
    """Refuse an expression the server would refuse, with its sentence."""
    if len(expression.encode()) > limits.CEL_EXPRESSION_MAX:
        report.too_long(path, limits.CEL_EXPRESSION_MAX)
        return
    try:
        from jupyter_dra.cel import compile_selector
    except ImportError:
        return
    try:
        compile_selector(expression, report.target)
    except CELCompileError as error:
        if "too complex" in error.message:
            report.forbidden(path, TOO_COMPLEX, rule="cel-cost")
        else:
            report.invalid(path, expression, server_sentence(expression, error), rule="cel")


def server_sentence(expression: str, error: CELCompileError) -> str:
    """The compiler's message with the source line and a pointer, as cel-go prints it."""
    if error.message.startswith(_COMPLETE):
        return error.message
    lines = expression.split("\n")
    line = lines[error.line - 1] if 0 < error.line <= len(lines) else ""
    pointer = "." * (error.column - 1) + "^"
    return f"compilation failed: ERROR: <input>:{error.line}:{error.column}: {error.message}\n | {line}\n | {pointer}"
