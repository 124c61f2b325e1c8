"""One cluster for the tests of a module; each test uses names of its own."""

from collections.abc import Iterator

import pytest

from tests.backends import Backend
from tests.localcluster_fixture import LocalCluster


@pytest.fixture(scope="module")
def shared_cluster(backend: Backend) -> Iterator[LocalCluster]:
    made = backend.start()
    yield made
    made.stop()
