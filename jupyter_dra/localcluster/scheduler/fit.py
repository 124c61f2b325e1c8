"""Whether a pod may and can run on a node, devices apart.

Follows the scheduler's plugins NodeUnschedulable, NodeName, TaintToleration, NodeAffinity and NodeResourcesFit; pod
affinity, spreading, ports and volumes are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from jupyter_dra.errors import QuantityError
from jupyter_dra.localcluster.scheduler import messages
from jupyter_dra.model import NodeSelector
from jupyter_dra.model.quantity import Quantity

Object = Mapping[str, Any]

UNSCHEDULABLE_TAINT = "node.kubernetes.io/unschedulable"
_BLOCKING = frozenset({"NoSchedule", "NoExecute"})
_NANO = 10**9


@dataclass(slots=True)
class NodeUse:
    """What the pods of one node ask for, in billionths of each resource's unit."""

    pods: dict[str, Mapping[str, int]] = field(default_factory=dict)

    def add(self, uid: str, requests: Mapping[str, int]) -> None:
        self.pods[uid] = requests

    def remove(self, uid: str) -> None:
        self.pods.pop(uid, None)

    def total(self, resource: str) -> int:
        return sum(requests.get(resource, 0) for requests in self.pods.values())


def pod_requests(pod: Object) -> dict[str, int]:
    """Return what a pod asks for per resource: the containers' sum, or one init container's if that is more."""
    spec = pod["spec"]
    result = _sum(_container_requests(c) for c in spec.get("containers") or ())
    sidecars: dict[str, int] = {}
    for container in spec.get("initContainers") or ():
        own = _container_requests(container)
        if container.get("restartPolicy") == "Always":
            sidecars = _sum([sidecars, own])
            continue
        for name, amount in _sum([sidecars, own]).items():
            result[name] = max(result.get(name, 0), amount)
    result = _sum([result, sidecars]) if sidecars else result
    for name, text in (spec.get("overhead") or {}).items():
        result[name] = result.get(name, 0) + _nanos(text)
    return result


def why_not(pod: Object, node: Object, use: NodeUse, requests: Mapping[str, int]) -> list[str]:
    """Return the reasons against a node; none means that the pod fits but for its devices."""
    spec = node.get("spec") or {}
    tolerations = pod["spec"].get("tolerations") or ()
    if spec.get("unschedulable") and not _tolerated(
        {"key": UNSCHEDULABLE_TAINT, "effect": "NoSchedule"}, tolerations
    ):
        return [messages.UNSCHEDULABLE]
    for taint in spec.get("taints") or ():
        if taint.get("effect") in _BLOCKING and not _tolerated(taint, tolerations):
            return [messages.TAINTS]
    if not matches_affinity(pod, node):
        return [messages.AFFINITY]
    return _lacking(node, use, requests)


def matches_affinity(pod: Object, node: Object) -> bool:
    """Tell whether a node meets the pod's nodeSelector and required node affinity."""
    labels = node["metadata"].get("labels") or {}
    wanted = pod["spec"].get("nodeSelector") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    selector = NodeSelector.optional(affinity.get("requiredDuringSchedulingIgnoredDuringExecution"))
    return selector is None or selector.matches(labels, node["metadata"]["name"])


def _lacking(node: Object, use: NodeUse, requests: Mapping[str, int]) -> list[str]:
    offered = (node.get("status") or {}).get("allocatable") or {}
    reasons = []
    if "pods" in offered and len(use.pods) + 1 > _nanos(offered["pods"]) // _NANO:
        reasons.append(messages.TOO_MANY_PODS)
    for name in sorted(requests):
        if requests[name] and use.total(name) + requests[name] > _nanos(offered.get(name, "0")):
            reasons.append(messages.insufficient(name))
    return reasons


def _tolerated(taint: Object, tolerations: Iterable[Object]) -> bool:
    for toleration in tolerations:
        if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
            continue
        if toleration.get("key") and toleration["key"] != taint.get("key"):
            continue
        if toleration.get("operator") == "Exists":
            return True
        if toleration.get("key") and (toleration.get("value") or "") == (taint.get("value") or ""):
            return True
    return False


def _container_requests(container: Object) -> dict[str, int]:
    resources = container.get("resources") or {}
    amounts = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {name: _nanos(text) for name, text in amounts.items()}


def _sum(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    result: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            result[name] = result.get(name, 0) + amount
    return result


def _nanos(text: Any) -> int:
    try:
        return Quantity.parse(text).nanos
    except QuantityError:
        return 0
