"""Data and shorthands for the checker's tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jupyter_dra.checker import CheckResult, Finding, check

DATA = Path(__file__).parent / "data"


def found(result: CheckResult, code: str) -> list[Finding]:
    """The findings of a code."""
    return [finding for finding in result.findings if finding.code == code]


def only(result: CheckResult, code: str) -> Finding:
    """The one finding of a code."""
    matching = found(result, code)
    assert len(matching) == 1, [(finding.code, finding.path) for finding in result.findings]
    return matching[0]


def codes(text: str, **options: Any) -> set[str]:
    """The codes of all findings of a text."""
    return {finding.code for finding in check(text, **options).findings}
