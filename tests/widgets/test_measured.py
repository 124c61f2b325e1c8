"""``%dra measure``: what a cell took of the device, told below it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jupyter_dra.widgets import measured
from jupyter_dra.widgets.measured import NOT_HERE, OFF, ON, CellFigures, line_of

GIB = 1 << 30


class Events:
    def __init__(self) -> None:
        self.hooks: list[Callable[[Any], None]] = []

    def register(self, name: str, hook: Callable[[Any], None]) -> None:
        assert name == "post_run_cell"
        self.hooks.append(hook)

    def unregister(self, name: str, hook: Callable[[Any], None]) -> None:
        self.hooks.remove(hook)


class Shell:
    def __init__(self) -> None:
        self.events = Events()
        self.parent_header = {"header": {"msg_id": "request-1"}}


def facts(folder: Path, **cell: Any) -> None:
    usage = {"memory_total_bytes": 80 * GIB, "simulated": True, "cell": cell or None}
    content = {"kind": "SessionFacts", "version": 1, "usage": usage}
    (folder / "session.json").write_text(json.dumps(content))


CELL: dict[str, Any] = {"request": "request-1", "samples": 2, "peak_bytes": 9 * GIB, "seconds": 14.0}


def test_a_measured_cell_is_told_when_it_ends_and_not_after_switching_off(tmp_path: Path) -> None:
    facts(tmp_path, **CELL, device_seconds=12.34)
    shell, said = Shell(), list[str]()
    figures = CellFigures(shell, said.append, str(tmp_path))
    assert figures.switch("on") == ON
    assert figures.switch("on") == ON
    assert (tmp_path / "measure").exists()
    (hook,) = shell.events.hooks
    hook(None)
    assert said == ["peak 9 GiB of 80 GiB · device 12.3 s of 14.0 s · simulated"]
    assert figures.switch("off") == OFF
    assert not (tmp_path / "measure").exists()
    assert shell.events.hooks == []


def test_figures_of_another_cell_are_never_told_as_this_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measured, "PATIENCE", 0.1)
    facts(tmp_path, **{**CELL, "request": "request-0"})
    shell, said = Shell(), list[str]()
    CellFigures(shell, said.append, str(tmp_path)).switch("on")
    shell.events.hooks[0](None)
    assert said == []


def test_a_kernel_without_a_session_says_that_it_cannot_measure(tmp_path: Path) -> None:
    figures = CellFigures(Shell(), print, str(tmp_path))
    assert figures.switch("on") == NOT_HERE
    with pytest.raises(ValueError, match="measure on"):
        figures.switch("maybe")


def test_what_is_not_known_is_said_and_never_zero() -> None:
    assert line_of({"cell": {"seconds": 2.0}}) == "device memory not known · device use not known"
    known = {"memory_total_bytes": 80 * GIB, "cell": {"peak_bytes": 0, "seconds": 2.0, "device_seconds": 0.0}}
    assert line_of(known).endswith("device 0.0 s of 2.0 s")
