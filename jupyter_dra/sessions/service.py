"""The session service: begins, watches, shares, extends and ends sessions of one cluster."""

from __future__ import annotations

import asyncio
import builtins
import functools
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from ..claims import Requirement
from ..cluster import KubeClient, ServerVersion, rights
from ..errors import ConflictError, NotFoundError, SessionEnded
from . import custody, life
from .beginning import check, named_claim, new_kernel, new_session, refusal_of, terms_of
from .charging import charge_of, charge_of_claim
from .endings import reason
from .events import Publisher
from .handover import PodChange, begin_handover
from .identity import Identity
from .idle_notes import idle_seconds
from .inventory import InventoryFeed
from .lease_notes import tell_lease
from .limits import admitted, check_claim, check_limits
from .live import LiveKernel, LiveSession
from .logs import across, read_log
from .loop import BackgroundLoop
from .making import Context, default_image, remember
from .opening import Opening, Where, named
from .policy import SessionPolicy
from .ports import KernelChannel, KernelChoice, KernelHandle, PodRuntime, SessionEvent
from .reconcile import reconcile, reconcile_for_ever
from .record import SessionRecord
from .registry import Registry, unknown
from .sharing import check_owner, share
from .supervision import set_activity
from .terms import extended
from .usage import with_idle

if TYPE_CHECKING:
    from ..planner import Detail, Wanted

log = logging.getLogger(__name__)

_ANEW = "Start a session of your own."

P = ParamSpec("P")
R = TypeVar("R")


def on_loop(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]:
    """Run a coroutine method on the service's background loop, whatever loop awaits it."""

    @functools.wraps(method)
    async def hop(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        result: R = await self.loop.wrap(method(self, *args, **kwargs))
        return result

    return hop


class Sessions:
    """Implements `ports.SessionService` for one user, one cluster, one process.

    Nothing is read, imported or connected before the first call. Sessions begun by other processes of the
    same user are found by their labels and proven by seal and record.

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
        self.policy = policy or SessionPolicy()
        self.loop = loop or BackgroundLoop()
        self._own_loop = loop is None
        self._clock = clock
        self._opening = Opening(where or Where(), self.policy, clock, identity, runtime)
        self._publisher = Publisher()
        self._registry = Registry(self._publisher)
        self._beside: builtins.list[asyncio.Task[None]] = []
        self._closing: builtins.list[Callable[[], Coroutine[Any, Any, None]]] = []

    async def _context(self) -> Context:
        ctx = await self._opening.context()
        if not self._beside:
            self._beside = [
                asyncio.create_task(life.tick(ctx, self._registry), name="session leases"),
                asyncio.create_task(reconcile_for_ever(ctx, self._registry), name="session clean-up"),
            ]
        return ctx

    # --- opening and closing ---

    @on_loop
    async def open(self) -> KubeClient:
        """Connect now; raises the ClusterError that prevents it."""
        return (await self._context()).client

    async def aclose(self, *, keep: bool | None = None) -> None:
        """Close connections and watches; sessions end too unless ``keep`` (default: the policy says)."""
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

    def before_close(self, close: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
        """Await ``close`` on the background loop before this service closes; returns what takes that back."""
        self._closing.append(close)

        def end() -> None:
            if close in self._closing:
                self._closing.remove(close)

        return end

    async def _close(self, keep: bool) -> None:
        await asyncio.gather(*(close() for close in self._closing))
        beside, self._beside = self._beside, []
        await life.cancel(beside)
        ctx = self._opening.current
        if ctx is not None:
            await life.close(ctx, self._registry, keep=keep)
        self._publisher.close()
        await self._opening.close()

    # --- looking ---

    def subscribe(
        self, callback: Callable[[SessionEvent], None], *, every: bool = False
    ) -> Callable[[], None]:
        """Call ``callback`` on changes, on the background loop; returns the function that ends it.

        At most five times a second per session, the newest state standing for those between; ``every`` tells
        each single step.
        """
        return self._publisher.subscribe(callback, every=every)

    @property
    def busy(self) -> bool:
        """Whether a kernel of this process works right now; may be asked from any thread."""
        return any(one.activity == "busy" for one in list(self._registry.live.values()) if one.ended is None)

    @property
    def version(self) -> ServerVersion | None:
        """The API server's version once connected."""
        return self._opening.version

    @on_loop
    async def inventory(self) -> InventoryFeed:
        """The inventory feed, loaded."""
        ctx = await self._context()
        await ctx.inventory.load()
        return ctx.inventory

    @on_loop
    async def plan(
        self, x: Wanted, *, namespace: str | None = None, detail: Detail = "verdict"
    ) -> dict[str, Any]:
        """The plan of a requirement or claim, as the contract's object with ``context``."""
        ctx = await self._context()
        limits = await self._limits(ctx, x)
        plan = await ctx.inventory.plan(x, namespace, detail=detail, limits=limits)
        idle = await idle_seconds(ctx, self._registry)
        holders = [with_idle(holder, idle) for holder in plan.get("holders") or ()]
        return {**plan, "holders": holders, "context": self._opening.describe(ctx, namespace)}

    @on_loop
    async def idle(self) -> dict[str, int]:
        """How many seconds nothing uses each idle session of this user, as far as any of his processes knows it."""
        return await idle_seconds(await self._context(), self._registry)

    @on_loop
    async def limits(self, wanted: Wanted) -> dict[str, Any]:
        """What the administrator does not allow this user, or not this wish, as the planner takes it."""
        return await self._limits(await self._context(), wanted)

    async def _limits(self, ctx: Context, wanted: Wanted) -> dict[str, Any]:
        limits: dict[str, Any] = {"policy": await refusal_of(ctx, wanted)}
        if ctx.policy.max_devices is not None:
            held = (await self._registry.held(ctx)).by_session
            total, names = sum(held.values()), sorted(held)
            limits["devices"] = {"limit": ctx.policy.max_devices, "held": total, "names": names}
        return limits

    @on_loop
    async def context(self) -> dict[str, Any]:
        """``cluster``, ``namespace``, ``server_version``, ``as_of`` of every answer."""
        return self._opening.describe(await self._context())

    @on_loop
    async def rights(self) -> dict[str, bool]:
        """Everything of `cluster.rights.needed`, asked now."""
        return await rights((await self._context()).client)

    @on_loop
    async def list(self, *, everyone: bool = False, ended: bool = False) -> builtins.list[SessionRecord]:
        """Sessions of this user, newest first; also those of other processes.

        Args:
            everyone: those of other users too, as far as they may be seen (``mine`` is false).
            ended: with those that ended in this process in the last day.
        """
        return await self._registry.records(await self._context(), everyone=everyone, ended=ended)

    @on_loop
    async def get(self, session_id: str) -> SessionRecord:
        """One session of this user; raises NotFoundError, also for those of others."""
        return await self._registry.record(await self._context(), session_id)

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
        idle_by: str | None = None,
        measure_cells: bool | None = None,
    ) -> SessionRecord:
        """Check and begin a session; see `ports.SessionService.launch`.

        Args:
            cwd: the kernel's working directory; it counts in the local cluster only.
            idle_by: ``kernel`` where its activity is enough to call a device idle whose use is not known; None takes
                the policy's.
            measure_cells: whether each cell's memory and device time are measured; None takes the policy's.
        """
        wish = requirement if isinstance(requirement, Requirement) else Requirement.from_dict(requirement)
        ctx = await self._context()
        terms = await terms_of(ctx, wish)
        asked, wish = wish, await ctx.inventory.with_usual_counts(wish)
        wish, lease = admitted(wish, ctx.policy, terms, now=ctx.clock())
        image = wish.image or default_image(ctx)
        given = await named_claim(ctx, wish)
        if given is not None:
            check_owner(ctx, given)
            check_claim(given, ctx.policy)
        held = await self._registry.held(ctx)
        # From here to the registration nothing is awaited: of simultaneous starts each sees those before it.
        earlier = self._registry.earlier(key, notebook)
        if earlier is not None:
            return earlier.record()
        charge = charge_of(wish.as_dict()) if given is None else charge_of_claim(given)
        check_limits(charge if given is None else held.further(given), ctx.policy, held.by_session)
        session = new_session(ctx, wish, lease, name=name, notebook=notebook)
        session.asked, session.idle_by = asked, idle_by or ctx.policy.idle_by
        session.measure_cells = ctx.policy.measure_cells if measure_cells is None else measure_cells
        session.force, session.charge = force, charge
        session.wait_until = None if wait is None else session.created_at + wait
        first = new_kernel(session, kernel, kernel_id=kernel_id, notebook=notebook, image=image, cwd=cwd)
        self._registry.add(session, key)
        try:
            await check(ctx, session, wait=wait)
        except BaseException:
            self._registry.forget(session.id)
            raise
        self._registry.follow(ctx, session.namespace)
        session.emit = self._publisher.publish
        session.changed("created")
        life.begin(ctx, session, first, first=True)
        return session.record()

    @on_loop
    async def ready(self, session_id: str, kernel_id: str | None = None) -> KernelHandle:
        """Wait until a kernel is connected; raises SessionEnded with the end code when it never will be."""
        ctx = await self._context()
        session = await self._registry.own(ctx, session_id)
        kernel = _kernel(session, kernel_id)
        if session.adopted and kernel.task is None:
            await life.reattach(ctx, session, kernel)
        await kernel.connected.wait()
        why = session.ending or kernel.reason
        if why is not None or kernel.target is None or kernel.control is None:
            why = why or reason("exited")
            raise SessionEnded(why.message, code=why.code, next_step=why.next_step, params=why.params)
        return kernel.handle(session_id)

    def channel(self, session_id: str, kernel_id: str | None = None) -> KernelChannel:
        """Wait for a kernel and open a channel for code to it; blocking, never on the background loop."""
        handle = self.loop.call(self.ready(session_id, kernel_id))
        opened: KernelChannel = named(self.policy.kernel_channel)(self, handle)
        return opened

    @on_loop
    async def reattach(self, session_id: str) -> builtins.list[KernelHandle]:
        """Take over a running session of an earlier process: connect to all of its kernels again.

        Returns those that answered; raises what prevents it when none did.
        """
        ctx = await self._context()
        session = await self._registry.own(ctx, session_id)
        kernels = [kernel for kernel in session.kernels if not kernel.gone and kernel.reason is None]
        results = await asyncio.gather(
            *(life.reattach(ctx, session, k, alone=True) for k in kernels if k.task is None),
            return_exceptions=True,
        )
        faults = [result for result in results if isinstance(result, BaseException)]
        if faults and len(faults) == len(kernels):
            raise faults[0]
        session.adopted = False
        life.withdraw_spares(ctx, session)
        return [k.handle(session_id) for k in kernels if k.control is not None and k.target is not None]

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
        """Add a kernel (its own pod and Secret) to a session; see `ports.SessionService.attach`.

        For the session of another user who shares it this begins a session of our own on the same claim.
        """
        ctx = await self._context()
        foreign = await self._registry.joinable(ctx, session_id)
        if foreign is not None:
            return await self.launch(
                {"claim": foreign.claim_name},
                name=foreign.name,
                kernel=kernel,
                kernel_id=kernel_id,
                notebook=notebook,
                cwd=cwd,
            )
        session = await self._registry.own(ctx, session_id)
        if session.releasing is not None or session.state not in ("running", "starting", "waiting"):
            raise ConflictError(
                f"The session {session_id} is {session.state}.", code="in-use", next_step=_ANEW
            )
        if session.claim_name is None:
            raise ConflictError(
                "The session has no claim yet.", code="in-use", next_step="Try again in a moment."
            )
        image = session.image or next((k.image for k in session.kernels), "") or default_image(ctx)
        made = new_kernel(session, kernel, kernel_id=kernel_id, notebook=notebook, image=image, cwd=cwd)
        self._registry.follow(ctx, session.namespace)
        session.changed("kernels")
        life.begin(ctx, session, made, first=False)
        return session.record()

    # --- ending ---

    @on_loop
    async def stop(
        self, session_id: str, *, code: str = "stopped", by: str | None = None, force: bool = False
    ) -> SessionRecord:
        """Cancel or stop; returns at once. ``force`` also ends a session that only carries our labels."""
        ctx = await self._context()
        session = await self._registry.own(ctx, session_id, force=force)
        if session.ended is not None:
            raise unknown(session_id)
        launching = session.ready_at is None and session.state in ("starting", "waiting")
        life.finish(ctx, session, reason("cancelled" if code == "stopped" and launching else code), by)
        return session.record()

    @on_loop
    async def stop_as_admin(self, session_id: str, *, because: str | None = None) -> None:
        """End anybody's session in this namespace, as far as the caller's own rights go; see `custody`."""
        ctx = await self._context()
        for found in await self._registry.found(ctx, ctx.client.namespace):
            if found.session.id == session_id:
                await custody.stop_as_admin(ctx, found, because)
                return
        raise unknown(session_id)

    @on_loop
    async def stop_kernel(self, session_id: str, kernel_id: str) -> SessionRecord:
        """End one kernel; the session ends with its last one."""
        ctx = await self._context()
        session = await self._registry.own(ctx, session_id)
        kernel = _kernel(session, kernel_id)
        if kernel.reason is not None:
            return session.record()
        kernel.reason = reason("stopped")
        task, kernel.task = kernel.task, None
        if session.releasing is None:
            await life.cancel([task])
        life.kernel_over(ctx, session, kernel)
        return session.record()

    @on_loop
    async def ended(self, session_id: str) -> SessionRecord:
        """Wait until nothing of the session is left in the cluster."""
        session = self._registry.live.get(session_id)
        if session is None:
            raise unknown(session_id)
        await session.finished.wait()
        return session.record()

    @on_loop
    async def forget(self, session_id: str) -> None:
        """Drop the record of an ended session; raises ConflictError while it lives."""
        session = self._registry.live.get(session_id)
        if session is not None and session.ended is None:
            raise ConflictError(
                f"The session {session_id} has not ended.", code="in-use", next_step="Stop it first."
            )
        self._registry.forget(session_id)
        if self._opening.current is not None:
            self._opening.current.store.remove(session_id)

    @on_loop
    async def adopt(self, claim: str) -> SessionRecord:
        """Look after what was made elsewhere: a session with our labels but no proof, or a claim of the user.

        Call it only after a person agreed: labels prove nothing. A claim that is no session's gets a kernel.
        """
        ctx = await self._context()
        found = custody.by_claim(await self._registry.found(ctx, ctx.client.namespace), claim)
        if found is not None and found.session.id in self._registry.live:
            return self._registry.live[found.session.id].record()
        if found is not None:
            return (await custody.adopt(ctx, self._registry, found)).record()
        await ctx.client.get("ResourceClaim", claim)
        return await self.launch({"claim": claim}, name=claim)

    @on_loop
    async def detach(self, session_id: str) -> SessionRecord:
        """Stop looking after a session: our labels go, the kernel stays until its lease or deadline."""
        ctx = await self._context()
        session = await self._registry.own(ctx, session_id)
        await custody.detach(ctx, self._registry, session)
        return session.record()

    @on_loop
    async def reconcile(self) -> builtins.list[str]:
        """Give back what dead processes of this user left behind; returns the sessions it ended."""
        return await reconcile(await self._context(), self._registry)

    # --- changing ---

    @on_loop
    async def restart_kernel(
        self,
        session_id: str,
        kernel_id: str | None = None,
        *,
        change: PodChange | None = None,
        wait: bool = True,
    ) -> SessionRecord:
        """Restart in place; with ``change`` in another pod on the same device, see `handover`.

        Args:
            wait: return when the kernel runs again; False returns once the move has begun.

        Raises:
            ConflictError: ``not-replaced``: the new pod did not come up, the kernel goes on where it is;
                ``in-use``: not connected, or being moved. RefusedError: ``policy``, the image is not allowed.
        """
        ctx = await self._context()
        session = await self._registry.own(ctx, session_id)
        kernel = _kernel(session, kernel_id)
        if session.adopted and kernel.task is None:
            await life.reattach(ctx, session, kernel)
        if change:
            moving = begin_handover(ctx, session, kernel, change)
            if wait:
                await asyncio.shield(moving)
            return session.record()
        if kernel.control is None:
            raise ConflictError(
                "The kernel is not connected.", code="in-use", next_step="Try again in a moment."
            )
        await kernel.control.restart()
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
        """Change lease, idle limit or name; idling begins anew, since somebody wants the session.

        Raises:
            ConflictError: ``longest-lease``: beyond the pod's deadline, which cannot grow.
            RefusedError: ``limit``: an idle limit beyond what the administrator allows.
        """
        ctx = await self._context()
        session = await self._registry.own(ctx, session_id)
        if session.ended is not None or session.releasing is not None:
            raise unknown(session_id)
        session.lease = extended(
            session.lease, session_id, by=extend_seconds, ends_at=ends_at, idle_seconds=idle_seconds
        )
        session.keep()
        if name is not None:
            session.name = name[:100]
        await self._spread_lease(ctx, session)
        session.changed("lease")
        return session.record()

    @on_loop
    async def note_output(self, session_id: str, kernel_id: str, *, messages: int, dropped: int) -> None:
        """What a kernel published while no server was there was kept: say so where its taking over is noted."""
        ctx = await self._context()
        session = await self._registry.own(ctx, session_id)
        session.amend("reattached", kernel_id, output="kept", messages=messages, dropped=dropped)
        remember(ctx, session)

    @on_loop
    async def share(self, session_id: str, users: Iterable[str]) -> SessionRecord:
        """Let exactly these users join the session; see `sharing.share`."""
        ctx = await self._context()
        session = await self._registry.own(ctx, session_id)
        await share(ctx, session, users)
        return session.record()

    async def _spread_lease(self, ctx: Context, session: LiveSession) -> None:
        """Tell the lease to everybody; podsides of an earlier process are connected to first."""
        for kernel in [k for k in session.kernels if not k.gone and k.reason is None]:
            if session.adopted and kernel.task is None:
                await life.reattach(ctx, session, kernel)
        await tell_lease(ctx, session)

    @on_loop
    async def usage(self, session_id: str, kernel_id: str | None = None) -> Mapping[str, Any] | None:
        """A kernel's figures as podside has them now; None while it is not connected."""
        ctx = await self._context()
        session = await self._registry.own(ctx, session_id)
        control = _kernel(session, kernel_id).control
        return None if control is None else await control.usage()

    @on_loop
    async def activity(self, session_id: str, kernel_id: str, state: str) -> None:
        """What the relay or the server saw: ``busy`` or ``idle``; unknown kernels are ignored."""
        session = self._registry.live.get(session_id)
        kernel = session.kernel(kernel_id) if session is not None else None
        if session is not None and kernel is not None and state in ("busy", "idle"):
            set_activity(session, kernel, state, self._clock())

    async def logs(
        self, session_id: str, *, kernel_id: str | None = None, tail: int | None = None, follow: bool = False
    ) -> AsyncGenerator[bytes]:
        """The log of a kernel's pod, in chunks; at most 8 MiB unless followed."""

        async def opened() -> AsyncIterator[bytes]:
            ctx = await self._context()
            session = await self._registry.own(ctx, session_id)
            return read_log(ctx, session, _kernel(session, kernel_id), tail=tail, follow=follow)

        async with aclosing(across(self.loop, opened)) as chunks:
            async for chunk in chunks:
                yield chunk


def _kernel(session: LiveSession, kernel_id: str | None) -> LiveKernel:
    kernel = session.kernel(kernel_id)
    if kernel is None:
        raise NotFoundError(
            f"The session {session.id} has no kernel {kernel_id or 'yet'}.",
            next_step=f"Its kernels: `jupyter dra describe {session.id}`.",
        )
    return kernel
