"""One namespace of a cluster and the session services in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jupyter_dra.sessions import Identity, SessionPolicy, Sessions, Where
from jupyter_dra.sessions.identity import load_identity
from jupyter_dra.sessions.record import Ended
from tests.localcluster_fixture import LocalCluster

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims"


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


def end_of(service: Sessions, session_id: str, seconds: float = 30) -> Ended:
    """How a session ended, once nothing of it is left."""
    record = service.loop.call(service.ended(session_id), seconds)
    assert record.ended is not None
    return record.ended
