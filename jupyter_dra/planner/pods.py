"""The few facts of a pod that planning keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["lean_pod"]

Json = Mapping[str, Any]
_QUEUE = "kueue.x-k8s.io/queue-name"


def _gate(pod: Json) -> str | None:
    """What keeps the pod from the scheduler: the queue that admits it, else the name of its first gate."""
    gates = [str(gate.get("name")) for gate in (pod.get("spec") or {}).get("schedulingGates") or ()]
    queue = ((pod.get("metadata") or {}).get("labels") or {}).get(_QUEUE)
    return str(queue or gates[0]) if gates else None


def lean_pod(pod: Json) -> Json:
    """Node, end, claims used, what holds it back, and what its containers ask of device plugins."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    asked: dict[str, int] = {}
    for container in spec.get("containers") or ():
        limits = (container.get("resources") or {}).get("limits") or {}
        for name, amount in limits.items():
            if "/" in name and str(amount).isdigit():
                asked[name] = asked.get(name, 0) + int(amount)
    generated = {
        entry.get("name"): entry.get("resourceClaimName")
        for entry in status.get("resourceClaimStatuses") or ()
    }
    claims = [
        entry.get("resourceClaimName") or generated.get(entry.get("name"))
        for entry in spec.get("resourceClaims") or ()
    ]
    return {
        "node": spec.get("nodeName"),
        "ended": status.get("phase") in ("Succeeded", "Failed"),
        "claims": [name for name in claims if name],
        "gate": _gate(pod),
        "asked": asked,
        "metadata": {key: (pod.get("metadata") or {}).get(key) for key in ("name", "namespace", "uid")},
    }
