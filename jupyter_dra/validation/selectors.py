"""CEL selectors as the API server judges them: length, compilation, result type, cost."""

from __future__ import annotations

from jupyter_dra.cel import SelectorCompileError, compile_selector
from jupyter_dra.cel.cost import COST_LIMIT, estimate
from jupyter_dra.cel.selector import version_of
from jupyter_dra.errors import CELCompileError
from jupyter_dra.model import limits
from jupyter_dra.validation.fielderrors import Report
from jupyter_dra.validation.paths import Path

# What is written anew is compiled without what DRAListTypeAttributes would bring (lists as attributes, includes): the
# gate is off by default in all releases. Stored selectors, which the scheduler reads, may use it.
_WITHOUT_LISTS = "1.35"
TOO_COMPLEX = "too complex, exceeds cost limit"


def check_expression(report: Report, expression: str, path: Path) -> None:
    """Refuse an expression the server would refuse, with its sentence."""
    if len(expression.encode("utf-8", "surrogatepass")) > limits.CEL_EXPRESSION_MAX:
        report.too_long(path, limits.CEL_EXPRESSION_MAX)
        return
    try:
        compile_selector(expression, min(report.target, _WITHOUT_LISTS))
        if estimate(expression, version_of(min(report.target, _WITHOUT_LISTS))) > COST_LIMIT:
            report.forbidden(path, TOO_COMPLEX, rule="cel-cost")
    except CELCompileError as error:
        text = error.server_text() if isinstance(error, SelectorCompileError) else error.message
        if not expression:
            # cel-go points before an empty source and has no line to show.
            text = text.partition("\n")[0].replace("<input>:1:1:", "<input>:1:0:")
        report.invalid(path, expression, text, rule="cel")
