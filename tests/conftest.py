"""What all tests share: order of the slow kinds, and a clean surrounding."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def no_cluster_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kubeconfig of the person running the tests is never used by one."""
    monkeypatch.delenv("KUBECONFIG", raising=False)
