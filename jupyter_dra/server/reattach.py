"""Kernels that outlived their Jupyter server, brought back under their own ids.

The only module that touches private attributes of jupyter_client's and jupyter_server's kernel managers
(jupyter_client/multikernelmanager.py, jupyter_server/services/kernels/kernelmanager.py): neither can take over a kernel
that runs already. Nothing is restarted and nothing is sent to the kernel.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any

from ..errors import ClusterError, ConflictError, DRAError, NotFoundError, one_line
from ..kernels.kernelspecs import SESSION_SPEC
from .catchup import catch_up
from .ledger import Entry

if TYPE_CHECKING:
    from jupyter_server.serverapp import ServerApp

    from ..sessions.ports import KernelHandle
    from ..sessions.service import Sessions

log = logging.getLogger(__name__)

_NEW_SESSION = "Start a new session; the notebook keeps its cells."

PAUSES = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
"""Seconds between tries while the cluster is out of reach; the last one again and again."""
PAGES_WAIT = 15.0
"""Seconds a page's question for its sessions may wait for us; else it would conclude that its kernel is gone."""


class Reattachment:
    """Brings the kernels of `entries` back; `waiting` holds those that are not back and not known to be gone.

    Args:
        server_id: this server's identity; sessions of another one are left alone.
        changed: called when kernels came back.
    """

    def __init__(
        self,
        server: ServerApp,
        sessions: Sessions,
        entries: list[Entry],
        *,
        server_id: str,
        changed: Callable[[str], None],
    ) -> None:
        self._server, self._sessions, self._server_id = server, sessions, server_id
        self._changed = changed
        self._tried = asyncio.Event()
        self.back = 0
        self.waiting = {entry.kernel: entry for entry in entries}

    async def run(self) -> None:
        """Until every kernel is back or known to be gone; never raises."""
        restore = self._hold_pages()
        began, wanted = time.monotonic(), len(self.waiting)
        try:
            for attempt in count():
                await asyncio.gather(
                    *(self._session(name) for name in {e.session for e in self.waiting.values()})
                )
                restore()
                self._tried.set()
                seconds = time.monotonic() - began
                log.info(
                    "Of %d kernels of an earlier server %d are back after %.2f s", wanted, self.back, seconds
                )
                if not self.waiting:
                    return
                await asyncio.sleep(PAUSES[min(attempt, len(PAUSES) - 1)])
        finally:
            restore()
            self._tried.set()

    def _hold_pages(self) -> Callable[[], None]:
        """Let questions for the list of sessions wait until the first try is over; returns what ends that."""
        manager: Any = self._server.session_manager
        listing, exists = manager.list_sessions, manager.session_exists

        async def wait() -> None:
            try:
                await asyncio.wait_for(self._tried.wait(), PAGES_WAIT)
            except TimeoutError:
                log.warning("Kernels of an earlier server are not back yet; pages are answered without them.")

        async def list_sessions() -> Any:
            await wait()
            return await listing()

        async def session_exists(path: str) -> Any:
            await wait()
            return await exists(path)

        manager.list_sessions, manager.session_exists = list_sessions, session_exists

        def restore() -> None:
            for name in ("list_sessions", "session_exists"):
                vars(manager).pop(name, None)

        return restore

    async def _session(self, session_id: str) -> None:
        """One try for the kernels of one session."""
        entries = [entry for entry in self.waiting.values() if entry.session == session_id]
        try:
            record = (await self._sessions.get(session_id)).as_dict()
            if record["server"] != self._server_id:
                raise NotFoundError(f"The session {session_id} is another server's.", next_step=_NEW_SESSION)
            if record["state"] in ("waiting", "starting"):
                return
            if record["state"] != "running":
                raise NotFoundError(f"The session {session_id} is {record['state']}.", next_step=_NEW_SESSION)
            handles = {handle.kernel_id: handle for handle in await self._sessions.reattach(session_id)}
        except ClusterError as error:
            log.info("Kernels of session %s wait for the cluster: %s", session_id, error.code)
            return
        except (NotFoundError, ConflictError) as error:
            if error.code == "attached":
                log.info("Kernels of session %s wait until another server lets go of them", session_id)
                return
            log.info("Kernels of session %s are not taken over: %s", session_id, error)
            self._drop(entries)
            return
        except DRAError as error:
            log.info("The session %s ended: %s", session_id, error)
            self._drop(entries)
            return
        except Exception:
            log.exception("Kernels of session %s could not be taken over", session_id)
            self._drop(entries)
            return
        for entry in entries:
            if entry.kernel in handles:
                await self._kernel(entry, handles[entry.kernel])
        self._drop(entries)
        self._changed(session_id)

    def _drop(self, entries: list[Entry]) -> None:
        for entry in entries:
            self.waiting.pop(entry.kernel, None)

    async def _kernel(self, entry: Entry, handle: KernelHandle) -> None:
        manager: Any = self._server.kernel_manager
        if entry.kernel in manager:
            return
        try:
            await _into_manager(manager, self._sessions, entry, handle)
            if handle.control.busy:
                _let_pages_in(manager.get_kernel(entry.kernel))
            self.back += 1
            await self._page(entry)
            await self._catch_up(entry, handle)
        except Exception:
            log.exception("The kernel %s could not be brought back", entry.kernel)

    async def _catch_up(self, entry: Entry, handle: KernelHandle) -> None:
        """What the kernel published meanwhile is for the page that was open; the history says what became of it."""
        if entry.client is None:
            return
        try:
            kept = await catch_up(self._server.kernel_manager, handle, entry.client, self._sessions.loop.wrap)
        except ClusterError as error:
            log.info("Output of kernel %s from the time without a server is lost: %s", entry.kernel, error)
            return
        await self._sessions.note_output(
            entry.session, entry.kernel, messages=len(kept.messages), dropped=kept.dropped_messages
        )

    async def _page(self, entry: Entry) -> None:
        """The document's Jupyter session, under the id an open page knows."""
        manager: Any = self._server.session_manager
        if not entry.path:
            return
        row = await manager.save_session(
            entry.page or manager.new_session_id(),
            path=entry.path,
            name=entry.title or entry.path.rpartition("/")[2],
            type=entry.type or "notebook",
            kernel_id=entry.kernel,
        )
        log.info("Kernel %s is back for %s", entry.kernel, one_line(row["path"]))


async def _into_manager(manager: Any, sessions: Sessions, entry: Entry, handle: KernelHandle) -> None:
    """Make the kernel manager hold a running kernel, as if it had started it."""
    from jupyter_client.provisioning.factory import KernelProvisionerFactory
    from jupyter_server._tz import utcnow
    from jupyter_server.prometheus.metrics import KERNEL_CURRENTLY_RUNNING_TOTAL

    from ..kernels.provisioner import DRAProvisioner

    kernel_id, name = entry.kernel, _kernel_name(manager, entry.kernel_name)
    km, _, _ = manager.pre_start_kernel(name, {"kernel_id": kernel_id})
    km.kernel_id = kernel_id
    factory = KernelProvisionerFactory.instance(parent=manager)
    provisioner = factory.create_provisioner_instance(kernel_id, km.kernel_spec, parent=km)
    assert isinstance(provisioner, DRAProvisioner)
    km.provisioner = provisioner
    info = await provisioner.adopt(sessions, handle)
    if hasattr(km, "transport_encryption"):
        km.transport_encryption = manager.transport_encryption
    km.load_connection_info(info)
    km.write_connection_file()
    km._launch_args = {"dra": {"session_id": entry.session, "kernel_id": kernel_id}}
    km._attempted_start = True
    km.ready.set_result(None)
    km.execution_state, km.reason, km.last_activity = "idle", "", utcnow()  # a listing may come any moment
    manager._kernels[kernel_id] = km
    manager._kernel_connections[kernel_id] = 0
    await manager._finish_kernel_start(kernel_id)
    km.start_restarter()
    km._connect_control_socket()
    KERNEL_CURRENTLY_RUNNING_TOTAL.labels(type=km.kernel_name).inc()
    if not manager._initialized_culler:
        manager.initialize_culler()


def _let_pages_in(km: Any) -> None:
    """A kernel that runs a cell answers no questions; a page would wait a minute for its protocol version."""
    km.execution_state = "busy"
    km._kernel_info_future = asyncio.get_running_loop().create_future()
    km._kernel_info_future.set_result({})


def _kernel_name(manager: Any, name: str) -> str:
    """The kernelspec the kernel was started from; ours where that one is gone or means something else now."""
    try:
        stanza = manager.kernel_spec_manager.get_kernel_spec(name).metadata.get("kernel_provisioner") or {}
    except KeyError:
        return SESSION_SPEC
    return name if stanza.get("provisioner_name") == "dra-provisioner" else SESSION_SPEC
