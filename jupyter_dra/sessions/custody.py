"""Adopting what carries our labels without proof, and handing sessions back to kubectl."""

from __future__ import annotations

import json
import secrets
from typing import Any

from ..claims import labels
from ..errors import ConflictError, NotFoundError
from . import life
from .live import LiveSession
from .making import Context, remember
from .pods import read_secret, secret_name
from .reading import Found
from .registry import Registry
from .seal import DIGEST, LAUNCH, digest_of, seal

_OURS = (labels.MANAGED_BY, labels.SESSION, labels.USER, labels.SERVER, labels.KERNEL_ID, labels.COMPONENT)
_NOTES = (labels.SEAL, LAUNCH, DIGEST)


async def adopt(ctx: Context, registry: Registry, found: Found) -> LiveSession:
    """Make an unproven session of this user ours: new launch texts, new seals, our own record.

    Who calls this has been asked: labels alone prove nothing.
    """
    session = found.session
    for kernel in session.kernels:
        assert kernel.pod is not None
        kernel.pod.nonce = secrets.token_hex(16)
        await _reseal(
            ctx, session, "Pod", kernel.pod_name, kernel.pod.nonce, secret=kernel.secret is not None
        )
    if session.claim is not None:
        session.claim.nonce = secrets.token_hex(16)
        await _reseal(ctx, session, "ResourceClaim", session.claim.name, session.claim.nonce)
    remember(ctx, session)
    session.emit = registry.publisher.publish
    registry.add(session)
    registry.follow(ctx, session.namespace)
    session.changed("created")
    return session


async def _reseal(
    ctx: Context, session: LiveSession, kind: str, name: str, nonce: str, *, secret: bool = False
) -> None:
    obj = await ctx.client.get(kind, name, session.namespace)
    notes: dict[str, Any] = obj["metadata"].setdefault("annotations", {})
    notes[LAUNCH] = nonce
    if secret:
        _, mounted = read_secret(await ctx.client.get("Secret", secret_name(name), session.namespace))
        notes[DIGEST] = digest_of(mounted)
    seal(obj, ctx.identity.key)
    changed = {key: notes[key] for key in _NOTES if key in notes}
    patch = {"metadata": {"uid": obj["metadata"]["uid"], "annotations": changed}}
    await ctx.client.patch(kind, name, patch, session.namespace)


async def stop_as_admin(ctx: Context, found: Found, because: str | None) -> None:
    """End somebody's session with the caller's own rights in the namespace, telling its owner who did and why.

    The pods own claim and Secret, so those follow; a claim of the owner's stays. The API server decides whether the
    caller may. Never behind our REST API: there the server's rights would count, not the person's.
    """
    told = json.dumps({"by": ctx.identity.user, "because": because or ""})
    for kernel in found.session.placed:
        assert kernel.pod is not None
        patch = {"metadata": {"uid": kernel.pod.uid, "annotations": {labels.STOPPED_BY: told}}}
        try:
            await ctx.client.patch("Pod", kernel.pod_name, patch, found.session.namespace)
            await ctx.client.delete("Pod", kernel.pod_name, found.session.namespace, uid=kernel.pod.uid)
        except NotFoundError:
            continue


async def detach(ctx: Context, registry: Registry, session: LiveSession) -> None:
    """Take our labels and seals off the session's objects and stop looking after it.

    The kernel goes on until its lease, idle limit or deadline; claim and Secret stay owned by the pod.
    """
    if session.releasing is not None:
        raise ConflictError(
            f"The session {session.id} is ending.", code="in-use", next_step="Wait until its device is back."
        )
    await life.cancel(kernel.task for kernel in session.kernels)
    removed = {
        "labels": dict.fromkeys(_OURS),
        "annotations": dict.fromkeys(_NOTES),
    }
    for kernel in session.kernels:
        await kernel.let_go()
        await _strip(ctx, session, "Pod", kernel.pod_name, kernel.pod.uid if kernel.pod else None, removed)
    if session.claim is not None:
        await _strip(ctx, session, "ResourceClaim", session.claim.name, session.claim.uid, removed)
    registry.forget(session.id)
    ctx.store.remove(session.id)


async def _strip(
    ctx: Context, session: LiveSession, kind: str, name: str, uid: str | None, removed: dict[str, Any]
) -> None:
    if uid is None:
        return
    try:
        await ctx.client.patch(kind, name, {"metadata": {"uid": uid, **removed}}, session.namespace)
    except NotFoundError:
        return


def by_claim(found: list[Found], claim: str) -> Found | None:
    """The unproven session of this user that uses ``claim`` (or has this id)."""
    for one in found:
        if one.mine and claim in (one.session.claim_name, one.session.id):
            return one
    return None
