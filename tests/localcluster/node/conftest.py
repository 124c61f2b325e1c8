"""One cluster for all tests of this folder; each test uses names of its own."""

from tests.localcluster_fixture import shared_cluster

__all__ = ["shared_cluster"]
