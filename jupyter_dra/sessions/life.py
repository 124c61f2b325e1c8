"""The life of kernels and sessions: launch, supervision, ending, giving back, connecting again."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

from ..errors import ConflictError, DRAError, SessionEnded, one_line
from .endings import CODES, Reason, reason, reason_of_error
from .idle_notes import note_idle
from .launch import Failed, connect, dial, launch_kernel
from .leasing import UNKNOWN, over
from .live import LiveKernel, LiveSession
from .making import Context, remember
from .pods import read_secret, secret_name
from .reading import successor_of
from .registry import Registry
from .release import pod_gone, release_kernel, release_session
from .replacement import replace_pod, successor_of_lost
from .rightsize import right_size
from .seal import DIGEST, digest_of
from .supervision import supervise
from .usage import device_use, idle_since

log = logging.getLogger(__name__)

LEASE_PATIENCE = 15.0
"""Seconds podside gets to end a session by itself before we do."""
CLOSE_PATIENCE = 30.0
LET_GO_PAUSES = (0.1, 0.3, 0.6)
LOGGED = frozenset({"crashed", "exited", "launch-timeout"})
"""Ends of which the last lines of the log are kept: the pod and its log go away."""
LOG_LINES, LOG_BYTES, LOG_PATIENCE = 20, 8192, 3.0


def begin(ctx: Context, session: LiveSession, kernel: LiveKernel, *, first: bool) -> None:
    """Start the task that is this kernel's life."""
    kernel.task = asyncio.create_task(_life(ctx, session, kernel, first), name=f"kernel {kernel.pod_name}")


async def _life(ctx: Context, session: LiveSession, kernel: LiveKernel, first: bool) -> None:
    try:
        await launch_kernel(ctx, session, kernel, first=first)
        connected(ctx, session, kernel)
        kernel.reason = await supervise(ctx, session, kernel)
    except Failed as failed:
        kernel.reason = failed.reason
    except Exception as error:
        kernel.reason = _fault(session, kernel, error)
    except asyncio.CancelledError:
        await kernel.let_go()
        raise
    await _over(ctx, session, kernel)


def _fault(session: LiveSession, kernel: LiveKernel, error: Exception) -> Reason:
    log.exception("The kernel %s of %s is lost to a fault of ours", kernel.id, session.id)
    return Reason("crashed", f"A fault of jupyter-dra: {type(error).__name__}: {error}")


async def cancel(tasks: Iterable[asyncio.Task[Any] | None]) -> None:
    """Cancel tasks until they have ended; a library that swallows one cancellation gets another."""
    pending = {task for task in tasks if task is not None and not task.done()}
    pending.discard(cast("asyncio.Task[Any]", asyncio.current_task()))
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=0.5)


def connected(ctx: Context, session: LiveSession, kernel: LiveKernel) -> None:
    """Note that podside answers and the kernel runs."""
    now = ctx.clock()
    busy = kernel.control is not None and kernel.control.busy
    kernel.state = "busy" if busy else "idle"
    kernel.last_activity, kernel.idle_since = now, None if busy else now
    kernel.connected.set()
    if session.ready_at is None:
        session.ready_at = now
    remember(ctx, session)
    if session.state != "running":
        session.set_state("running")
    else:
        session.changed("kernels")


async def _over(ctx: Context, session: LiveSession, kernel: LiveKernel) -> None:
    """A kernel's pod is over: the kernel ended, or goes on in another pod."""
    if kernel.reason is not None:
        kernel.reason = _told_elsewhere(ctx, session, kernel)
    successor = successor_of(ctx, session, kernel) if session.releasing is None else None
    if session.moving(kernel):
        kernel.state = "dead"
        await kernel.let_go()  # the move goes on, or ends the kernel
    elif successor is not None:
        await kernel.let_go()
        _follow_to(ctx, session, kernel, successor)
    elif session.releasing is None and (successor := successor_of_lost(ctx, session, kernel)) is not None:
        remember(ctx, session)
        log.info("Pod %s is lost (%s); %s follows", kernel.pod_name, _code(kernel), successor.pod_name)
        successor.task = asyncio.create_task(
            _replace(ctx, session, kernel, successor), name=f"kernel {successor.pod_name}"
        )
    else:
        await kernel.let_go()
        kernel_over(ctx, session, kernel)


def _code(kernel: LiveKernel) -> str:
    return kernel.reason.code if kernel.reason is not None else "exited"


def _follow_to(ctx: Context, session: LiveSession, kernel: LiveKernel, successor: LiveKernel) -> None:
    """Another process of this user moved the kernel to the next pod."""
    session.kernels = [successor if one is kernel else one for one in session.kernels]
    session.spare = [one for one in session.spare if one.pod_name != successor.pod_name]
    session.note("moved", successor, pod=successor.pod_name)
    session.changed("kernels")
    successor.task = asyncio.create_task(
        _take_over(ctx, session, successor), name=f"kernel {successor.pod_name}"
    )


async def _replace(ctx: Context, session: LiveSession, lost: LiveKernel, successor: LiveKernel) -> None:
    """Bring a lost kernel up in the next pod; where that does not come, the loss is the kernel's end."""
    assert lost.reason is not None
    why = lost.reason
    try:
        await replace_pod(ctx, session, lost, successor)
        connected(ctx, session, successor)
        await _resume(ctx, session, successor)
        return
    except Failed as failed:
        log.info("Pod %s does not follow: %s", successor.pod_name, failed.reason.in_words())
        not_replaced = {"not_replaced": failed.reason.code, "detail": failed.reason.in_words()[:1000]}
        successor.reason = replace(why, params={**why.params, **not_replaced})
    except Exception as error:
        successor.reason = _fault(session, successor, error)
    await successor.let_go()
    kernel_over(ctx, session, successor)


async def _take_over(ctx: Context, session: LiveSession, kernel: LiveKernel) -> None:
    """Follow a kernel into the pod that another process moved it to."""
    try:
        await _connect_again(ctx, session, kernel)
        connected(ctx, session, kernel)
    except DRAError as error:
        kernel.reason = reason_of_error(error)
        kernel_over(ctx, session, kernel)
        return
    await _resume(ctx, session, kernel)


def kernel_over(ctx: Context, session: LiveSession, kernel: LiveKernel) -> None:
    """A kernel ended: with it the session, unless others go on."""
    kernel.state = "dead"
    why = kernel.reason = kernel.reason or reason("exited")
    kernel.connected.set()
    if session.releasing is not None:
        return
    if not any(k.reason is None and not k.gone for k in session.kernels):
        finish(ctx, session, why)
        return
    session.note("kernel-ended", kernel, code=why.code)
    session.changed("kernels")
    kernel.task = asyncio.create_task(_give_back(ctx, session, kernel), name=f"release {kernel.pod_name}")


def _told_elsewhere(ctx: Context, session: LiveSession, kernel: LiveKernel) -> Reason:
    """When another process of this user ended session or kernel, its record says why the objects went away."""
    why = kernel.reason or reason("exited")
    if why.code not in ("pod-deleted", "claim-deleted"):
        return why
    stored = ctx.store.read(session.id) or {}
    ended = stored.get("ended")
    code = ended.get("code") if isinstance(ended, dict) else None
    for entry in stored.get("kernels") or []:
        code = code or (entry.get("over") if entry.get("pod") == kernel.pod_name else None)
    return reason(code) if code in CODES and code != why.code else why


async def _give_back(ctx: Context, session: LiveSession, kernel: LiveKernel) -> None:
    await cancel([session.handovers.pop(kernel.id, None)])
    remember(ctx, session)
    pods = [one for one in session.placed if one.id == kernel.id]
    await asyncio.gather(*(release_kernel(ctx, session, one) for one in pods))
    session.kernels = [other for other in session.kernels if other.id != kernel.id]
    session.spare = [other for other in session.spare if other.id != kernel.id]
    remember(ctx, session)
    session.changed("kernels")


def finish(ctx: Context, session: LiveSession, why: Reason, by: str | None = None) -> None:
    """Begin to end the session; the first reason counts."""
    if session.releasing is not None:
        return
    why = _with_facts(session, why)
    session.ending, session.ended_by, session.ending_at = why, by or why.params.get("by"), ctx.clock()
    log.info("Session %s is given back (%s): %s", session.id, why.code, one_line(why.in_words()))
    session.fail_step()
    session.wait = None
    session.set_state("releasing")
    session.releasing = asyncio.create_task(_release(ctx, session, why), name=f"release {session.id}")


async def _release(ctx: Context, session: LiveSession, why: Reason) -> None:
    ended = session.ending_record()
    assert ended is not None
    await cancel([*(kernel.task for kernel in session.placed), *session.handovers.values()])
    await asyncio.gather(*(kernel.let_go() for kernel in session.placed))
    remember(ctx, session, ended=ended.as_dict(), ended_at=ended.at)
    if why.code in LOGGED:
        ended = replace(ended, params={**ended.params, "last_lines": await _last_lines(ctx, session)})
    for kernel in session.kernels:
        kernel.reason = kernel.reason or why
        kernel.connected.set()
    await release_session(ctx, session)
    session.ended = replace(ended, device_returned_at=ctx.clock())
    for kernel in session.kernels:
        kernel.state = "dead"
    session.state = "ended"
    session.right_size = await _right_size(ctx, session)
    shown = session.record().as_dict()
    remember(ctx, session, ended=session.ended.as_dict(), ended_at=ended.at, shown=shown)
    ctx.inventory.forget(session.id)
    session.changed("ended", code=why.code)
    session.finished.set()
    log.info("Session %s ended: %s", session.id, why.code)


async def _right_size(ctx: Context, session: LiveSession) -> dict[str, Any] | None:
    """Whether a smaller tier would have done; a question that fails gives no advice, and holds up no end."""
    if not (session.usage or {}).get("complete") or not ctx.inventory.loaded:
        return None
    held = next((session.prices.classes.get(device.request) for device in session.devices), None)
    try:
        tiers = await ctx.inventory.ask(
            lambda inventory: inventory.tiers(ctx.policy.tiers, namespace=session.namespace)
        )
        return right_size(session.usage, tiers, held=held)
    except DRAError:
        return None
    except Exception:
        log.exception("Whether a smaller tier would have done for %s is not known", session.id)
        return None


def _with_facts(session: LiveSession, why: Reason) -> Reason:
    """The reason with what the session knows about its device and the cluster did not say."""
    facts: dict[str, Any] = {}
    usage = session.usage or {}
    if why.code == "out-of-memory" and usage.get("memory_used_bytes") is not None:
        facts = {
            "device_used_bytes": usage["memory_used_bytes"],
            "device_total_bytes": usage.get("memory_total_bytes"),
        }
    if why.code == "prepare-failed" and session.devices:
        facts = {"device": session.devices[0].device, "text": (why.detail or "").rstrip(".")}
    return replace(why, params={**facts, **why.params})


async def _last_lines(ctx: Context, session: LiveSession) -> str | None:
    """The end of the crashed kernel's log, before its pod goes away; None when it cannot be read."""
    pods = [kernel.pod_name for kernel in session.kernels if kernel.pod is not None and kernel.pod.uid]
    if not pods:
        return None
    text = bytearray()
    try:
        async with asyncio.timeout(LOG_PATIENCE):
            stream = ctx.client.logs(pods[-1], session.namespace, tail=LOG_LINES, limit_bytes=LOG_BYTES)
            async for chunk in stream:
                text += chunk
    except (DRAError, TimeoutError):
        return None
    return text[-LOG_BYTES:].decode("utf-8", "replace") or None


async def reattach(ctx: Context, session: LiveSession, kernel: LiveKernel, *, alone: bool = False) -> None:
    """Connect again to a running kernel that an earlier process launched.

    Args:
        alone: only where no other program is connected: two servers of one identity (a copied home, a disk that
            was cloned) would look after one kernel, and end it for each other (threat T31).

    Raises:
        ConflictError: ``not-proven``: its Secret is not the one the sealed pod names; ``attached``: not alone.
        SessionEnded: it ended meanwhile.
    """
    if kernel.task is not None:
        return
    await _connect_again(ctx, session, kernel)
    for pause in LET_GO_PAUSES if alone else ():
        if kernel.control is None or not kernel.control.others:
            break
        await kernel.let_go()  # the farewell of the one before may still be on its way
        await asyncio.sleep(pause)
        await _connect_again(ctx, session, kernel)
    if alone and kernel.control is not None and kernel.control.others:
        await kernel.let_go()
        raise ConflictError(
            f"Another server is attached to {kernel.pod_name}.",
            code="attached",
            next_step="Stop that server; this one looks again in a minute.",
        )
    if alone:
        # Nobody listened since the earlier process went; what was kept meanwhile is told by `Sessions.note_output`.
        session.note("reattached", kernel, output="lost-until-here")
    connected(ctx, session, kernel)
    follow(ctx, session, kernel)


def follow(ctx: Context, session: LiveSession, kernel: LiveKernel) -> None:
    """Start the task that follows a connected kernel to its end."""
    kernel.task = asyncio.create_task(_resume(ctx, session, kernel), name=f"kernel {kernel.pod_name}")


def withdraw_spares(ctx: Context, session: LiveSession) -> None:
    """Give back what is left of moves whose maker is gone: next pods whose kernel goes on where it is."""
    for spare in session.spare:
        session.note("not-moved", spare, code="server-stopped")
        task = asyncio.create_task(_withdraw(ctx, session, spare), name=f"release {spare.pod_name}")
        session.handovers[spare.pod_name] = task


async def _withdraw(ctx: Context, session: LiveSession, spare: LiveKernel) -> None:
    await release_kernel(ctx, session, spare)
    session.spare = [other for other in session.spare if other is not spare]
    remember(ctx, session)


async def _connect_again(ctx: Context, session: LiveSession, kernel: LiveKernel) -> None:
    """Dial a pod that somebody else made; a kernel it still holds back is started once the old pod is gone."""
    private, mounted = await _secret_of(ctx, session, kernel)
    kernel.credentials = ctx.runtime.credentials(private, mounted)
    config = json.loads(mounted.get("podside.json", b"{}"))
    argv, env = tuple(config.get("argv") or kernel.choice.argv), config.get("env") or {}
    kernel.choice = replace(kernel.choice, argv=argv, env=env)
    try:
        await dial(ctx, session, kernel, until=time.monotonic() + CLOSE_PATIENCE)
        assert kernel.control is not None
        if kernel.control.held and kernel.replaces is not None:
            await pod_gone(ctx, session.namespace, kernel.replaces)
            await connect(ctx, session, kernel)
    except Failed as failed:
        raise SessionEnded(failed.reason.message, code=failed.reason.code) from failed


async def _resume(ctx: Context, session: LiveSession, kernel: LiveKernel) -> None:
    try:
        kernel.reason = await supervise(ctx, session, kernel)
    except asyncio.CancelledError:
        await kernel.let_go()
        raise
    await _over(ctx, session, kernel)


async def _secret_of(
    ctx: Context, session: LiveSession, kernel: LiveKernel
) -> tuple[dict[str, bytes], dict[str, bytes]]:
    secret = await ctx.client.get("Secret", secret_name(kernel.pod_name), session.namespace)
    private, mounted = read_secret(secret)
    pod: Any = ctx.caches.pods(session.namespace).get(kernel.pod_name, session.namespace) or {}
    notes = pod.get("metadata", {}).get("annotations") or {}
    if notes.get(DIGEST) != digest_of(mounted):
        raise ConflictError(
            f"The Secret of the kernel pod {kernel.pod_name} is not the one we made.",
            code="not-proven",
            next_step="Look at it with kubectl; the session can be stopped.",
        )
    return private, mounted


async def tick(ctx: Context, registry: Registry) -> None:
    """Once a second: leases and idle limits that podside should have enforced, notes of idling, and old records.

    A fault in one session keeps no other one from ending.
    """
    while True:
        await asyncio.sleep(1.0)
        for session in list(registry.live.values()):
            try:
                _tick(ctx, registry, session)
            except Exception:
                log.exception("The lease of session %s cannot be looked after", session.id)


def _tick(ctx: Context, registry: Registry, session: LiveSession) -> None:
    now = ctx.clock()
    if session.ended is not None:
        if now - session.ended.at > ctx.policy.history_seconds:
            registry.forget(session.id)
    elif session.releasing is None and not session.adopted:
        note_idle(ctx, session)
        _enforce(ctx, session, now)


def _enforce(ctx: Context, session: LiveSession, now: float) -> None:
    lease, kernels = session.lease, session.kernels
    judged = session.state == "running" and (session.idle_by == "kernel" or device_use(kernels) != UNKNOWN)
    due = over(
        now - LEASE_PATIENCE,
        ends=lease.ends_at,
        idle_limit=lease.idle_seconds,
        idle_since=idle_since(kernels) if judged else None,
    )
    if due is not None:
        finish(ctx, session, reason(due))


async def close(ctx: Context, registry: Registry, *, keep: bool) -> None:
    """End what this process looks after: sessions end too unless ``keep``."""
    living = registry.living
    for session in living:
        if not keep and not session.adopted:
            finish(ctx, session, reason("server-stopped"))
    endings = [asyncio.create_task(s.finished.wait()) for s in living if s.releasing is not None]
    if endings:
        await asyncio.wait(endings, timeout=CLOSE_PATIENCE)
    await cancel([*endings, *(session.releasing for session in living)])
    await cancel(kernel.task for session in living for kernel in session.placed)
    await cancel(task for session in living for task in session.handovers.values())
    for session in living:
        await cancel(session.creating)
        await asyncio.gather(*(kernel.let_go() for kernel in session.placed))
