"""A session in words for people: its steps, its times, what happened to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from .output import clean, duration

STEP_WORDS: Mapping[str, str] = {
    "checked": "Request checked",
    "claim-created": "Claim created",
    "allocated": "Device reserved",
    "scheduled": "Placed",
    "image-pulled": "Image ready",
    "kernel-starting": "Starting the kernel",
    "connected": "Connected",
}
_HAPPENED: Mapping[str, str] = {
    "moving": "The kernel is moving to pod {pod}.",
    "moved": "The kernel moved to pod {pod}.",
    "not-moved": "The kernel did not move: {why}",
    "kernel-ended": "A kernel ended: {why}",
    "reattached": "A server took the kernel over.",
    "connection-lost": "The connection to the kernel was lost.",
    "connected-again": "The kernel is connected again.",
    "pod-lost": "The pod {pod} was lost: {why}",
    "replaced": "The kernel started anew in pod {pod}, on {device}; its variables are gone.",
    "restarted": "The kernel restarted in place, on the same device.",
    "died": "The kernel died: {why}",
    "node-not-ready": "The node does not answer.",
    "node-ready": "The node answers again.",
    "sees-other-devices": "The kernel sees devices it was not given: {sees}",
}
_LOST = " What it printed before was not kept."


def now() -> datetime:
    """The present moment, in the user's time zone."""
    return datetime.now().astimezone()


def until(text: str | None, at: datetime) -> str:
    """``in 3 h 58 min`` or ``over``; a dash where there is no end.

    >>> until("2026-11-30T14:00:00Z", datetime(2026, 11, 30, 12, 2, tzinfo=UTC))
    'in 1 h 58 min'
    """
    if not text:
        return "-"
    left = (datetime.fromisoformat(text) - at).total_seconds()
    return f"in {duration(left)}" if left > 0 else "over"


def clock(text: str, at: datetime) -> str:
    """A moment in the time zone of ``at``, with the date where it is another day's.

    >>> clock("2026-11-29T14:00:00Z", datetime(2026, 11, 30, 12, 2, tzinfo=UTC))
    '2026-11-29 14:00'
    """
    moment = datetime.fromisoformat(text).astimezone(at.tzinfo)
    return moment.strftime("%H:%M" if moment.date() == at.date() else "%Y-%m-%d %H:%M")


_CHOICES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
_PREDICTED: Mapping[bool | None, str] = {True: ", as predicted", False: ", another than predicted", None: ""}


def device_lines(device: Mapping[str, Any]) -> Iterator[str]:
    """What was given for a request, in the units it is published in, and what the driver says against it."""
    request, choice = str(device["request"]).partition("/")[0], device.get("choice")
    place = f" ({_CHOICES[choice - 1]} choice)" if choice and choice <= len(_CHOICES) else ""
    words = [one for one in (device.get("label"), device.get("memory_published")) if one]
    about = f" · {', '.join(clean(one) for one in words)}" if words else ""
    yield (
        f"{clean(request)}{place}: {clean(device['device'])} on {clean(device['node'] or '-')}{about}"
        f"{_share(device)}{_PREDICTED[device.get('predicted')]}"
    )
    for condition in device.get("conditions") or ():
        if condition["status"] != "True":
            yield f"  {clean(condition['type'])}: {clean(condition['message'] or condition['reason'])}"


def _share(device: Mapping[str, Any]) -> str:
    consumed = (device.get("share") or {}).get("consumed") or {}
    whole = device.get("memory_published")
    words = [
        f"{clean(name.rpartition('/')[2])} {clean(amount)}"
        + (f" of {clean(whole)}" if whole and name.rpartition("/")[2] == "memory" else "")
        for name, amount in consumed.items()
    ]
    return f" · share: {', '.join(words)}" if words else ""


def lease_line(lease: Mapping[str, Any], at: datetime) -> str:
    """When the lease ends, how far it can be extended, and the idle limit."""
    words = f"ends at {clock(lease['ends_at'], at)}, {until(lease['ends_at'], at)}"
    longest = lease.get("longest_until")
    if longest and longest != lease["ends_at"]:
        words += f"; can be extended to {clock(longest, at)}"
    if lease.get("idle_limit_seconds"):
        words += f"; given back after {duration(lease['idle_limit_seconds'])} without use"
        if lease.get("device_use") == "unknown" and lease.get("idle_since"):
            words += " (the device's use is not known, so it is kept)"
    return words


def wait_line(wait: Mapping[str, Any], at: datetime) -> str:
    """Why it waits: the queue that decides, the planner's reasons, and what is expected to change when."""
    parts = [clean(reason["message"]) for reason in wait["reasons"]]
    queue, change = wait.get("queue"), wait.get("next_change")
    if queue:
        place = f"place {queue['position']} in " if queue.get("position") else ""
        says = f" ({clean(queue['message'])})" if queue.get("message") else ""
        parts.insert(0, f"{place}queue {clean(queue['name'])}{says}")
    if change and change.get("at"):
        parts.append(f"a lease ends at {clock(change['at'], at)}")
    return "; ".join(parts)


def usage_line(usage: Mapping[str, Any]) -> str:
    """What the devices do now and did at most; what is not known is said so."""
    used, total, percent = (
        usage.get(name) for name in ("memory_used_bytes", "memory_total_bytes", "utilisation_percent")
    )
    parts = ["memory not known" if used is None else f"{_gib(used)} of {_gib(total)} GiB"]
    parts.append("use not known" if percent is None else f"{percent} % busy")
    if usage.get("peak_bytes") is not None:
        parts.append(f"peak {_gib(usage['peak_bytes'])} GiB")
    if usage.get("device_seconds") is not None:
        parts.append(f"device time {duration(usage['device_seconds'])}")
    if usage.get("simulated"):
        parts.append("simulated")
    return " · ".join(parts)


def _gib(count: int | None) -> str:
    return "?" if count is None else f"{count / 2**30:.1f}"


def cost_line(price: Mapping[str, Any]) -> str:
    """``2.90 EUR so far (1.45 EUR/hour)``; a claim of several sessions counts once."""
    money = clean(price["currency"])
    rate = f"{clean(price['amount'])} {money}/{clean(price['per'])}"
    if price.get("counted_with"):
        return f"counted with {clean(price['counted_with'])} ({rate})"
    return f"{clean(price['so_far'])} {money} so far ({rate})"


def hint_line(hint: Mapping[str, Any]) -> str:
    """``peak 9.1 of 79.6 GiB: tier l4 (24 GB) would do, 0.60 EUR/hour``."""
    words = f"peak {_gib(hint['peak_bytes'])} of {_gib(hint['total_bytes'])} GiB: tier "
    words += f"{clean(hint['tier'])} ({clean(hint['label'])}) would do"
    price = hint.get("price")
    return words + (f", {clean(price['amount'])} {clean(price['currency'])}/hour" if price else "")


def ended_line(ended: Mapping[str, Any]) -> str:
    """The reason with its next step."""
    words = f"{clean(ended['code'])}: {clean(ended['message'])}"
    detail, next_step = (ended.get("params") or {}).get("detail"), ended.get("next")
    return " ".join(
        part for part in (words, detail and clean(detail), next_step and clean(next_step)) if part
    )


def history_lines(history: list[Mapping[str, Any]], at: datetime) -> Iterator[str]:
    """What happened, oldest first: ``10:02  The kernel restarted in place, on the same device.``"""
    for entry in history:
        text = _HAPPENED.get(str(entry.get("event")))
        if text is None:
            continue
        when = datetime.fromtimestamp(float(entry.get("at") or 0), UTC).isoformat()
        device = "the same device" if entry.get("same_device") else "another device"
        words = text.format(pod=entry.get("pod"), why=_why(entry), sees=_sees(entry), device=device)
        if entry.get("output") == "lost-until-here":
            words += _LOST
        yield f"{clock(when, at)}  {clean(words)}"


def _sees(entry: Mapping[str, Any]) -> str:
    return ", ".join(str(one) for one in entry.get("sees") or ())


def _why(entry: Mapping[str, Any]) -> str:
    from ..sessions.endings import reason_of_note

    found = reason_of_note(entry)
    return f"{found.message} {found.detail}" if found.detail else found.message
