"""A Jupyter server on a cluster with one node of eight H100, and a tier's kernelspec in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from jupyter_client.kernelspec import KernelSpecManager

from jupyter_dra.kernels.kernelspecs import install
from tests.backends import Backend
from tests.localcluster_fixture import LocalCluster

from ..conftest import options_of
from .notebook import WISH


@pytest.fixture(scope="package")
def cluster(backend: Backend) -> Iterator[LocalCluster]:
    """Every test leaves it empty."""
    made = backend.start("dgx-h100")
    yield made
    made.stop()


@pytest.fixture
def jp_server_config(cluster: LocalCluster) -> dict[str, Any]:
    return {
        "ServerApp": {"jpserver_extensions": {"jupyter_dra": True}},
        "DRAExtension": options_of(cluster),
        "KernelRestarter": {"time_to_dead": 0.2},
    }


@pytest.fixture
def tier_kernel(jp_serverapp: Any) -> str:
    """The name of the tier's kernelspec."""
    return install(WISH, name="dra-test", manager=KernelSpecManager(parent=jp_serverapp)).name
