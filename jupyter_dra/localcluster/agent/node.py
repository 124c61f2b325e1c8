"""The nodes of an agent: their objects, their status, and the leases that say they live."""

from __future__ import annotations

import asyncio
import logging
import platform
from collections.abc import Iterable, Mapping
from typing import Any

from jupyter_dra._version import __version__
from jupyter_dra.errors import DRAError
from jupyter_dra.localcluster.agent.surroundings import AgentOptions
from jupyter_dra.localcluster.client import STRATEGIC_PATCH, ApiError, Client, Object
from jupyter_dra.localcluster.kinds import LEASES, NODES
from jupyter_dra.localcluster.recorder import now_text

log = logging.getLogger(__name__)

LEASE_NAMESPACE = "kube-node-lease"
PODS_PER_NODE = "250"


class NodeKeeper:
    """Registers nodes and keeps them Ready; ``pause`` lets one go silent, as a crashed node does."""

    def __init__(
        self, client: Client, nodes: Iterable[Mapping[str, Any]], options: AgentOptions, version: str
    ) -> None:
        self._client = client
        self._nodes = {node["metadata"]["name"]: node for node in nodes}
        self._options = options
        self._version = version
        self._paused: set[str] = set()
        self._task: asyncio.Task[None] | None = None
        self.uids: dict[str, str] = {}

    @property
    def names(self) -> set[str]:
        return set(self._nodes)

    async def register(self) -> None:
        """Create the nodes (or take over those of that name) and report them Ready."""
        await asyncio.gather(*(self._register(name, node) for name, node in self._nodes.items()))
        self._task = asyncio.create_task(self._renew_all(), name="node-leases")

    def pause(self, name: str, *, paused: bool = True) -> None:
        """Stop (or resume) renewing a node's lease and status."""
        (self._paused.add if paused else self._paused.discard)(name)

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _register(self, name: str, node: Mapping[str, Any]) -> None:
        body = {key: node[key] for key in ("apiVersion", "kind", "metadata", "spec") if node.get(key)}
        try:
            made = await self._client.create(NODES, body)
        except ApiError as error:
            if error.status != 409:
                raise
            made = await self._client.patch(
                NODES, name, {"metadata": {"labels": node["metadata"].get("labels")}}
            )
        self.uids[name] = made["metadata"]["uid"]
        await asyncio.gather(self._report(name, made), self._renew(name))

    async def _report(self, name: str, present: Object) -> None:
        await self._client.patch(
            NODES,
            name,
            {"status": self._status(name, present)},
            subresource="status",
            content_type=STRATEGIC_PATCH,
        )

    def _status(self, name: str, present: Object) -> Object:
        capacity = {**self._nodes[name]["status"]["capacity"], "pods": PODS_PER_NODE}
        host_ip = self._options.host_ip
        return {
            "capacity": capacity,
            "allocatable": capacity,
            "addresses": [
                {"type": "InternalIP", "address": host_ip},
                {"type": "Hostname", "address": name},
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self._options.kubelet_port}},
            "nodeInfo": {
                "architecture": "amd64",
                "bootID": "",
                "containerRuntimeVersion": f"process://{__version__}",
                "kernelVersion": platform.release(),
                "kubeProxyVersion": "",
                "kubeletVersion": self._version,
                "machineID": "",
                "operatingSystem": "linux",
                "osImage": f"jupyter-dra process kubelet on {platform.system()}",
                "systemUUID": self.uids.get(name, ""),
            },
            "conditions": [
                _condition(present, "MemoryPressure", "False", "KubeletHasSufficientMemory"),
                _condition(present, "DiskPressure", "False", "KubeletHasNoDiskPressure"),
                _condition(present, "PIDPressure", "False", "KubeletHasSufficientPID"),
                _condition(present, "Ready", "True", "KubeletReady"),
            ],
        }

    async def _renew_all(self) -> None:
        rounds = 0
        while True:
            await asyncio.sleep(self._options.lease_seconds)
            rounds += 1
            for name in sorted(self.names - self._paused):
                try:
                    await self._renew(name)
                    if rounds % 3 == 0:
                        await self._report_if_lost(name)
                except DRAError as error:
                    log.warning("The lease of node %s was not renewed: %s", name, error)

    async def _report_if_lost(self, name: str) -> None:
        """Say Ready again after the cluster took us for dead, and register anew if the node was deleted."""
        node = await self._client.find(NODES, name)
        if node is None:
            await self._register(name, self._nodes[name])
        elif _ready(node) != "True":
            await self._report(name, node)

    async def _renew(self, name: str) -> None:
        spec = {
            "holderIdentity": name,
            "leaseDurationSeconds": self._options.lease_duration,
            "renewTime": now_text(micro=True),
        }
        try:
            await self._client.patch(LEASES, name, {"spec": spec}, namespace=LEASE_NAMESPACE)
            return
        except ApiError as error:
            if error.status != 404:
                raise
        meta: Object = {"name": name, "namespace": LEASE_NAMESPACE}
        if name in self.uids:
            meta["ownerReferences"] = [
                {"apiVersion": "v1", "kind": "Node", "name": name, "uid": self.uids[name]}
            ]
        lease = {"apiVersion": LEASES.group_version, "kind": "Lease", "metadata": meta, "spec": spec}
        await self._client.create(LEASES, lease, LEASE_NAMESPACE)


def _ready(node: Object) -> str:
    for condition in (node.get("status") or {}).get("conditions") or ():
        if condition["type"] == "Ready":
            return str(condition["status"])
    return "Unknown"


def _condition(present: Object, kind: str, status: str, reason: str) -> Object:
    moment = now_text()
    before = next(
        (c for c in (present.get("status") or {}).get("conditions") or () if c["type"] == kind), None
    )
    changed = moment
    if before is not None and before.get("status") == status:
        changed = before.get("lastTransitionTime") or moment
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": f"kubelet reports {reason}",
        "lastHeartbeatTime": moment,
        "lastTransitionTime": changed,
    }
