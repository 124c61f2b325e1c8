"""Sessions' kernels inside this server's kernel manager: begun for the sidebar, attached to by kernel id."""

from __future__ import annotations

import asyncio
import logging
import os
import uuid
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from ..claims import Requirement
from ..errors import DRAError, NotFoundError
from ..kernels.kernelspecs import SESSION_SPEC

if TYPE_CHECKING:
    from jupyter_server.serverapp import ServerApp

    from ..sessions.handover import PodChange
    from ..sessions.ports import KernelChoice
    from ..sessions.service import Sessions

log = logging.getLogger(__name__)

FORGET_SECONDS = 15.0


class Attachments:
    """Launches that end as kernels of this server.

    A page must not use a kernel id before the kernel manager knows it: an unknown id would silently become a new local
    kernel (jupyter_server's session API). So a session reads ``starting`` until its kernel is here, and `on_attached`
    tells when it is.
    """

    def __init__(self, server: ServerApp, sessions: Sessions, on_attached: Callable[[str], None]) -> None:
        self._server = server
        self._sessions = sessions
        self._on_attached = on_attached
        self._expected: dict[str, str] = {}  # kernel id → session id, until the kernel manager has it
        self._tasks: set[asyncio.Task[None]] = set()
        self._forgetting: set[asyncio.Task[None]] = set()

    @property
    def _manager(self) -> Any:
        """The kernel manager, only partly typed in jupyter_server."""
        return self._server.kernel_manager

    @property
    def starting(self) -> bool:
        """Whether a launch is under way."""
        return bool(self._expected)

    @property
    def expected(self) -> dict[str, str]:
        """Kernels on their way: kernel id to session id (empty until it is known)."""
        return dict(self._expected)

    async def launch(
        self,
        requirement: Requirement,
        *,
        name: str | None,
        notebook: str | None,
        kernel: str | None,
        wait: float | None,
        key: str | None,
        force: bool,
    ) -> tuple[dict[str, Any], bool]:
        """Begin a session; answers with its record and whether it is a new one."""
        kernel_id = str(uuid.uuid4())
        self._expected[kernel_id] = ""
        try:
            record = await self._sessions.launch(
                requirement,
                name=name,
                notebook=notebook,
                kernel=self._choice(kernel),
                kernel_id=kernel_id,
                wait=wait,
                key=key,
                force=force,
                cwd=self._cwd(notebook),
            )
        except BaseException:
            self._expected.pop(kernel_id, None)
            raise
        created = any(one.id == kernel_id for one in record.kernels)
        if created:
            self._follow(record.id, kernel_id, notebook)
        else:
            self._expected.pop(kernel_id, None)
        return self.shown(record.as_dict()), created

    async def attach(self, session_id: str, *, kernel: str | None, notebook: str | None) -> dict[str, Any]:
        """Another kernel on a session's device."""
        kernel_id = str(uuid.uuid4())
        self._expected[kernel_id] = session_id
        try:
            record = await self._sessions.attach(
                session_id,
                kernel=self._choice(kernel),
                kernel_id=kernel_id,
                notebook=notebook,
                cwd=self._cwd(notebook),
            )
        except BaseException:
            self._expected.pop(kernel_id, None)
            raise
        # Who joins another user's session has a session of one's own for it.
        self._follow(record.id, kernel_id, notebook)
        return self.shown(record.as_dict())

    async def stop(self, session_id: str) -> dict[str, Any]:
        """Cancel or stop; the kernels of the session leave the kernel manager."""
        record = await self._sessions.stop(session_id)
        for one in record.kernels:
            self._spawn(self._forget_kernel(one.id), self._forgetting)
        return record.as_dict()

    async def stop_kernel(self, session_id: str, kernel_id: str) -> dict[str, Any]:
        """End one kernel of a session."""
        manager = self._manager
        if kernel_id in manager:
            await self._sessions.get(session_id)
            await manager.shutdown_kernel(kernel_id)
            return (await self._sessions.get(session_id)).as_dict()
        return (await self._sessions.stop_kernel(session_id, kernel_id)).as_dict()

    async def restart(self, session_id: str, kernel_id: str, change: PodChange) -> dict[str, Any]:
        """Restart in place, through the kernel manager where it holds the kernel, so that open pages notice.

        With a ``change`` the move to another pod is begun; the kernel's provisioner tells the pages when it is over.
        """
        record = await self._sessions.get(session_id)
        if all(one.id != kernel_id for one in record.kernels):
            raise NotFoundError(
                f"The session {session_id} has no kernel {kernel_id}.",
                code="not-found",
                next_step=f"Its kernels: `jupyter dra describe {session_id}`.",
            )
        manager = self._manager
        if change:
            await self._sessions.restart_kernel(session_id, kernel_id, change=change, wait=False)
        elif kernel_id in manager:
            await manager.restart_kernel(kernel_id)
        else:
            record = await self._sessions.restart_kernel(session_id, kernel_id)
        return self.shown((await self._sessions.get(session_id)).as_dict())

    def shown(self, record: dict[str, Any]) -> dict[str, Any]:
        """A session as the page may see it: ``starting`` until its kernel is in the kernel manager."""
        expected = [one for one in record["kernels"] if one["id"] in self._expected]
        if record["state"] == "running" and expected and len(expected) == len(record["kernels"]):
            record = {**record, "state": "starting", "ready_at": None}
        if expected:
            waiting = {one["id"] for one in expected}
            kernels = [
                {**one, "state": "starting"} if one["id"] in waiting else one for one in record["kernels"]
            ]
            record = {**record, "kernels": kernels}
        return record

    def seen(self, event: dict[str, Any]) -> dict[str, Any]:
        """A session's event as the page may see it."""
        pending = event["id"] in self._expected.values()
        return {**event, "state": "starting"} if pending and event["state"] == "running" else event

    def forget(self, session_id: str) -> None:
        """A session ended: nothing of it is expected any more."""
        for kernel_id in [one for one, owner in self._expected.items() if owner == session_id]:
            self._expected.pop(kernel_id, None)

    async def close(self) -> None:
        """Stop waiting for launches; kernels that are just leaving leave first.

        jupyter_server cannot end while a kernel's shutdown is half done (multikernelmanager.py, ``ready``).
        """
        if self._forgetting:
            await asyncio.wait(self._forgetting, timeout=FORGET_SECONDS)
        tasks = [*self._tasks, *self._forgetting]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _follow(self, session_id: str, kernel_id: str, notebook: str | None) -> None:
        self._expected[kernel_id] = session_id
        self._spawn(self._bring_in(session_id, kernel_id, notebook))

    async def _bring_in(self, session_id: str, kernel_id: str, notebook: str | None) -> None:
        """Wait for the kernel, then give it to the kernel manager under its id."""
        try:
            await self._sessions.ready(session_id, kernel_id)
            await self._manager.start_kernel(
                kernel_name=SESSION_SPEC,
                kernel_id=kernel_id,
                path=os.path.dirname(notebook) if notebook else "",
                dra={"session_id": session_id, "kernel_id": kernel_id},
            )
        except DRAError as error:
            # The session's own record says why it ended; there is nothing to add here.
            log.info("The kernel of session %s did not come: %s", session_id, error.code)
        except Exception:
            log.exception("The kernel of session %s could not be attached", session_id)
            await self._sessions.stop(session_id, code="crashed")
        finally:
            self._expected.pop(kernel_id, None)
        self._on_attached(session_id)

    async def _forget_kernel(self, kernel_id: str) -> None:
        manager = self._manager
        if kernel_id in manager:
            await manager.shutdown_kernel(kernel_id, now=True)

    def _spawn(self, work: Coroutine[Any, Any, None], among: set[asyncio.Task[None]] | None = None) -> None:
        tasks = self._tasks if among is None else among
        task = asyncio.get_running_loop().create_task(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    def _choice(self, name: str | None) -> KernelChoice | None:
        """The kernel to run in the pod: one of this server's own kernelspecs by name, without its environment."""
        if name is None or name == SESSION_SPEC:
            return None
        from ..sessions.ports import KernelChoice

        try:
            specs = self._server.kernel_spec_manager
            assert specs is not None
            spec = specs.get_kernel_spec(name)
        except KeyError as error:
            raise NotFoundError(
                f"There is no kernel {name[:60]!r}.",
                code="unknown-kernel",
                path="kernel",
                next_step="Leave kernel out.",
            ) from error
        argv = tuple("python" if _is_python(word) else word for word in spec.argv)
        return KernelChoice(argv=argv, name=name, display_name=spec.display_name, interrupt_mode="message")

    def _cwd(self, notebook: str | None) -> str:
        """The folder of the notebook on this machine; it counts in the local cluster only."""
        root = os.path.realpath(self._server.root_dir)
        folder = os.path.realpath(os.path.join(root, os.path.dirname(notebook or "")))
        return folder if folder == root or folder.startswith(root + os.sep) else root


def _is_python(word: str) -> bool:
    """This machine's interpreter in a kernelspec becomes the image's own ``python``."""
    name = os.path.basename(word)
    return os.path.isabs(word) and name.rstrip("0123456789.") in ("python", "pypy")
