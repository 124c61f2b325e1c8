"""A local cluster with one node of eight H100, and session services of several people in their own namespaces."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from jupyter_dra.sessions import Identity, SessionPolicy, Sessions, Where
from jupyter_dra.sessions.identity import load_identity
from tests.localcluster_fixture import LocalCluster, start_local_cluster

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims"


@pytest.fixture(scope="session")
def cluster() -> Iterator[LocalCluster]:
    made = start_local_cluster(None, ["dgx-h100"], missing_images=("*:missing",))
    yield made
    made.stop()


@dataclass
class Place:
    """One namespace and one data folder; makes services in it and looks at what is left."""

    cluster: LocalCluster
    namespace: str
    folder: Path
    services: list[Sessions] = field(default_factory=list)

    def identity(self, user: str = "ada", folder: str = "data") -> Identity:
        return load_identity(self.folder / folder, user=user)

    def service(self, *, user: str = "ada", folder: str = "data", **policy: Any) -> Sessions:
        where = Where(kubeconfig=str(self.cluster.kubeconfig), namespace=self.namespace)
        made = Sessions(where, identity=self.identity(user, folder), policy=SessionPolicy(**policy))
        self.services.append(made)
        made.loop.call(made.open())
        return made

    def objects(self) -> dict[str, list[str]]:
        """Names of what sessions make, in this namespace."""
        found = {}
        for kind in ("pods", "secrets"):
            items = self.cluster.request("GET", f"/api/v1/namespaces/{self.namespace}/{kind}")["items"]
            found[kind] = sorted(item["metadata"]["name"] for item in items)
        items = self.cluster.request("GET", CLAIMS.format(self.namespace))["items"]
        found["claims"] = sorted(item["metadata"]["name"] for item in items)
        return found

    def object(self, kind: str, name: str) -> dict[str, Any]:
        base = (
            CLAIMS.format(self.namespace)
            if kind == "resourceclaims"
            else f"/api/v1/namespaces/{self.namespace}/{kind}"
        )
        return self.cluster.request("GET", f"{base}/{name}")

    def empty(self) -> bool:
        return not any(self.objects().values())

    def faults(self, **wish: Any) -> None:
        answer = self.cluster.request("POST", "/jupyter-dra/faults", wish)
        assert answer.get("kind") != "Status" or answer.get("status") != "Failure", answer

    def clear_faults(self) -> None:
        self.cluster.request("DELETE", "/jupyter-dra/faults")


@pytest.fixture
def place(cluster: LocalCluster, tmp_path: Path) -> Iterator[Place]:
    """A fresh namespace; its services are closed and it must be empty at the end."""
    namespace = f"t-{secrets.token_hex(4)}"
    cluster.request(
        "POST",
        "/api/v1/namespaces",
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
    )
    made = Place(cluster, namespace, tmp_path)
    yield made
    made.clear_faults()
    for service in made.services:
        service.close(keep=False)
    with contextlib.suppress(AssertionError):
        cluster.wait(made.empty, deadline=10)
    left = made.objects()
    cluster.request("DELETE", f"/api/v1/namespaces/{namespace}")
    assert not any(left.values()), left


Call = Callable[[Any], Any]
