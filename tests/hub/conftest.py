"""One cluster for all tests of the hub, with exactly the rights that are printed for hubs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from kubernetes_asyncio import client
from kubespawner.clients import load_config

from tests.backends import Backend
from tests.hub.hubs import cluster_with_hub_rights, hub_kubeconfig
from tests.hub.spawners import Stories
from tests.localcluster_fixture import LocalCluster


@pytest.fixture(scope="package")
def cluster(backend: Backend) -> Iterator[LocalCluster]:
    found = cluster_with_hub_rights(backend, namespaces=("default", "team-b", "team-c"))
    yield found
    found.stop()


@pytest.fixture(scope="package")
def stories(cluster: LocalCluster) -> Iterator[Stories]:
    load_config.cache_clear()
    with tempfile.TemporaryDirectory() as folder:
        found = Stories(hub_kubeconfig(cluster, Path(folder)))
        yield found
        found.close()
    load_config.cache_clear()
    client.Configuration.set_default(None)
