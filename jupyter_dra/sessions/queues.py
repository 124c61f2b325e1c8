"""When a queue decides who starts: which one, what it says, and the place in it.

A pod with a scheduling gate is out of the scheduler's sight until whoever set the gate takes it away. Kueue's pod
integration (kubernetes-sigs/kueue, pkg/controller/jobs/pod) sets one, tells the name of its Workload in an event on
the pod, the reason in the Workload's condition ``QuotaReserved``, and the place through its visibility API.
``jupyter dra rbac queue`` is the right to read both. Seen with Kueue 0.17.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..cluster import KubeClient
from ..errors import DRAError, NotFoundError

KUEUE_GATE = "kueue.x-k8s.io/admission"
KUEUE_QUEUE = "kueue.x-k8s.io/queue-name"
ASK_SECONDS = 10.0
"""At most so often is a queue asked for its news."""
_VERSIONS = ("v1beta1", "v1beta2")
_LONGEST = 1000


@dataclass(frozen=True, slots=True)
class Gate:
    """What holds a pod back before the scheduler sees it.

    Attributes:
        name: of the queue, or of the gate where it is no queue we know.
        workload: name of Kueue's Workload for this pod, once an event told it.
    """

    name: str
    is_kueue: bool = False
    workload: str | None = None


def gate_of(pod: Mapping[str, Any], events: Iterable[Mapping[str, Any]] = ()) -> Gate | None:
    """The gate a pod waits at; None when it has none."""
    gates = [str(gate.get("name")) for gate in (pod.get("spec") or {}).get("schedulingGates") or ()]
    if not gates:
        return None
    if KUEUE_GATE not in gates:
        return Gate(gates[0])
    labels = pod["metadata"].get("labels") or {}
    return Gate(str(labels.get(KUEUE_QUEUE) or "Kueue"), True, _workload_of(events))


def _workload_of(events: Iterable[Mapping[str, Any]]) -> str | None:
    for event in events:
        if event.get("reason") == "CreatedWorkload":
            return str(event.get("message") or "").rpartition("/")[2].strip() or None
    return None


class QueueNews:
    """Asks a queue now and then, for one waiting pod; what may not be read is None."""

    def __init__(self, client: KubeClient, namespace: str) -> None:
        self._client, self._namespace = client, namespace
        self._asked: tuple[float, Gate, dict[str, Any]] | None = None

    async def of(self, gate: Gate, as_of: str | None) -> dict[str, Any]:
        """The contract's ``wait.queue``: name, position (from 1), message, as_of."""
        if self._asked is not None:
            at, asked, told = self._asked
            if asked == gate and time.monotonic() - at < ASK_SECONDS:
                return told
        told = {"name": gate.name, "position": None, "message": None, "as_of": as_of}
        if gate.is_kueue and gate.workload is not None:
            told["message"] = await self._reason(gate.workload)
            told["position"] = await self._position(gate)
        self._asked = (time.monotonic(), gate, told)
        return told

    async def _reason(self, workload: str) -> str | None:
        found = await self._get("kueue.x-k8s.io", f"workloads/{workload}")
        for condition in (found.get("status") or {}).get("conditions") or ():
            if condition.get("type") == "QuotaReserved" and condition.get("status") == "False":
                return str(condition.get("message") or "")[:_LONGEST] or None
        return None

    async def _position(self, gate: Gate) -> int | None:
        found = await self._get("visibility.kueue.x-k8s.io", f"localqueues/{gate.name}/pendingworkloads")
        for item in found.get("items") or ():
            place = item.get("positionInLocalQueue")
            if (item.get("metadata") or {}).get("name") == gate.workload and isinstance(place, int):
                return place + 1
        return None

    async def _get(self, group: str, path: str) -> Mapping[str, Any]:
        for version in _VERSIONS:
            try:
                found = await self._client.request(
                    "GET", f"/apis/{group}/{version}/namespaces/{self._namespace}/{path}", timeout=5.0
                )
                return found if isinstance(found, Mapping) else {}
            except NotFoundError:
                continue
            except DRAError:
                return {}
        return {}
