"""Every error of ours that a person may read says what to do next."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_dra import errors

PACKAGE = Path(errors.__file__).parent
KINDS = {
    kind.__name__
    for kind in (
        errors.ClusterError,
        errors.ConflictError,
        errors.InputError,
        errors.NotFoundError,
        errors.RefusedError,
        errors.RequirementError,
    )
}


def without_next_step(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of each error that is made without ``next_step``, neither named nor within ``**``."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in KINDS:
            given = {word.arg for word in node.keywords}
            if not given & {"next_step", None}:
                yield node.lineno, ast.unparse(node)


FOLDERS = ("claims", "cli", "cluster", "hub", "kernels", "magics", "planner", "server", "sessions", "widgets")


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_error_names_a_next_step(folder: str) -> None:
    silent = [
        f"{path.relative_to(PACKAGE)}:{line} {text}"
        for path in sorted((PACKAGE / folder).rglob("*.py"))
        for line, text in without_next_step(path.read_text(encoding="utf-8"))
    ]
    assert silent == []


def test_an_error_without_a_next_step_is_found() -> None:
    source = "raise ClusterError('gone', code='x')\nraise ClusterError('gone', next_step='look')\n"
    assert [line for line, _ in without_next_step(source)] == [1]
