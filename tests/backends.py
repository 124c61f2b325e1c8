"""The two clusters that tests of the product run on: the local one, and Kubernetes itself (marker ``controlplane``).

A test that uses the fixture ``backend``, usually by way of its folder's ``cluster``, runs on both.
``@pytest.mark.local_only("why")`` keeps it to the local one.
"""

from __future__ import annotations

from typing import Any, Protocol

import pytest

from tests.controlplane.lab import start_lab
from tests.controlplane.plane import ControlPlane
from tests.localcluster_fixture import LocalCluster, start_local_cluster

LOCAL, REAL = "local", "controlplane"


class Backend(Protocol):
    """Starts clusters of one kind; who starts one stops it before the next is started."""

    name: str

    def start(self, inventory: str = "default", **options: Any) -> LocalCluster:
        """A running cluster with a packaged inventory; ``options`` are those of the local cluster."""


class LocalBackend:
    """Each start is a cluster of its own."""

    name = LOCAL

    def start(self, inventory: str = "default", **options: Any) -> LocalCluster:
        return start_local_cluster(None, [inventory], **options)


class RealBackend:
    """One control plane for the whole run; each start is a node agent on it, each stop takes its nodes away again."""

    name = REAL

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane

    def start(self, inventory: str = "default", **options: Any) -> LocalCluster:
        del (
            options
        )  # the agent refuses ``*:missing`` images, has every user that tests need, and no state file
        return start_lab(self.plane, inventory)


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Run a test that uses ``backend`` on both, or on the local one only where it says so."""
    if "backend" in metafunc.fixturenames:
        chosen: list[Any] = [LOCAL]
        if not metafunc.definition.get_closest_marker("local_only"):
            chosen.append(pytest.param(REAL, marks=pytest.mark.controlplane))
        metafunc.parametrize("backend", chosen, indirect=True, scope="session")


@pytest.fixture(scope="session")
def backend(request: pytest.FixtureRequest) -> Backend:
    """What starts the cluster of this run of the test."""
    return LocalBackend() if request.param == LOCAL else RealBackend(request.getfixturevalue("control_plane"))
