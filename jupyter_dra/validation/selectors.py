"""CEL selectors as the API server judges them: length, compilation, result type, cost."""

from __future__ import annotations

from jupyter_dra.cel import SelectorCompileError, compile_selector
from jupyter_dra.cel.issues import Issue
from jupyter_dra.cel.syntax import Call, Node, children
from jupyter_dra.errors import CELCompileError
from jupyter_dra.model import limits
from jupyter_dra.validation.fielderrors import Report
from jupyter_dra.validation.paths import Path

TOO_COMPLEX = "too complex, exceeds cost limit"


def check_expression(report: Report, expression: str, path: Path) -> None:
    """Refuse an expression the server would refuse, with its sentence."""
    if len(expression.encode("utf-8", "surrogatepass")) > limits.CEL_EXPRESSION_MAX:
        report.too_long(path, limits.CEL_EXPRESSION_MAX)
        return
    try:
        refuse_gated(expression, compile_selector(expression, report.target).node)
    except CELCompileError as error:
        if "too complex" in error.message:
            report.forbidden(path, TOO_COMPLEX, rule="cel-cost")
        else:
            text = error.server_text() if isinstance(error, SelectorCompileError) else error.message
            if not expression:
                # cel-go points before an empty source and has no line to show.
                text = text.partition("\n")[0].replace("<input>:1:1:", "<input>:1:0:")
            report.invalid(path, expression, text, rule="cel")


def refuse_gated(expression: str, node: Node) -> None:
    """Refuse what only stored selectors may use while its gate is off (DRAListTypeAttributes in all releases yet).

    Raises:
        SelectorCompileError: with the server's words.
    """
    found: list[Issue] = []
    stack = [node]
    while stack:
        one = stack.pop()
        if isinstance(one, Call) and one.function == "includes":
            found.append(Issue("undeclared reference to 'includes' (in container '')", one.at))
        stack += children(one)
    if found:
        raise SelectorCompileError(expression, tuple(sorted(found, key=lambda issue: issue.offset)))
