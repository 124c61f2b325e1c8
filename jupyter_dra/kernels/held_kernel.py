"""One kernel of a session as this process holds it: its relay, its control connection, whether it is alive.

All methods are awaited on the service's background loop (the provisioner hops there).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from jupyter_client.connect import KernelConnectionInfo

from ..errors import DRAError, NotFoundError, SessionEnded
from ..sessions.ports import KernelHandle, SessionEvent
from .control import PodControl
from .credentials import PodCredentials
from .news import MOVED, News
from .relay import Relay

log = logging.getLogger(__name__)

GONE_STATES = ("releasing", "ended")
ENDED_SECONDS = 60.0


class HeldKernel:
    """Keeps the relay of one kernel pointed at its pod, and answers for the kernel process.

    Args:
        service: a `sessions.service.Sessions`.
        handle: from ``service.ready``.
        on_moved: called on the service's loop when the kernel runs in another pod, with the connection info: the
            endpoints stay, the keys are that pod's own.
    """

    def __init__(
        self,
        service: Any,
        handle: KernelHandle,
        *,
        on_moved: Callable[[KernelConnectionInfo], None] | None = None,
    ) -> None:
        self.service = service
        self._on_moved = on_moved
        self.session_id = handle.session_id
        self.kernel_id = handle.kernel_id
        self.relay = Relay(handle.kernel_id)
        self._handle = handle
        self._ends: list[Callable[[], None]] = []
        self._following: asyncio.Task[None] | None = None
        self._changes = False
        self._news = News(self.relay)

    async def open(self) -> KernelConnectionInfo:
        """Open the endpoints and follow the session; returns the connection info for Jupyter."""
        await self.relay.open()
        self._point(self._handle)
        self._news.begin(await self.service.get(self.session_id))
        self._ends = [self.service.subscribe(self._changed), self.service.before_close(self.close)]
        self._look_soon()  # it may have ended before we listened
        return self.relay.connection_info()

    def _point(self, handle: KernelHandle) -> None:
        assert isinstance(handle.credentials, PodCredentials)
        self._handle = handle
        self.relay.retarget(handle.target, handle.credentials)

    def _changed(self, event: SessionEvent) -> None:
        """Called by the service on its loop: the pod or the way to it may be another one now."""
        if event.id != self.session_id or event.change not in ("kernels", "state", "ended"):
            return
        self._look_soon()

    def _look_soon(self) -> None:
        self._changes = True
        if self._following is None:
            self._following = asyncio.ensure_future(self._follow())

    async def _follow(self) -> None:
        try:
            while self._changes:
                self._changes = False
                try:
                    await self._look()
                except NotFoundError:
                    await self.close()
                except DRAError as error:  # what comes after it is told as well
                    log.debug("Kernel %s is not followed now: %s", self.kernel_id, error)
        finally:
            self._following = None

    async def _look(self) -> None:
        record = await self.service.get(self.session_id)
        self._news.tell(record)
        pod = next((one.pod for one in record.kernels if one.id == self.kernel_id), None)
        if record.state == "ended" or pod is None:
            await self.close()  # nothing comes back to these endpoints, also while a dead kernel stays listed
            return
        if record.state != "running":
            return
        moved = pod != self._handle.pod_name
        if moved:
            # Connections wait for the next pod instead of dialling the one that leaves.
            self.relay.detach(MOVED)
        handle = await self.service.ready(self.session_id, self.kernel_id)
        if handle.target is not self._handle.target:
            self._point(handle)
        self._handle = handle
        if moved and self._on_moved is not None:
            self._on_moved(self.relay.connection_info())

    async def control(self) -> PodControl:
        """The connection to podside now; raises SessionEnded or ClusterError."""
        handle = await self.service.ready(self.session_id, self.kernel_id)
        self._handle = handle
        assert isinstance(handle.control, PodControl)
        return handle.control

    async def ending(self) -> Mapping[str, Any] | None:
        """Why the kernel is dead (``code``, ``exit_code``, ``message``, ``final``); None while it is alive.

        ``final``: the pod is gone or going, so it cannot be restarted in place. ``telling``: clients are being told of
        it, and would rather hear that than of a death without a reason.
        """
        try:
            found = await self.service.get(self.session_id)
        except NotFoundError:
            return {"code": "exited", "exit_code": None, "message": "The session is gone.", "final": True}
        self._news.tell(found)
        ending = self._ending_of(found.as_dict())
        return None if ending is None else {**ending, "telling": self.relay.words.telling}

    def _ending_of(self, record: Mapping[str, Any]) -> Mapping[str, Any] | None:
        if record["state"] in GONE_STATES:
            ended = record["ended"] or {}
            return {"code": "stopped", "exit_code": None, "message": None, **ended, "final": True}
        kernel = next((entry for entry in record["kernels"] if entry["id"] == self.kernel_id), None)
        if kernel is None:
            return {"code": "stopped", "exit_code": None, "message": "The kernel was ended.", "final": True}
        if kernel["state"] != "dead":
            return None
        death: Mapping[str, Any] = next(
            (e for e in reversed(_history(record)) if e.get("event") == "died"), {}
        )
        return {"code": "crashed", "exit_code": None, "message": None, **death, "final": False}

    async def state(self) -> str | None:
        """The kernel's state as the session's record has it; None when there is no such kernel."""
        record = await self.service.get(self.session_id)
        return next((one.state for one in record.kernels if one.id == self.kernel_id), None)

    async def start(self, *, auto: bool) -> None:
        """Start the dead kernel again in its pod; what open clients send from now on goes to the new one."""
        self.relay.restore()
        control = await self.control()
        state = await control.start(auto=auto)
        if state.get("state") == "running":
            await control.restart()

    async def expect_shutdown(self) -> None:
        await (await self.control()).expect_shutdown()

    async def interrupt(self) -> None:
        await (await self.control()).interrupt()

    async def kill(self) -> None:
        """Kill the kernel process; its pod and device stay."""
        await (await self.control()).kill()

    async def release(self, *, wait: bool) -> None:
        """Give the kernel back; with ``wait`` until nothing of the session is left if it was the last."""
        try:
            record = await self.service.stop_kernel(self.session_id, self.kernel_id)
            if wait and record.state != "running":
                async with asyncio.timeout(ENDED_SECONDS):
                    await self.service.ended(self.session_id)
        except (NotFoundError, SessionEnded):
            pass
        except TimeoutError:
            log.warning("The session %s is still giving its device back", self.session_id)
        except DRAError as error:
            log.warning("The session %s could not be ended: %s", self.session_id, error)
        await self.close()

    async def close(self) -> None:
        """Remove the endpoints and stop following; the kernel goes on."""
        for end in self._ends:
            end()
        self._ends = []
        if self._following is not None and self._following is not asyncio.current_task():
            self._following.cancel()
        await self.relay.close()


def _history(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [entry for entry in record.get("history") or [] if isinstance(entry, dict)]
