"""What the progress page and the failure of a spawn say, in plain words (messages 31, 43 to 47 and 57 of the interface)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_PULL_FAILED = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull")
_CONFIG_FAILED = ("CreateContainerConfigError", "CreateContainerError", "RunContainerError")
PULL_TRIES = 3


def waiting(plan: Mapping[str, Any], tier: str, mine: int, wait_seconds: int) -> str:
    """Why a server waits: how many are taken, how many of them in this hub, how long it goes on."""
    counts = plan["counts"]
    matching, free = counts["matching"], counts["free"]
    taken = matching - (free if free is not None else counts["free_at_most"] or 0)
    outside = max(0, taken - mine)
    held = f" {min(mine, taken)} are held in this hub, {outside} outside it." if taken else ""
    hours = wait_seconds / 3600
    limit = f"{hours:g} h" if hours >= 1 else f"{wait_seconds // 60} min"
    return (
        f"Waiting: {taken} of {matching} {tier} devices are taken.{held} "
        f"It goes on by itself when one is free; at most {limit}."
    )


def impossible(plan: Mapping[str, Any], tier: str) -> str:
    """Why a server can never start, with the reasons of the plan."""
    reasons = "; ".join(str(reason["message"]) for reason in plan["reasons"])
    return f"Not possible here: no node has {tier} as asked, even with everything free. {reasons}".strip()


def scheduling(event: Mapping[str, Any]) -> str | None:
    """Words for an event of the scheduler or the node scaler; None where the event's own text is best."""
    reason = event.get("reason")
    text = str(event.get("message") or "")
    if reason == "TriggeredScaleUp":
        return f"A node is being started ({text})."
    if reason in ("NotTriggerScaleUp", "FailedScaleUp"):
        return f"No node can be added; ask the operator. ({text})"
    return None


def hopeless(pod: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> str | None:
    """Why this pod will never run, or None while there is hope.

    A failed pull counts only after the third try: registries have bad moments.
    """
    status = pod.get("status") or {}
    if status.get("phase") == "Failed":
        return ended(pod)
    for container in status.get("containerStatuses") or ():
        waiting_state = (container.get("state") or {}).get("waiting") or {}
        reason, text = waiting_state.get("reason"), waiting_state.get("message") or ""
        if reason == "InvalidImageName" or (reason in _PULL_FAILED and _pull_tries(events) >= PULL_TRIES):
            return f"There is no image {container.get('image')}. Check its name. ({text or reason})"
        if reason in _CONFIG_FAILED:
            return f"The container cannot be made: {text or reason}"
    for event in events:
        if event.get("reason") == "FailedResourceClaimCreation":
            return f"The claim could not be made: {event.get('message')}"
    return None


def _pull_tries(events: Sequence[Mapping[str, Any]]) -> int:
    return sum(
        int(event.get("count") or 1)
        for event in events
        if event.get("reason") in ("Failed", "BackOff") and "pull" in str(event.get("message", "")).lower()
    )


def ended(pod: Mapping[str, Any]) -> str:
    """Why a server's pod ended."""
    status = pod.get("status") or {}
    reason = status.get("reason")
    node = (pod.get("spec") or {}).get("nodeName") or "its node"
    for condition in status.get("conditions") or ():
        if (
            condition.get("type") == "DisruptionTarget"
            and condition.get("reason") == "DeletionByDeviceTaintManager"
        ):
            return "The device was taken out of service and the cluster ended the server."
    if reason == "Evicted":
        return f"The server was evicted: {status.get('message') or f'{node} ran low'} ({node})"
    for container in status.get("containerStatuses") or ():
        finished = (container.get("state") or {}).get("terminated") or {}
        if finished.get("reason") == "OOMKilled":
            return "The server was ended: out of host memory. The device's own memory was not the problem."
        if finished:
            return f"The server ended by itself (exit code {finished.get('exitCode')})."
    return f"The server's pod failed: {status.get('message') or reason or 'no reason given'}"


def api_refusal(body: str, status: int) -> str:
    """What the API server said, without its wrapping."""
    if status == 403 and "exceeded quota" in body:
        return f"Your team's limit is reached: {body}"
    return body
