"""From a session's objects to a connected kernel: waiting, steps, and the early end of hopeless starts."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..errors import ClusterError, DRAError, NotFoundError
from .endings import CODES, Reason, reason, reason_of_error
from .lease_notes import tell_lease
from .live import LiveKernel, LiveSession, Made
from .making import Context, make_claim, make_pod, pod_facts, remember, set_owners
from .progress import Progress, claim_name_of, progress, vanished
from .queues import QueueNews
from .record import DeviceRecord, Wait, iso

log = logging.getLogger(__name__)

_DIAL_FIRST, _DIAL_MOST = 0.01, 0.5
_PLAN_PAUSE = 1.0
SCHEDULER = "scheduler"
"""Code of a reason to wait where nothing could be planned: the message is the scheduler's."""
AUTOSCALER = "autoscaler"
"""Code of what a cluster autoscaler says of a pod that waits: it starts a node, or why it starts none."""
_UNSEEN = 5.0
_LOOK_PAUSE = 5.0
_VANISHED = 15.0
"""Seconds a driver may take to publish a reserved device again before the launch is given up."""


class Failed(Exception):
    """A launch that cannot go on; ``reason`` says why."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.message)
        self.reason = reason


async def launch_kernel(ctx: Context, session: LiveSession, kernel: LiveKernel, *, first: bool) -> None:
    """Make the objects, wait until the pod runs, connect; raises Failed.

    Args:
        first: this kernel's steps are the session's steps; claim and kernel are made.
    """
    namespace = session.namespace
    pods, claims = ctx.caches.pods(namespace), ctx.caches.claims(namespace)
    try:
        await asyncio.gather(pods.ready(), claims.ready())
        remember(ctx, session)
        if first and session.claim is not None:
            await make_claim(ctx, session)
        elif first:
            session.done("claim-created", claim=session.claim_name or session.template)
        else:
            await _until_allocated(ctx, session)
        if first:
            session.begin("allocated")
        await make_pod(ctx, session, kernel)
    except DRAError as error:
        raise Failed(reason_of_error(error)) from error
    remember(ctx, session)
    owners = asyncio.create_task(set_owners(ctx, session, kernel), name=f"owners {kernel.pod_name}")
    try:
        await wait_running(ctx, session, kernel, first=first)
        await _connect(ctx, session, kernel, first=first)
        await owners
        if first and session.lease_moved:
            await tell_lease(ctx, session)
    except DRAError as error:
        raise Failed(reason_of_error(error)) from error
    finally:
        owners.cancel()
        await asyncio.gather(owners, return_exceptions=True)


async def _until_allocated(ctx: Context, session: LiveSession) -> None:
    """Two pods on one new claim hinder each other in the scheduler: the second comes once the device is known."""
    while True:
        session.touched.clear()
        claim = ctx.caches.claims(session.namespace).get(session.claim_name or "", session.namespace)
        if claim is None or claim["metadata"].get("deletionTimestamp"):
            raise Failed(reason("claim-deleted"))
        if (claim.get("status") or {}).get("allocation"):
            return
        await session.touched.wait()


def look(ctx: Context, session: LiveSession, kernel: LiveKernel, seen: set[str]) -> Progress:
    """The progress of one kernel from the caches; ``seen`` remembers what was there before."""
    pod = ctx.caches.pods(session.namespace).get(kernel.pod_name, session.namespace)
    if pod is not None and not _is(pod, kernel.pod):
        pod = None
    claim = None
    if session.claim_name is None and pod is not None:
        session.claim_name = claim_name_of(pod)
    if session.claim_name is not None:
        claim = ctx.caches.claims(session.namespace).get(session.claim_name, session.namespace)
        if claim is not None and session.claim is not None and not _is(claim, session.claim):
            claim = None
    if pod is not None:
        seen.add("pod")
    if claim is not None:
        seen.add("claim")
    events: list[Mapping[str, Any]] = []
    if pod is not None and (pod.get("status") or {}).get("phase", "Pending") == "Pending":
        events = _events(ctx, session, pod)
    now = progress(
        pod,
        claim,
        events,
        seen_pod="pod" in seen,
        seen_claim="claim" in seen,
        describe=ctx.inventory.describe,
    )
    return replace(now, devices=tuple(_judged(session, device) for device in now.devices))


def _judged(session: LiveSession, device: DeviceRecord) -> DeviceRecord:
    """Note whether the planner had named this very device."""
    if not session.predicted:
        return device
    key = (device.driver, device.pool, device.device)
    return replace(device, predicted=key in session.predicted)


def _is(obj: Mapping[str, Any], made: Made | None) -> bool:
    return made is None or made.uid is None or obj["metadata"].get("uid") == made.uid


def _events(ctx: Context, session: LiveSession, pod: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    about = ctx.caches.events(session.namespace).of_group(pod["metadata"]["uid"])
    return sorted(about, key=lambda event: str(event.get("lastTimestamp") or ""))


async def wait_running(ctx: Context, session: LiveSession, kernel: LiveKernel, *, first: bool) -> None:
    """Follow pod and claim until the container runs; keeps steps, devices and the wait current."""
    seen: set[str] = set()
    started = ctx.clock()
    news = QueueNews(ctx.client, session.namespace)
    lost_at: float | None = None
    while True:
        session.touched.clear()
        now = look(ctx, session, kernel, seen)
        if now.devices and now.devices != session.devices:
            session.devices = now.devices
            session.simulated = session.simulated or any(d.facts.get("simulated") for d in now.devices)
        if first:
            _mark(ctx, session, kernel, now)
        if now.failure is not None:
            raise Failed(now.failure)
        if now.running:
            return
        lost = vanished(now.devices) if ctx.inventory.sees_slices else None
        lost_at = None if lost is None else lost_at or ctx.clock()
        if lost is not None and lost_at is not None and ctx.clock() - lost_at > _VANISHED:
            raise Failed(lost)
        waits = not now.allocated and kernel.launch_until is None
        if waits:
            queue = await news.of(now.gate, iso(ctx.clock())) if now.gate else None
            await _explain_wait(ctx, session, queue, now)
            left = _wait_limit(ctx, session, started) - ctx.clock()
        else:
            left = left_of_launch(ctx, kernel)
        if left <= 0:
            raise Failed(_too_late(session, now, waits=waits))
        try:
            async with asyncio.timeout(min(left, _PLAN_PAUSE if waits else _LOOK_PAUSE)):
                await session.touched.wait()
        except TimeoutError:
            await _confirm_unseen(ctx, session, kernel, seen, started)


def _scales_from_zero(verdict: Mapping[str, Any]) -> bool:
    """Whether the only hope is a node that the autoscaler starts."""
    reasons = verdict["certainty"]["reasons"]
    codes = {one["code"] if isinstance(one, dict) else one for one in reasons}
    return verdict["verdict"] == "unknown" and "scales-from-zero" in codes


def left_of_launch(ctx: Context, kernel: LiveKernel) -> float:
    """Seconds left of the one deadline from the reserved device to the connected kernel; begins it when first asked."""
    if kernel.launch_until is None:
        kernel.launch_until = ctx.clock() + ctx.policy.launch
    return kernel.launch_until - ctx.clock()


def _too_late(session: LiveSession, now: Progress, *, waits: bool) -> Reason:
    queue = session.wait.queue if session.wait and session.wait.queue else None
    if not waits:
        return reason("launch-timeout", detail=now.waiting_text)
    if queue is not None:
        return reason("wait-over", detail=queue.get("message"), queue=queue["name"])
    return reason("wait-over", detail=now.waiting_text)


def _wait_limit(ctx: Context, session: LiveSession, started: float) -> float:
    """Until when a device may come: the user's wait, else the launch limit; a lost race without wait ends soon."""
    if session.wait_until is not None:
        return session.wait_until
    if session.wait is not None and session.wait.queue is None:
        return session.wait.since + _UNSEEN
    return started + ctx.policy.launch


def _mark(ctx: Context, session: LiveSession, kernel: LiveKernel, now: Progress) -> None:
    if now.allocated:
        if session.wait is not None:
            session.wait = None
            session.set_state("starting")
        if session.steps["allocated"].state != "done":
            session.begin_lease()
        node = now.node or (now.devices[0].node if now.devices else None)
        session.done("allocated", devices=[d.as_dict() for d in now.devices], node=node)
        session.begin("scheduled")
    if now.scheduled:
        session.done("scheduled", node=now.node)
        session.begin("image-pulled", image=kernel.image, last_seconds=ctx.image_times.last(kernel.image))
    if now.allocated and not now.running:
        session.explain(now.waiting_text)
    if now.running:
        _note_image(ctx, session, kernel)
        session.done("image-pulled")
        session.begin("kernel-starting", kernel=kernel.choice.display_name)


def _note_image(ctx: Context, session: LiveSession, kernel: LiveKernel) -> None:
    step = session.steps["image-pulled"]
    if step.state == "doing" and step.started_at is not None:
        ctx.image_times.note(kernel.image, ctx.clock() - step.started_at)


def _refuse_hopeless(verdict: Mapping[str, Any], now: Progress) -> None:
    """Raise Failed where waiting cannot help: nothing fits even when all is free, or no node can be started."""
    if now.no_scale_up and _scales_from_zero(verdict):
        found = reason("impossible", detail=now.no_scale_up)
        raise Failed(
            replace(
                found,
                message=f"No node of this tier can be started: {now.no_scale_up}",
                next_step="Ask the administrator, or choose another tier.",
            )
        )
    if verdict["verdict"] == "impossible" and verdict["certainty"]["sure"]:
        raise Failed(reason("impossible", reasons=verdict["reasons"]))


async def _explain_wait(
    ctx: Context, session: LiveSession, queue: Mapping[str, Any] | None, now: Progress
) -> None:
    """Say why it waits: the queue that may decide, the planner's reasons, else the scheduler's own words.

    Ends the wait when there is no hope.
    """
    verdict = await ctx.inventory.verdict(session)
    if verdict is not None and not session.force:
        _refuse_hopeless(verdict, now)
    taken = verdict is not None and verdict["verdict"] in ("busy", "unknown")
    unplanned = verdict is None and now.waiting_text is not None
    if not taken and not unplanned and queue is None and now.scaling is None:
        return
    reasons: tuple[Mapping[str, Any], ...] = ()
    if verdict is not None and taken:
        reasons = tuple(verdict["reasons"])
    elif unplanned:
        reasons = ({"code": SCHEDULER, "devices": 0, "params": {}, "message": now.waiting_text},)
    if now.scaling is not None:
        reasons += ({"code": AUTOSCALER, "devices": 0, "params": {}, "message": now.scaling},)
    change = ctx.inventory.next_change(verdict) if verdict is not None and taken else None
    since = session.wait.since if session.wait else ctx.clock()
    wait = Wait(since, session.wait_until, reasons, change, queue)
    if session.wait != wait:
        session.wait = wait
        session.set_state("waiting")
        session.changed("state")


async def _confirm_unseen(
    ctx: Context, session: LiveSession, kernel: LiveKernel, seen: set[str], started: float
) -> None:
    """A pod that the watch never showed may have been deleted before; ask once in a while."""
    if "pod" in seen or ctx.clock() - started < _UNSEEN or kernel.pod is None:
        return
    try:
        await ctx.client.get("Pod", kernel.pod_name, session.namespace)
    except NotFoundError:
        raise Failed(reason("pod-deleted")) from None


async def connect(ctx: Context, session: LiveSession, kernel: LiveKernel) -> None:
    """Dial podside until it answers, tell it the facts, have the kernel started and wait until it runs.

    A connection that breaks meanwhile is made again; the pod's own state says when there is no sense in it.
    """
    until = time.monotonic() + left_of_launch(ctx, kernel)
    while True:
        if kernel.control is None:
            await dial(ctx, session, kernel, until=until)
        assert kernel.control is not None
        try:
            await kernel.control.facts(pod_facts(session, kernel))
            started = await kernel.control.start()
            if started.get("state") != "running":
                await _until_running(ctx, kernel)
            return
        except ClusterError as error:
            log.info("The connection to %s broke while its kernel started: %s", kernel.pod_name, error)
            control, kernel.control = kernel.control, None
            await control.close()


async def _connect(ctx: Context, session: LiveSession, kernel: LiveKernel, *, first: bool) -> None:
    await connect(ctx, session, kernel)
    if first:
        session.done("kernel-starting")
        session.begin("connected")
        session.done("connected", transport=kernel.target.transport if kernel.target else None)


async def _until_running(ctx: Context, kernel: LiveKernel) -> None:
    """Wait until the kernel answers; podside ends the pod of one that dies before."""
    assert kernel.control is not None
    try:
        async with asyncio.timeout(max(0.0, left_of_launch(ctx, kernel))):
            async for event in kernel.control.events:
                if event.kind == "ready":
                    return
                if event.kind == "ending":
                    code = str(event.params.get("code"))
                    detail, status = event.params.get("message"), event.params.get("exit_code")
                    raise Failed(
                        reason(code if code in CODES else "crashed", detail=detail, exit_code=status)
                    )
    except TimeoutError:
        raise Failed(reason("launch-timeout", detail="The kernel did not become ready.")) from None
    raise Failed(
        reason("crashed", detail="The kernel pod closed the connection before the kernel was ready.")
    )


async def dial(ctx: Context, session: LiveSession, kernel: LiveKernel, *, until: float) -> None:
    """Set the kernel's target and control connection; raises Failed when the pod ends or time is over."""
    pods, namespace = ctx.caches.pods(session.namespace), session.namespace

    def lookup() -> Mapping[str, Any] | None:
        return pods.get(kernel.pod_name, namespace)

    pause, seen = _DIAL_FIRST, {"pod"}
    last: ClusterError | None = None
    while time.monotonic() < until:
        now = look(ctx, session, kernel, seen)
        if now.failure is not None:
            raise Failed(now.failure)
        pod = lookup()
        if pod is None:
            raise Failed(reason("pod-deleted"))
        try:
            mode = await ctx.reach.choose(pod, kernel.port)
            kernel.target = ctx.reach.target(pod, kernel.port, lookup, mode)
            kernel.control = await ctx.runtime.connect(
                kernel.target, kernel.credentials, silence=ctx.policy.silence
            )
            return
        except NotFoundError:
            raise Failed(reason("pod-deleted")) from None
        except ClusterError as error:
            if error.code in ("impostor", "address-refused", "forbidden"):
                raise Failed(reason_of_error(error)) from error
            last = error
        session.touched.clear()
        try:
            async with asyncio.timeout(pause):
                await session.touched.wait()
        except TimeoutError:
            pass
        pause = min(pause * 1.5, _DIAL_MOST)
    raise Failed(reason("launch-timeout", detail=last.message if last else None))
