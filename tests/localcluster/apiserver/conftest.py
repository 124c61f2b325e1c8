"""An API server in a thread of its own, and Kubernetes' own beside it; plain HTTP towards both."""

from __future__ import annotations

import asyncio
import json
import secrets
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from jupyter_dra.localcluster.serve import Options, Server
from tests.backends import REAL, Backend

Maker = Callable[..., dict[str, Any]]

USERS = """\
ada-token,ada,1001,"team-a"
bob-token,bob,1002,
"""


class ServerThread:
    """Runs one server on its own loop until ``stop``."""

    def __init__(self, options: Options) -> None:
        self.server = Server(options)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="apiserver", daemon=True)
        self._thread.start()
        self.call(self.server.start())

    def call(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(10)

    def stop(self) -> None:
        self.call(self.server.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


class Api:
    """HTTP as one user; paths are relative to the server."""

    def __init__(self, ca: Path, url: str, token: str | None) -> None:
        context = ssl.create_default_context(cafile=str(ca))
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.http = httpx.Client(base_url=url, verify=context, headers=headers, timeout=10)

    def request(self, method: str, path: str, body: Any = None, **options: Any) -> httpx.Response:
        if body is not None and "content" not in options:
            options["json"] = body
        return self.http.request(method, path, **options)

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.request("GET", path, **options)

    def post(self, path: str, body: Any = None, **options: Any) -> httpx.Response:
        return self.request("POST", path, body, **options)

    def put(self, path: str, body: Any = None, **options: Any) -> httpx.Response:
        return self.request("PUT", path, body, **options)

    def delete(self, path: str, body: Any = None, **options: Any) -> httpx.Response:
        return self.request("DELETE", path, body, **options)

    def patch(self, path: str, body: Any, kind: str = "merge", **options: Any) -> httpx.Response:
        types = {"json": "json-patch", "merge": "merge-patch", "strategic": "strategic-merge-patch"}
        headers = {"Content-Type": f"application/{types[kind]}+json"}
        return self.http.request("PATCH", path, content=json.dumps(body), headers=headers, **options)

    @contextmanager
    def watch(self, path: str, **params: Any) -> Iterator[Iterator[dict[str, Any]]]:
        """The events of a watch, one by one; leaving the block ends it."""
        query = {"watch": "true", **params}
        with self.http.stream("GET", path, params=query) as response:
            assert response.status_code == 200, response.read()
            yield (json.loads(line) for line in response.iter_lines())


class Service:
    """A running server and its users; ``ada`` is in group ``team-a``, ``bob`` in none."""

    def __init__(self, kubeconfig: Path, ca: Path, url: str, tokens: Mapping[str, str]) -> None:
        self.kubeconfig = kubeconfig
        self.ca = ca
        self.url = url
        self.tokens = tokens
        config = json.loads(kubeconfig.read_text())
        self.admin_token: str = config["users"][0]["user"]["token"]
        self._users: list[Api] = []
        self.admin = self.user(self.admin_token)

    def user(self, token: str | None) -> Api:
        """HTTP as whoever has this token; closed with the server."""
        self._users.append(Api(self.ca, self.url, token))
        return self._users[-1]

    def close(self) -> None:
        for user in self._users:
            user.http.close()

    def namespace(self) -> str:
        """A new, empty namespace, with what controllers put into every one."""
        name = f"ns-{secrets.token_hex(4)}"
        assert self.admin.post("/api/v1/namespaces", {"metadata": {"name": name}}).status_code == 201
        base = f"/api/v1/namespaces/{name}"
        paths = [f"{base}/serviceaccounts/default", f"{base}/configmaps/kube-root-ca.crt"]
        eventually(lambda: all(self.admin.get(path).status_code == 200 for path in paths))
        return name


class LocalService(Service):
    """Our own server, in a thread of this process, without scheduler and controllers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        tokens = folder / "tokens.csv"
        tokens.write_text(USERS)
        self.thread = ServerThread(Options(folder, tokens=tokens, control=False))
        super().__init__(
            folder / "kubeconfig", folder / "pki" / "ca.crt", self.thread.server.url,
            {"ada": "ada-token", "bob": "bob-token"},
        )  # fmt: skip

    def close(self) -> None:
        super().close()
        self.thread.stop()


def eventually(what: Callable[[], Any], seconds: float = 10) -> Any:
    """The first true value of ``what``; fails after the deadline. Controllers of the real thing take their time."""
    deadline = time.monotonic() + seconds
    while not (value := what()):
        assert time.monotonic() < deadline, "did not come true in time"
        time.sleep(0.02)
    return value


@pytest.fixture(scope="session")
def service(
    request: pytest.FixtureRequest, backend: Backend, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    if backend.name == REAL:
        plane = request.getfixturevalue("control_plane")
        running = Service(plane.kubeconfig("admin"), plane.ca, plane.url, plane.tokens)
    else:
        running = LocalService(tmp_path_factory.mktemp("cluster"))
    yield running
    running.close()


@pytest.fixture
def api(service: Service) -> Api:
    return service.admin


@pytest.fixture
def namespace(service: Service) -> str:
    return service.namespace()


@pytest.fixture
def pod() -> Maker:
    """Makes a small valid pod: ``pod("p", nodeName="n")``."""

    def make(name: str = "p", **spec: Any) -> dict[str, Any]:
        containers = [{"name": "main", "image": "python", "command": ["sleep", "60"]}]
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {"containers": containers, **spec},
        }

    return make


@pytest.fixture
def claim() -> Maker:
    """Makes a small valid claim: ``claim("c", count=2)``."""

    def make(name: str = "c", **exactly: Any) -> dict[str, Any]:
        request = {"name": "gpu", "exactly": {"deviceClassName": "gpu", **exactly}}
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": name},
            "spec": {"devices": {"requests": [request]}},
        }

    return make


@pytest.fixture
def config_map() -> Maker:
    """Makes a config map: ``config_map("a", key="value")``."""

    def make(name: str = "cm", **data: str) -> dict[str, Any]:
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}

    return make
