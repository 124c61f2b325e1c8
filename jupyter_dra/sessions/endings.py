"""Why a session ended, in the contract's codes and in plain words. Pure.

Reasons of pods follow kubernetes/kubernetes: pod conditions ``DisruptionTarget`` (pkg/apis/core/types.go), reasons
of pkg/kubelet/kubelet.go and pkg/kubelet/eviction, and the waiting reasons of pkg/kubelet/images.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..claims import labels
from ..errors import DRAError
from ..model.reading import json_object, mapping

_WORDS: Mapping[str, tuple[str, str]] = {
    "stopped": ("You stopped the session.", "Start a new one when you need it."),
    "cancelled": ("The launch was cancelled.", "Start it again when you like."),
    "stopped-by-admin": ("An administrator stopped the session.", "Ask the administrator why."),
    "idle": ("The session ended because nothing used it.", "Start again, or ask for a longer idle time."),
    "lease-over": ("The session's time was over.", "Start again, or extend the next one in time."),
    "out-of-memory": (
        "The kernel used more host memory than it was given and was ended; this is the node's memory, not the "
        "device's.",
        "Start again with more host memory.",
    ),
    "evicted": (
        "The node ran short of something and evicted the pod.",
        "Start again; ask for what you need.",
    ),
    "preempted": ("A pod of higher priority took the place.", "Start again; the device may be taken."),
    "node-drained": ("The node is being emptied for maintenance.", "Start again on another node."),
    "node-lost": ("The node does not answer any more.", "Start again on another node."),
    "device-unhealthy": ("The device was taken out of service.", "Start again on another device."),
    "pod-deleted": ("The kernel's pod was deleted from outside.", "Start again."),
    "claim-deleted": ("The session's claim was deleted from outside.", "Start again."),
    "crashed": ("The kernel crashed.", "Look at the log, then start again."),
    "exited": ("The kernel ended by itself.", "Start again when you need it."),
    "image": ("The kernel's image cannot be used.", "Check the image's name, or choose another."),
    "quota": ("The quota of the namespace does not allow it.", "Stop a session, or ask for a larger quota."),
    "limit-range": (
        "The namespace does not allow a pod of this size.",
        "Ask for less cpu or host memory.",
    ),
    "class-missing": ("The tier does not exist (any more).", "Choose another tier."),
    "impossible": ("No device of this cluster can meet the requirement.", "Change the requirement."),
    "prepare-failed": (
        "The node could not prepare the device.",
        "Show this to the administrator; another node may work.",
    ),
    "wait-over": ("No device became free in the time you wanted to wait.", "Wait longer, or ask for less."),
    "launch-timeout": ("The kernel was not ready in time.", "Look at the log and try again."),
    "server-stopped": ("The Jupyter server stopped and ended the session.", "Start again."),
}
CODES = tuple(_WORDS)

_TOLD = ("stopped", "idle", "lease-over", "crashed", "exited", "out-of-memory", "launch-timeout")
_DISRUPTION = {
    "PreemptionByScheduler": "preempted",
    "PreemptionByKubeScheduler": "preempted",
    "DeletionByTaintManager": "node-lost",
    "EvictionByEvictionAPI": "node-drained",
    "DeletionByPodGC": "node-lost",
    "TerminationByKubelet": "evicted",
    "DeletionByDeviceTaintManager": "device-unhealthy",
}
_SHORT_OF = re.compile(r"low on resource: ([a-z-]+)")
_IMAGE_NEVER = frozenset({"InvalidImageName", "ErrImageNeverPull"})
_IMAGE_TRIES = frozenset({"ErrImagePull", "ImagePullBackOff", "RegistryUnavailable"})
_NOT_THERE = (
    "not found",
    "manifest unknown",
    "does not exist",
    "invalid reference",
    "denied",
    "unauthorized",
)
PULLS = 3
"""Failed pulls after which an image counts as hopeless, unless the registry said at once that it is not there."""
_BROKEN_WAITING = frozenset({"CreateContainerConfigError", "CreateContainerError", "RunContainerError"})


@dataclass(frozen=True, slots=True)
class Reason:
    """An end code with words; ``detail`` is the cluster's own text."""

    code: str
    message: str
    next_step: str | None = None
    exit_code: int | None = None
    detail: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)

    def in_words(self) -> str:
        """Message, the cluster's own text, and the next step, for logs and terminals."""
        return " ".join(part for part in (self.message, self.detail, self.next_step) if part)


def reason(code: str, *, detail: str | None = None, exit_code: int | None = None, **params: Any) -> Reason:
    """The reason for an end code, in our words; ``detail`` is kept beside them."""
    message, next_step = _WORDS[code]
    shown = detail[:1000] if detail else None
    values = {**params, **({"detail": shown} if shown else {})}
    return Reason(code, _in_full(code, message, exit_code, params), next_step, exit_code, shown, values)


def reason_of_note(entry: Mapping[str, Any]) -> Reason:
    """The reason that a line of a session's history gives."""
    code = str(entry.get("code"))
    facts = {name: entry[name] for name in ("signal", "host_memory") if entry.get(name)}
    known = code if code in _WORDS else "crashed"
    return reason(known, detail=entry.get("detail"), exit_code=entry.get("exit_code"), **facts)


def _in_full(code: str, message: str, exit_code: int | None, params: Mapping[str, Any]) -> str:
    """The sentence with what is known about this very case."""
    if code == "out-of-memory" and params.get("host_memory"):
        return (
            f"The kernel used more than its {params['host_memory']} of host memory and was ended; this is the "
            "node's memory, not the device's."
        )
    if code == "crashed" and params.get("signal"):
        return f"The kernel crashed (signal {params['signal']})."
    if code in ("crashed", "exited") and exit_code:
        return f"The kernel ended with exit code {exit_code}."
    return message


def reason_of_pod(pod: Mapping[str, Any]) -> Reason | None:
    """Why a pod ended or is ending, from its status; None while it is well."""
    status = pod.get("status") or {}
    ordered = _ordered(pod)
    if ordered is not None:
        return ordered
    disrupted = _disruption(status)
    container = _container(status)
    finished = (container.get("state") or {}).get("terminated")
    told = _told(finished, pod)
    phase = status.get("phase")
    if phase not in ("Failed", "Succeeded") and not finished:
        return disrupted
    exit_code = finished.get("exitCode") if finished else None
    if status.get("reason") == "DeadlineExceeded":
        return reason("lease-over", detail=status.get("message"), exit_code=exit_code)
    if disrupted is not None:
        return disrupted
    if status.get("reason") == "Evicted":
        short = _SHORT_OF.search(str(status.get("message") or ""))
        scarce = {"resource": short[1]} if short else {}
        return reason("evicted", detail=status.get("message"), exit_code=exit_code, **scarce)
    if status.get("reason") in ("NodeLost", "NodeShutdown", "Terminated"):
        code = "node-lost" if status["reason"] == "NodeLost" else "evicted"
        return reason(code, detail=status.get("message"), exit_code=exit_code)
    if finished and finished.get("reason") == "OOMKilled":
        return reason("out-of-memory", exit_code=exit_code, **_memory(pod))
    if told is not None:
        # podside says "stopped" for any SIGTERM; without our own wish somebody deleted the pod.
        deleted = told.code == "stopped" and pod["metadata"].get("deletionTimestamp")
        return reason("pod-deleted", exit_code=exit_code) if deleted else told
    if finished and finished.get("reason") in ("StartError", "ContainerCannotRun"):
        return reason("image", detail=finished.get("message"), exit_code=exit_code)
    if status.get("reason") in ("UnexpectedAdmissionError", "OutOfcpu", "OutOfmemory", "NodeAffinity"):
        return reason("prepare-failed", detail=status.get("message"))
    if phase == "Succeeded" or exit_code == 0:
        return reason("exited", exit_code=exit_code)
    detail = (finished or {}).get("message") or status.get("message")
    return reason("crashed", detail=detail, exit_code=exit_code, **_signal(exit_code))


def _ordered(pod: Mapping[str, Any]) -> Reason | None:
    """Who deletes a pod may say why (`custody.stop_as_admin`); a word for people, it proves nothing."""
    meta = pod.get("metadata") or {}
    if not meta.get("deletionTimestamp"):
        return None
    told = json_object((meta.get("annotations") or {}).get(labels.STOPPED_BY))
    if "by" not in told:
        return None
    text = str(told.get("because") or "")[:500]
    return reason("stopped-by-admin", detail=text or None, by=str(told["by"])[:100])


def _container(status: Mapping[str, Any]) -> Mapping[str, Any]:
    found = status.get("containerStatuses") or []
    return found[0] if found else {}


def _disruption(status: Mapping[str, Any]) -> Reason | None:
    for condition in status.get("conditions") or []:
        if condition.get("type") == "DisruptionTarget" and condition.get("status") == "True":
            code = _DISRUPTION.get(str(condition.get("reason")), "evicted")
            return reason(code, detail=condition.get("message"))
    return None


def _told(finished: Mapping[str, Any] | None, pod: Mapping[str, Any]) -> Reason | None:
    """What podside wrote as its termination message; data from the pod, so only known codes count."""
    if not finished:
        return None
    value = json_object(finished.get("message"))
    code, death = value.get("code"), mapping(value.get("death"))
    if code not in _TOLD:
        return None
    if code in ("exited", "crashed") and death.get("code") == "out-of-memory":
        code = "out-of-memory"
    signal = death.get("signal")
    extra: dict[str, Any] = {"signal": str(signal)[:20]} if code == "crashed" and signal else {}
    if code == "out-of-memory":
        extra = _memory(pod)
    detail = str(value.get("message") or "")[:500]
    return reason(code, detail=detail, exit_code=finished.get("exitCode"), **extra)


def _memory(pod: Mapping[str, Any]) -> dict[str, Any]:
    containers = (pod.get("spec") or {}).get("containers") or [{}]
    limit = ((containers[0].get("resources") or {}).get("limits") or {}).get("memory")
    return {"host_memory": limit} if limit else {}


def _signal(exit_code: int | None) -> dict[str, Any]:
    return {"signal": exit_code - 128} if exit_code is not None and exit_code > 128 else {}


def hopeless_start(pod: Mapping[str, Any], events: Iterable[Mapping[str, Any]] = ()) -> Reason | None:
    """Why a pod that waits will never start; None while there is hope."""
    waiting = (_container(pod.get("status") or {}).get("state") or {}).get("waiting") or {}
    name, detail = waiting.get("reason"), str(waiting.get("message") or "")
    if name in _IMAGE_NEVER or (name in _IMAGE_TRIES and _pull_is_hopeless(detail, events)):
        image = ((pod.get("spec") or {}).get("containers") or [{}])[0].get("image")
        return reason("image", detail=detail or str(name), image=image)
    if name in _BROKEN_WAITING:
        text = str(detail or name)
        code = "image" if "runAsNonRoot" in text or "non-root" in text else "crashed"
        return reason(code, detail=text)
    return None


def _pull_is_hopeless(detail: str, events: Iterable[Mapping[str, Any]]) -> bool:
    """A first failure may be the network's; a registry that does not know the image will not learn it."""
    pulls = [event for event in events if event.get("reason") == "Failed"]
    texts = [detail, *(str(event.get("message") or "") for event in pulls)]
    if any(sign in text.lower() for text in texts for sign in _NOT_THERE):
        return True
    return sum(int(event.get("count") or 1) for event in pulls) >= PULLS


def hopeless_event(event: Mapping[str, Any]) -> Reason | None:
    """Why an event about a waiting pod or claim ends all hope; None for the others."""
    name, text = event.get("reason"), str(event.get("message") or "")
    if name == "FailedScheduling" and "device class" in text and "does not exist" in text:
        return reason("class-missing", detail=text)
    if name == "FailedResourceClaimCreation":
        if "exceeded quota" in text:
            return reason("quota", detail=text)
        if "not found" in text:
            return reason("claim-deleted", detail=text)
    if name == "FailedPrepareDynamicResources" and int(event.get("count") or 1) >= 3:
        return reason("prepare-failed", detail=text)
    if name == "InspectFailed" or (name == "Failed" and "InvalidImageName" in text):
        return reason("image", detail=text)
    return None


_REFUSED = {"quota": "quota", "limit-range": "limit-range", "impostor": "pod-deleted"}
_PASSING = frozenset({"unreachable", "unauthorized", "too-many-requests", "address-refused"})


def reason_of_error(error: DRAError) -> Reason:
    """The end code for a request that was refused during a launch; the words are the server's.

    ``params["cause"]`` keeps the error's own code, which is none of the end codes.
    """
    code = _REFUSED.get(error.code) or ("launch-timeout" if error.code in _PASSING else "impossible")
    if code in ("quota", "limit-range"):
        return reason(code, detail=error.message)
    return Reason(code, error.message, error.next_step, params={**error.params, "cause": error.code})
