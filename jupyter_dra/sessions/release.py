"""Taking back what a session made: delete by uid, wait until it is gone, try again while it is not."""

from __future__ import annotations

import asyncio
import logging
import random
from functools import partial
from typing import Any

from ..errors import ConflictError, DRAError, NotFoundError
from .live import LiveKernel, LiveSession, Made
from .making import Context, made_by_others
from .seal import LAUNCH

log = logging.getLogger(__name__)

_CREATE_PATIENCE = 35.0
_RETRY_FIRST, _RETRY_MOST = 0.2, 15.0
_ASK_AFTER = 2.0


async def release_kernel(ctx: Context, session: LiveSession, kernel: LiveKernel) -> None:
    """Delete a kernel's pod and Secret and wait until both are gone."""
    await _settle(session)
    made = [one for one in (kernel.pod, kernel.secret) if one is not None and one.sent]
    await asyncio.gather(*(_delete(ctx, session.namespace, one) for one in made))
    await asyncio.gather(*(object_gone(ctx, session.namespace, one) for one in made))
    kernel.gone = True
    session.returned.add(kernel.pod_name)


async def release_session(ctx: Context, session: LiveSession) -> None:
    """Delete everything the session made, here or in another process of this user.

    What the user made (claim, template) stays.
    """
    await _settle(session)
    made = [one for k in session.placed for one in (k.pod, k.secret) if one is not None and one.sent]
    others = made_by_others(ctx, session)
    made += others
    if session.claim is not None and session.claim.sent:
        made.append(session.claim)
    await asyncio.gather(*(_delete(ctx, session.namespace, one) for one in made))
    await asyncio.gather(*(object_gone(ctx, session.namespace, one) for one in made))
    for kernel in session.placed:
        kernel.gone = True
    session.returned.update(one.name for one in others if one.kind == "Pod")


async def _settle(session: LiveSession) -> None:
    """Wait for creations whose answers are still on the way."""
    if session.creating:
        await asyncio.wait(list(session.creating), timeout=_CREATE_PATIENCE)


async def _delete(ctx: Context, namespace: str, made: Made) -> None:
    """Ask for the deletion until the server has heard it; nothing but our own object is ever deleted."""
    pause = _RETRY_FIRST
    while True:
        try:
            if made.uid is None:
                made.uid = await _find(ctx, namespace, made)
                if made.uid is None:
                    return
            await ctx.client.delete(made.kind, made.name, namespace, uid=made.uid)
            return
        except (NotFoundError, ConflictError):
            return
        except DRAError as error:
            log.warning("%s %s cannot be deleted yet: %s", made.kind, made.name, error)
        await asyncio.sleep(pause * random.uniform(0.5, 1.0))
        pause = min(pause * 2, _RETRY_MOST)


async def _find(ctx: Context, namespace: str, made: Made) -> str | None:
    """The uid of an object whose creation was never answered; None when it is not there or not ours."""
    try:
        found = await ctx.client.get(made.kind, made.name, namespace)
    except NotFoundError:
        return None
    if (found["metadata"].get("annotations") or {}).get(LAUNCH) != made.nonce:
        return None
    return str(found["metadata"]["uid"])


async def object_gone(ctx: Context, namespace: str, made: Made) -> None:
    """Wait until the object is gone, by the watch where we have one; a missed event is made up by asking."""
    if made.uid is None or made.kind == "Secret":
        return
    cache = ctx.caches.pods(namespace) if made.kind == "Pod" else ctx.caches.claims(namespace)
    pause = _ASK_AFTER
    while True:
        present = cache.get(made.name, namespace)
        shown = present is not None and present["metadata"].get("uid") == made.uid
        if not shown and not await _exists(ctx, namespace, made):
            return
        try:
            await cache.wait_object(made.name, partial(_other, made.uid), pause, namespace=namespace)
        except TimeoutError:
            pause = min(pause * 2, _RETRY_MOST)
        if not shown:
            await asyncio.sleep(0.05)


async def pod_gone(ctx: Context, namespace: str, name: str) -> None:
    """Wait until no pod has this name; for pods whose uid is not known."""
    cache, pause = ctx.caches.pods(namespace), _ASK_AFTER
    while True:
        if cache.get(name, namespace) is None:
            try:
                await ctx.client.get("Pod", name, namespace)
            except NotFoundError:
                return
            except DRAError as error:
                log.debug("The pod %s cannot be looked for: %s", name, error)
        try:
            await cache.wait_object(name, lambda obj: obj is None, pause, namespace=namespace)
            await asyncio.sleep(0.05)
        except TimeoutError:
            pause = min(pause * 2, _RETRY_MOST)


def _other(uid: str, obj: dict[str, Any] | None) -> bool:
    return obj is None or obj["metadata"].get("uid") != uid


async def _exists(ctx: Context, namespace: str, made: Made) -> bool:
    try:
        found = await ctx.client.get(made.kind, made.name, namespace)
    except NotFoundError:
        return False
    except DRAError:
        return True
    return bool(found["metadata"].get("uid") == made.uid)
