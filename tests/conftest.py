"""What all tests share: order of the slow kinds, a clean surrounding, and the two clusters."""

from __future__ import annotations

import pytest

from tests.backends import backend, parametrize
from tests.controlplane.plane import control_plane

__all__ = ["backend", "control_plane"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parametrize(metafunc)


@pytest.fixture(autouse=True)
def no_cluster_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kubeconfig of the person running the tests is never used by one."""
    monkeypatch.delenv("KUBECONFIG", raising=False)
