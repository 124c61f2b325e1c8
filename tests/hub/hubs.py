"""Real JupyterHub processes for tests: the example's configuration, a local cluster, and exactly the printed rights."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests

from jupyter_dra.cluster.roles import rbac
from jupyter_dra.kernels.folders import PrivateFolder
from tests.backends import Backend
from tests.localcluster_fixture import LocalCluster

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "hub" / "jupyterhub_config.py"
STANDIN = Path(__file__).with_name("standin_server.py")
ADMIN_TOKEN = "tests-" + "0" * 26
HUB_USER = "hub-under-test"
HUB_TOKEN = "hub-" + "1" * 40
DEADLINE = 40.0

#: What the local cluster and a test need on top of the example: addresses, a stand-in server, no root check.
_OVERRIDES = """
import os
load_subconfig({example!r})
from kubernetes_asyncio import client as _k8s

def _pod_address(spawner, pod):
    # Pods of the local cluster share one network: each binds its own address.
    container = pod.spec.containers[0]
    # KubeSpawner leaves the image's entry point alone and gives its command as arguments; here no image is real.
    container.command, container.args = container.args, None
    source = _k8s.V1EnvVarSource(field_ref=_k8s.V1ObjectFieldSelector(field_path="status.podIP"))
    container.env.insert(0, _k8s.V1EnvVar(name="POD_IP", value_from=source))
    for variable in container.env:
        if variable.name == "JUPYTERHUB_SERVICE_URL":
            variable.value = variable.value.replace("0.0.0.0", "$(POD_IP)")
    return pod

c.JupyterHub.bind_url = "http://127.0.0.1:{port}/"
c.JupyterHub.hub_bind_url = "http://127.0.0.1:{hub_port}"
c.JupyterHub.hub_connect_url = "http://127.0.0.1:{hub_port}"
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{api_port}"
c.ConfigurableHTTPProxy.command = [{proxy!r}]
c.JupyterHub.db_url = "sqlite:///hub.sqlite"
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allow_all = True
c.JupyterHub.services = [{{"name": "tests", "api_token": {token!r}}}]
c.JupyterHub.load_roles = [{{"name": "tests", "services": ["tests"], "scopes": [
    "admin:users", "admin:groups", "admin:servers", "admin:server_state", "tokens", "access:servers",
]}}]
c.JupyterHub.load_groups = {{"research": {{"users": ["rita"]}}}}
c.JupyterHub.log_level = 10
c.JupyterHub.tornado_settings = {{"slow_spawn_timeout": 3}}
c.KubeSpawner.namespace = "default"
c.KubeSpawner.modify_pod_hook = _pod_address
c.KubeSpawner.image = "python"
c.KubeSpawner.cmd = [{python!r}, {standin!r}]
c.KubeSpawner.cpu_guarantee = 0.01
c.KubeSpawner.mem_guarantee = "1M"
c.KubeSpawner.poll_interval = 1
c.DRASpawner.launch_timeout = 60
# Tests run on busy machines.
c.KubeSpawner.k8s_api_request_timeout = 10
"""


def cluster_with_hub_rights(
    backend: Backend,
    inventory: str = "default",
    *,
    namespaces: tuple[str, ...] = ("default",),
    **options: Any,
) -> LocalCluster:
    """A cluster with one more user, who has what ``jupyter dra rbac hub`` prints and nothing else."""
    with PrivateFolder(tempfile.gettempdir()) as folder:
        tokens = Path(folder) / "tokens.csv"
        tokens.write_text(f"{HUB_TOKEN},{HUB_USER},{HUB_USER}\n")
        tokens.chmod(0o600)
        cluster = backend.start(inventory, tokens_file=str(tokens), **options)
    cluster.tokens = {HUB_USER: HUB_TOKEN, **cluster.tokens}
    for namespace in namespaces:
        if namespace != "default":
            cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        roles = rbac("hub", namespace=namespace, subject={"kind": "User", "name": HUB_USER})
        cluster.apply(*roles["items"])
    return cluster


def hub_kubeconfig(cluster: LocalCluster, folder: Path) -> Path:
    config = json.loads(cluster.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": cluster.tokens[HUB_USER]}
    path = folder / "kubeconfig"
    path.write_text(json.dumps(config))
    path.chmod(0o600)
    return path


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def wait_for(what: Callable[[], Any], *, deadline: float = DEADLINE) -> Any:
    """The first true value of *what*."""
    end = time.monotonic() + deadline
    while True:
        value = what()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not come true within {deadline:.0f} s")
        time.sleep(0.05)


@dataclass(slots=True)
class Hub:
    """A running JupyterHub with its proxy."""

    folder: Path
    cluster: LocalCluster
    config: str
    ports: list[int] = field(default_factory=lambda: free_ports(3))
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.ports[0]}"

    @property
    def log(self) -> str:
        return (self.folder / "hub.log").read_text(errors="replace")

    def start(self) -> Hub:
        text = _OVERRIDES.format(
            example=str(EXAMPLE),
            port=self.ports[0],
            hub_port=self.ports[1],
            api_port=self.ports[2],
            proxy=str(Path(sys.executable).parent / "configurable-http-proxy"),
            python=sys.executable,
            standin=str(STANDIN),
            token=ADMIN_TOKEN,
        )
        (self.folder / "config.py").write_text(text + self.config)
        environment = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.folder),
            "PYTHONPATH": str(ROOT),
            "KUBECONFIG": str(hub_kubeconfig(self.cluster, self.folder)),
            "CONFIGPROXY_AUTH_TOKEN": "proxy-" + "2" * 40,
            "JUPYTERHUB_CRYPT_KEY": "3" * 64,
        }
        with (self.folder / "hub.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "jupyterhub", "-f", "config.py"],
                cwd=self.folder,
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        wait_for(self._ready)
        return self

    def _ready(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            raise AssertionError(f"the hub ended: {self.log[-3000:]}")
        try:
            return requests.get(f"{self.url}/hub/api/", timeout=5).status_code == 200
        except requests.ConnectionError:
            return False

    def kill(self) -> None:
        """End the hub as a crash does; its proxy too, both of this test's own session."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        if self.process is None or self.process.poll() is not None:
            return
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()

    # The API as the service of the tests, or with a user's own token

    def api(self, method: str, path: str, body: Any = None, *, token: str = ADMIN_TOKEN) -> requests.Response:
        headers = {"Authorization": f"token {token}"}
        return requests.request(method, f"{self.url}/hub/api{path}", json=body, headers=headers, timeout=60)

    def add_user(self, name: str) -> str:
        """Make a user and return a token of theirs."""
        self.api("POST", f"/users/{name}")
        return str(self.api("POST", f"/users/{name}/tokens", {}).json()["token"])

    def start_server(
        self, user: str, options: Mapping[str, Any] | None, *, server: str = "", token: str = ADMIN_TOKEN
    ) -> requests.Response:
        path = f"/users/{user}/servers/{server}" if server else f"/users/{user}/server"
        return self.api("POST", path, None if options is None else dict(options), token=token)

    def stop_server(self, user: str, server: str = "") -> requests.Response:
        path = f"/users/{user}/servers/{server}" if server else f"/users/{user}/server"
        return self.api("DELETE", path)

    def server(self, user: str, server: str = "") -> dict[str, Any] | None:
        found = self.api("GET", f"/users/{user}").json().get("servers", {}).get(server)
        return dict(found) if found else None

    def wait_ready(self, user: str, server: str = "") -> dict[str, Any]:
        return dict(wait_for(lambda: (found := self.server(user, server)) and found["ready"] and found))

    def wait_stopped(self, user: str, server: str = "") -> None:
        wait_for(lambda: not (found := self.server(user, server)) or found["stopped"])

    def browser(self, user: str) -> Browser:
        """A logged-in person."""
        return Browser(self, user)


class Browser:
    """A person's session: cookies, forms with their XSRF token, the progress stream."""

    def __init__(self, hub: Hub, user: str) -> None:
        self.hub, self.user = hub, user
        self.session = requests.Session()
        page = self.session.get(f"{hub.url}/hub/login", timeout=20)
        self.session.post(
            f"{hub.url}/hub/login",
            data={"username": user, "password": "x", "_xsrf": self._xsrf(page.text)},
            timeout=20,
        )

    def _xsrf(self, page: str) -> str:
        found = re.search(r'name="_xsrf"\s+value="([^"]+)"', page) or re.search(r"_xsrf=([^\"&]+)", page)
        return found[1] if found else ""

    def form(self, server: str = "") -> requests.Response:
        return self.session.get(f"{self.hub.url}/hub/spawn/{self.user}/{server}".rstrip("/"), timeout=30)

    def choose(self, server: str = "", **fields: str) -> requests.Response:
        """Post the spawn form."""
        page = self.form(server)
        action = re.search(r'action="([^"]+)"', page.text)
        assert action is not None, page.text[:2000]
        url = action[1].replace("&amp;", "&")
        data = {
            (name if name.startswith("profile") else f"dra-{name}"): value for name, value in fields.items()
        }
        return self.session.post(f"{self.hub.url}{url}", data=data, timeout=60)

    def progress(self, server: str = "", *, until: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
        """Messages of the progress page up to the one that *until* accepts."""
        path = f"servers/{server}" if server else "server"
        # Not by way of the proxy: the one from PyPI does not stream.
        url = f"http://127.0.0.1:{self.hub.ports[1]}/hub/api/users/{self.user}/{path}/progress"
        headers = {"Accept": "text/event-stream"}
        xsrf = self.session.cookies.get("_xsrf", path="/hub/") or self.session.cookies.get("_xsrf") or ""
        messages: list[dict[str, Any]] = []
        with self.session.get(
            url, params={"_xsrf": xsrf}, headers=headers, stream=True, timeout=60
        ) as answer:
            answer.raise_for_status()
            for line in answer.iter_lines():
                if line.startswith(b"data: "):
                    messages.append(json.loads(line[6:]))
                    if until(messages[-1]):
                        break
        return messages
