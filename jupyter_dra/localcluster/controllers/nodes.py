"""Nodes that fall silent, the pods on them, and pods that nobody will clean up.

Follows pkg/controller/nodelifecycle, tainteviction and podgc.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from datetime import datetime

from jupyter_dra.errors import DRAError
from jupyter_dra.localcluster.client import STRATEGIC_PATCH, Client, Object
from jupyter_dra.localcluster.controllers.claims import is_over
from jupyter_dra.localcluster.informer import Informer
from jupyter_dra.localcluster.kinds import NODES, PODS
from jupyter_dra.localcluster.pod_conditions import set_pod_condition
from jupyter_dra.localcluster.recorder import Recorder, now_text

log = logging.getLogger(__name__)

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
LEASE_NAMESPACE = "kube-node-lease"
_LEASE_SECONDS = 40


@dataclass(frozen=True, slots=True)
class Patience:
    """How long silence is borne.

    ``leases`` is how many durations of a node's own lease pass before the node counts as lost (40 s times 1.25 is the
    50 s of kube-controller-manager); ``orphans`` the seconds until pods of a deleted node go; ``period`` the seconds
    between two looks.
    """

    leases: float = 1.25
    orphans: float = 40.0
    period: float = 1.0


class NodeController:
    """Marks silent nodes Unknown, taints them, evicts their pods, and removes pods of deleted nodes."""

    def __init__(
        self,
        client: Client,
        nodes: Informer,
        leases: Informer,
        pods: Informer,
        recorder: Recorder,
        patience: Patience,
    ) -> None:
        self._client = client
        self._nodes, self._leases, self._pods = nodes, leases, pods
        self._recorder = recorder
        self._patience = patience
        self._heard: dict[str, tuple[str, float]] = {}
        self._missing: dict[str, float] = {}
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        nodes.on_change(lambda *_: self._wake.set())

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="node-lifecycle")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            for step in (self._look_at_nodes, self._evict, self._collect):
                try:
                    await step()
                except DRAError as error:
                    log.info("Node lifecycle: %s", error)
            try:
                async with asyncio.timeout(self._patience.period):
                    await self._wake.wait()
            except TimeoutError:
                continue

    async def _look_at_nodes(self) -> None:
        for node in self._nodes.values():
            name = node["metadata"]["name"]
            if self._silent_for(name) > self._bearable(name) and _ready(node) != "Unknown":
                await self._mark_unknown(node)
            else:
                await self._set_taints(node)

    def _bearable(self, name: str) -> float:
        lease = self._leases.get(name, LEASE_NAMESPACE)
        seconds = ((lease or {}).get("spec") or {}).get("leaseDurationSeconds") or _LEASE_SECONDS
        return float(seconds) * self._patience.leases

    def _silent_for(self, name: str) -> float:
        """Return how long a node's lease has not changed, by our own clock."""
        lease = self._leases.get(name, LEASE_NAMESPACE)
        version = lease["metadata"]["resourceVersion"] if lease else ""
        known, since = self._heard.get(name, ("", time.monotonic()))
        if name not in self._heard or known != version:
            since = time.monotonic()
            self._heard[name] = (version, since)
        return time.monotonic() - since

    async def _mark_unknown(self, node: Object) -> None:
        name = node["metadata"]["name"]
        moment = now_text()
        conditions = [
            {
                **condition,
                "status": "Unknown",
                "reason": "NodeStatusUnknown",
                "message": "Kubelet stopped posting node status.",
                "lastTransitionTime": moment,
            }
            for condition in node["status"].get("conditions") or ()
        ]
        answer = await self._client.patch(
            NODES,
            name,
            {"status": {"conditions": conditions}},
            subresource="status",
            content_type=STRATEGIC_PATCH,
        )
        self._nodes.learn(answer)
        self._recorder.record(
            {**node, "kind": "Node"}, "Normal", "NodeNotReady", f"Node {name} status is now: NodeNotReady"
        )
        await self._set_taints(answer)
        for pod in self._pods.values():
            if pod["spec"].get("nodeName") == name and not is_over(pod):
                await self._mark_not_ready(pod)

    async def _mark_not_ready(self, pod: Object) -> None:
        await set_pod_condition(self._client, pod, "Ready", "False")
        self._recorder.record(pod, "Warning", "NodeNotReady", "Node is not ready")

    async def _set_taints(self, node: Object) -> None:
        wanted = {"False": NOT_READY, "Unknown": UNREACHABLE}.get(_ready(node))
        present = node["spec"].get("taints") or []
        kept = [taint for taint in present if taint["key"] not in (NOT_READY, UNREACHABLE)]
        ours = [taint for taint in present if taint["key"] == wanted]
        if wanted is not None and len(ours) < 2:
            effects: list[Object] = [{"key": wanted, "effect": "NoSchedule"}]
            effects.append({"key": wanted, "effect": "NoExecute", "timeAdded": now_text()})
            ours = effects
        if kept + ours != present:
            body = {
                "spec": {"taints": kept + ours or None},
                "metadata": {"resourceVersion": node["metadata"]["resourceVersion"]},
            }
            self._nodes.learn(await self._client.patch(NODES, node["metadata"]["name"], body))

    async def _evict(self) -> None:
        """Delete pods that do not tolerate a node's NoExecute taint (any longer)."""
        for pod in self._pods.values():
            if pod["metadata"].get("deletionTimestamp") or is_over(pod):
                continue
            node = self._nodes.get(pod["spec"].get("nodeName") or "")
            for taint in (node or {}).get("spec", {}).get("taints") or ():
                if taint.get("effect") == "NoExecute" and _expired(pod, taint):
                    await self._evict_one(pod)
                    break

    async def _evict_one(self, pod: Object) -> None:
        meta = pod["metadata"]
        self._recorder.record(
            pod,
            "Normal",
            "TaintManagerEviction",
            f"Marking for deletion Pod {meta['namespace']}/{meta['name']}",
        )
        await set_pod_condition(
            self._client,
            pod,
            "DisruptionTarget",
            "True",
            reason="DeletionByTaintManager",
            message="Taint manager: deleting due to NoExecute taint",
        )
        await self._client.delete(PODS, meta["name"], meta["namespace"], uid=meta["uid"])

    async def _collect(self) -> None:
        """Remove pods whose node object is gone for a while."""
        now = time.monotonic()
        for pod in self._pods.values():
            name = pod["spec"].get("nodeName")
            if not name or self._nodes.get(name) is not None:
                self._missing.pop(name or "", None)
                continue
            if now - self._missing.setdefault(name, now) >= self._patience.orphans:
                meta = pod["metadata"]
                await self._client.delete(
                    PODS, meta["name"], meta["namespace"], grace_seconds=0, uid=meta["uid"]
                )


def _ready(node: Object) -> str:
    for condition in (node.get("status") or {}).get("conditions") or ():
        if condition["type"] == "Ready":
            return str(condition["status"])
    return "False"


def _expired(pod: Object, taint: Object) -> bool:
    fitting = [
        toleration
        for toleration in pod["spec"].get("tolerations") or ()
        if toleration.get("effect") in (None, "", "NoExecute")
        and toleration.get("key") in (None, "", taint["key"])
        and (
            toleration.get("operator") == "Exists"
            or (toleration.get("value") or "") == (taint.get("value") or "")
        )
    ]
    if not fitting:
        return True
    limits = [t["tolerationSeconds"] for t in fitting if t.get("tolerationSeconds") is not None]
    if not limits:
        return False
    added = taint.get("timeAdded")
    since = datetime.fromisoformat(added).timestamp() if added else time.time()
    return bool(time.time() - since >= min(limits))
