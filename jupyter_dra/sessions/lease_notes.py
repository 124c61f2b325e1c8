"""Who is told when a session's lease changes: its pods, other processes of the user, those who wait for the device."""

from __future__ import annotations

from ..claims import labels
from ..errors import DRAError
from .live import LiveSession
from .making import Context, remember
from .record import iso
from .seal import LEASE, lease_text


async def tell_lease(ctx: Context, session: LiveSession) -> None:
    """Tell every connected podside, write it (sealed) on the pods and (for others to read) on the claim."""
    lease = session.lease
    text = lease_text(
        ctx.identity.key, session.id, ends_at=lease.ends_at or 0, idle_seconds=lease.idle_seconds
    )
    for kernel in [k for k in session.placed if not k.gone and k.reason is None]:
        if kernel.control is not None:
            await kernel.control.lease(ends_at=lease.ends_at, idle_seconds=lease.idle_seconds)
        if kernel.pod is not None and kernel.pod.uid is not None:
            notes = {LEASE: text, labels.NAME: session.name}
            patch = {"metadata": {"uid": kernel.pod.uid, "annotations": notes}}
            await ctx.client.patch("Pod", kernel.pod_name, patch, session.namespace)
    await _tell_claim(ctx, session)
    remember(ctx, session)


async def _tell_claim(ctx: Context, session: LiveSession) -> None:
    """Who waits reads it there; a claim that cannot be written now says an earlier end, which is no harm."""
    claim = session.claim
    if claim is None or claim.uid is None:
        return
    patch = {"metadata": {"uid": claim.uid, "annotations": {labels.LEASE_ENDS: iso(session.lease.ends_at)}}}
    try:
        await ctx.client.patch("ResourceClaim", claim.name, patch, session.namespace)
    except DRAError:
        return
