"""Cleaning up after processes that died: only what our seal and our own record prove to be ours."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..errors import ConflictError, DRAError, NotFoundError
from . import life
from .endings import reason, reason_of_pod
from .live import LiveSession, Made
from .making import Context
from .pods import secret_name
from .progress import progress
from .reading import Found
from .record import epoch
from .registry import Registry
from .seal import LAUNCH

log = logging.getLogger(__name__)

PERIOD = 60.0
SETTLED = 10.0
"""Seconds a finished pod is left to the process that launched it."""


async def reconcile_for_ever(ctx: Context, registry: Registry) -> None:
    """At start, soon after a pod ended that nobody here follows, and every minute; from what the watches know.

    A fault, of the cluster or of ours, waits for the next round.
    """
    registry.follow(ctx, ctx.client.namespace)
    while True:
        registry.stray.clear()
        try:
            await reconcile(ctx, registry)
        except DRAError as error:
            log.info("Cleaning up waits: %s", error)
        except Exception:
            log.exception("Cleaning up failed; it is tried again")
        try:
            async with asyncio.timeout(PERIOD):
                await registry.stray.wait()
            await asyncio.sleep(SETTLED + 1)
        except TimeoutError:
            continue


async def reconcile(ctx: Context, registry: Registry) -> list[str]:
    """Give back what nobody looks after any more; returns the sessions it ended."""
    ended: list[str] = []
    present: set[str] = set()
    for found in await registry.found(ctx, ctx.client.namespace):
        session = found.session
        present.add(session.id)
        known = registry.live.get(session.id)
        if not found.proven or (known is not None and known.followed):
            continue
        why = _abandoned(ctx, found)
        if why is None:
            continue
        log.info("Session %s was left behind (%s); giving it back", session.id, why)
        registry.add(session)
        session.adopted = False  # ours from here on: a second look meanwhile leaves it alone
        registry.follow(ctx, session.namespace)
        session.emit = registry.publisher.publish
        await _drop_secrets(ctx, ctx.store.read(session.id) or {})
        life.finish(ctx, session, reason(why))
        ended.append(session.id)
    await _forgotten_secrets(ctx, registry, present)
    return ended


def _abandoned(ctx: Context, found: Found) -> str | None:
    """The end code of a session that is over although nobody gave it back; None for all others."""
    session = found.session
    pods = ctx.caches.pods(session.namespace)
    objects = [pods.get(kernel.pod_name, session.namespace) for kernel in session.kernels]
    known = [obj for obj in objects if obj is not None]
    if not known:
        old = ctx.clock() - session.created_at > ctx.policy.launch
        return "server-stopped" if old and session.claim is not None else None
    phases = [(obj.get("status") or {}).get("phase", "Pending") for obj in known]
    if all(phase == "Pending" for phase in phases):
        return _hopeless(ctx, session, known[0])
    if any(phase not in ("Succeeded", "Failed") for phase in phases):
        return None
    if any(ctx.clock() - _finished_at(obj) < SETTLED for obj in known):
        return None
    why = reason_of_pod(known[-1])
    return why.code if why is not None else "exited"


def _hopeless(ctx: Context, session: LiveSession, pod: Mapping[str, Any]) -> str | None:
    """Why a launch that nobody follows is given up: it can never succeed, or its time is over.

    A launch that somebody follows ends by itself before.
    """
    age = ctx.clock() - session.created_at
    uid = pod["metadata"]["uid"]
    events = [
        event
        for event in ctx.caches.events(session.namespace)
        if (event.get("involvedObject") or {}).get("uid") == uid
    ]
    failure = progress(pod, None, events, seen_claim=False).failure
    if failure is not None:
        return failure.code if age > SETTLED else None
    until = float((ctx.store.read(session.id) or {}).get("wait_until") or 0)
    late = age > ctx.policy.launch + SETTLED and ctx.clock() > until + SETTLED
    return "server-stopped" if late else None


def _finished_at(pod: Mapping[str, Any]) -> float:
    states = (pod.get("status") or {}).get("containerStatuses") or [{}]
    finished = ((states[0].get("state") or {}).get("terminated") or {}).get("finishedAt")
    return epoch(finished) or epoch(pod["metadata"].get("creationTimestamp")) or 0.0


async def _forgotten_secrets(ctx: Context, registry: Registry, present: set[str]) -> None:
    """Secrets made just before a crash have no owner, and only our records know their names.

    They belong to a launch that nobody finished, or to an end: the record says that a session ended before its objects
    are deleted, and when the device was returned only afterwards.
    """
    for session_id in ctx.store.ids():
        stored = ctx.store.read(session_id) or {}
        same = stored.get("context") == ctx.client.context and stored.get("namespace") == ctx.client.namespace
        if not same or session_id in present or session_id in registry.live:
            continue
        changes: dict[str, Any] = {"given_back": True}
        if stored.get("ended_at"):
            if stored.get("given_back") or (stored.get("ended") or {}).get("device_returned_at"):
                continue
        elif ctx.clock() - float(stored.get("created_at") or 0) < ctx.policy.launch:
            continue
        else:
            code = reason("server-stopped")
            changes |= {"ended": {"code": code.code, "message": code.message}, "ended_at": ctx.clock()}
        await _drop_secrets(ctx, stored)
        ctx.store.update(session_id, **changes)


async def _drop_secrets(ctx: Context, stored: Mapping[str, Any]) -> None:
    for kernel in stored.get("kernels") or []:
        await _drop_secret(ctx, str(kernel.get("pod")), kernel)


async def _drop_secret(ctx: Context, pod: str, stored: Mapping[str, Any]) -> None:
    made = Made("Secret", secret_name(pod), str(stored.get("secret_nonce") or ""), stored.get("secret_uid"))
    try:
        if made.uid is None:
            secret = await ctx.client.get("Secret", made.name)
            if (secret["metadata"].get("annotations") or {}).get(LAUNCH) != made.nonce or not made.nonce:
                return
            made = replace(made, uid=secret["metadata"]["uid"])
        await ctx.client.delete("Secret", made.name, uid=made.uid)
    except (NotFoundError, ConflictError):
        return
