"""Spawners without a hub around them, against a real local cluster: for what needs no HTTP."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine, Mapping
from types import SimpleNamespace
from typing import Any
from unittest import mock

from jupyterhub import orm
from kubernetes_asyncio import client as k8s
from traitlets.config import Config

from jupyter_dra.hub.spawner import DRASpawner
from tests.hub.hubs import STANDIN

HUB = SimpleNamespace(
    public_host="",
    url="http://127.0.0.1:1/hub/",
    base_url="/hub/",
    api_url="http://127.0.0.1:1/hub/api",
    get_client=None,
)


def _address(spawner: DRASpawner, pod: Any) -> Any:
    container = pod.spec.containers[0]
    container.command, container.args = container.args, None
    source = k8s.V1EnvVarSource(field_ref=k8s.V1ObjectFieldSelector(field_path="status.podIP"))
    container.env.insert(0, k8s.V1EnvVar(name="POD_IP", value_from=source))
    return pod


def make_spawner(
    user: str = "ada", server: str = "", *, groups: tuple[str, ...] = (), **settings: Any
) -> DRASpawner:
    """A spawner as JupyterHub makes one; *settings* are those of the class."""
    config = Config()
    config.KubeSpawner.namespace = "default"
    config.KubeSpawner.image = "python"
    config.KubeSpawner.cmd = [sys.executable, str(STANDIN)]
    config.KubeSpawner.modify_pod_hook = _address
    config.DRASpawner.update(settings)
    person = SimpleNamespace(
        name=user, id=1, url=f"/user/{user}/", groups=[SimpleNamespace(name=one) for one in groups]
    )
    row = orm.Spawner(name=server, user_options={})
    return DRASpawner(
        config=config,
        hub=HUB,
        user=person,
        orm_spawner=row,
        api_token="t",
        oauth_client_id="c",
        _mock=True,
    )


class Stories:
    """One loop for all stories, as in a hub: its watches and clients last from one to the next.

    The hub's rights are those of *kubeconfig*.
    """

    def __init__(self, kubeconfig: os.PathLike[str]) -> None:
        self._kubeconfig = str(kubeconfig)
        self._runner = asyncio.Runner()

    def run(self, main: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """Run one story to its end, which is at most a minute away."""
        # The client library reads the environment once, when it is imported.
        location = "kubernetes_asyncio.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION"
        with mock.patch(location, self._kubeconfig):
            return self._runner.run(asyncio.wait_for(main(), 60))

    def close(self) -> None:
        """End what spawners keep for a whole hub's life: watches, the worker, clients."""
        self._runner.run(self._end())
        self._runner.close()

    async def _end(self) -> None:
        await DRASpawner._stop_all_reflectors()
        for view in DRASpawner.views.values():
            await view.stop()
        DRASpawner.views.clear()
        DRASpawner.ends.clear()
        rest = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
        # TLS connections of aiohttp are closed some turns of the loop after their session.
        await asyncio.sleep(0.25)


async def choose(spawner: DRASpawner, options: Mapping[str, Any]) -> Any:
    """What a start does before the pod is made; returns the pod's manifest as the API gets it."""
    spawner.user_options = dict(options)
    await spawner.load_user_options()
    pod = await spawner.get_pod_manifest()
    return spawner.api.api_client.sanitize_for_serialization(pod)


async def start(spawner: DRASpawner, options: Mapping[str, Any]) -> str:
    """Start a server and return its address."""
    spawner.user_options = dict(options)
    url: str = await spawner.start()
    return url


async def until(what: Callable[[], Any], seconds: float = 30) -> Any:
    """The first true value of *what*."""
    async with asyncio.timeout(seconds):
        while not (value := what()):
            await asyncio.sleep(0.05)
    return value
