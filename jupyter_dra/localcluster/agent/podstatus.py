"""The status a process kubelet reports for a pod."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jupyter_dra.localcluster.agent.container import Container
from jupyter_dra.localcluster.recorder import now_text

Object = dict[str, Any]

_KUBELET_CONDITIONS = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")


def phase_of(
    containers: Sequence[Container], initial: Sequence[Container], restart_policy: str, *, ended: bool
) -> str:
    """Return the pod's phase. Follows pkg/kubelet/kubelet_pods.go, getPhase."""
    failed = [c for c in (*initial, *containers) if c.outcome is not None and c.outcome.exit_code != 0]
    if ended:
        return "Failed" if failed else "Succeeded"
    if any(c.running or c.outcome is not None for c in containers):
        return "Running"
    return "Pending"


def pod_status(
    pod: Mapping[str, Any],
    containers: Sequence[Container],
    initial: Sequence[Container],
    *,
    pod_ip: str,
    host_ip: str,
    started_at: str,
    initialized: bool,
    sandbox: bool,
    ended: bool,
    reason: str = "",
    message: str = "",
) -> Object:
    """Return the whole status the kubelet owns.

    Args:
        initialized: all init containers are done.
        sandbox: volumes and devices are prepared.
        ended: no container will run any more.
        reason, message: why the pod as a whole failed, if it did.
    """
    phase = "Failed" if reason and ended else phase_of(containers, initial, "", ended=ended)
    ready = phase == "Running" and all(c.running for c in containers)
    images = {c.name: c.spec.get("image", "") for c in (*containers, *initial)}
    status: Object = {
        "phase": phase,
        "hostIP": host_ip,
        "hostIPs": [{"ip": host_ip}],
        "startTime": started_at,
        "containerStatuses": [c.status(images[c.name]) for c in containers],
        "conditions": _conditions(
            pod, ready=ready, initialized=initialized, sandbox=sandbox and not ended, phase=phase
        ),
    }
    if initial:
        status["initContainerStatuses"] = [c.status(images[c.name]) for c in initial]
    if pod_ip:
        status["podIP"] = pod_ip
        status["podIPs"] = [{"ip": pod_ip}]
    if reason:
        status["reason"], status["message"] = reason, message
    return status


def _conditions(
    pod: Mapping[str, Any], *, ready: bool, initialized: bool, sandbox: bool, phase: str
) -> list[Object]:
    present = {c["type"]: c for c in (pod.get("status") or {}).get("conditions") or ()}
    why = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}.get(phase, "ContainersNotReady")
    wanted = {
        "PodReadyToStartContainers": (sandbox, ""),
        "Initialized": (initialized, "" if initialized else "ContainersNotInitialized"),
        "Ready": (ready, "" if ready else why),
        "ContainersReady": (ready, "" if ready else why),
    }
    conditions = []
    for name in _KUBELET_CONDITIONS:
        holds, reason = wanted[name]
        text = "True" if holds else "False"
        before = present.get(name)
        moment = before["lastTransitionTime"] if before and before.get("status") == text else now_text()
        conditions.append(
            {
                "type": name,
                "status": text,
                "lastProbeTime": None,
                "lastTransitionTime": moment,
                **({"reason": reason} if reason else {}),
            }
        )
    return conditions
