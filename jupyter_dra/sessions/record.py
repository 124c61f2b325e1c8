"""A session as it stands at one moment: immutable values, and their JSON of the contract."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

STEPS = (
    "checked",
    "claim-created",
    "allocated",
    "scheduled",
    "image-pulled",
    "kernel-starting",
    "connected",
)
STATES = ("waiting", "starting", "running", "releasing", "ended")


def iso(at: float | None) -> str | None:
    """RFC 3339 UTC with seconds; None for None, and for what is no moment of this calendar."""
    try:
        return None if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return None


def epoch(text: Any) -> float | None:
    """Epoch seconds of an RFC 3339 time; None when there is none."""
    if not isinstance(text, str):
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return None


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a launch; ``state`` is todo, doing, done or failed."""

    code: str
    state: str = "todo"
    started_at: float | None = None
    ended_at: float | None = None
    params: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        seconds = None
        if self.started_at is not None and self.ended_at is not None:
            seconds = round(self.ended_at - self.started_at, 3)
        return {
            "code": self.code,
            "state": self.state,
            "started_at": iso(self.started_at),
            "seconds": seconds,
            "params": dict(self.params),
        }


@dataclass(frozen=True, slots=True)
class DeviceRecord:
    """One allocated device.

    ``choice`` counts from 1 where the request has alternatives; ``conditions`` are the driver's own words about it.
    """

    request: str
    driver: str
    pool: str
    device: str
    node: str | None = None
    label: str | None = None
    share: Mapping[str, Any] | None = None
    predicted: bool | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    choice: int | None = None
    conditions: tuple[Mapping[str, str], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {
            "request": self.request,
            "driver": self.driver,
            "pool": self.pool,
            "device": self.device,
            "node": self.node,
            "label": self.label,
            "share": dict(self.share) if self.share else None,
            "predicted": self.predicted,
            "device_kind": self.facts.get("device_kind"),
            "profile": self.profile,
            "slots": self.facts.get("slots"),
            "memory_published": self.facts.get("memory_published"),
            "choice": self.choice,
            "conditions": [dict(one) for one in self.conditions],
        }

    @property
    def profile(self) -> str | None:
        """The published name of a fixed part, such as ``2g.10gb``; None for a whole device."""
        for name, value in (self.facts.get("attributes") or {}).items():
            if name.rpartition("/")[2] == "profile" and isinstance(value, Mapping):
                return value.get("string")
        return None


@dataclass(frozen=True, slots=True)
class KernelRecord:
    """One kernel of a session, and its pod; ``next_pod`` is the one it is being moved to."""

    id: str
    name: str
    pod: str
    notebook: str | None = None
    state: str = "starting"
    last_activity: float | None = None
    transport: str | None = None
    encrypted: bool = True
    image: str | None = None
    cpu: str | None = None
    host_memory: str | None = None
    next_pod: str | None = None
    pod_uid: str | None = None
    usage: Mapping[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "pod": self.pod,
            "notebook": self.notebook,
            "state": self.state,
            "last_activity": iso(self.last_activity),
            "transport": self.transport,
            "encrypted": self.encrypted,
            "image": self.image,
            "cpu": self.cpu,
            "host_memory": self.host_memory,
            "next_pod": self.next_pod,
        }


@dataclass(frozen=True, slots=True)
class Lease:
    """How long the session may live and idle; times in epoch seconds.

    Attributes:
        longest_idle: what the idle limit may be raised to; None is without limit.
        device_use: whether the devices are in use as far as the pods can tell (``leasing.USED`` …); with ``unknown``
            the session is kept although its kernels idle.
    """

    ends_at: float | None
    longest_until: float | None
    idle_seconds: float | None
    idle_since: float | None = None
    longest_idle: float | None = None
    device_use: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "ends_at": iso(self.ends_at),
            "longest_until": iso(self.longest_until),
            "idle_limit_seconds": None if self.idle_seconds is None else int(self.idle_seconds),
            "idle_since": iso(self.idle_since),
            "device_use": self.device_use,
        }


@dataclass(frozen=True, slots=True)
class Ended:
    """How a session ended; ``code`` is one of the contract's end codes."""

    at: float
    code: str
    message: str
    exit_code: int | None = None
    by: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    device_returned_at: float | None = None
    next_step: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "at": iso(self.at),
            "code": self.code,
            "exit_code": self.exit_code,
            "by": self.by,
            "message": self.message,
            "next": self.next_step,
            "params": dict(self.params),
            "device_returned_at": iso(self.device_returned_at),
        }

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Ended:
        return cls(
            at=epoch(value.get("at")) or 0.0,
            code=str(value["code"]),
            message=str(value.get("message") or ""),
            exit_code=value.get("exit_code"),
            by=value.get("by"),
            params=value.get("params") or {},
            device_returned_at=epoch(value.get("device_returned_at")),
            next_step=value.get("next"),
        )


@dataclass(frozen=True, slots=True)
class Wait:
    """Why a session waits, until when at most, and what is expected to change; see `queues.QueueNews` for queue."""

    since: float
    until: float | None
    reasons: tuple[Mapping[str, Any], ...] = ()
    next_change: Mapping[str, Any] | None = None
    queue: Mapping[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "since": iso(self.since),
            "until": iso(self.until),
            "reasons": [dict(reason) for reason in self.reasons],
            "next_change": dict(self.next_change) if self.next_change else None,
            "queue": dict(self.queue) if self.queue else None,
        }


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """One session; `as_dict` is the contract's element of ``SessionList``."""

    id: str
    name: str
    state: str
    namespace: str
    user: str
    server: str
    requirement: Mapping[str, Any]
    claim_name: str | None
    made_by_us: bool
    created_at: float
    revision: int = 0
    mine: bool = True
    template: str | None = None
    activity: str | None = None
    devices: tuple[DeviceRecord, ...] = ()
    kernels: tuple[KernelRecord, ...] = ()
    steps: tuple[Step, ...] = ()
    wait: Wait | None = None
    lease: Lease | None = None
    usage: Mapping[str, Any] | None = None
    price: Mapping[str, Any] | None = None
    right_size: Mapping[str, Any] | None = None
    ready_at: float | None = None
    launch_until: float | None = None
    ended: Ended | None = None
    orphan: bool = False
    simulated: bool = False
    lost_fields: tuple[str, ...] = ()
    history: tuple[Mapping[str, Any], ...] = ()
    image: str | None = None
    shared_with: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "state": self.state,
            "activity": self.activity,
            "revision": self.revision,
            "mine": self.mine,
            "user": self.user,
            "server": self.server,
            "namespace": self.namespace,
            "requirement": dict(self.requirement),
            "claim": {
                "name": self.claim_name,
                "made_by_us": self.made_by_us,
                "template": self.template,
            },
            "devices": [device.as_dict() for device in self.devices],
            "kernels": [kernel.as_dict() for kernel in self.kernels],
            "steps": [step.as_dict() for step in self.steps],
            "wait": self.wait.as_dict() if self.wait else None,
            "lease": self.lease.as_dict() if self.lease else None,
            "usage": dict(self.usage) if self.usage else None,
            "price": dict(self.price) if self.price else None,
            "right_size": dict(self.right_size) if self.right_size else None,
            "created_at": iso(self.created_at),
            "ready_at": iso(self.ready_at),
            "launch_until": iso(self.launch_until),
            "ended": self.ended.as_dict() if self.ended else None,
            "orphan": self.orphan,
            "simulated": self.simulated,
            "lost_fields": list(self.lost_fields),
            "notebook": self.kernels[0].notebook if self.kernels else None,
            "history": [dict(entry) for entry in self.history],
            "image": self.image,
            "shared_with": list(self.shared_with),
        }
