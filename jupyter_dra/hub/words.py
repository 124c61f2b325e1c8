"""What the progress page and the failure of a spawn say, in plain words (messages 43 to 47 and 57 of the interface)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_PULL_FAILED = ("ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "RegistryUnavailable")
_CONFIG_FAILED = ("CreateContainerConfigError", "CreateContainerError", "RunContainerError")
#: A registry has bad moments; the third failed pull is no bad moment.
PULL_TRIES = 3
#: The kubelet tries to prepare a device again and again.
PREPARE_TRIES = 5
_SCALING = {
    "TriggeredScaleUp": "A node is being started for you",
    "NotTriggerScaleUp": "No node can be added; ask the operator",
    "FailedScaleUp": "A node could not be added; ask the operator",
}


def duration(seconds: float) -> str:
    """``48 s``, ``26 min``, ``1 h 58 min``; what has passed is rounded down.

    >>> duration(7080)
    '1 h 58 min'
    """
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    hours, minutes = divmod(whole // 60, 60)
    if not hours:
        return f"{minutes} min"
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def plural(title: str) -> str:
    """A tier's title for several devices.

    >>> plural("Small GPU")
    'Small GPUs'
    """
    return (
        f"{title}s" if title[-1:].isalpha() and not title.endswith("s") and " with " not in title else title
    )


def waiting(
    plan: Mapping[str, Any],
    tier: str,
    ours: Iterable[tuple[str, str]],
    wait_seconds: int,
    *,
    show_holders: bool = False,
) -> str:
    """Why a server waits: how many devices are taken, how many of them in this hub, how long it goes on (message 57).

    Args:
        ours: namespace and name of the claims of this hub's servers.
        show_holders: name the claims outside the hub, as far as they are visible.
    """
    counts = plan["counts"]
    total, free = counts["matching"], counts["free_at_most"]
    limit = f"It goes on by itself when one is free; at most {duration(wait_seconds)}."
    if total is None or free is None:
        return f"Waiting for a device of {tier}; what is free cannot be seen here. {limit}"
    holders = [row for row in plan["holders"] if row["claim"]]
    own = set(ours)
    inside = sum(row["devices"] for row in holders if (row["namespace"], row["claim"]) in own)
    taken = total - free
    if free and not plan["certainty"]["sure"]:
        # The scheduler refuses what looks free from here: somebody out of sight has it.
        taken = total
    named = tier if taken == 1 else plural(tier)
    text = f"Waiting: {taken} of {total} {named} {'is' if taken == 1 else 'are'} taken."
    outside = taken - inside
    if taken:
        text += f" {inside} {'is' if inside == 1 else 'are'} held in this hub, {outside} outside it."
    if free and taken < total:
        text += " Those left do not fit together with the rest of the request."
    strangers = [row for row in holders if (row["namespace"], row["claim"]) not in own]
    if show_holders and strangers:
        names = ", ".join(f"{row['claim']} in {row['namespace']}" for row in strangers[:3])
        text += f" Outside: {names}{' and more' if len(strangers) > 3 else ''}."
    return f"{text} {limit}"


def taken_since(plan: Mapping[str, Any]) -> str:
    """Since when all matching devices are taken; empty where not every holder can be seen.

    The newest holder took the last one. Who it is stays unsaid.
    """
    holders = [row for row in plan["holders"] if row["claim"]]
    total = plan["counts"]["matching"]
    known = all(row.get("since") for row in holders)
    if not total or not known or sum(row["devices"] for row in holders) < total:
        return ""
    newest = max(str(row["since"]) for row in holders)
    return f"The last one was taken on {newest[:10]} at {newest[11:16]} UTC."


def scaling(events: Sequence[Mapping[str, Any]], passed: float) -> str | None:
    """What the node scaler said last about this pod, or None."""
    for event in reversed(events):
        words = _SCALING.get(str(event.get("reason")))
        if words:
            return f"{words} (for {duration(passed)} now). {event.get('message') or ''}".strip()
    return None


def impossible(plan: Mapping[str, Any], tier: str) -> str:
    """Why a server can never start, with the reasons of the plan, or what is wrong with the request."""
    if plan["findings"]:
        return " ".join(str(one["message"]) for one in plan["findings"] if one["severity"] == "error")
    # Who holds what is no reason here, and nobody's business.
    reasons = "; ".join(str(one["message"]) for one in plan["reasons"] if one["code"] != "taken")
    return f"Not possible here: no node has {tier} as asked, even with everything free. {reasons}".strip()


def hopeless(pod: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> str | None:
    """Why this pod will never run, or None while there is hope."""
    status = pod.get("status") or {}
    if status.get("phase") in ("Failed", "Succeeded"):
        return ended(pod)
    for container in status.get("containerStatuses") or ():
        state = (container.get("state") or {}).get("waiting") or {}
        reason, text = state.get("reason"), state.get("message") or ""
        if reason == "InvalidImageName" or (reason in _PULL_FAILED and _pull_tries(events) >= PULL_TRIES):
            said = _pull_message(events) or text or reason
            return f"There is no image {container.get('image')}. Check its name. ({said})"
        if reason in _CONFIG_FAILED:
            return f"The container cannot be made: {text or reason}"
        if reason == "CrashLoopBackOff":
            last = (container.get("lastState") or {}).get("terminated") or {}
            return _finished(last) or f"The server ends again and again: {text}"
    for event in events:
        if event.get("reason") == "FailedResourceClaimCreation":
            return f"The claim could not be made: {event.get('message')}"
    failed = [event for event in events if event.get("reason") == "FailedPrepareDynamicResources"]
    if sum(_times(event) for event in failed) >= PREPARE_TRIES:
        return f"The driver could not prepare the device: {failed[-1].get('message')}"
    return None


def _times(event: Mapping[str, Any]) -> int:
    return int(event.get("count") or (event.get("series") or {}).get("count") or 1)


def _pulls(events: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    # One failed try makes several events; only this one is made once for each.
    return [
        event
        for event in events
        if event.get("reason") == "Failed"
        and str(event.get("message", "")).startswith("Failed to pull image")
    ]


def _pull_tries(events: Sequence[Mapping[str, Any]]) -> int:
    """Failed pulls or back-offs between them, whichever the node told more of."""
    waits = [one for one in events if one.get("reason") == "BackOff" and "pull" in str(one.get("message"))]
    return max(sum(map(_times, _pulls(events))), sum(map(_times, waits)))


def _pull_message(events: Sequence[Mapping[str, Any]]) -> str | None:
    pulls = _pulls(events)
    return str(pulls[-1]["message"]) if pulls else None


def last_warning(events: Sequence[Mapping[str, Any]]) -> str:
    """The newest warning about a pod, in brackets; empty where there is none."""
    warnings = [event for event in events if event.get("type") == "Warning"]
    return f" ({warnings[-1].get('message')})" if warnings else ""


def ended(pod: Mapping[str, Any]) -> str:
    """Why a server's pod ended."""
    status = pod.get("status") or {}
    reason = status.get("reason")
    node = (pod.get("spec") or {}).get("nodeName") or "its node"
    for condition in status.get("conditions") or ():
        if condition.get("type") == "DisruptionTarget" and condition.get("status") != "False":
            if condition.get("reason") == "DeletionByDeviceTaintManager":
                return "The device was taken out of service and the cluster ended the server."
            if condition.get("reason") == "PreemptionByScheduler":
                return "The server made room for work with a higher priority."
    if reason == "Evicted":
        said = str(status.get("message") or "")
        short = "memory" if "memory" in said else "disk" if "storage" in said or "disk" in said else None
        why = f"The node {node} ran low on {short}" if short else f"The node {node} was under pressure"
        return f"{why} and ended the server. {said}".strip()
    if reason == "NodeLost":
        return f"The node {node} has not answered any more."
    for container in status.get("containerStatuses") or ():
        words = _finished((container.get("state") or {}).get("terminated") or {})
        if words:
            return words
    return f"The server's pod failed: {status.get('message') or reason or 'no reason given'}"


def _finished(state: Mapping[str, Any]) -> str | None:
    if state.get("reason") == "OOMKilled":
        return "The server was ended: out of host memory. The device's own memory was not the problem."
    return f"The server ended by itself (exit code {state.get('exitCode')})." if state else None


def exit_code(pod: Mapping[str, Any]) -> int:
    """What an ended pod counts as for JupyterHub: the server's own exit code where there is one, else 1."""
    for container in (pod.get("status") or {}).get("containerStatuses") or ():
        finished = (container.get("state") or {}).get("terminated")
        if finished and container.get("name") == "notebook":
            return int(finished.get("exitCode", 1))
    return 1


def refusal(text: str, status: int, limit_ranges: Iterable[Mapping[str, Any]] = ()) -> str:
    """What the API server's refusal of a pod or claim means.

    Args:
        text: the server's message.
        limit_ranges: the namespace's LimitRanges, whose names the server leaves out.
    """
    if status == 403 and "exceeded quota" in text:
        return f"Your team's limit is reached (quota): {text.partition('exceeded quota: ')[2]}."
    if status == 403 and ("per Container" in text or "per Pod" in text):
        names = ", ".join(one["metadata"]["name"] for one in limit_ranges)
        by = f" (LimitRange {names})" if names else ""
        said = text.partition("is forbidden: ")[2] or text
        return f"The namespace does not allow a server of this size{by}: {said}"
    if status == 403:
        return f"The cluster refused it: {text}"
    return f"The cluster did not accept it: {text}"


def device_names(claim: Mapping[str, Any]) -> str:
    """The devices of an allocated claim as ``gpu-3 on dgx-h100-0``; empty before."""
    allocation = (claim.get("status") or {}).get("allocation") or {}
    results = (allocation.get("devices") or {}).get("results") or ()
    return ", ".join(f"{one['device']} of {one['pool']}" for one in results)
