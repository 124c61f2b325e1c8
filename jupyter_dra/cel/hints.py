"""The commonest mistakes, explained."""

from __future__ import annotations

from jupyter_dra.cel.checker import Problem
from jupyter_dra.cel.issues import SyntaxProblem

__all__ = ["hint_for", "hint_for_syntax"]


def hint_for(problem: Problem, text: str) -> str | None:
    """What was probably meant, or None."""
    del problem, text
    return None


def hint_for_syntax(text: str, problem: SyntaxProblem) -> str | None:
    """What was probably meant, or None."""
    del text, problem
    return None
