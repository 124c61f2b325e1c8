"""A cluster with one node of eight H100, and session services of several people in their own namespaces."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.backends import Backend
from tests.controlplane.lab import Lab, LabPlace
from tests.localcluster_fixture import LocalCluster
from tests.sessions.place import Place

__all__ = ["Place"]


@pytest.fixture(scope="package")
def cluster(backend: Backend) -> Iterator[LocalCluster]:
    made = backend.start("dgx-h100", missing_images=("*:missing",))
    yield made
    made.stop()


@pytest.fixture
def place(cluster: LocalCluster, tmp_path: Path) -> Iterator[Place]:
    """A fresh namespace; its services are closed and it must be empty at the end."""
    kind = LabPlace if isinstance(cluster, Lab) else Place
    made = kind(cluster, cluster.fresh_namespace(), tmp_path)
    yield made
    made.clear_faults()
    for service in made.services:
        service.close(keep=False)
    with contextlib.suppress(AssertionError):
        cluster.wait(made.empty, deadline=10)
    left = made.objects()
    cluster.request("DELETE", f"/api/v1/namespaces/{made.namespace}")
    assert not any(left.values()), left


Call = Callable[[Any], Any]
