"""How far a launch has come, read from pod and claim as the watches know them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..model.reading import items, mapping, text
from .endings import Reason, hopeless_event, hopeless_start, reason, reason_of_pod
from .queues import Gate, gate_of
from .record import DeviceRecord

Labels = Callable[[str, str, str], tuple[str | None, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Progress:
    """What is true now; ``failure`` ends the launch.

    Attributes:
        no_scale_up: why a cluster autoscaler starts no node, in its own text. scaling: what it does, in words.
    """

    allocated: bool = False
    scheduled: bool = False
    running: bool = False
    node: str | None = None
    devices: tuple[DeviceRecord, ...] = ()
    failure: Reason | None = None
    waiting_text: str | None = None
    no_scale_up: str | None = None
    scaling: str | None = None
    gate: Gate | None = None
    node_ready: bool = True
    params: Mapping[str, Any] = field(default_factory=dict)


def progress(
    pod: Mapping[str, Any] | None,
    claim: Mapping[str, Any] | None,
    events: Iterable[Mapping[str, Any]] = (),
    *,
    seen_pod: bool = True,
    seen_claim: bool = True,
    describe: Labels | None = None,
) -> Progress:
    """Read the state of a starting kernel.

    Args:
        pod, claim: as the watch knows them; None before they were seen and after they are gone.
        events: about the pod and the claim.
        seen_pod, seen_claim: whether the watch ever knew them, which tells the two kinds of None apart.
        describe: gives a device's label and facts by (driver, pool, device).
    """
    if pod is None and seen_pod:
        return Progress(failure=reason("pod-deleted"))
    if claim is None and seen_claim:
        # A claim in use cannot vanish (its finalizer): the pod went first, and its own watch is late.
        used = bool(((pod or {}).get("spec") or {}).get("nodeName"))
        return Progress(failure=reason("pod-deleted" if used else "claim-deleted"))
    devices = devices_of(claim, describe) if claim is not None else ()
    allocated = bool(((claim or {}).get("status") or {}).get("allocation"))
    if claim is not None and claim["metadata"].get("deletionTimestamp"):
        return Progress(allocated, devices=devices, failure=reason("claim-deleted"))
    if pod is None:
        return Progress(allocated, devices=devices)
    status = pod.get("status") or {}
    node = (pod.get("spec") or {}).get("nodeName")
    events = list(events)
    failure = reason_of_pod(pod) or hopeless_start(pod, events)
    if failure is None and pod["metadata"].get("deletionTimestamp"):
        failure = reason("pod-deleted")
    waiting_text = no_scale_up = scaling = None
    for event in events:
        failure = failure or hopeless_event(event)
        if event.get("reason") in _SCALING:
            told = _SCALING[event["reason"]]
            no_scale_up = str(event.get("message") or "")[:1000] if told else None
            scaling = _scaling(event)
        if event.get("reason") in ("FailedScheduling", "FailedMount", "FailedPrepareDynamicResources"):
            waiting_text = str(event.get("message") or "")[:1000]
    states = status.get("containerStatuses") or [{}]
    running = bool((states[0].get("state") or {}).get("running"))
    waiting_text = _held_up(states[0]) or waiting_text
    return Progress(
        allocated=allocated,
        scheduled=bool(node),
        running=running and bool(status.get("podIP")),
        node=node,
        devices=devices,
        failure=_of_device(failure, devices, node),
        waiting_text=waiting_text,
        no_scale_up=no_scale_up,
        scaling=scaling,
        gate=gate_of(pod, events),
        node_ready=not (running and _says_no(status, "Ready")),
    )


_SCALING = {"TriggeredScaleUp": False, "NotTriggerScaleUp": True, "FailedScaleUp": True}
"""Events of a cluster autoscaler, and whether they say that no node will come; the last one counts."""


def _scaling(event: Mapping[str, Any]) -> str:
    """``A node is being started for this: gpu-pool 0->1 (max: 2).``"""
    words = "No node is started for this" if _SCALING[event["reason"]] else "A node is being started for this"
    text = str(event.get("message") or "").removeprefix("pod triggered scale-up:")
    text = text.removeprefix("pod didn't trigger scale-up:").strip().rstrip(".")[:300]
    return f"{words}: {text}." if text else f"{words}."


def _of_device(failure: Reason | None, devices: tuple[DeviceRecord, ...], node: str | None) -> Reason | None:
    """A failed preparation with the devices of the driver that the kubelet's text names."""
    if failure is None or failure.code != "prepare-failed":
        return failure
    named = [one for one in devices if one.driver in (failure.detail or "")]
    if not named:
        return failure
    what = ", ".join(one.device for one in named)
    message = (
        f"The device {what} (driver {named[0].driver}) could not be prepared on {node or named[0].node}."
    )
    return replace(failure, message=message)


def vanished(devices: Iterable[DeviceRecord]) -> Reason | None:
    """Why a pod cannot start whose devices no slice publishes any more: their driver is gone; None while all are there.

    Only where slices can be seen; the caller gives a driver that restarts some seconds.
    """
    lost = [one for one in devices if not one.facts]
    if not lost:
        return None
    first = lost[0]
    found = reason("prepare-failed", device=first.device, driver=first.driver, node=first.node)
    message = (
        f"The driver {first.driver} publishes {first.device} of {first.node or first.pool} no more; "
        "the pod cannot start there."
    )
    return replace(found, message=message, next_step="Start again: another node may work.")


def _held_up(container: Mapping[str, Any]) -> str | None:
    """What the node says holds its container up; None while that only takes its time."""
    waiting = (container.get("state") or {}).get("waiting") or {}
    name, text = waiting.get("reason"), str(waiting.get("message") or "")
    if name in (None, "ContainerCreating", "PodInitializing"):
        return None
    return f"{name}: {text}"[:1000] if text else str(name)


def _says_no(status: Mapping[str, Any], condition: str) -> bool:
    """Our pods have no probes: one that runs and is not ready is on a node that does not answer."""
    return any(
        one.get("type") == condition and one.get("status") == "False"
        for one in status.get("conditions") or ()
    )


def devices_of(claim: Mapping[str, Any], describe: Labels | None = None) -> tuple[DeviceRecord, ...]:
    """The devices a claim holds, in the allocator's order."""
    allocation = (claim.get("status") or {}).get("allocation") or {}
    node = node_of(allocation)
    choices, told = _choices(claim), items(mapping(claim.get("status")).get("devices"))
    found = []
    for result in (allocation.get("devices") or {}).get("results") or []:
        key = (result["driver"], result["pool"], result["device"])
        label, facts = describe(*key) if describe else (None, {})
        consumed = result.get("consumedCapacity")
        share = {"id": result.get("shareID"), "consumed": consumed} if consumed else None
        request = str(result.get("request", ""))
        found.append(
            DeviceRecord(
                request,
                *key,
                node=node,
                label=label,
                share=share,
                facts=facts,
                choice=choices.get(request),
                conditions=_conditions(told, key, result.get("shareID")),
            )
        )
    return tuple(found)


def _choices(claim: Mapping[str, Any]) -> dict[str, int]:
    """Which choice ``request/alternative`` is, counted from 1."""
    requests = items(mapping(mapping(claim.get("spec")).get("devices")).get("requests"))
    return {
        f"{text(one.get('name'))}/{text(alternative.get('name'))}": place
        for one in requests
        for place, alternative in enumerate(items(one.get("firstAvailable")), start=1)
    }


def _conditions(
    told: list[Mapping[str, Any]], key: tuple[str, str, str], share_id: Any
) -> tuple[Mapping[str, str], ...]:
    """What the driver wrote about a device into the claim's status; foreign text, so only a little of it."""
    names = ("type", "status", "reason", "message")
    found = [
        {name: text(condition.get(name))[:500] for name in names}
        for one in told
        if (one.get("driver"), one.get("pool"), one.get("device")) == key and one.get("shareID") == share_id
        for condition in items(one.get("conditions"))
    ]
    return tuple(found[:8])


def node_of(allocation: Mapping[str, Any]) -> str | None:
    """The one node an allocation is bound to; None when several would do."""
    terms = (allocation.get("nodeSelector") or {}).get("nodeSelectorTerms") or []
    for term in terms:
        for expression in [*(term.get("matchFields") or []), *(term.get("matchExpressions") or [])]:
            if expression.get("key") in ("metadata.name", "kubernetes.io/hostname"):
                values = expression.get("values") or []
                if expression.get("operator") == "In" and len(values) == 1:
                    return str(values[0])
    return None


def claim_name_of(pod: Mapping[str, Any]) -> str | None:
    """The claim a pod uses, also one that was generated from a template."""
    for entry in (pod.get("spec") or {}).get("resourceClaims") or []:
        if entry.get("resourceClaimName"):
            return str(entry["resourceClaimName"])
    for entry in (pod.get("status") or {}).get("resourceClaimStatuses") or []:
        if entry.get("resourceClaimName"):
            return str(entry["resourceClaimName"])
    return None
