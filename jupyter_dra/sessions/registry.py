"""All sessions this process knows: its own, and those of other processes as the cluster shows them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..claims import labels
from ..cluster import WatchCache
from ..errors import ConflictError, NotFoundError
from .charging import Held, held_by, payer_of
from .events import Publisher
from .history import ended_session, ended_sessions
from .live import LiveSession
from .making import Context, remember
from .ports import SessionEvent
from .progress import claim_name_of
from .reading import Found, group_by_session, read_session
from .record import SessionRecord


def unknown(session_id: str) -> NotFoundError:
    """Foreign and missing sessions are answered alike (threat T28)."""
    return NotFoundError(
        f"There is no session {session_id}.", next_step="List yours with `jupyter dra sessions`."
    )


class Registry:
    """Finds sessions by id, key and notebook; wakes them when their objects change."""

    def __init__(self, publisher: Publisher) -> None:
        self.publisher = publisher
        self.live: dict[str, LiveSession] = {}
        self.keys: dict[str, str] = {}
        self.stray = asyncio.Event()
        """Set when a pod ended that belongs to no session followed here."""
        self._followed: set[tuple[int, str]] = set()

    @property
    def living(self) -> list[LiveSession]:
        """Sessions of this process that have not ended."""
        return [session for session in self.live.values() if session.ended is None]

    def earlier(self, key: str | None, notebook: str | None) -> LiveSession | None:
        """The session of this key, or the one that is just starting for this notebook."""
        if key is not None and key in self.keys:
            return self.live.get(self.keys[key])
        for session in self.living:
            starting = session.state in ("starting", "waiting")
            if notebook is not None and starting and session.kernels[0].notebook == notebook:
                return session
        return None

    def add(self, session: LiveSession, key: str | None = None) -> None:
        self.live[session.id] = session
        if key is not None:
            self.keys[key] = session.id

    def forget(self, session_id: str) -> None:
        self.live.pop(session_id, None)
        self.keys = {key: value for key, value in self.keys.items() if value != session_id}
        self.publisher.forget(session_id)

    async def held(self, ctx: Context) -> Held:
        """What this user's sessions are charged, in this process and in others of his."""
        pods, claims = ctx.caches.pods(ctx.client.namespace), ctx.caches.claims(ctx.client.namespace)
        await asyncio.gather(pods.ready(), claims.ready())
        return held_by(ctx.identity.user_label, self.living, self.live, list(pods), list(claims))

    async def records(self, ctx: Context, *, everyone: bool, ended: bool) -> list[SessionRecord]:
        """Newest first; see `Sessions.list`."""
        namespaces = {ctx.client.namespace, *(session.namespace for session in self.live.values())}
        followed = {s.id: s for s in self.live.values() if s.followed}
        found = {s.id: s.record() for s in followed.values() if ended or s.ended is None}
        for namespace in namespaces:
            for one in await self.found(ctx, namespace):
                session = one.session
                shown = one.mine or everyone or _joinable(ctx, one)
                if session.id not in followed and shown:
                    orphan = one.mine and not one.proven
                    found[session.id] = replace(session.record(), mine=one.mine, orphan=orphan)
        if ended:
            found |= {record.id: record for record in ended_sessions(ctx, {*found, *followed})}
        return sorted(found.values(), key=lambda record: -record.created_at)

    async def record(self, ctx: Context, session_id: str) -> SessionRecord:
        """One of this user's sessions, also one that ended in the last day; raises NotFoundError."""
        live = self.live.get(session_id)
        if live is not None and live.followed:
            return live.record()
        foreign = await self.joinable(ctx, session_id)
        if foreign is not None:
            return replace(foreign.record(), mine=False)
        try:
            found = await self._find(ctx, session_id)
        except NotFoundError:
            ended = ended_session(ctx, session_id)
            if ended is None:
                raise
            return ended
        return replace(found.session.record(), orphan=not found.proven)

    async def joinable(self, ctx: Context, session_id: str) -> LiveSession | None:
        """Another user's session that we may join; None for our own and for all others."""
        if session_id in self.live or not ctx.policy.allow_sharing:
            return None
        for found in await self.found(ctx, ctx.client.namespace):
            if found.session.id == session_id and _joinable(ctx, found):
                return found.session
        return None

    async def own(self, ctx: Context, session_id: str, *, force: bool = False) -> LiveSession:
        """The live session, taking over another process's when it is proven ours.

        Raises:
            NotFoundError: there is none, or it is somebody else's.
            ConflictError: ``not-proven``: it carries our labels without our seal or with another uid; ``force``
                goes on.
        """
        live = self.live.get(session_id)
        if live is not None:
            return live
        found = await self._find(ctx, session_id)
        if not found.proven and not force:
            raise ConflictError(
                f"The session {session_id} carries your name but not your seal; it is left alone.",
                code="not-proven",
                next_step="Look at it with kubectl, or adopt it explicitly.",
            )
        found.session.emit = self.publisher.publish
        self.add(found.session)
        self.follow(ctx, found.session.namespace)
        return found.session

    async def _find(self, ctx: Context, session_id: str) -> Found:
        for found in await self.found(ctx, ctx.client.namespace):
            if found.session.id == session_id and found.mine:
                return found
        raise unknown(session_id)

    async def found(self, ctx: Context, namespace: str) -> list[Found]:
        """Every session the cluster shows in ``namespace``, whoever's it is."""
        pods, claims = ctx.caches.pods(namespace), ctx.caches.claims(namespace)
        await asyncio.gather(pods.ready(), claims.ready())
        here = [claim for claim in claims if claim["metadata"].get("namespace") == namespace]
        grouped, owned = group_by_session(pods), group_by_session(here)
        result = []
        for session_id in {*grouped, *owned}:
            members = grouped.get(session_id, [])
            claim = next(iter(owned.get(session_id, [])), None) or _claim_of(claims, members, namespace)
            one = read_session(ctx, session_id, list(members), claim)
            if one is not None:
                if not one.session.made_by_us:
                    one.session.counted_with = payer_of(one.session, pods)
                result.append(one)
        return result

    def follow(self, ctx: Context, namespace: str) -> None:
        """Wake sessions when their pods, claims or events change."""
        key = (id(ctx.caches), namespace)
        if key in self._followed:
            return
        self._followed.add(key)
        for cache in (ctx.caches.pods(namespace), ctx.caches.claims(namespace), ctx.caches.events(namespace)):
            cache.subscribe(self._object_changed)
        ctx.caches.pods(namespace).subscribe(lambda type, pod: self._count_once(ctx, namespace, pod))

    def _count_once(self, ctx: Context, namespace: str, pod: Mapping[str, Any]) -> None:
        """A pod came or went: of sessions on a claim that was made for none of them, another may count now."""
        used = claim_name_of(pod)
        for one in self.living:
            uses = one.claim_name == used and one.namespace == namespace and not one.made_by_us
            if uses and one.count_with(payer_of(one, ctx.caches.pods(namespace))):
                remember(ctx, one)

    def _object_changed(self, type: str, obj: Mapping[str, Any]) -> None:
        meta = obj["metadata"]
        if obj["kind"] == "Event":
            about = str((obj.get("involvedObject") or {}).get("name"))
            session_id = about if about in self.live else about.rpartition("-")[0]
        else:
            session_id = str((meta.get("labels") or {}).get(labels.SESSION) or "")
        session = self.live.get(session_id)
        over = (obj.get("status") or {}).get("phase") in ("Succeeded", "Failed")
        if obj["kind"] == "Pod" and over and not (session is not None and session.followed):
            self.stray.set()
        if session is not None:
            session.touch()
        elif obj["kind"] == "ResourceClaim":
            for one in self.living:
                if one.claim_name == meta["name"] and one.namespace == meta.get("namespace"):
                    one.touch()
        elif obj["kind"] == "Pod" and session_id:
            state = "ended" if type == "DELETED" else "running"
            self.publisher.publish(SessionEvent(session_id, 0, "state", state))


def _joinable(ctx: Context, found: Found) -> bool:
    shared = ctx.policy.allow_sharing and ctx.identity.user in found.session.shared_with
    return shared and not found.mine


def _claim_of(claims: WatchCache, pods: list[Any], namespace: str) -> Mapping[str, Any] | None:
    name = claim_name_of(pods[0]) if pods else None
    return claims.get(name, namespace) if name else None
