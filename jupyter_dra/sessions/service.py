"""The session service: begins, watches, shares, extends and ends sessions of one cluster."""

from __future__ import annotations

import asyncio
import functools
import json
import logging
import secrets
import time
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Concatenate, ParamSpec, TypeVar

from ..claims import Requirement, build_claim, labels
from ..cluster import (
    KubeClient,
    Reach,
    ServerVersion,
    Surroundings,
    WatchCache,
    connect,
    fetch_version,
    require_v1,
    rights,
)
from ..errors import ConflictError, DRAError, InputError, NotFoundError, SessionEnded
from .caches import Caches
from .endings import Reason, reason
from .events import Publisher
from .identity import Identity, load_identity
from .inventory import InventoryFeed
from .launch import Failed, dial, launch_kernel
from .limits import check_limits, check_policy
from .live import LiveKernel, LiveSession, Made
from .loop import BackgroundLoop
from .making import Context, default_image, new_id, remember
from .pods import CONTAINER, read_secret
from .policy import SessionPolicy
from .ports import KernelChoice, KernelHandle, PodRuntime, SessionEvent
from .reading import Found, group_by_session, read_session
from .record import Ended, Lease, SessionRecord, epoch
from .release import release_kernel, release_session
from .seal import LEASE, lease_text
from .store import SessionStore
from .supervision import set_activity, supervise

log = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")

_RIGHTS = ("read_slices", "read_classes", "read_claims", "read_all_claims", "read_nodes", "read_quota")
_LEASE_PATIENCE = 15.0
_LOG_LIMIT = 8 * 2**20


@dataclass(frozen=True, slots=True)
class Where:
    """Which cluster a service works with; see `cluster.choose`."""

    context: str | None = None
    kubeconfig: str | None = None
    namespace: str | None = None
    setting: str | None = None
    surroundings: Surroundings | None = field(default=None, repr=False)


def on_loop(
    method: Callable[Concatenate[Sessions, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[Sessions, P], Coroutine[Any, Any, R]]:
    """Run a coroutine method on the service's background loop, whatever loop awaits it."""

    @functools.wraps(method)
    async def hop(self: Sessions, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self.loop.wrap(method(self, *args, **kwargs))

    return hop


class Sessions:
    """Implements `ports.SessionService` for one user, one cluster, one process.

    Nothing is read, imported or connected before the first call. Sessions begun by other processes of the same user
    are found by their labels and proven by seal and record.

    Args:
        identity: who owns the sessions; None loads it from the data folder.
        runtime: makes pod materials; None takes ``policy.pod_runtime``.
        loop: the background loop; a new one is made (and closed with the service) when None.
        clock: epoch seconds.
    """

    def __init__(
        self,
        where: Where | None = None,
        *,
        identity: Identity | None = None,
        policy: SessionPolicy | None = None,
        runtime: PodRuntime | None = None,
        loop: BackgroundLoop | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.where = where or Where()
        self.policy = policy or SessionPolicy()
        self.loop = loop or BackgroundLoop()
        self._own_loop = loop is None
        self._given_identity = identity
        self._given_runtime = runtime
        self._clock = clock
        self._ctx: Context | None = None
        self._version: ServerVersion | None = None
        self._opening: asyncio.Task[Context] | None = None
        self._live: dict[str, LiveSession] = {}
        self._keys: dict[str, str] = {}
        self._publisher = Publisher()
        self._followed: dict[str, list[Callable[[], None]]] = {}
        self._ticker: asyncio.Task[None] | None = None

    # --- opening and closing ---

    async def _context(self) -> Context:
        """The connection to the cluster, made once; raises ClusterError (and tries again next time)."""
        if self._ctx is not None:
            return self._ctx
        if self._opening is None or (self._opening.done() and self._ctx is None):
            self._opening = asyncio.create_task(self._open(), name="open sessions")
        return await asyncio.shield(self._opening)

    async def _open(self) -> Context:
        where = self.where
        client = await connect(
            where.context,
            where.kubeconfig,
            where.namespace,
            setting=where.setting,
            surroundings=where.surroundings,
        )
        try:
            version, may = await asyncio.gather(fetch_version(client), rights(client, names=_RIGHTS))
            require_v1(version)
        except BaseException:
            await client.close()
            raise
        caches = Caches(client)
        caches.all_claims = may["read_all_claims"]
        feed = InventoryFeed(client, caches)
        feed.rights = may
        identity = self._given_identity or await asyncio.to_thread(load_identity)
        self._version = version
        self._ctx = Context(
            client=client,
            caches=caches,
            identity=identity,
            policy=self.policy,
            runtime=self._given_runtime or _runtime(self.policy.pod_runtime),
            store=SessionStore(identity.folder),
            reach=Reach(client, self.policy.transport),
            inventory=feed,
            clock=self._clock,
        )
        self._ctx.store.sweep(self._clock() - self.policy.history_seconds)
        self._ticker = asyncio.create_task(self._tick(), name="session leases")
        return self._ctx

    @on_loop
    async def open(self) -> KubeClient:
        """Connect now; raises the ClusterError that prevents it."""
        return (await self._context()).client

    async def aclose(self, *, keep: bool | None = None) -> None:
        """Close connections and watches; sessions go on when ``keep`` (default: the policy), else they end."""
        if self.loop.running:
            await self.loop.wrap(self._close(self.policy.keep_on_stop if keep is None else keep))
        if self._own_loop and not self.loop.here:
            await asyncio.to_thread(self.loop.close)

    def close(self, *, keep: bool | None = None) -> None:
        """The blocking form of `aclose`."""
        if self.loop.running:
            self.loop.call(self._close(self.policy.keep_on_stop if keep is None else keep))
        if self._own_loop:
            self.loop.close()

    async def _close(self, keep: bool) -> None:
        living = [s for s in self._live.values() if s.ended is None]
        for session in living:
            if not keep and not session.adopted and session.releasing is None:
                self._finish(session, reason("server-stopped"))
        waiting = [s.finished.wait() for s in living if s.releasing is not None]
        if waiting:
            await asyncio.wait([asyncio.ensure_future(one) for one in waiting], timeout=30)
        tasks = [k.task for s in self._live.values() for k in s.kernels if k.task is not None]
        tasks += [s.releasing for s in living if s.releasing is not None]
        if self._ticker is not None:
            tasks.append(self._ticker)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._publisher.close()
        ctx, self._ctx = self._ctx, None
        if ctx is not None:
            ctx.inventory.close()
            await ctx.caches.close()
            await ctx.client.close()

    # --- looking ---

    def subscribe(self, callback: Callable[[SessionEvent], None]) -> Callable[[], None]:
        """Call ``callback`` on every change, on the background loop; returns the function that ends it."""
        return self._publisher.subscribe(callback)

    @property
    def version(self) -> ServerVersion | None:
        """The API server's version once connected."""
        return self._version

    @on_loop
    async def inventory(self) -> InventoryFeed:
        """The inventory feed, loaded; its methods must be awaited on the background loop (see `plan`)."""
        ctx = await self._context()
        await ctx.inventory.inventory()
        return ctx.inventory

    @on_loop
    async def plan(self, x: Any, *, namespace: str | None = None, detail: str = "verdict") -> dict[str, Any]:
        """The plan of a requirement or claim, as the contract's object with ``context``."""
        ctx = await self._context()
        plan = await ctx.inventory.plan(x, namespace, detail=detail)
        return {**plan, "context": self._describe_context(ctx, namespace)}

    @on_loop
    async def context(self) -> dict[str, Any]:
        """``cluster``, ``namespace``, ``server_version``, ``as_of`` of every answer."""
        return self._describe_context(await self._context(), None)

    def _describe_context(self, ctx: Context, namespace: str | None) -> dict[str, Any]:
        from .record import iso

        return {
            "cluster": ctx.client.cluster,
            "namespace": namespace or ctx.client.namespace,
            "server_version": self._version.minor if self._version else None,
            "as_of": iso(self._clock()),
        }

    @on_loop
    async def rights(self) -> dict[str, bool]:
        """Everything of `cluster.rights.needed`, asked now."""
        return await rights((await self._context()).client)

    @on_loop
    async def list(self, *, everyone: bool = False, ended: bool = False) -> list[SessionRecord]:
        """Sessions of this user (or of everyone, as far as may be seen); also those of other processes.

        Args:
            ended: with those that ended in this process in the last day.
        """
        ctx = await self._context()
        namespaces = {ctx.client.namespace, *(s.namespace for s in self._live.values())}
        records = {s.id: s.record() for s in self._live.values() if ended or s.ended is None}
        for namespace in namespaces:
            for found in await self._read_all(ctx, namespace):
                session = found.session
                if session.id in self._live or not (found.mine or everyone):
                    continue
                orphan = found.mine and not found.proven
                records[session.id] = replace(session.record(), mine=found.mine, orphan=orphan)
        return sorted(records.values(), key=lambda record: -record.created_at)

    async def _read_all(self, ctx: Context, namespace: str) -> list[Found]:
        pods, claims = ctx.caches.pods(namespace), ctx.caches.claims(namespace)
        await asyncio.gather(pods.ready(), claims.ready())
        here = [claim for claim in claims if claim["metadata"].get("namespace") == namespace]
        grouped = group_by_session(pods)
        owned = group_by_session(here)
        found = []
        for session_id in {*grouped, *owned}:
            mine = grouped.get(session_id, [])
            claim = (owned.get(session_id) or [None])[0] or self._claim_of(claims, mine, namespace)
            one = read_session(ctx, session_id, list(mine), claim)
            if one is not None:
                found.append(one)
        return found

    @staticmethod
    def _claim_of(claims: WatchCache, pods: Any, namespace: str) -> Any:
        from .progress import claim_name_of

        name = claim_name_of(pods[0]) if pods else None
        return claims.get(name, namespace) if name else None

    @on_loop
    async def get(self, session_id: str) -> SessionRecord:
        """One session of this user; raises NotFoundError, also for those of others."""
        live = self._live.get(session_id)
        if live is not None:
            return live.record()
        ctx = await self._context()
        for found in await self._read_all(ctx, ctx.client.namespace):
            if found.session.id == session_id and found.mine:
                return replace(found.session.record(), orphan=not found.proven)
        raise _unknown(session_id)

    async def _own(self, session_id: str, *, force: bool = False) -> LiveSession:
        """The live session, taking over one of another process when it is proven ours; raises NotFoundError."""
        live = self._live.get(session_id)
        if live is not None:
            return live
        ctx = await self._context()
        for found in await self._read_all(ctx, ctx.client.namespace):
            if found.session.id == session_id and found.mine:
                if not found.proven and not force:
                    raise ConflictError(
                        f"The session {session_id} carries your name but not your seal; it is left alone.",
                        code="not-proven",
                        next_step="Look at it with kubectl, or adopt it explicitly.",
                    )
                session = found.session
                session.emit = self._publisher.publish
                self._live[session_id] = session
                self._follow(ctx, session.namespace)
                return session
        raise _unknown(session_id)

    # --- launching ---

    @on_loop
    async def launch(
        self,
        requirement: Requirement | Mapping[str, Any],
        *,
        name: str | None = None,
        notebook: str | None = None,
        kernel: KernelChoice | None = None,
        kernel_id: str | None = None,
        wait: float | None = None,
        key: str | None = None,
        force: bool = False,
        cwd: str | None = None,
    ) -> SessionRecord:
        """Check and begin a session; see `ports.SessionService.launch`. ``cwd`` counts in the local cluster only."""
        wish = requirement if isinstance(requirement, Requirement) else Requirement.from_dict(requirement)
        ctx = await self._context()
        earlier = self._earlier(key, notebook)
        if earlier is not None:
            return earlier.record()
        image = wish.image or default_image(ctx)
        check_policy(wish, ctx.policy, image)
        check_limits(wish, ctx.policy, [s.record() for s in self._live.values() if s.ended is None])
        session = self._new_session(ctx, wish, name or wish.name, notebook, wait, force)
        first = self._new_kernel(session, kernel, kernel_id, notebook, image, cwd, env=wish.env)
        self._live[session.id] = session
        if key is not None:
            self._keys[key] = session.id
        try:
            await self._check(ctx, session, wait, force)
        except BaseException:
            self._live.pop(session.id, None)
            self._keys.pop(key or "", None)
            raise
        self._follow(ctx, session.namespace)
        session.changed("created")
        first.task = asyncio.create_task(
            self._life(ctx, session, first, True), name=f"kernel {first.pod_name}"
        )
        return session.record()

    def _earlier(self, key: str | None, notebook: str | None) -> LiveSession | None:
        """The session of this key, or the one that is just starting for this notebook."""
        if key is not None and key in self._keys:
            return self._live.get(self._keys[key])
        for session in self._live.values():
            starting = session.state in ("starting", "waiting") and session.ended is None
            if (
                notebook is not None
                and starting
                and session.kernels
                and session.kernels[0].notebook == notebook
            ):
                return session
        return None

    def _new_session(
        self,
        ctx: Context,
        wish: Requirement,
        name: str | None,
        notebook: str | None,
        wait: float | None,
        force: bool,
    ) -> LiveSession:
        now = self._clock()
        policy = ctx.policy
        title = name or _stem(notebook) or wish.tier or "session"
        lease = min(wish.lease_seconds or policy.lease, policy.longest_lease)
        idle = wish.idle_seconds if wish.idle_seconds is not None else policy.idle
        session = LiveSession(
            id=new_id(title),
            name=title,
            namespace=wish.namespace or ctx.client.namespace,
            user=ctx.identity.user,
            server=ctx.identity.server,
            requirement=wish,
            created_at=now,
            lease=Lease(now + lease, now + policy.longest_lease, idle),
            emit=self._publisher.publish,
            clock=self._clock,
            wait_until=None if wait is None else now + wait,
            force=force,
        )
        session.begin("checked")
        return session

    def _new_kernel(
        self,
        session: LiveSession,
        kernel: KernelChoice | None,
        kernel_id: str | None,
        notebook: str | None,
        image: str,
        cwd: str | None,
        *,
        env: Mapping[str, str],
    ) -> LiveKernel:
        choice = kernel or KernelChoice()
        if env:
            choice = replace(choice, env={**env, **choice.env})
        index, session.next_index = session.next_index, session.next_index + 1
        made = LiveKernel(
            id=kernel_id or str(uuid.uuid4()),
            choice=choice,
            pod_name=f"{session.id}-{index}",
            notebook=notebook,
            image=image,
            cwd=cwd,
        )
        session.kernels.append(made)
        session.image = session.image or image
        return made

    async def _check(self, ctx: Context, session: LiveSession, wait: float | None, force: bool) -> None:
        """Build the claim and ask the planner; raises what makes the launch refused."""
        wish = session.requirement
        plan: dict[str, Any] | None = None
        if ctx.inventory.rights.get("read_slices"):
            plan = await ctx.inventory.plan(wish, session.namespace)
            _judge(plan, wait, force)
            first = next(iter(plan.get("nodes") or []), None)
            places = (first or {}).get("devices") or []
            session.predicted = frozenset((d["driver"], d["pool"], d["device"]) for d in places)
            if plan["verdict"] == "busy":
                session.wait = None
                session.set_state("waiting")
        if isinstance(wish.claim, str):
            if wish.claim.startswith("template/"):
                session.template = wish.claim.removeprefix("template/")
            else:
                session.claim_name = wish.claim
        else:
            classes = [obj for obj in ctx.caches.get("DeviceClass")] if ctx.inventory.loaded else None
            session.claim_name = session.id
            session.manifest = json.loads(
                json.dumps(build_claim(wish, name=session.id, namespace=session.namespace, classes=classes))
            )
            session.claim = Made("ResourceClaim", session.id, secrets.token_hex(16))
        session.done("checked", verdict=plan["verdict"] if plan else None)

    # --- the life of a kernel ---

    async def _life(self, ctx: Context, session: LiveSession, kernel: LiveKernel, first: bool) -> None:
        try:
            await launch_kernel(ctx, session, kernel, first=first)
            self._connected(ctx, session, kernel)
            kernel.reason = await supervise(ctx, session, kernel)
        except Failed as failed:
            kernel.reason = failed.reason
        except asyncio.CancelledError:
            raise
        except Exception as error:
            log.exception("The kernel %s of %s is lost to a fault of ours", kernel.id, session.id)
            kernel.reason = Reason("crashed", f"A fault of jupyter-dra: {type(error).__name__}: {error}")
        self._kernel_over(ctx, session, kernel)

    def _connected(self, ctx: Context, session: LiveSession, kernel: LiveKernel) -> None:
        now = self._clock()
        kernel.state = "idle"
        kernel.last_activity = kernel.idle_since = now
        kernel.connected.set()
        if session.ready_at is None:
            session.ready_at = now
        remember(ctx, session)
        if session.state != "running":
            session.set_state("running")
        else:
            session.changed("kernels")

    def _kernel_over(self, ctx: Context, session: LiveSession, kernel: LiveKernel) -> None:
        """A kernel ended: with it the session, unless others go on."""
        kernel.state = "dead"
        why = kernel.reason or reason("exited")
        kernel.connected.set()
        others = [k for k in session.kernels if k is not kernel and not k.gone and k.reason is None]
        if session.releasing is not None:
            return
        if not others:
            self._finish(session, why)
            return
        note = {"at": int(self._clock()), "event": "kernel-ended", "kernel": kernel.id, "code": why.code}
        session.history.append(note)
        session.changed("kernels")
        kernel.task = asyncio.create_task(
            self._give_back(ctx, session, kernel), name=f"release {kernel.pod_name}"
        )

    async def _give_back(self, ctx: Context, session: LiveSession, kernel: LiveKernel) -> None:
        await release_kernel(ctx, session, kernel)
        session.kernels = [k for k in session.kernels if k is not kernel]
        remember(ctx, session)
        session.changed("kernels")

    def _finish(self, session: LiveSession, why: Reason, by: str | None = None) -> None:
        """Begin to end the session; the first reason counts."""
        if session.releasing is not None:
            return
        session.ending, session.ended_by = why, by
        session.fail_step()
        session.wait = None
        session.set_state("releasing")
        session.releasing = asyncio.create_task(self._release(session, why), name=f"release {session.id}")

    async def _release(self, session: LiveSession, why: Reason) -> None:
        ctx = await self._context()
        ended_at = self._clock()
        tasks = [k.task for k in session.kernels if k.task is not None]
        for task in tasks:
            if task is not asyncio.current_task():
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        ended = Ended(
            ended_at, why.code, why.message, why.exit_code, session.ended_by, why.params, None, why.next_step
        )
        remember(ctx, session, ended=ended.as_dict(), ended_at=ended_at)
        await release_session(ctx, session)
        session.ended = replace(ended, device_returned_at=self._clock())
        remember(ctx, session, ended=session.ended.as_dict(), ended_at=ended_at)
        for kernel in session.kernels:
            kernel.state = "dead"
            kernel.connected.set()
        session.state = "ended"
        ctx.inventory.forget(session.id)
        session.changed("ended", code=why.code)
        session.finished.set()
        log.info("Session %s ended: %s", session.id, why.code)

    # --- waiting for it ---

    @on_loop
    async def ready(self, session_id: str, kernel_id: str | None = None) -> KernelHandle:
        """Wait until a kernel is connected; raises SessionEnded with the end code when it never will be."""
        session = await self._own(session_id)
        kernel = session.kernel(kernel_id)
        if kernel is None:
            raise NotFoundError(f"The session {session_id} has no kernel {kernel_id}.")
        if session.adopted and not kernel.connected.is_set():
            await self._reattach(session, kernel)
        await kernel.connected.wait()
        why = session.ending or kernel.reason
        if why is not None or kernel.target is None or kernel.control is None:
            why = why or reason("exited")
            raise SessionEnded(why.message, code=why.code, next_step=why.next_step, params=why.params)
        return kernel.handle(session_id)

    @on_loop
    async def reattach(self, session_id: str) -> list[KernelHandle]:
        """Take over a running session of an earlier process: connect to all of its kernels again."""
        session = await self._own(session_id)
        kernels = [k for k in session.kernels if not k.gone and k.reason is None]
        await asyncio.gather(
            *(self._reattach(session, k) for k in kernels if session.adopted and not k.connected.is_set())
        )
        return [k.handle(session_id) for k in kernels if k.control is not None and k.target is not None]

    async def _reattach(self, session: LiveSession, kernel: LiveKernel) -> None:
        ctx = await self._context()
        if kernel.task is not None:
            return
        private, mounted = await self._secret_of(ctx, session, kernel)
        kernel.credentials = ctx.runtime.credentials(private, mounted)
        config = json.loads(mounted.get("podside.json", b"{}"))
        kernel.choice = replace(kernel.choice, argv=tuple(config.get("argv") or kernel.choice.argv))
        try:
            await dial(ctx, session, kernel, until=time.monotonic() + 30)
        except Failed as failed:
            raise SessionEnded(failed.reason.message, code=failed.reason.code) from failed
        self._connected(ctx, session, kernel)
        kernel.task = asyncio.create_task(
            self._resume(ctx, session, kernel), name=f"kernel {kernel.pod_name}"
        )

    async def _resume(self, ctx: Context, session: LiveSession, kernel: LiveKernel) -> None:
        kernel.reason = await supervise(ctx, session, kernel)
        self._kernel_over(ctx, session, kernel)

    async def _secret_of(
        self, ctx: Context, session: LiveSession, kernel: LiveKernel
    ) -> tuple[dict[str, bytes], dict[str, bytes]]:
        """The pod's Secret, only if it is the one its sealed digest names."""
        from .pods import secret_name
        from .seal import DIGEST, digest_of

        secret = await ctx.client.get("Secret", secret_name(kernel.pod_name), session.namespace)
        private, mounted = read_secret(secret)
        pod = ctx.caches.pods(session.namespace).get(kernel.pod_name, session.namespace)
        notes = (pod or {}).get("metadata", {}).get("annotations") or {}
        if notes.get(DIGEST) != digest_of(mounted):
            raise ConflictError("The Secret of this kernel pod is not the one we made.", code="not-proven")
        return private, mounted

    @on_loop
    async def ended(self, session_id: str) -> SessionRecord:
        """Wait until nothing of the session is left in the cluster."""
        session = self._live.get(session_id)
        if session is None:
            raise _unknown(session_id)
        await session.finished.wait()
        return session.record()

    # --- changing and ending ---

    @on_loop
    async def stop(
        self, session_id: str, *, code: str = "stopped", by: str | None = None, force: bool = False
    ) -> SessionRecord:
        """Cancel or stop; returns at once. ``force`` also ends a session that only carries our labels."""
        session = await self._own(session_id, force=force)
        if session.ended is not None:
            raise _unknown(session_id)
        starting = session.state in ("starting", "waiting") and session.ready_at is None
        actual = "cancelled" if code == "stopped" and starting else code
        self._finish(session, reason(actual), by)
        return session.record()

    @on_loop
    async def stop_kernel(self, session_id: str, kernel_id: str) -> SessionRecord:
        """End one kernel; the session ends with its last one."""
        session = await self._own(session_id)
        kernel = next((k for k in session.kernels if k.id == kernel_id and not k.gone), None)
        if kernel is None:
            raise NotFoundError(f"The session {session_id} has no kernel {kernel_id}.")
        kernel.reason = reason("stopped")
        if kernel.task is not None and session.releasing is None:
            kernel.task.cancel()
            await asyncio.gather(kernel.task, return_exceptions=True)
            kernel.task = None
        self._kernel_over(await self._context(), session, kernel)
        return session.record()

    @on_loop
    async def restart_kernel(self, session_id: str, kernel_id: str | None = None) -> SessionRecord:
        """Restart in place: same pod, same device."""
        session = await self._own(session_id)
        kernel = session.kernel(kernel_id)
        if kernel is not None and session.adopted and kernel.control is None:
            await self._reattach(session, kernel)
        if kernel is None or kernel.control is None:
            raise NotFoundError(f"The session {session_id} has no running kernel {kernel_id or ''}.".strip())
        await kernel.control.restart()
        return session.record()

    @on_loop
    async def attach(
        self,
        session_id: str,
        *,
        kernel: KernelChoice | None = None,
        kernel_id: str | None = None,
        notebook: str | None = None,
        cwd: str | None = None,
    ) -> SessionRecord:
        """Add a kernel (its own pod and Secret) to a session; see `ports.SessionService.attach`."""
        session = await self._own(session_id)
        ctx = await self._context()
        if session.state not in ("running", "starting", "waiting") or session.claim_name is None:
            raise ConflictError(f"The session {session_id} is {session.state}.", code="in-use")
        session.next_index = max(session.next_index, _next_index(session))
        image = session.image or next((k.image for k in session.kernels), "") or default_image(ctx)
        env = {k: v for k, v in session.requirement.env.items() if v != "***"}
        made = self._new_kernel(session, kernel, kernel_id, notebook, image, cwd, env=env)
        self._follow(ctx, session.namespace)
        session.changed("kernels")
        made.task = asyncio.create_task(self._life(ctx, session, made, False), name=f"kernel {made.pod_name}")
        return session.record()

    @on_loop
    async def extend(
        self,
        session_id: str,
        *,
        extend_seconds: float | None = None,
        ends_at: str | None = None,
        idle_seconds: float | None = None,
        name: str | None = None,
    ) -> SessionRecord:
        """Change the lease, idle limit or name; raises ConflictError ``longest-lease`` beyond the pod's deadline."""
        session = await self._own(session_id)
        ctx = await self._context()
        if session.ended is not None or session.releasing is not None:
            raise _unknown(session_id)
        if name is not None:
            session.name = name[:100]
        lease = session.lease
        wanted = _new_end(lease, extend_seconds, ends_at)
        if wanted is not None and lease.longest_until is not None and wanted > lease.longest_until + 1:
            raise ConflictError(
                "The session cannot live that long.",
                code="longest-lease",
                next_step="Extend it less, and start a new one later.",
                params={"longest_until": lease.longest_until},
            )
        idle = lease.idle_seconds if idle_seconds is None else idle_seconds
        session.lease = replace(lease, ends_at=wanted or lease.ends_at, idle_seconds=idle)
        await self._spread_lease(ctx, session)
        session.changed("lease")
        return session.record()

    async def _spread_lease(self, ctx: Context, session: LiveSession) -> None:
        """Tell the lease to every podside, and write it (sealed) where other processes see it."""
        lease = session.lease
        text = lease_text(
            ctx.identity.key, session.id, ends_at=lease.ends_at or 0, idle_seconds=lease.idle_seconds
        )
        for kernel in [k for k in session.kernels if not k.gone and k.reason is None]:
            if session.adopted and kernel.control is None:
                await self._reattach(session, kernel)
            if kernel.control is not None:
                await kernel.control.lease(ends_at=lease.ends_at, idle_seconds=lease.idle_seconds)
            if kernel.pod is not None and kernel.pod.uid is not None:
                notes = {
                    "metadata": {
                        "uid": kernel.pod.uid,
                        "annotations": {LEASE: text, labels.NAME: session.name},
                    }
                }
                await ctx.client.patch("Pod", kernel.pod_name, notes, session.namespace)
        remember(ctx, session)

    @on_loop
    async def activity(self, session_id: str, kernel_id: str, state: str) -> None:
        """What the relay or the server saw: ``busy`` or ``idle``; unknown kernels are ignored."""
        session = self._live.get(session_id)
        kernel = session.kernel(kernel_id) if session is not None else None
        if session is not None and kernel is not None and state in ("busy", "idle"):
            set_activity(session, kernel, state, self._clock())

    async def logs(
        self, session_id: str, *, kernel_id: str | None = None, tail: int | None = None, follow: bool = False
    ) -> AsyncIterator[bytes]:
        """The log of a kernel's pod, in chunks; at most 8 MiB unless followed."""
        queue: asyncio.Queue[bytes | BaseException | None] = asyncio.Queue(64)
        here = asyncio.get_running_loop()

        async def put(item: bytes | BaseException | None) -> None:
            if self.loop.here and here is asyncio.get_running_loop():
                await queue.put(item)
            else:
                await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(queue.put(item), here))

        async def pump() -> None:
            try:
                session = await self._own(session_id)
                kernel = session.kernel(kernel_id)
                if kernel is None:
                    raise NotFoundError(f"The session {session_id} has no kernel {kernel_id or ''}.".strip())
                client = (await self._context()).client
                limit = None if follow else _LOG_LIMIT
                async for chunk in client.logs(
                    kernel.pod_name,
                    session.namespace,
                    container=CONTAINER,
                    tail=tail,
                    follow=follow,
                    limit_bytes=limit,
                ):
                    await put(chunk)
                await put(None)
            except DRAError as error:
                await put(error)

        task = self.loop.run(pump())
        try:
            while (item := await queue.get()) is not None:
                if isinstance(item, BaseException):
                    raise item
                yield item
        finally:
            task.cancel()

    # --- what runs beside ---

    def _follow(self, ctx: Context, namespace: str) -> None:
        """Wake sessions when their objects change."""
        if namespace in self._followed:
            return
        caches = (ctx.caches.pods(namespace), ctx.caches.claims(namespace), ctx.caches.events(namespace))
        self._followed[namespace] = [cache.subscribe(self._object_changed) for cache in caches]

    def _object_changed(self, type: str, obj: dict[str, Any]) -> None:
        if obj["kind"] == "Event":
            name = str((obj.get("involvedObject") or {}).get("name"))
            for session in self._live.values():
                if name.startswith(session.id) and session.ended is None:
                    session.touch()
            return
        meta = obj["metadata"]
        name = (meta.get("labels") or {}).get(labels.SESSION)
        found = self._live.get(name) if name else None
        if found is not None:
            found.touch()
        elif obj["kind"] == "ResourceClaim":
            for session in self._live.values():
                if session.claim_name == meta["name"] and session.namespace == meta.get("namespace"):
                    session.touch()
        elif name:
            self._publisher.publish(
                SessionEvent(name, 0, "state", "ended" if type == "DELETED" else "running")
            )

    async def _tick(self) -> None:
        """Once a second: leases and idle limits that podside should have enforced, and old records."""
        while True:
            await asyncio.sleep(1.0)
            now = self._clock()
            for session in list(self._live.values()):
                if session.ended is not None:
                    if now - session.ended.at > self.policy.history_seconds:
                        self._forget(session.id)
                elif session.releasing is None and not session.adopted:
                    self._enforce(session, now)

    def _enforce(self, session: LiveSession, now: float) -> None:
        lease = session.lease
        if lease.ends_at is not None and now > lease.ends_at + _LEASE_PATIENCE:
            self._finish(session, reason("lease-over"))
            return
        since = session.record().lease
        idle_since = since.idle_since if since is not None else None
        if lease.idle_seconds is None or idle_since is None or session.state != "running":
            return
        if now > idle_since + lease.idle_seconds + _LEASE_PATIENCE and _device_idle(session):
            self._finish(session, reason("idle"))

    def _forget(self, session_id: str) -> None:
        self._live.pop(session_id, None)
        self._keys = {key: value for key, value in self._keys.items() if value != session_id}
        self._publisher.forget(session_id)

    @on_loop
    async def forget(self, session_id: str) -> None:
        """Drop the record of an ended session; raises ConflictError while it lives."""
        session = self._live.get(session_id)
        if session is not None and session.ended is None:
            raise ConflictError(f"The session {session_id} has not ended.", code="in-use")
        self._forget(session_id)
        if self._ctx is not None:
            self._ctx.store.remove(session_id)


def _device_idle(session: LiveSession) -> bool:
    """Whether the device is idle as far as the pods tell; unknown figures leave it to the kernels' activity."""
    for kernel in session.kernels:
        percent = (kernel.usage or {}).get("utilisation_percent")
        if isinstance(percent, int | float) and percent > 5:
            return False
    return True


def _judge(plan: Mapping[str, Any], wait: float | None, force: bool) -> None:
    """Raise what the contract says for this verdict; fits and unknown go on."""
    verdict, launch = plan["verdict"], plan.get("launch") or {}
    findings = plan.get("findings") or []
    params = {"plan": dict(plan)}
    if verdict == "invalid":
        text = findings[0]["message"] if findings else "The claim is invalid."
        path = findings[0].get("path") if findings else None
        raise InputError(
            text, path=path, next_step=findings[0].get("fix") if findings else None, params=params
        )
    if launch.get("can") == "no" and launch.get("code") in ("limit", "quota", "policy"):
        from ..errors import RefusedError

        raise RefusedError(
            f"It may not be launched: {launch['code']}.",
            code=launch["code"],
            params={**params, **launch["params"]},
        )
    if verdict == "impossible" and not force:
        raise ConflictError(
            "No device of this cluster can meet the requirement.",
            code="impossible",
            next_step="Change the requirement; the plan names changes that help.",
            params=params,
        )
    if verdict == "busy" and wait is None and not force:
        raise ConflictError(
            "All matching devices are taken.",
            code="busy",
            next_step="Wait for one, or take one of the changes the plan names.",
            params=params,
        )


def _new_end(lease: Lease, extend_seconds: float | None, ends_at: str | None) -> float | None:
    if ends_at is not None:
        value = epoch(ends_at)
        if value is None:
            raise InputError(f"{ends_at!r} is no RFC 3339 time.", path="lease.ends_at")
        return value
    if extend_seconds is not None:
        if lease.ends_at is None:
            raise InputError("This session has no end to extend.", path="lease")
        return lease.ends_at + extend_seconds
    return None


def _next_index(session: LiveSession) -> int:
    numbers = [k.pod_name.rsplit("-", 1)[-1] for k in session.kernels]
    return max((int(n) + 1 for n in numbers if n.isdigit()), default=0)


def _stem(notebook: str | None) -> str | None:
    if not notebook:
        return None
    name = notebook.rsplit("/", 1)[-1]
    return name.rsplit(".", 1)[0] or None


def _unknown(session_id: str) -> NotFoundError:
    return NotFoundError(
        f"There is no session {session_id}.", next_step="List yours with `jupyter dra sessions`."
    )


def _runtime(spec: str) -> PodRuntime:
    """The class a ``module:attribute`` text names, made without arguments."""
    from importlib import import_module

    module, _, attribute = spec.partition(":")
    made: PodRuntime = getattr(import_module(module), attribute)()
    return made
