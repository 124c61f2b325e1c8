"""A session that this process looks after: its changing state, with one owner (the background loop)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..claims import Requirement
from ..cluster import PodTarget
from .endings import Reason
from .leasing import UNKNOWN
from .ports import Control, KernelChoice, KernelHandle, PodMaterials, SessionEvent
from .prices import NO_PRICES, Prices, with_cost
from .record import (
    STEPS,
    DeviceRecord,
    Ended,
    KernelRecord,
    Lease,
    SessionRecord,
    Step,
    Wait,
)
from .usage import device_use, idle_since

HISTORY = 50
WAITED = 30.0
"""Seconds of waiting from which on the lease's new end is told to others."""


@dataclass(slots=True)
class Made:
    """An object we asked the API server to make; ``uid`` is None until (and unless) it answered."""

    kind: str
    name: str
    nonce: str
    uid: str | None = None
    sent: bool = False


@dataclass(slots=True, eq=False)
class LiveKernel:
    """One kernel of a live session and the pod it runs in.

    Attributes:
        cpu, host_memory: of this pod; None means what the session asked for.
        replaces: name of the pod whose kernel this one takes over.
        launch_until: when its launch is given up, once a device is there; one deadline for all that follows.
    """

    id: str
    choice: KernelChoice
    pod_name: str
    notebook: str | None = None
    image: str = ""
    cwd: str | None = None
    cpu: str | None = None
    host_memory: str | None = None
    replaces: str | None = None
    pod: Made | None = None
    secret: Made | None = None
    materials: PodMaterials | None = field(default=None, repr=False)
    credentials: object = field(default=None, repr=False)
    port: int = 0
    target: PodTarget | None = None
    control: Control | None = field(default=None, repr=False)
    state: str = "starting"
    last_activity: float | None = None
    idle_since: float | None = None
    device_use: str = UNKNOWN
    launch_until: float | None = None
    usage: Mapping[str, Any] | None = None
    reason: Reason | None = None
    task: asyncio.Task[None] | None = field(default=None, repr=False)
    connected: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    gone: bool = False

    async def let_go(self) -> None:
        """Close the control connection; the pod goes on."""
        control, self.control = self.control, None
        if control is not None:
            await control.close()

    def record(self, next_pod: str | None = None) -> KernelRecord:
        return KernelRecord(
            id=self.id,
            name=self.choice.name,
            pod=self.pod_name,
            notebook=self.notebook,
            state=self.state,
            last_activity=self.last_activity,
            transport=self.target.transport if self.target else None,
            image=self.image or None,
            cpu=self.cpu,
            host_memory=self.host_memory,
            next_pod=next_pod,
            pod_uid=self.pod.uid if self.pod else None,
            usage=self.usage,
        )

    def handle(self, session_id: str) -> KernelHandle:
        assert self.target is not None and self.control is not None
        return KernelHandle(
            session_id=session_id,
            kernel_id=self.id,
            pod_name=self.pod_name,
            pod_uid=self.target.pod_uid,
            kernel=self.choice,
            target=self.target,
            credentials=self.credentials,
            control=self.control,
        )


@dataclass(slots=True, eq=False)
class LiveSession:
    """Everything that changes about one session; `record` is its value now.

    Attributes:
        requirement, asked: with the tier's defaults, and as the user asked (None: the same).
        spare: pods of handovers without a kernel to show: those that wait to take over, and those that leave.
        returned: names of pods that were given back here.
        idle_noted, idle_noted_at: what the record says of its idling, and since when; see `idle_notes`.
        handovers: moves to another pod that are under way, by kernel id.
        counted_with: the other session with which a claim of several sessions is counted, see `charging.payer_of`.
        pays_from: since when it is counted here, where it was counted with another before.
        idle_by: ``kernel`` where the kernels' activity is enough to call a device idle whose use is not known.
    """

    id: str
    name: str
    namespace: str
    user: str
    server: str
    requirement: Requirement
    created_at: float
    lease: Lease
    emit: Callable[[SessionEvent], None] = field(repr=False)
    clock: Callable[[], float] = field(repr=False)
    asked: Requirement | None = None
    claim_name: str | None = None
    template: str | None = None
    claim: Made | None = None
    manifest: dict[str, Any] | None = field(default=None, repr=False)
    predicted: frozenset[tuple[str, str, str]] = frozenset()
    state: str = "starting"
    kernels: list[LiveKernel] = field(default_factory=list)
    spare: list[LiveKernel] = field(default_factory=list)
    returned: set[str] = field(default_factory=set)
    idle_noted: float | None = None
    idle_noted_at: float = 0.0
    handovers: dict[str, asyncio.Task[None]] = field(default_factory=dict, repr=False)
    steps: dict[str, Step] = field(default_factory=lambda: {code: Step(code) for code in STEPS})
    devices: tuple[DeviceRecord, ...] = ()
    wait: Wait | None = None
    wait_until: float | None = None
    force: bool = False
    charge: int = 1
    usage: Mapping[str, Any] | None = None
    prices: Prices = NO_PRICES
    counted_with: str | None = None
    pays_from: float | None = None
    right_size: Mapping[str, Any] | None = None
    ready_at: float | None = None
    ended: Ended | None = None
    ending: Reason | None = None
    ended_by: str | None = None
    ending_at: float | None = None
    simulated: bool = False
    idle_by: str = "device"
    measure_cells: bool = False
    lease_moved: bool = False
    lost_fields: tuple[str, ...] = ()
    history: list[Mapping[str, Any]] = field(default_factory=list)
    revision: int = 0
    next_index: int = 0
    image: str | None = None
    shared_with: tuple[str, ...] = ()
    adopted: bool = False
    creating: set[asyncio.Task[Any]] = field(default_factory=set, repr=False)
    touched: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    finished: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    releasing: asyncio.Task[None] | None = field(default=None, repr=False)

    @property
    def made_by_us(self) -> bool:
        return self.claim is not None

    @property
    def activity(self) -> str | None:
        states = [kernel.state for kernel in self.kernels if not kernel.gone]
        for state in ("busy", "starting", "idle"):
            if state in states:
                return state
        return None

    @property
    def placed(self) -> list[LiveKernel]:
        """Every kernel pod of the session, those of handovers included."""
        return [*self.kernels, *self.spare]

    @property
    def followed(self) -> bool:
        """Whether this process keeps it current; one taken over and not (yet) connected is as the cluster shows it."""
        over = self.releasing is not None or self.ended is not None
        return not self.adopted or over or any(kernel.task is not None for kernel in self.placed)

    @property
    def connected(self) -> bool:
        """Whether this process hears of the kernels by itself."""
        return any(kernel.control is not None for kernel in self.kernels)

    def moving(self, kernel: LiveKernel) -> bool:
        """Whether this process is moving the kernel to another pod."""
        under_way = self.handovers.get(kernel.id)
        return under_way is not None and not under_way.done()

    def kernel(self, kernel_id: str | None) -> LiveKernel | None:
        """The kernel of this id; the first one for None."""
        for kernel in self.kernels:
            if kernel_id is None or kernel.id == kernel_id:
                return kernel
        return None

    def changed(self, change: str, *, step: Step | None = None, code: str | None = None) -> None:
        """Count the change and tell it."""
        self.revision += 1
        told = {"code": step.code, "state": step.state} if step is not None else None
        self.emit(SessionEvent(self.id, self.revision, change, self.state, told, code))

    def set_state(self, state: str) -> None:
        if state != self.state:
            self.state = state
            self.changed("state")

    def begin(self, code: str, **params: Any) -> None:
        """A step begins now; telling it twice keeps the first time."""
        step = self.steps[code]
        if step.state == "todo":
            self._step(replace(step, state="doing", started_at=self.clock(), params=params))

    def done(self, code: str, **params: Any) -> None:
        """A step is done now, begun as well when it had not been; what held it up is told no longer."""
        step = self.steps[code]
        if step.state not in ("done", "failed"):
            now = self.clock()
            merged = {**_without_detail(step.params), **params}
            started = step.started_at if step.started_at is not None else now
            self._step(replace(step, state="done", started_at=started, ended_at=now, params=merged))

    def explain(self, text: str | None) -> None:
        """What the cluster says holds up the step that is under way; None takes it back."""
        for step in self.steps.values():
            if step.state == "doing" and step.params.get("detail") != text:
                rest = _without_detail(step.params)
                self._step(replace(step, params={**rest, "detail": text} if text else rest))

    def fail_step(self) -> None:
        """The step that is under way failed."""
        for step in self.steps.values():
            if step.state == "doing":
                self._step(replace(step, state="failed", ended_at=self.clock()))

    def _step(self, step: Step) -> None:
        self.steps[step.code] = step
        self.changed("step", step=step)

    def shown_requirement(self) -> dict[str, Any]:
        """What was asked for, as it may be shown and kept: values of ``env`` are masked (threat T18)."""
        value = (self.asked or self.requirement).as_dict()
        if value.get("env"):
            value["env"] = dict.fromkeys(value["env"], "***")
        return value

    def note(self, event: str, kernel: LiveKernel | None = None, **params: Any) -> None:
        """Add a line to the session's history, which keeps the newest fifty."""
        whose = {"kernel": kernel.id} if kernel is not None else {}
        self.history.append({"at": int(self.clock()), "event": event, **whose, **params})
        del self.history[:-HISTORY]

    def amend(self, event: str, kernel_id: str, **params: Any) -> None:
        """Add to the newest line of this kind about a kernel."""
        for index in reversed(range(len(self.history))):
            entry = self.history[index]
            if entry.get("event") == event and entry.get("kernel") == kernel_id:
                self.history[index] = {**entry, **params}
                return

    def touch(self) -> None:
        """Wake whoever waits for a change of this session's objects."""
        self.touched.set()

    def keep(self) -> None:
        """Somebody wants the session: whatever idles, idles from now."""
        for kernel in self.kernels:
            if kernel.idle_since is not None:
                kernel.idle_since = self.clock()

    def begin_lease(self) -> None:
        """The device is there: the lease counts from now, whatever was waited for it."""
        waited = max(0.0, self.clock() - self.created_at)
        ends, longest = self.lease.ends_at, self.lease.longest_until
        self.lease = replace(
            self.lease,
            ends_at=None if ends is None else ends + waited,
            longest_until=None if longest is None else longest + waited,
        )
        self.lease_moved = waited > WAITED

    def ending_record(self) -> Ended | None:
        """Why it is being given back, before that is done; None while it lives."""
        why, at = self.ending, self.ending_at
        if why is None or at is None:
            return None
        by, step = self.ended_by, why.next_step
        return Ended(at, why.code, why.message, why.exit_code, by, why.params, next_step=step)

    def _price(self) -> dict[str, Any] | None:
        """Per hour and until now; the devices are held from their allocation until they are back."""
        since = self.pays_from or self.steps["allocated"].ended_at
        until = self.ended.device_returned_at if self.ended else None
        price = self.prices.per_hour(self.devices)
        return with_cost(price, since, until or self.clock(), counted_with=self.counted_with)

    def count_with(self, payer: str | None) -> bool:
        """Its claim is counted with that session from now on, None: here; says whether that is a change."""
        if payer == self.counted_with or self.ended is not None:
            return False
        self.pays_from = self.clock() if payer is None else None
        self.counted_with = payer
        self.changed("state")
        return True

    def record(self) -> SessionRecord:
        coming = {spare.replaces: spare.pod_name for spare in self.spare}
        return SessionRecord(
            id=self.id,
            name=self.name,
            state=self.state,
            namespace=self.namespace,
            user=self.user,
            server=self.server,
            requirement=self.shown_requirement(),
            claim_name=self.claim_name,
            made_by_us=self.made_by_us,
            created_at=self.created_at,
            revision=self.revision,
            template=self.template,
            activity=self.activity if self.state == "running" else None,
            devices=self.devices,
            kernels=tuple(
                kernel.record(coming.get(kernel.pod_name))
                for kernel in self.kernels
                if not kernel.gone or self.ended
            ),
            steps=tuple(self.steps.values()),
            wait=self.wait,
            lease=replace(
                self.lease, idle_since=idle_since(self.kernels), device_use=device_use(self.kernels)
            ),
            usage=self.usage,
            price=self._price(),
            right_size=self.right_size,
            ready_at=self.ready_at,
            launch_until=self.kernels[0].launch_until if self.kernels and not self.ready_at else None,
            ended=self.ended or self.ending_record(),
            simulated=self.simulated,
            lost_fields=self.lost_fields,
            history=tuple(self.history),
            image=self.image,
            shared_with=self.shared_with,
        )


def _without_detail(params: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in params.items() if key != "detail"}
