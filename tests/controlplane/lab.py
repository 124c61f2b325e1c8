"""A laboratory: the real control plane, our node agent as its kubelet, people with exactly the rights we print."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jupyter_dra.sessions import SessionPolicy, Sessions, Where
from tests.localcluster_fixture import DEADLINE, LocalCluster, object_path
from tests.sessions.place import Place

from .plane import ControlPlane

Object = dict[str, Any]
# The context's name makes sessions dial pods at the agent's loopback addresses.
DIRECT, AFAR = "jupyter-dra-local", "plane"
_OF_TESTS = ("pods", "resourceclaims", "resourceclaimtemplates", "secrets", "resourcequotas")


@dataclass(slots=True)
class Lab(LocalCluster):
    """The real cluster with the face of the local one, so that tests written for that run here too."""

    plane: ControlPlane = field(kw_only=True)
    agent: subprocess.Popen[bytes] = field(kw_only=True)

    @property
    def server(self) -> str:
        return self.plane.url

    @property
    def ca(self) -> Path:
        return self.plane.ca

    def person(self) -> Path:
        """``observer``: what ``rbac user`` and ``rbac occupancy`` print, and pods are dialed at their addresses."""
        self.allow("observer", "default", "user")
        self.allow("observer", "default", "occupancy")
        return self.plane.kubeconfig("observer", context=DIRECT)

    def fresh_namespace(self) -> str:
        name = LocalCluster.fresh_namespace(self)
        self.allow("scientist", name, "user")
        account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
        self.wait(lambda: self.request("GET", account)["kind"] == "ServiceAccount")
        return name

    def wait(self, what: Callable[[], Any], *, deadline: float = DEADLINE) -> Any:
        """The real controllers take longer than ours."""
        return LocalCluster.wait(self, what, deadline=max(deadline, DEADLINE))

    def stop(self) -> None:
        """End the agent and its pods, take its nodes away and empty the namespace that tests share."""
        if self.agent.stdin is not None:
            self.agent.stdin.close()
        try:
            self.agent.wait(20)
        except subprocess.TimeoutExpired:
            self.agent.kill()
            self.agent.wait()
        if self.agent.stdout is not None:
            self.agent.stdout.close()
        for kind in ("nodes", "resourceslices", "deviceclasses", "devicetaintrules"):
            self.request("DELETE", object_path(kind, ""))
        for kind in _OF_TESTS:
            self.request("DELETE", object_path(kind, "default"), {"gracePeriodSeconds": 0})
        self.plane.has_nodes = False
        self.wait(lambda: not any(map(self.list, _OF_TESTS)))

    def await_nodes(self) -> None:
        """Wait until the agent's nodes take pods."""
        assert self.agent.stdout is not None
        line = self.agent.stdout.readline()
        assert line, (self.plane.folder / "agent.log").read_text()[-2000:]
        nodes = json.loads(line)["nodes"]

        def schedulable() -> bool:
            found = [self.get("nodes", name) for name in nodes]
            return all(node and not node["spec"].get("taints") for node in found)

        self.wait(schedulable)

    def request(
        self, method: str, path: str, body: Any = None, *, content_type: str = "application/json"
    ) -> Object:
        status, text = self.plane.call(method, path, body, raw=True, content_type=content_type)
        del status
        return dict(json.loads(text)) if text.startswith("{") else {"text": text}


def start_lab(plane: ControlPlane, *inventories: str) -> Lab:
    """Start the node agent on a control plane and wait for its nodes.

    Two agents for nodes of the same names would both run every pod, so the first is stopped before the second starts.
    """
    assert not plane.has_nodes, (
        "another test's nodes are still here: give its cluster fixture a smaller scope"
    )
    plane.has_nodes = True
    folder = Path(tempfile.mkdtemp(prefix="jupyter-dra-agent-", dir=plane.folder))
    command = [sys.executable, "-m", "jupyter_dra.localcluster.agent", "--dir", str(folder), "--lifeline"]
    command += [
        "--kubeconfig",
        str(plane.kubeconfig("agent")),
        "--install-kubeconfig",
        str(plane.kubeconfig("admin")),
    ]
    command += ["--tls-cert", str(plane.pki / "kubelet.crt"), "--tls-key", str(plane.pki / "kubelet.key")]
    command += ["--client-ca", str(plane.pki / "ca.crt")]
    command += [word for name in inventories for word in ("--inventory", name)]
    command += ["--missing-image", "*:missing", "--allow-root", "--lease-seconds", "2"]
    with open(plane.folder / "agent.log", "ab") as log:
        agent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
    lab = Lab(
        plane.kubeconfig("admin"),
        plane.folder,
        {"name": "plane"},
        tokens=plane.tokens,
        plane=plane,
        agent=agent,
    )
    try:
        lab.await_nodes()
    except BaseException:
        lab.stop()
        raise
    return lab


class LabPlace(Place):
    """A namespace of the real cluster; its services act as ``scientist`` with the rights of ``rbac user``."""

    def service(self, *, user: str = "ada", folder: str = "data", **policy: Any) -> Sessions:
        return self.service_as("scientist", user=user, folder=folder, **policy)

    def service_as(
        self,
        account: str,
        *,
        user: str = "ada",
        folder: str = "data",
        context: str = DIRECT,
        kubeconfig: Path | None = None,
        **policy: Any,
    ) -> Sessions:
        path = kubeconfig or self.lab.plane.kubeconfig(account, self.namespace, context=context)
        where = Where(kubeconfig=str(path), namespace=self.namespace)
        made = Sessions(where, identity=self.identity(user, folder), policy=SessionPolicy(**policy))
        self.services.append(made)
        made.loop.call(made.open(), 30)
        return made

    @property
    def lab(self) -> Lab:
        assert isinstance(self.cluster, Lab)
        return self.cluster

    def faults(self, **wish: Any) -> None:
        raise AssertionError(f"the real cluster has no trouble on demand: {wish}")

    def clear_faults(self) -> None:
        """Nothing to clear."""
