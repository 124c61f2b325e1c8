"""Fixtures of the real control plane."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from .lab import Lab, LabPlace, start_lab
from .plane import ControlPlane


@pytest.fixture(scope="package")
def lab(control_plane: ControlPlane) -> Iterator[Lab]:
    """The control plane with our node agent: a node of eight H100, and one more."""
    made = start_lab(control_plane, "dgx-h100", "l4")
    yield made
    made.stop()


@pytest.fixture
def place(lab: Lab, tmp_path: Path) -> Iterator[LabPlace]:
    """A fresh namespace; its services are closed and it must be empty at the end."""
    made = LabPlace(lab, lab.fresh_namespace(), tmp_path)
    yield made
    for service in made.services:
        service.close(keep=False)
    with contextlib.suppress(AssertionError):
        lab.wait(made.empty, deadline=15)
    left = made.objects()
    lab.request("DELETE", f"/api/v1/namespaces/{made.namespace}")
    assert not any(left.values()), left
