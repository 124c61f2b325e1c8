"""How a pod reads in one line: ready containers, status in a word, restarts.

Follows ``printPod`` in k8s.io/kubernetes ``pkg/printers/internalversion/printers.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jupyter_dra.localcluster.durations import age

Object = Mapping[str, Any]


def pod_cells(value: Object, now: float) -> list[Any]:
    metadata, spec, status = value["metadata"], value.get("spec") or {}, value.get("status") or {}
    containers = spec.get("containers") or ()
    reason, waiting_init = _init_reason(spec, status)
    statuses = status.get("containerStatuses") or ()
    ready = sum(1 for one in statuses if one.get("ready") and "running" in (one.get("state") or {}))
    if not waiting_init:
        reason = _main_reason(reason, statuses, status)
    if metadata.get("deletionTimestamp"):
        reason = "Unknown" if status.get("reason") == "NodeLost" else _terminating(status, reason)
    gates = spec.get("readinessGates") or ()
    return [
        metadata["name"],
        f"{ready}/{len(containers)}",
        reason,
        _restarts(statuses, now),
        age(metadata.get("creationTimestamp"), now),
        _first_ip(status),
        spec.get("nodeName") or "<none>",
        status.get("nominatedNodeName") or "<none>",
        f"0/{len(gates)}" if gates else "<none>",
    ]


def _terminating(status: Object, reason: str) -> str:
    return reason if status.get("phase") in ("Succeeded", "Failed") else "Terminating"


def _first_ip(status: Object) -> str:
    addresses = status.get("podIPs") or ()
    return (addresses[0].get("ip") if addresses else status.get("podIP")) or "<none>"


def _init_reason(spec: Object, status: Object) -> tuple[str, bool]:
    reason = status.get("reason") or status.get("phase") or "Pending"
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            reason = "SchedulingGated"
    total = len(spec.get("initContainers") or ())
    for index, one in enumerate(status.get("initContainerStatuses") or ()):
        state = one.get("state") or {}
        ended, waiting = state.get("terminated"), state.get("waiting")
        if ended is not None and not ended.get("exitCode"):
            continue
        if ended is not None:
            return f"Init:{_ended_reason(ended)}", True
        if waiting is not None and waiting.get("reason") not in (None, "", "PodInitializing"):
            return f"Init:{waiting['reason']}", True
        return f"Init:{index}/{total}", True
    return reason, False


def _main_reason(reason: str, statuses: Any, status: Object) -> str:
    running_and_ready = False
    for one in reversed(list(statuses)):
        state = one.get("state") or {}
        ended, waiting = state.get("terminated"), state.get("waiting")
        if waiting is not None and waiting.get("reason"):
            reason = waiting["reason"]
        elif ended is not None:
            reason = _ended_reason(ended)
        elif one.get("ready") and "running" in state:
            running_and_ready = True
    if reason == "Completed" and running_and_ready:
        is_ready = any(
            c.get("type") == "Ready" and c.get("status") == "True" for c in status.get("conditions") or ()
        )
        return "Running" if is_ready else "NotReady"
    return reason


def _ended_reason(ended: Object) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    if ended.get("signal"):
        return f"Signal:{ended['signal']}"
    return f"ExitCode:{ended.get('exitCode', 0)}"


def _restarts(statuses: Any, now: float) -> str:
    count = sum(int(one.get("restartCount") or 0) for one in statuses)
    ended = [((one.get("lastState") or {}).get("terminated") or {}).get("finishedAt") for one in statuses]
    known = [text for text in ended if text]
    if count and known:
        return f"{count} ({age(max(known), now)} ago)"
    return str(count)
