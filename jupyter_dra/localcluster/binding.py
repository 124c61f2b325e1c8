"""Two small writes with paths of their own: a pod gets its node, a namespace its finalizers."""

from __future__ import annotations

from typing import Any

from jupyter_dra.localcluster import media, reading
from jupyter_dra.localcluster.handlers import Exchange
from jupyter_dra.localcluster.resources import Resource
from jupyter_dra.localcluster.status import bad_request, conflict, success


async def answer_binding(exchange: Exchange, resource: Resource) -> None:
    """POST pods/NAME/binding, as the scheduler sends it (``pkg/registry/core/pod/storage/storage.go``)."""
    body = _body(exchange)
    target = body.get("target") or {}
    node = target.get("name")
    if target.get("kind") not in (None, "", "Node") or not node:
        raise bad_request("target: a binding names a Node")
    stored = reading.find(exchange, resource)
    name = stored.key.name
    spec = stored.value["spec"]
    if stored.value["metadata"].get("deletionTimestamp"):
        raise conflict("", "pods", name, f"pod {name} is being deleted, cannot be assigned to a host")
    if spec.get("nodeName"):
        raise conflict(
            "", "pods/binding", name, f'pod {name} is already assigned to node "{spec["nodeName"]}"'
        )
    if spec.get("schedulingGates"):
        raise conflict("", "pods/binding", name, f"pod {name} has non-empty .spec.schedulingGates")
    given = (body.get("metadata") or {}).get("annotations") or {}
    metadata = dict(stored.value["metadata"])
    if given:
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **given}
    value = {
        **stored.value,
        "metadata": metadata,
        "spec": {**spec, "nodeName": node},
        "status": _scheduled(stored.value.get("status") or {}, exchange.cluster.clock.stamp()),
    }
    exchange.cluster.store.replace(stored, value)
    exchange.json(success({}), 201)


def _scheduled(status: dict[str, Any], now: str) -> dict[str, Any]:
    others = [c for c in status.get("conditions") or () if c.get("type") != "PodScheduled"]
    condition = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
    return {**status, "conditions": [*others, condition]}


async def answer_finalize(exchange: Exchange, resource: Resource) -> None:
    """PUT namespaces/NAME/finalize: only ``spec.finalizers`` is taken."""
    body = _body(exchange)
    stored = reading.find(exchange, resource)
    finalizers = (body.get("spec") or {}).get("finalizers") or []
    metadata = dict(stored.value["metadata"])
    value = {**stored.value, "metadata": metadata, "spec": {"finalizers": finalizers}}
    store = exchange.cluster.store
    changed = store.replace(stored, value)
    if metadata.get("deletionTimestamp") and not finalizers:
        changed = store.remove(changed)
    reading.answer_object(exchange, changed)


def _body(exchange: Exchange) -> dict[str, Any]:
    return media.read_body(exchange.request.body, exchange.request.headers.get("Content-Type", ""))
