"""After a kernel is connected: follow podside and the pod until one of them says it is over."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..errors import DRAError, one_line
from .endings import CODES, Reason, reason, reason_of_note
from .foreign import foreign_devices
from .launch import Failed, dial, look
from .leasing import UNKNOWN
from .live import LiveKernel, LiveSession
from .making import Context, remember
from .ports import KernelEvent
from .record import epoch
from .seal import LEASE, read_lease
from .usage import usage_of

log = logging.getLogger(__name__)

DEAD_PATIENCE = 20.0
"""Seconds in which a provisioner may restart a dead kernel before it counts as ended."""
ENDING_PATIENCE = 10.0
REDIAL_LIMIT = 120.0


async def supervise(ctx: Context, session: LiveSession, kernel: LiveKernel) -> Reason:
    """Keep state, usage and connection of one kernel current; returns why it ended."""
    follower = _Follower(ctx, session, kernel)
    try:
        return await follower.run()
    finally:
        await follower.close()


class _Follower:
    def __init__(self, ctx: Context, session: LiveSession, kernel: LiveKernel) -> None:
        self.ctx, self.session, self.kernel = ctx, session, kernel
        self.told: Reason | None = None
        self.told_at = 0.0
        self.dead_at: float | None = None
        self.death: Reason | None = None
        self.silent_since: float | None = None
        self.reader: asyncio.Task[None] | None = None
        self.lease_text: str | None = None
        self.foreign: tuple[str, ...] = ()
        self.node_ready = True

    async def close(self) -> None:
        if self.reader is not None:
            self.reader.cancel()
            await asyncio.gather(self.reader, return_exceptions=True)

    async def run(self) -> Reason:
        self.reader = asyncio.create_task(self._read(), name=f"podside {self.kernel.pod_name}")
        seen = {"pod", "claim"}
        while True:
            self.session.touched.clear()
            now = look(self.ctx, self.session, self.kernel, seen)
            if now.devices and now.devices != self.session.devices:
                self.session.devices = now.devices
                self.session.changed("state")
            self._read_lease()
            self._watch_node(now.node_ready)
            if now.failure is not None:
                return self._why(now.failure)
            over = self._over()
            if over is not None:
                return over
            if self.reader.done() and self.told is None:
                connected = await self._reconnect()
                # Dialling wakes on the same news as we do: what happened meanwhile may have been told to it alone.
                if connected or look(self.ctx, self.session, self.kernel, seen).failure is not None:
                    continue
            try:
                async with asyncio.timeout(self._pause()):
                    await self.session.touched.wait()
            except TimeoutError:
                pass

    def _watch_node(self, ready: bool) -> None:
        """Say that the node fell silent as soon as the cluster says so; whether it comes back is open for minutes."""
        if ready == self.node_ready:
            return
        self.node_ready = ready
        self._note("node-ready" if ready else "node-not-ready")
        self._state("idle" if ready else "unreachable")

    def _read_lease(self) -> None:
        """Another process of this user may have extended the lease: the sealed annotation tells."""
        pods, session = self.ctx.caches.pods(self.session.namespace), self.session
        pod = pods.get(self.kernel.pod_name, session.namespace)
        text = ((pod or {}).get("metadata", {}).get("annotations") or {}).get(LEASE)
        if text is None or text == self.lease_text:
            return
        first, self.lease_text = self.lease_text is None, text
        read = read_lease(self.ctx.identity.key, session.id, text)
        if read is None or first:
            return
        ends_at, idle = read
        longest = session.lease.longest_until
        if longest is not None:
            ends_at = min(ends_at, longest)
        if (ends_at, idle) != (session.lease.ends_at, session.lease.idle_seconds):
            session.lease = replace(session.lease, ends_at=ends_at, idle_seconds=idle)
            session.changed("lease")

    def _why(self, failure: Reason) -> Reason:
        """What podside said beats a bare exit code; what the cluster said beats podside."""
        general = failure.code in ("crashed", "exited", "pod-deleted")
        if self.told is not None and general and self.told.code != "stopped":
            return self.told
        if self.death is not None and failure.code == "exited":
            return self.death
        return failure

    def _over(self) -> Reason | None:
        now = time.monotonic()
        if self.told is not None and now - self.told_at > ENDING_PATIENCE:
            return self.told
        if self.dead_at is not None and now - self.dead_at > DEAD_PATIENCE:
            return self.death
        return None

    def _pause(self) -> float | None:
        if self.told is not None:
            return ENDING_PATIENCE
        if self.dead_at is not None:
            return max(0.1, DEAD_PATIENCE - (time.monotonic() - self.dead_at))
        return None

    async def _reconnect(self) -> bool:
        """The connection broke while the pod goes on: a network drop, or a frozen pod; whether it is back."""
        session, kernel = self.session, self.kernel
        session.note("connection-lost", kernel)
        self._state("unreachable")
        while True:
            try:
                await dial(self.ctx, session, kernel, until=time.monotonic() + REDIAL_LIMIT)
                break
            except Failed as failed:
                if failed.reason.code != "launch-timeout":
                    return False
                self.ctx.reach.chosen = None
        session.note("connected-again", kernel)
        self._state("idle")
        self.reader = asyncio.create_task(self._read(), name=f"podside {kernel.pod_name}")
        return True

    async def _read(self) -> None:
        control = self.kernel.control
        if control is None:
            return
        try:
            async for event in control.events:
                self._heard(event)
        except DRAError as error:
            log.debug("podside of %s: %s", self.kernel.pod_name, error)
        finally:
            self.session.touch()

    def _heard(self, event: KernelEvent) -> None:
        params = event.params
        if event.kind in ("busy", "idle"):
            self._activity(event.kind, epoch(params.get("at")))
        elif event.kind in ("started", "ready"):
            self.dead_at = self.death = None
            if event.kind == "started" and int(params.get("starts") or 1) > 1:
                self._note("restarted", reason=params.get("reason"))
            self._state("starting" if event.kind == "started" else "idle")
        elif event.kind == "died":
            noted = self._death(params)
            self.death = reason_of_note(noted)
            self.dead_at = time.monotonic()
            if not params.get("requested"):
                self._note("died", **noted)
            self._state("dead")
            self.session.touch()
        elif event.kind == "usage":
            self._usage(params)
        elif event.kind == "ending":
            code = str(params.get("code"))
            detail = params.get("message")
            self.told = reason(code if code in CODES else "exited", detail=str(detail) if detail else None)
            self.told_at = time.monotonic()
            self.session.touch()

    def _death(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """What podside says of its kernel's death, as the history keeps it."""
        told = str(params.get("code"))
        code = told if told in CODES else "crashed"
        noted = {"code": code, "exit_code": params.get("exit_code")}
        if params.get("signal"):
            noted["signal"] = params["signal"]
        if code == "out-of-memory":
            wish = self.session.requirement.host_memory
            noted["host_memory"] = self.kernel.host_memory or wish or self.ctx.policy.host_memory
        return noted

    def _note(self, event: str, **params: Any) -> None:
        self.session.note(event, self.kernel, **params)
        remember(self.ctx, self.session)

    def _activity(self, state: str, at: float | None) -> None:
        if not self.node_ready:
            return
        set_activity(self.session, self.kernel, state, at or self.ctx.clock())

    def _state(self, state: str) -> None:
        if self.kernel.state != state:
            self.kernel.state = state
            self.session.changed("kernels")

    def _usage(self, params: Any) -> None:
        usage, kernel = params.get("usage"), self.kernel
        kernel.usage = usage if isinstance(usage, dict) else None
        kernel.device_use = str(params.get("device_use") or UNKNOWN)
        since = epoch(params.get("idle_since"))
        # podside also counts the device's use; its moments have whole seconds, so small differences say nothing.
        if kernel.state == "idle" and since is not None and since > (kernel.idle_since or 0) + 1:
            kernel.idle_since = since
        self.session.usage = usage_of(self.session.kernels)
        self._compare(params.get("seen"))
        self.session.changed("usage")

    def _compare(self, seen: Any) -> None:
        """Warn once of devices that the kernel sees and was not given."""
        found = foreign_devices(self.session.devices, seen)
        if found and found != self.foreign:
            log.warning(
                "Kernel %s of session %s sees devices it was not given: %s",
                self.kernel.id,
                self.session.id,
                one_line(", ".join(found)),
            )
            self._note("sees-other-devices", sees=list(found))
        self.foreign = found


def set_activity(session: LiveSession, kernel: LiveKernel, state: str, at: float) -> None:
    """Note that a kernel is busy or idle since ``at``."""
    if kernel.state == state:
        return
    kernel.state = state
    kernel.last_activity = at
    kernel.idle_since = at if state == "idle" else None
    session.changed("kernels")
