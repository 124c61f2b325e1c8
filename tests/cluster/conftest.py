"""A small local cluster, and what runs coroutines of a test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from jupyter_dra.cluster import KubeClient, connect
from tests.localcluster_fixture import LocalCluster, start_local_cluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[LocalCluster]:
    made = start_local_cluster(None, ["l4"])
    yield made
    made.stop()


@pytest.fixture
def run(cluster: LocalCluster) -> Iterator[Callable[[Callable[[KubeClient], Coroutine[Any, Any, Any]]], Any]]:
    """Run ``test(client)`` on a fresh loop with a client that is closed afterwards."""

    def go(test: Callable[[KubeClient], Coroutine[Any, Any, Any]]) -> Any:
        async def main() -> Any:
            async with await connect(kubeconfig=str(cluster.kubeconfig)) as client:
                async with asyncio.timeout(60):
                    return await test(client)

        return asyncio.run(main())

    yield go
    cluster.request("DELETE", "/jupyter-dra/faults")
