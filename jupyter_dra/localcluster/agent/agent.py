"""The agent: nodes, drivers, kubelet port and a worker for each pod bound to one of its nodes."""

from __future__ import annotations

import asyncio
import logging
import secrets
from dataclasses import replace
from pathlib import Path

from jupyter_dra.localcluster.agent.addresses import AddressPool
from jupyter_dra.localcluster.agent.endpoint import Endpoint
from jupyter_dra.localcluster.agent.faults import Faults
from jupyter_dra.localcluster.agent.measuring import simulate_usage, watch_memory
from jupyter_dra.localcluster.agent.node import NodeKeeper
from jupyter_dra.localcluster.agent.process import become_subreaper
from jupyter_dra.localcluster.agent.surroundings import AgentOptions, Surroundings
from jupyter_dra.localcluster.agent.worker import PodWorker
from jupyter_dra.localcluster.client import Client, Object
from jupyter_dra.localcluster.devicelocks import DeviceLocks
from jupyter_dra.localcluster.drivers import DeviceDrivers
from jupyter_dra.localcluster.informer import Informer, key_of, started
from jupyter_dra.localcluster.inventories import Inventory
from jupyter_dra.localcluster.kinds import NODES, PODS
from jupyter_dra.localcluster.recorder import Recorder

log = logging.getLogger(__name__)

_STOP_SECONDS = 10.0


class Agent:
    """A process kubelet for all nodes of one inventory.

    Args:
        tls: certificate, key and client CA of the kubelet port.
    """

    def __init__(
        self, client: Client, inventory: Inventory, options: AgentOptions, tls: tuple[Path, Path, Path]
    ) -> None:
        self._client = client
        self._inventory = inventory
        self._options = options
        self._tls = tls
        self._workers: dict[str, PodWorker] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._side_tasks: list[asyncio.Task[None]] = []
        self._endpoint = Endpoint(self.find)
        self.drivers = DeviceDrivers(client, inventory, DeviceLocks())
        self.recorder = Recorder(client, "kubelet")
        self.pods = Informer(client, PODS)
        self._node_objects = Informer(client, NODES)
        self._faults: Faults | None = None
        self.nodes: NodeKeeper | None = None
        self.around: Surroundings | None = None

    async def start(self) -> None:
        """Bring everything up; returns when nodes are Ready and slices are published."""
        become_subreaper()
        certificate, key, client_ca = self._tls
        await self._endpoint.start(
            self._options.host_ip,
            self._options.kubelet_port,
            certificate=certificate,
            key=key,
            client_ca=client_ca,
        )
        self._options = replace(self._options, kubelet_port=self._endpoint.port)
        self.around = Surroundings(self._options, self._client, self.drivers, self.recorder, AddressPool())
        version = (await self._client.request("GET", "/version")).get("gitVersion", "v1.37.0")
        self.nodes = NodeKeeper(self._client, self._inventory.nodes, self._options, version)
        await self.nodes.register()
        await asyncio.gather(
            self.drivers.publish(self.nodes.uids),
            started(self.pods, self._node_objects),
        )
        await self.drivers.start_attaching()
        self._faults = Faults(self.nodes)
        self._node_objects.on_change(self._faults.node_changed)
        self.pods.on_change(self._pod_changed)
        self._side_tasks = [
            asyncio.create_task(watch_memory(self._workers.values, self._options.memory_interval)),
            asyncio.create_task(simulate_usage(self._workers.values)),
        ]

    def find(self, namespace: str, name: str) -> PodWorker | None:
        """Return the worker of a pod by name; what the kubelet port asks for."""
        return next((w for w in self._workers.values() if key_of(w.pod) == (namespace, name)), None)

    def workers(self) -> list[PodWorker]:
        return list(self._workers.values())

    async def stop(self) -> None:
        """End every pod's processes and the agent's own tasks; objects in the cluster stay as they are."""
        await asyncio.gather(self.pods.stop(), self._node_objects.stop())
        for worker in self.workers():
            worker.vanish()
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()), timeout=_STOP_SECONDS)
        for task in (*self._tasks.values(), *self._side_tasks):
            task.cancel()
        await asyncio.gather(*self._tasks.values(), *self._side_tasks, return_exceptions=True)
        await self.drivers.stop()
        if self.nodes is not None:
            await self.nodes.stop()
        await self.recorder.stop()
        await self._endpoint.stop()

    def _pod_changed(self, kind: str, pod: Object, _before: Object | None) -> None:
        uid = pod["metadata"]["uid"]
        worker = self._workers.get(uid)
        if worker is not None:
            if kind == "DELETED":
                worker.vanish()
            else:
                worker.update(pod)
                if self._faults is not None:
                    self._faults.pod_changed(worker)
        elif kind != "DELETED" and self._is_ours(pod):
            self._adopt(uid, pod)

    def _is_ours(self, pod: Object) -> bool:
        if self.nodes is None or pod["spec"].get("nodeName") not in self.nodes.names:
            return False
        over = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
        return not over or bool(pod["metadata"].get("deletionTimestamp"))

    def _adopt(self, uid: str, pod: Object) -> None:
        if self.around is None:
            return
        worker = PodWorker(self.around, pod, secrets.token_hex(3))
        self._workers[uid] = worker
        task = asyncio.create_task(worker.run(), name=f"worker-{pod['metadata']['name']}")
        self._tasks[uid] = task
        task.add_done_callback(lambda done: self._finished(uid, done))

    def _finished(self, uid: str, task: asyncio.Task[None]) -> None:
        self._workers.pop(uid, None)
        self._tasks.pop(uid, None)
        if not task.cancelled() and task.exception() is not None:
            log.error("A pod's worker failed", exc_info=task.exception())
