"""Another pod for a running kernel: scheduled first, its kernel started only when the old pod is gone.

The claim has a consumer all the time (meanwhile both pods stand in its ``reservedFor``), and two kernels never share
the device: the new pod's podside holds its kernel back until the old pod has left the cluster.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import asdict, dataclass

from ..errors import ConflictError, DRAError
from . import life
from .beginning import next_pod
from .endings import Reason, reason, reason_of_error
from .launch import Failed, connect, dial, look, wait_running
from .limits import check_policy
from .live import LiveKernel, LiveSession
from .making import Context, make_pod, remember, set_owners
from .release import release_kernel

log = logging.getLogger(__name__)

ROOM_SECONDS = 60.0
"""How long the next pod may look for a place beside the present one."""


@dataclass(frozen=True, slots=True)
class PodChange:
    """What the next pod has that the present one has not; None keeps what is."""

    image: str | None = None
    cpu: str | None = None
    host_memory: str | None = None

    def __bool__(self) -> bool:
        return any(asdict(self).values())

    def as_dict(self) -> dict[str, str]:
        return {name: value for name, value in asdict(self).items() if value}


def begin_handover(
    ctx: Context, session: LiveSession, kernel: LiveKernel, change: PodChange
) -> asyncio.Task[None]:
    """Start to move a kernel to another pod; the task raises ConflictError ``not-replaced`` when the kernel stays.

    Raises:
        InputError: an amount that is none. RefusedError: ``policy``: the image is not allowed.
        ConflictError: ``in-use``: the kernel is not connected, or is being moved already.
    """
    change = _checked(ctx, session, kernel, change)
    if session.template is not None:
        raise ConflictError(
            "The claim was made for this pod from a template, and goes with it.",
            code="not-replaced",
            next_step="Stop the session and start another.",
        )
    if kernel.control is None or session.releasing is not None or session.moving(kernel):
        raise ConflictError(
            "The kernel is not connected, or is being moved.",
            code="in-use",
            next_step="Try again in a moment.",
        )
    successor = next_pod(session, kernel, **change.as_dict())
    session.spare.append(successor)
    session.note("moving", kernel, pod=successor.pod_name, **change.as_dict())
    session.changed("kernels")
    task = asyncio.create_task(
        _hand_over(ctx, session, kernel, successor), name=f"handover {successor.pod_name}"
    )
    session.handovers[kernel.id] = task
    task.add_done_callback(_heard)
    return task


def _checked(ctx: Context, session: LiveSession, kernel: LiveKernel, change: PodChange) -> PodChange:
    """The change in the requirement's own spelling."""
    given = session.requirement
    wish = given.changed(
        image=change.image or given.image,
        cpu=change.cpu or given.cpu,
        host_memory=change.host_memory or given.host_memory,
    )
    check_policy(wish, ctx.policy)
    return PodChange(
        change.image, wish.cpu if change.cpu else None, wish.host_memory if change.host_memory else None
    )


def _heard(task: asyncio.Task[None]) -> None:
    """The history has what went wrong; a failure that nobody waits for is no fault of the loop."""
    if not task.cancelled() and task.exception() is not None:
        log.info("A kernel was not moved: %s", task.exception())


async def _hand_over(ctx: Context, session: LiveSession, kernel: LiveKernel, successor: LiveKernel) -> None:
    try:
        await _place(ctx, session, successor)
    except Failed as failed:
        await _withdraw(ctx, session, successor, failed.reason)
        if kernel.reason is not None:  # its own pod was lost meanwhile
            life.kernel_over(ctx, session, kernel)
        why = failed.reason
        detail = f" {why.detail}" if why.detail else ""
        raise ConflictError(
            f"The kernel stays in its pod: {why.message}{detail}",
            code="not-replaced",
            next_step="Ask for less, or stop the session and start another.",
            params={"code": why.code},
        ) from failed
    await _switch(ctx, session, kernel, successor)


async def _place(ctx: Context, session: LiveSession, successor: LiveKernel) -> None:
    """Make the next pod, wait until it runs beside the present one, and connect to it; raises Failed."""
    try:
        await make_pod(ctx, session, successor, hold=True)
        remember(ctx, session)
        await set_owners(ctx, session, successor)
        await _until_scheduled(ctx, session, successor)
        await wait_running(ctx, session, successor, first=False)
        await dial(ctx, session, successor, until=time.monotonic() + ctx.policy.launch)
    except DRAError as error:
        raise Failed(reason_of_error(error)) from error


async def _until_scheduled(ctx: Context, session: LiveSession, successor: LiveKernel) -> None:
    """The node must have room for both pods for a moment; raises Failed when it has not."""
    seen: set[str] = set()
    text: str | None = None
    try:
        async with asyncio.timeout(ROOM_SECONDS):
            while True:
                session.touched.clear()
                now = look(ctx, session, successor, seen)
                if now.failure is not None:
                    raise Failed(now.failure)
                if now.scheduled:
                    return
                text = now.waiting_text or text
                await session.touched.wait()
    except TimeoutError:
        raise Failed(reason("launch-timeout", detail=text)) from None


async def _withdraw(ctx: Context, session: LiveSession, successor: LiveKernel, why: Reason) -> None:
    """The next pod did not come: give it back and go on with the present one."""
    session.note("not-moved", successor, code=why.code, detail=why.detail)
    session.changed("kernels")
    await successor.let_go()
    await release_kernel(ctx, session, successor)
    session.spare.remove(successor)
    session.changed("kernels")
    remember(ctx, session)


async def _switch(ctx: Context, session: LiveSession, kernel: LiveKernel, successor: LiveKernel) -> None:
    """End the old kernel, wait until its pod is gone, start the new one; from here on there is no way back."""
    session.amend("moving", kernel.id, placed_at=int(session.clock()))
    session.kernels = [successor if one is kernel else one for one in session.kernels]
    session.spare = [kernel if one is successor else one for one in session.spare]
    session.changed("kernels")
    await life.cancel([kernel.task])
    kernel.task = None
    await release_kernel(ctx, session, kernel)
    session.spare.remove(kernel)
    try:
        await connect(ctx, session, successor)
    except (Failed, DRAError) as error:
        successor.reason = error.reason if isinstance(error, Failed) else reason_of_error(error)
        await successor.let_go()
        life.kernel_over(ctx, session, successor)
        return
    session.note("moved", successor, pod=successor.pod_name)
    life.connected(ctx, session, successor)
    life.follow(ctx, session, successor)
