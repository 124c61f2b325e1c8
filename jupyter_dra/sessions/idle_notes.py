"""How long a session has been idle, told to other processes of the same user through the session's record.

Only the process that is connected to a session's pods knows it; a shell that lists holders is another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .live import LiveSession
from .making import Context, remember
from .registry import Registry
from .usage import idle_since

SOONEST, LATEST = 5.0, 20.0
"""Seconds after which a change is written down, and after which it is written again though nothing changed."""
BELIEVED = 60.0
"""Seconds for which a note counts: who wrote it may have died, and the kernel gone to work since."""


def note_idle(ctx: Context, session: LiveSession) -> None:
    """Keep the note in the session's record current; called once a second."""
    if session.state != "running" or not session.connected:
        return
    since, age = idle_since(session.kernels), ctx.clock() - session.idle_noted_at
    changed = since != session.idle_noted
    if (changed and age >= SOONEST) or (since is not None and age >= LATEST):
        remember(ctx, session)


async def idle_seconds(ctx: Context, registry: Registry) -> dict[str, int]:
    """How long nothing uses each idle session of this user: what we see, and what his other processes wrote down."""
    now, since = ctx.clock(), dict[str, float]()
    for session_id in (await registry.held(ctx)).by_session:
        note: Mapping[str, Any] = (ctx.store.read(session_id) or {}).get("idle") or {}
        found, at = note.get("since"), note.get("at")
        if isinstance(found, int | float) and isinstance(at, int | float) and now - at < BELIEVED:
            since[session_id] = found
    for session in registry.living:
        mine = idle_since(session.kernels) if session.state == "running" else None
        if mine is not None:
            since[session.id] = mine
    return {session_id: int(max(0, now - began)) for session_id, began in since.items()}
