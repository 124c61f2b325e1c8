"""Start and stop the real control plane: four processes, token users, nothing left behind."""

from __future__ import annotations

import http.client
import json
import secrets
import socket
import ssl
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from jupyter_dra.kernels.folders import PrivateFolder
from jupyter_dra.localcluster.certificates import Authority, write_pki

from .build import CannotBuild, program

CONTROLLERS = (
    "garbage-collector-controller",
    "namespace-controller",
    "pod-garbage-collector-controller",
    "resourcequota-controller",
    "resourceclaim-controller",
    "clusterrole-aggregation-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "root-ca-certificate-publisher-controller",
    "taint-eviction-controller",
    "device-taint-eviction-controller",
    "node-lifecycle-controller",
)
ADMIN = "admin"
_READY_SECONDS = 60
_STOP_SECONDS = 2


@dataclass
class ControlPlane:
    """A running control plane; ``users`` are name → groups, each with a token of its own.

    ``start()`` returns when the API server is ready, the default namespace has its service account and the scheduler
    runs; ``stop()`` ends all processes and removes the folder. ``has_nodes`` is kept by whoever runs a node agent
    on it.
    """

    users: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    feature_gates: str = ""
    controllers: tuple[str, ...] = CONTROLLERS
    has_nodes: bool = field(init=False, default=False)
    folder: Path = field(init=False)
    _own: PrivateFolder = field(init=False, repr=False)
    url: str = field(init=False, default="")
    tokens: dict[str, str] = field(init=False, default_factory=dict)
    _processes: dict[str, subprocess.Popen[bytes]] = field(init=False, default_factory=dict)
    _local: threading.local = field(init=False, default_factory=threading.local)
    _connections: list[http.client.HTTPSConnection] = field(init=False, default_factory=list)

    def start(self) -> ControlPlane:
        self._own = PrivateFolder(tempfile.gettempdir())
        self.folder = Path(self._own.path)
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def _start(self) -> None:
        binary = str(program())
        client, peer, secure = (_free_port() for _ in range(3))
        self.url = f"https://127.0.0.1:{secure}"
        self._write_keys()
        self._write_tokens()
        self._run(
            "etcd",
            [binary, "etcd", f"--data-dir={self.folder / 'etcd'}", f"--client-url=http://127.0.0.1:{client}",
             f"--peer-url=http://127.0.0.1:{peer}"],
        )  # fmt: skip
        self._apiserver = [binary, *self._apiserver_flags(client, secure)]
        self._run("apiserver", self._apiserver)
        self.wait("the API server", lambda: self.get("/readyz", raw=True) == "ok")
        kubeconfig = str(self.kubeconfig(ADMIN))
        self._run(
            "scheduler",
            [binary, "scheduler", f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--secure-port=0"],
        )
        self._run(
            "controllers",
            [binary, "controllers", f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--secure-port=0",
             f"--service-account-private-key-file={self.folder / 'sa.key'}",
             f"--root-ca-file={self.ca}",
             "--node-monitor-period=1s", "--node-monitor-grace-period=20s",
             f"--controllers={','.join(self.controllers)}"],
        )  # fmt: skip
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        self.wait("the default service account", lambda: self.get(account)["kind"] == "ServiceAccount")

    def _apiserver_flags(self, client: int, secure: int) -> list[str]:
        flags = {
            "etcd-servers": f"http://127.0.0.1:{client}",
            "bind-address": "127.0.0.1",
            "advertise-address": "127.0.0.1",
            "secure-port": str(secure),
            "cert-dir": str(self.folder / "certs"),
            "token-auth-file": str(self.folder / "tokens.csv"),
            "anonymous-auth": "false",
            "authorization-mode": "RBAC",
            "service-account-issuer": "https://kubernetes.default.svc",
            "service-account-signing-key-file": str(self.folder / "sa.key"),
            "service-account-key-file": str(self.folder / "sa.pub"),
            "service-cluster-ip-range": "10.0.0.0/24",
            "endpoint-reconciler-type": "none",
            "kubelet-preferred-address-types": "InternalIP",
            "runtime-config": "resource.k8s.io/v1beta1=true,resource.k8s.io/v1beta2=true",
            "kubelet-client-certificate": str(self.pki / "apiserver-kubelet-client.crt"),
            "kubelet-client-key": str(self.pki / "apiserver-kubelet-client.key"),
            # A node is given up 25 s after its last word (see the controllers' flags), not after six minutes.
            "default-unreachable-toleration-seconds": "5",
            "profiling": "false",
            "audit-policy-file": str(self.folder / "audit.yaml"),
            "audit-log-path": str(self.folder / "audit.log"),
        }
        if self.feature_gates:
            flags["feature-gates"] = self.feature_gates
        (self.folder / "audit.yaml").write_text(
            "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n"
        )
        return ["apiserver", *(f"--{name}={value}" for name, value in flags.items())]

    @property
    def ca(self) -> Path:
        """What clients trust."""
        return self.folder / "certs" / "apiserver.crt"

    @property
    def pki(self) -> Path:
        """Certificates for kubelets and for the API server as their client."""
        return self.folder / "pki"

    def _write_keys(self) -> None:
        write_pki(self.pki, Authority.create("plane"))
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
        public = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        (self.folder / "sa.key").write_bytes(private)
        (self.folder / "sa.key").chmod(0o600)
        (self.folder / "sa.pub").write_bytes(public)

    def _write_tokens(self) -> None:
        everyone = {ADMIN: ("system:masters",), **self.users}
        self.tokens = {name: secrets.token_hex(16) for name in everyone}
        lines = [
            f'{self.tokens[name]},{name},{name},"{",".join(groups)}"'
            if groups
            else f"{self.tokens[name]},{name},{name}"
            for name, groups in everyone.items()
        ]
        path = self.folder / "tokens.csv"
        path.touch(0o600)
        path.write_text("\n".join(lines) + "\n")

    def _run(self, name: str, command: list[str]) -> None:
        with open(self.folder / f"{name}.log", "ab") as log:
            self._processes[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def restart_apiserver(self) -> None:
        """Kill the API server and start it again on the same port; returns when it is ready."""
        process = self._processes["apiserver"]
        process.kill()
        process.wait()
        self._run("apiserver", self._apiserver)
        self.wait("the API server", lambda: self.get("/readyz", raw=True) == "ok")

    def kubeconfig(
        self, user: str, namespace: str = "default", *, context: str = "plane", token: str | None = None
    ) -> Path:
        """A kubeconfig (0600) of one of the users, or of somebody with another token."""
        path = self.folder / f"kubeconfig-{user}-{namespace}-{context}{'-given' if token else ''}"
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": context,
            "clusters": [
                {"name": "plane", "cluster": {"server": self.url, "certificate-authority": str(self.ca)}}
            ],
            "users": [{"name": user, "user": {"token": token or self.tokens[user]}}],
            "contexts": [
                {"name": context, "context": {"cluster": "plane", "user": user, "namespace": namespace}}
            ],
        }
        path.touch(0o600)
        path.write_text(json.dumps(document))
        return path

    def get(self, path: str, *, raw: bool = False, user: str = ADMIN) -> Any:
        """One GET; the text with ``raw``, else the decoded JSON, also of an error status."""
        return self.call("GET", path, user=user, raw=raw)[1]

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        user: str = ADMIN,
        raw: bool = False,
        content_type: str = "application/json",
    ) -> tuple[int, Any]:
        """One request with a JSON body; answers with the status and the decoded JSON (or text with ``raw``).

        Connections are kept, one per thread; a request on one that the server has closed is sent once more.
        """
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.tokens[user]}", "Content-Type": content_type}
        while True:
            used = getattr(self._local, "connection", None)
            connection = used or self._connect()
            try:
                connection.request(method, path, data, headers)
                with connection.getresponse() as answer:
                    status, content = answer.status, answer.read()
                break
            except (http.client.HTTPException, OSError):
                connection.close()
                self._local.connection = None
                if used is None:
                    raise
        return status, content.decode() if raw else json.loads(content)

    def _connect(self) -> http.client.HTTPSConnection:
        context = ssl.create_default_context(cafile=str(self.ca))
        host, _, port = self.url.removeprefix("https://").partition(":")
        connection = http.client.HTTPSConnection(host, int(port), context=context, timeout=60)
        self._connections.append(connection)
        self._local.connection = connection
        return connection

    def wait(self, what: str, ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _READY_SECONDS
        while time.monotonic() < deadline:
            for name, process in self._processes.items():
                if process.poll() is not None:
                    tail = (self.folder / f"{name}.log").read_text(errors="replace")[-2000:]
                    raise RuntimeError(f"{name} ended with {process.returncode}:\n{tail}")
            try:
                if ready():
                    return
            except (OSError, ValueError, http.client.HTTPException):
                pass
            time.sleep(0.1)
        raise TimeoutError(f"{what} was not ready after {_READY_SECONDS} s")

    def stop(self) -> None:
        """End all processes, newest first, and remove the folder."""
        for connection in self._connections:
            connection.close()
        self._connections.clear()
        for process in reversed(self._processes.values()):
            if process.poll() is None:
                process.terminate()
        deadline = time.monotonic() + _STOP_SECONDS
        for process in self._processes.values():
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes.clear()
        self._own.close()

    def __enter__(self) -> ControlPlane:
        return self.start()

    def __exit__(self, *exc: object) -> None:
        self.stop()


def many(work: Callable[[Any], Any], items: Iterable[Any], threads: int = 6) -> list[Any]:
    """Do independent requests side by side; the first error is raised."""
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, items))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


USERS = {
    **dict.fromkeys(("scientist", "observer", "viewer", "hub-under-test", "bob"), ()),
    "ada": ("team-a",),
    "agent": ("system:masters",),
    "gateway": ("system:masters",),
    "kubectl": ("system:masters",),
}


@pytest.fixture(scope="session")
def control_plane() -> Iterator[ControlPlane]:
    """Kubernetes 1.37.2 without nodes: API server, scheduler, controllers, and users with tokens."""
    try:
        program()
    except CannotBuild as reason:
        pytest.fail(str(reason))
    with ControlPlane(users=USERS) as plane:
        yield plane
