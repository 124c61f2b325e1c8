"""Sessions that other users may join: the owner names them, the administrator allows it, both can take it back.

Who joins gets a session of one's own on the owner's claim: its own pod, Secret and lease. The claim stays the
owner's and goes with the owner's session.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ..claims import labels
from ..errors import ConflictError, NotFoundError, RefusedError
from .live import LiveSession
from .making import Context

SHARED = labels.PREFIX + "shared-with"
MOST_USERS = 50


def shared_with(claim: Mapping[str, Any] | None) -> tuple[str, ...]:
    """The users a claim is shared with; the annotation is a stranger's text, so only a short list of texts counts."""
    text = ((claim or {}).get("metadata", {}).get("annotations") or {}).get(SHARED)
    try:
        names = json.loads(text) if isinstance(text, str) and len(text) < 8192 else []
    except (ValueError, RecursionError):
        return ()
    if not isinstance(names, list):
        return ()
    return tuple(name for name in names[:MOST_USERS] if isinstance(name, str))


def may_join(ctx: Context, claim: Mapping[str, Any] | None) -> bool:
    """Whether this user may join the session of another that made this claim."""
    return ctx.policy.allow_sharing and ctx.identity.user in shared_with(claim)


def check_owner(ctx: Context, claim: Mapping[str, Any]) -> None:
    """Raise NotFoundError for the claim of another user's session, unless it is shared with us (threat T28)."""
    tags = claim["metadata"].get("labels") or {}
    owner = tags.get(labels.USER)
    ours = owner is None or owner == ctx.identity.user_label
    if labels.SESSION in tags and not ours and not may_join(ctx, claim):
        raise NotFoundError(
            f"There is no claim {claim['metadata']['name']}.",
            path="claim",
            next_step="Look for its name with `kubectl get resourceclaims`.",
        )


async def share(ctx: Context, session: LiveSession, users: Iterable[str]) -> None:
    """Let exactly these users join the session; none takes it back.

    Who joined before keeps the device until its own session or the owner's ends.

    Raises:
        RefusedError: ``policy``: the administrator does not allow it. ConflictError: the claim is not of our making.
    """
    names = sorted({name for name in users if name and name != session.user})[:MOST_USERS]
    if names and not ctx.policy.allow_sharing:
        raise RefusedError(
            "Sessions are not shared between users here.",
            code="policy",
            path="shared_with",
            next_step="Ask the administrator to allow sharing (allow_sharing).",
        )
    claim = session.claim
    if claim is None or claim.uid is None:
        raise ConflictError(
            "Only a session with a claim of our making can be shared.",
            code="in-use",
            path="shared_with",
            next_step="Start a session from a tier, and share that one.",
        )
    notes = {SHARED: json.dumps(names) if names else None}
    patch = {"metadata": {"uid": claim.uid, "annotations": notes}}
    await ctx.client.patch("ResourceClaim", claim.name, patch, session.namespace)
    session.shared_with = tuple(names)
    session.note("shared", users=len(names))
    session.changed("kernels")
