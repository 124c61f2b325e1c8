"""Keeps the ledger true while the server runs, and has kernels of an earlier server brought back at its start."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..kernels.kernelspecs import SESSION_SPEC
from .catchup import open_pages
from .ledger import Entry, Ledger

if TYPE_CHECKING:
    from jupyter_server.serverapp import ServerApp

    from .reattach import Reattachment

log = logging.getLogger(__name__)

PAUSE = 0.3
"""Seconds in which changes are gathered before the ledger is written."""
_HEARD = (
    "https://events.jupyter.org/jupyter_server/kernel_actions/v1",
    "https://events.jupyter.org/jupyter_server/contents_service/v1",
)


class Keeping:
    """The ledger of one server.

    Args:
        expected: kernels whose launch is under way (kernel id to session id).
    """

    def __init__(self, server: ServerApp, ledger: Ledger, expected: Callable[[], dict[str, str]]) -> None:
        self._server, self._ledger, self._expected = server, ledger, expected
        self._timer: asyncio.TimerHandle | None = None
        self._work: set[asyncio.Task[None]] = set()
        self._back: Reattachment | None = None
        self._closed = False

    def listen(self) -> None:
        """Follow kernels and documents by Jupyter's own events."""

        async def heard(logger: Any, schema_id: str, data: dict[str, Any]) -> None:
            self.soon()

        logger = self._server.event_logger
        assert logger is not None
        for schema in _HEARD:
            if schema in logger.schemas.schema_ids:
                logger.add_listener(schema_id=schema, listener=heard)

    def bring_back(self, reattachment: Reattachment) -> None:
        """Begin to bring kernels of an earlier server back."""
        self._back = reattachment
        self._spawn(self._bring_back(reattachment))

    async def _bring_back(self, reattachment: Reattachment) -> None:
        await reattachment.run()
        self._back = None
        self.soon()

    def soon(self) -> None:
        """Something of ours may have changed."""
        if self._timer is None and not self._closed:
            self._timer = asyncio.get_running_loop().call_later(PAUSE, self._now)

    def _now(self) -> None:
        self._timer = None
        self._spawn(self.write())

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    async def write(self) -> None:
        """Write what the kernel manager holds now."""
        if self._closed:
            return
        entries = await self._entries()
        if not self._closed:
            self._note(entries)

    def _note(self, entries: list[Entry]) -> None:
        """Write these; a full disk keeps nobody from working, nor a server from stopping in order."""
        try:
            self._ledger.write(entries)
        except OSError as error:
            log.warning("The record of this server's kernels cannot be written: %s", error)

    async def _entries(self) -> list[Entry]:
        from ..kernels.provisioner import DRAProvisioner

        manager: Any = self._server.kernel_manager
        found = {
            kernel: Entry(kernel, session, SESSION_SPEC)
            for kernel, session in self._expected().items()
            if session
        }
        for kernel in manager.list_kernel_ids():
            provisioner = manager.get_kernel(kernel).provisioner
            if isinstance(provisioner, DRAProvisioner):
                session = (await provisioner.get_provisioner_info()).get("session_id")
                if session:
                    found[kernel] = Entry(kernel, session, manager.get_kernel(kernel).kernel_name)
        waiting = self._back.waiting if self._back is not None else {}
        pages: list[dict[str, Any]] = []
        if found and not waiting:
            sessions: Any = self._server.session_manager
            pages = await sessions.list_sessions()
        for page in pages:
            entry = found.get(page["kernel"]["id"])
            if entry is not None and entry.page is None:
                found[entry.kernel] = Entry(
                    entry.kernel,
                    entry.session,
                    entry.kernel_name,
                    page["id"],
                    page["path"],
                    page["name"],
                    page["type"],
                )
        clients = open_pages(manager, self._server.kernel_websocket_connection_class)
        found = {name: replace(entry, client=clients.get(name)) for name, entry in found.items()}
        return list({**waiting, **found}.values())

    async def close(self, *, keep: bool) -> None:
        """Stop; with ``keep`` the next server finds these kernels, else only those that were not back yet."""
        left = list(self._back.waiting.values()) if self._back is not None else []
        if keep:
            await self.write()
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)
        if not keep:
            self._note(left)
        self._ledger.close(keep=keep or bool(left))
