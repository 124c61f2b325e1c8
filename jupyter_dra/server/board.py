"""What this server knows of its cluster and may do there, for the handlers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ..errors import ClusterError, ConflictError, DRAError, InputError
from .localcluster import LocalCluster

if TYPE_CHECKING:
    from jupyter_server.serverapp import ServerApp

    from ..planner import DevicePicture, Inventory
    from ..sessions.ports import SessionEvent
    from ..sessions.service import Sessions
    from .activity import ActivityNote
    from .app import DRAExtension
    from .attachments import Attachments
    from .keeping import Keeping

log = logging.getLogger(__name__)

EVENTS = "https://events.jupyter-dra.dev/"
_INVENTORY_PAUSE = 0.2
_STATES = {
    "no-cluster": "no-cluster",
    "unreachable": "unreachable",
    "unauthorized": "unreachable",
    "forbidden": "forbidden",
    "too-old": "too-old",
}


def _choices(current: str | None) -> list[dict[str, Any]]:
    """The clusters one may talk to, and which it is; raises DRAError for kubeconfig files that cannot be read."""
    from ..cluster import contexts

    return [{**row, "current": row["name"] == current} for row in contexts()]


class Board:
    """One server's view of one cluster.

    Nothing is imported or connected before the first question that needs it. Changing the cluster closes the old
    connection; sessions on it go on until their lease or idle limit.
    """

    def __init__(self, app: DRAExtension, server: ServerApp) -> None:
        self._app = app
        self._server = server
        self._sessions: Sessions | None = None
        self._attachments: Attachments | None = None
        self._context = app.context or None
        self._ends: list[Callable[[], None]] = []
        self._told: tuple[str | None, ...] = ()
        self._started_at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._pending: set[str] = set()
        self._flush: asyncio.TimerHandle | None = None
        self._inventory_followed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._keeping: Keeping | None = None
        self._activity: ActivityNote | None = None
        self._picture: tuple[Inventory, DevicePicture] | None = None
        self._local = LocalCluster()

    # Parts, made on first use

    @property
    def sessions(self) -> Sessions:
        """The session service of the current cluster."""
        if self._sessions is None:
            from ..sessions.identity import load_identity
            from ..sessions.opening import Where
            from ..sessions.policy import SessionPolicy, VolumeOffer
            from ..sessions.service import Sessions

            self._loop = asyncio.get_running_loop()
            values = self._app.policy_values()
            volumes = {name: VolumeOffer(**offer) for name, offer in self._app.volumes.items()}
            self._sessions = Sessions(
                Where(
                    context=self._context,
                    kubeconfig=self._app.kubeconfig or None,
                    namespace=self._app.namespace or None,
                ),
                identity=load_identity(user=self._app.user or None),
                policy=SessionPolicy(**values, volumes=volumes, tiers=self.admin_tiers),
            )
            self._ends.append(self._sessions.subscribe(self._session_changed))
            self._follow_kernels()
            self._note_activity()
        return self._sessions

    @property
    def attachments(self) -> Attachments:
        """Kernels of sessions inside this server's kernel manager."""
        if self._attachments is None:
            from .attachments import Attachments

            self._attachments = Attachments(self._server, self.sessions, self._kernel_attached)
        return self._attachments

    @property
    def admin_tiers(self) -> tuple[dict[str, Any], ...]:
        """The admin's own tiers, as configured."""
        return tuple(self._app.tiers)

    def picture_of(self, inventory: Inventory) -> DevicePicture:
        """The devices in rows, brought up to date; called only where the inventory is, in the questions of `ask`."""
        if self._picture is None or self._picture[0] is not inventory:
            from ..planner import DevicePicture

            # No two pictures of one page may share a revision: the clock tells them apart.
            self._picture = inventory, DevicePicture(int(time.time() * 1000))
        _, picture = self._picture
        picture.update(inventory, self.admin_tiers)
        return picture

    @property
    def plan_budget_ms(self) -> float:
        """How long a plan may search."""
        return float(self._app.plan_budget) * 1000

    # Kernels across servers

    def start(self) -> None:
        """Called when the server runs: kernels that outlived an earlier server of this user come back.

        Without a record of such kernels nothing is imported or connected.
        """
        from .ledger import ledger_of_this_user

        ledger = ledger_of_this_user()
        try:
            if ledger.used:
                from ..kernels import folders

                folders.sweep(folders.place_of())
            entries = ledger.take_over()
        except OSError as error:
            log.warning("Kernels of an earlier server cannot be looked up: %s", error)
            return
        if not entries:
            return
        from ..sessions.identity import load_identity
        from .keeping import Keeping
        from .reattach import Reattachment

        self._keeping = Keeping(self._server, ledger, self._expected)
        self._keeping.listen()
        self._keeping.bring_back(
            Reattachment(
                self._server,
                self.sessions,
                entries,
                server_id=load_identity(user=self._app.user or None).server,
                changed=self._kernel_attached,
            )
        )

    def _follow_kernels(self) -> None:
        from .offline import bound_buffers

        bound_buffers(self._server.kernel_manager, self._is_ours)
        if self._keeping is None:
            from .keeping import Keeping
            from .ledger import ledger_of_this_user

            self._keeping = Keeping(self._server, ledger_of_this_user(), self._expected)
            self._keeping.listen()

    def _note_activity(self) -> None:
        from .activity import ActivityNote

        if self._activity is None:
            settings = self._server.web_app.settings
            self._activity = ActivityNote(
                settings, lambda: self._sessions is not None and self._sessions.busy
            )
        self._activity.start()

    def _is_ours(self, kernel_id: str) -> bool:
        """Whether a kernel of this server runs on a session."""
        from ..kernels.provisioner import DRAProvisioner

        manager: Any = self._server.kernel_manager
        return isinstance(manager.get_kernel(kernel_id).provisioner, DRAProvisioner)

    def _expected(self) -> dict[str, str]:
        return self._attachments.expected if self._attachments is not None else {}

    # The cluster

    async def status(self) -> dict[str, Any]:
        """The Status document; never raises for a cluster that is absent, unreachable, old or closed to us."""
        from .offers import offers_of

        state, message, next_step = "ready", None, None
        params: dict[str, Any] = {}
        about: dict[str, Any] = {"cluster": None, "namespace": None, "server_version": None, "as_of": None}
        rights: dict[str, bool] = {}
        simulated = False
        revision, current = None, self._context
        local = asyncio.ensure_future(self._local.status(seldom=self._told[:1] == ("ready",)))
        try:
            about = await self.sessions.context()
            current = (await self.sessions.open()).context
            rights = await self.sessions.rights()
            state, simulated, params = await self._inventory_state(rights)
            revision, _ = await self.revision()
        except DRAError as error:
            state = _STATES.get(error.code, "unreachable")
            message, next_step, params = error.message, error.next_step, dict(error.params)
        try:
            known = _choices(current)
        except DRAError as error:
            known, message = [], message or error.message
        self._tell_state(state, about)
        return {
            "kind": "Status",
            "version": 1,
            "state": state,
            "message": message,
            "next": next_step,
            "params": params,
            **about,
            "started_at": self._started_at,
            "revision": revision,
            "contexts": known,
            "rights": rights,
            "local_cluster": await local,
            "simulated": simulated,
            "offers": offers_of(self._app),
        }

    async def _inventory_state(self, rights: dict[str, bool]) -> tuple[str, bool, dict[str, Any]]:
        """State, whether all devices are simulated, and of drivers that list none which and on how many nodes."""
        if not rights.get("read_slices", True):
            return "forbidden", False, {}

        def look(inventory: Inventory) -> tuple[str, bool, dict[str, Any]]:
            if inventory.total:
                return "ready", inventory.all_simulated, {}
            empty = list(inventory.state.current())
            driver = empty[0].driver if empty else None
            nodes = len({slice.pool for slice in empty if slice.driver == driver})
            return "no-devices", False, {"driver": driver, "nodes": nodes} if driver else {}

        found: tuple[str, bool, dict[str, Any]] = await self.ask(look)
        return found

    async def contexts(self) -> dict[str, Any]:
        """The ContextList document."""
        current = self._context
        with contextlib.suppress(ClusterError):
            current = (await self.sessions.open()).context
        return {"kind": "ContextList", "version": 1, "current": current, "contexts": _choices(current)}

    async def use_context(self, name: str) -> dict[str, Any]:
        """Talk to another of the listed clusters; answers with the new Status."""
        known = [row["name"] for row in _choices(None)]
        if name not in known:
            raise InputError(
                f"There is no context {name[:60]!r}.",
                code="unknown-context",
                path="name",
                next_step=f"Known: {', '.join(known) or 'none'}.",
            )
        await self._drop_sessions(keep=True)
        self._context = name
        return await self.status()

    async def start_local(self, devices: list[str]) -> dict[str, Any]:
        """Start the local cluster as a process of its own and use it; answers with the new Status."""
        await self._local.start(devices, workdir=str(self._server.root_dir))
        await self._drop_sessions(keep=True)
        self._context = "local"
        return await self.status()

    # The inventory

    async def ask(self, question: Callable[[Any], Any]) -> Any:
        """Ask the current inventory; runs where the inventory lives, never on a loop."""
        feed = await self.sessions.inventory()
        if not self._inventory_followed:
            self._inventory_followed = True
            self._ends.append(feed.subscribe(self._inventory_changed))
        answer: Awaitable[Any] = self.sessions.loop.wrap(feed.ask(question))
        return await answer

    async def add_neighbours(self, sessions: list[dict[str, Any]]) -> None:
        """Say of the devices of running sessions who else is on their cards, where the inventory knows."""
        devices = [
            device for session in sessions if session["state"] == "running" for device in session["devices"]
        ]
        places = {(device["driver"], device["pool"], device["device"]) for device in devices}
        if not places:
            return
        from ..planner.neighbours import neighbours

        try:
            found = await self.ask(lambda inventory: neighbours(inventory, places))
        except DRAError as error:
            log.info("Who else is on a card is not known: %s", error)
            return
        for device in devices:
            device["neighbours"] = found.get((device["driver"], device["pool"], device["device"]))

    async def revision(self) -> tuple[int, dict[str, Any]]:
        """The inventory's revision and what is visible of it."""
        feed = await self.sessions.inventory()
        return feed.revision, dict(feed.visibility)

    # Events

    def emit(self, schema: str, data: dict[str, Any]) -> None:
        """One event on Jupyter's bus, from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._emit, schema, data)

    def _emit(self, schema: str, data: dict[str, Any]) -> None:
        logger = self._server.event_logger
        assert logger is not None
        logger.emit(schema_id=f"{EVENTS}{schema}/v1", data=data)

    def _session_changed(self, event: SessionEvent) -> None:
        """On the background loop: pass a session's change on; a finished launch first waits for its kernel here."""
        data = event.as_dict()
        if self._loop is None or self._loop.is_closed():
            return
        self._loop.call_soon_threadsafe(self._session_changed_here, data)

    def _session_changed_here(self, data: dict[str, Any]) -> None:
        if self._attachments is not None:
            data = self._attachments.seen(data)
            if data["change"] == "ended":
                self._attachments.forget(data["id"])
        if self._keeping is not None:
            self._keeping.soon()
        self._emit("session", data)

    def _kernel_attached(self, session_id: str) -> None:
        """Called when a kernel of a session is in the kernel manager: now the page may use it."""
        if self._keeping is not None:
            self._keeping.soon()
        self._emit(
            "session",
            {
                "id": session_id,
                "revision": 0,
                "change": "kernels",
                "state": "running",
                "step": {"code": "connected", "state": "done"},
                "code": None,
            },
        )

    def _inventory_changed(self, data: dict[str, Any]) -> None:
        """On the background loop: gather changes, tell at most five times a second."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._inventory_changed_here, data)

    def _inventory_changed_here(self, data: dict[str, Any]) -> None:
        self._pending.update(data["changed"])
        self._revision = data["revision"]
        if self._flush is None and self._loop is not None:
            self._flush = self._loop.call_later(_INVENTORY_PAUSE, self._flush_inventory)

    def _flush_inventory(self) -> None:
        self._flush = None
        changed, self._pending = sorted(self._pending), set()
        self._emit("inventory", {"revision": self._revision, "changed": changed, "reset": False})

    def _tell_state(self, state: str, about: dict[str, Any]) -> None:
        told = (state, about["cluster"], about["namespace"])
        if told != self._told:
            self._told = told
            self._emit("status", {"state": state, "as_of": about["as_of"]})

    # The end

    async def close(self) -> None:
        """Cancel launches, end or keep sessions as configured, close connections."""
        if self._flush is not None:
            self._flush.cancel()
        if self._activity is not None:
            self._activity.stop()
        if self._keeping is not None:
            await self._keeping.close(keep=self._app.keep_on_stop)
        await self._drop_sessions(keep=None)

    async def _drop_sessions(self, *, keep: bool | None) -> None:
        sessions, self._sessions = self._sessions, None
        if self._attachments is not None:
            await self._attachments.close()
            self._attachments = None
        for end in self._ends:
            end()
        self._ends.clear()
        self._inventory_followed = False
        self._picture = None
        if sessions is not None:
            await sessions.aclose(keep=keep)

    def require_idle(self) -> None:
        """Raise unless nothing of this server starts right now; before the cluster is changed."""
        if self._attachments is not None and self._attachments.starting:
            raise ConflictError(
                "A session is starting.", code="in-use", next_step="Cancel it, or wait until it is ready."
            )
