"""Another pod for a kernel whose pod was lost: deleted from outside, evicted, or gone with its node.

The next pod is made at once, so that it stands in the claim's ``reservedFor`` while the lost one still leaves, and its
podside holds the kernel back until the lost pod is gone: two kernels never share the device. Where the lost pod took
the claim's last reservation or the claim itself along, the wish stays and another device may come.

What a kernel did by itself, what somebody decided, and what would happen again at once is no loss: see `LOST`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from collections.abc import Mapping
from typing import Any

from ..errors import DRAError, NotFoundError
from .beginning import next_pod
from .endings import Reason, reason, reason_of_error
from .launch import SCHEDULER, Failed, connect, dial, left_of_launch, look, wait_running
from .live import LiveKernel, LiveSession, Made
from .making import Context, make_claim, make_pod, remember, set_owners
from .record import Wait
from .release import object_gone, release_kernel

log = logging.getLogger(__name__)

LOST = frozenset({"pod-deleted", "evicted", "node-drained", "node-lost"})
"""Losses of a pod alone. Not here: an unhealthy device stays the claim's, a higher priority would win again."""
LIMIT, WINDOW = 3, 600.0
"""Replacements of one kernel in this many seconds, as many as restarts in place."""
BESIDE = 2.5
"""Seconds the next pod gets for being scheduled while the lost one lingers; less than podside lingers."""
SAID_AFTER = 2.0
"""Seconds from which on a lost pod that has not gone yet is given as the reason to wait."""
PARTING = 6.0
"""Seconds the podside of a lost pod gets to say by closing that it is over; an unreachable one says nothing."""


def successor_of_lost(ctx: Context, session: LiveSession, lost: LiveKernel) -> LiveKernel | None:
    """The kernel in a pod still to be made that takes over from a lost one; None when its loss is its end.

    The session has it in place of the lost one from here on, whose pod joins the spare ones.
    """
    why = lost.reason
    if why is None or not _replaceable(ctx, session, lost, why):
        return None
    session.manifest = session.manifest or _wish_of(ctx, session)
    successor = next_pod(session, lost)
    session.kernels = [successor if one is lost else one for one in session.kernels]
    session.spare.append(lost)
    session.note("pod-lost", lost, code=why.code, pod=lost.pod_name, detail=why.detail)
    session.changed("kernels")
    return successor


def _replaceable(ctx: Context, session: LiveSession, lost: LiveKernel, why: Reason) -> bool:
    if not ctx.policy.replace_lost or why.code not in LOST or session.adopted or not lost.connected.is_set():
        return False
    if session.template is not None and len(session.placed) > 1:
        return False  # the others hold the claim that was made for the lost pod, and lose it with that
    recent = ctx.clock() - WINDOW
    losses = [one for one in session.history if one["event"] == "pod-lost" and one["at"] > recent]
    if sum(one.get("kernel") == lost.id for one in losses) >= LIMIT:
        return False
    return session.claim is not None or session.template is not None or not _claim_is_ending(ctx, session)


def _wish_of(ctx: Context, session: LiveSession) -> dict[str, Any] | None:
    """The manifest of the claim that an earlier process made, as it stands; None where it is not ours, or gone."""
    claim = ctx.caches.claims(session.namespace).get(session.claim_name or "", session.namespace)
    if session.claim is None or claim is None:
        return None
    spec: dict[str, Any] = json.loads(json.dumps(claim["spec"]))
    return {"apiVersion": claim["apiVersion"], "kind": claim["kind"], "metadata": {}, "spec": spec}


def _claim_is_ending(ctx: Context, session: LiveSession) -> bool:
    claim = ctx.caches.claims(session.namespace).get(session.claim_name or "", session.namespace)
    return claim is None or bool(claim["metadata"].get("deletionTimestamp"))


async def replace_pod(ctx: Context, session: LiveSession, lost: LiveKernel, successor: LiveKernel) -> None:
    """Make the next pod, wait until the lost one is gone for certain, and start the kernel; raises Failed.

    Waits as long as a launch may take for the lost pod to go, for a device where the claim lost it, and from the
    device to the running kernel.
    """
    before = {(one.driver, one.pool, one.device) for one in session.devices}
    leaving: asyncio.Task[None] | None = None
    try:
        await _make(ctx, session, lost, successor)
        await _beside(ctx, session, lost, successor)
        leaving = asyncio.create_task(_leave(ctx, session, lost), name=f"release {lost.pod_name}")
        await _until_gone(ctx, session, lost, leaving)
        session.spare = [one for one in session.spare if one is not lost]
        session.wait_until = ctx.clock() + ctx.policy.launch
        await wait_running(ctx, session, successor, first=False)
        session.wait = None
        await dial(ctx, session, successor, until=time.monotonic() + left_of_launch(ctx, successor))
        await connect(ctx, session, successor)
    except DRAError as error:
        raise Failed(reason_of_error(error)) from error
    finally:
        if leaving is not None:
            leaving.cancel()
            await asyncio.gather(leaving, return_exceptions=True)
        await lost.let_go()
    same = before == {(one.driver, one.pool, one.device) for one in session.devices}
    session.note("replaced", successor, pod=successor.pod_name, same_device=same)


async def _beside(ctx: Context, session: LiveSession, lost: LiveKernel, successor: LiveKernel) -> None:
    """While the lost pod lingers for us (podside waits), have the next one scheduled: the claim keeps a consumer."""
    pods, seen = ctx.caches.pods(session.namespace), {"pod", "claim"}
    try:
        async with asyncio.timeout(BESIDE):
            while pods.get(lost.pod_name, session.namespace) is not None:
                session.touched.clear()
                if look(ctx, session, successor, seen).scheduled:
                    return
                await session.touched.wait()
    except TimeoutError:
        log.info("There is no place for %s beside %s", successor.pod_name, lost.pod_name)


async def _leave(ctx: Context, session: LiveSession, lost: LiveKernel) -> None:
    """Have the lost pod end, and wait until it has for certain: its process, and its object."""
    await _part(lost)
    await release_kernel(ctx, session, lost)


async def _part(lost: LiveKernel) -> None:
    """Have the lost pod's podside end at once, and wait until it has: its connection closes with it."""
    control = lost.control
    if control is None:
        return
    try:
        async with asyncio.timeout(PARTING):
            await control.end()
            async for _ in control.events:
                pass
    except (DRAError, TimeoutError):
        log.info("The lost pod %s does not answer; its object tells when it is gone", lost.pod_name)


async def _until_gone(
    ctx: Context, session: LiveSession, lost: LiveKernel, leaving: asyncio.Task[None]
) -> None:
    """Wait for the lost pod to be gone; says so where that takes its time, as on a node that does not answer."""
    await asyncio.wait({leaving}, timeout=SAID_AFTER)
    if not leaving.done():
        now = ctx.clock()
        silent = lost.reason is not None and lost.reason.code == "node-lost"
        node = session.devices[0].node if session.devices else None
        words = "Waiting for the old kernel to let go of the device."
        if silent:
            words = (
                f"The node {node or ''} does not answer; waiting until the old kernel is gone for certain."
            )
        why = {"code": SCHEDULER, "devices": 0, "params": {}, "message": " ".join(words.split())}
        session.wait = Wait(now, now + ctx.policy.launch, (why,), None, None)
        session.set_state("waiting")
        await asyncio.wait({leaving}, timeout=ctx.policy.launch)
        session.wait = None
    if not leaving.done():
        raise Failed(reason("launch-timeout", detail="The lost pod has not ended yet."))
    leaving.result()


async def _make(ctx: Context, session: LiveSession, lost: LiveKernel, successor: LiveKernel) -> None:
    """The next pod with its Secret, and the claim again where the lost pod took it along."""
    if session.template is not None:
        session.claim_name = None  # the next pod gets a claim of its own from the template
    claim: Mapping[str, Any] | None = None
    gone = False
    try:
        claim = await _make_pod(ctx, session, successor)
    except NotFoundError:
        gone = True
    if session.claim is None or not (gone or (claim or {})["metadata"].get("deletionTimestamp")):
        return
    if await _there(ctx, session, lost):
        raise Failed(reason("claim-deleted"))  # nobody but a person deletes it while its pod is there
    await release_kernel(ctx, session, successor)
    successor.gone = False
    await _claim_again(ctx, session)
    await _make_pod(ctx, session, successor)


async def _make_pod(ctx: Context, session: LiveSession, successor: LiveKernel) -> Mapping[str, Any] | None:
    await make_pod(ctx, session, successor, hold=True)
    remember(ctx, session)
    return await set_owners(ctx, session, successor)


async def _there(ctx: Context, session: LiveSession, lost: LiveKernel) -> bool:
    try:
        found = await ctx.client.get("Pod", lost.pod_name, session.namespace)
    except NotFoundError:
        return False
    return lost.pod is None or found["metadata"]["uid"] == lost.pod.uid


async def _claim_again(ctx: Context, session: LiveSession) -> None:
    """A claim of the same name and wish, once the one that went with its last pod has left."""
    old = session.claim
    assert old is not None
    if session.manifest is None:
        raise Failed(reason("claim-deleted"))
    await object_gone(ctx, session.namespace, old)
    session.claim = Made("ResourceClaim", old.name, secrets.token_hex(16))
    remember(ctx, session)
    await make_claim(ctx, session)
