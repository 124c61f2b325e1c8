"""``dra-provisioner``: what jupyter_client calls to start, watch and end a kernel in a session.

Order of calls and their traps follow jupyter_client/manager.py and provisioning/provisioner_base.py: a failed launch
gets no cleanup, restart is told only to ``cleanup``, and with a blocking manager nobody runs the caller's loop after
the start. All work therefore happens on the session service's own loop.
"""

from __future__ import annotations

import asyncio
import atexit
import difflib
import os
import signal
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning.provisioner_base import KernelProvisionerBase
from traitlets import Any as AnyTrait
from traitlets import Bool, Unicode, default

from ..claims import Requirement
from ..claims.sizes import parse_duration
from ..errors import DRAError, InputError, RefusedError, SessionEnded
from ..sessions.identity import data_folder
from ..sessions.ports import KernelChoice, KernelHandle
from .consent import Consents, NotebookFacts, read_notebook
from .held_kernel import HeldKernel
from .kernelspecs import SESSION_SPEC
from .surroundings import Surroundings, look_around, own_sessions

T = TypeVar("T")
WISHES = tuple(field.name for field in fields(Requirement) if field.init)
ALIVE_SECONDS = 15.0
EXIT_SECONDS = 15.0
PYTHON = ("", "python3", SESSION_SPEC)


@dataclass(frozen=True, slots=True)
class Again:
    """What an ended session of this kernel was asked for, in place of the notebook's and the kernelspec's wish."""

    wish: Mapping[str, Any]
    notebook: str | None


class KernelNotStarted(DRAError):
    """A start that was refused or failed; its text is what the front end shows."""

    def __init__(self, error: DRAError) -> None:
        text = error.message if error.next_step is None else f"{error.message} {error.next_step}"
        super().__init__(text, code=error.code, object=error.object, path=error.path, params=error.params)


def _wish(help: str) -> Any:
    return AnyTrait(None, allow_none=True, help=help)


class DRAProvisioner(KernelProvisionerBase):
    """A kernel on an allocated device.

    The kernelspec's ``metadata.kernel_provisioner.config`` holds requirement fields under their usual names, and
    ``context``, ``kubeconfig`` and ``wait_for_device``. Inside a server with our extension
    ``start_kernel(dra={"session_id": …})`` attaches to a session that is or becomes ready (``"kernel_id"`` names one of
    its kernels;
    default: the kernel manager's id).
    """

    tier = _wish("DeviceClass or tier name; empty means any GPU.")
    vram = _wish("Device memory at least.")
    max_vram = _wish("Device memory at most.")
    count = _wish("How many devices.")
    product = _wish("Product name or names.")
    architecture = _wish("Architecture name or names.")
    compute_capability = _wish("Condition, such as >=8.0.")
    driver_version = _wish("Condition, such as >=550.")
    where = _wish("CEL selectors.")
    near = _wish("Companion requirements.")
    align = _wish("Attribute that all devices share.")
    spread = _wish("Attribute that differs between devices.")
    or_else = _wish("Ordered alternatives.")
    share = _wish("How the device is shared.")
    tolerate = _wish("Device taints to accept.")
    claim = _wish("An existing claim, template/NAME, or a manifest.")
    kernel = _wish("Kernel inside the image.")
    image = _wish("Image of the kernel pod.")
    cpu = _wish("CPUs of the kernel pod.")
    host_memory = _wish("Memory of the kernel pod.")
    env = _wish("Environment of the kernel; kept in the pod's Secret.")
    namespace = _wish("Namespace of the session.")
    lease = _wish("How long the session may live.")
    idle_timeout = _wish("How long the session may idle.")
    name = _wish("Name of the session.")
    volumes = _wish("Volumes the administrator offers.")

    context = Unicode("", help="Kubeconfig context; 'local' is the local cluster.")
    kubeconfig = Unicode("", help="Kubeconfig file.")
    wait_for_device = Unicode("", help="How long to wait for a free device, such as 10m; empty: not at all.")
    keep_session = Bool(
        False, help="Leave the session alone at cleanup (a server that stops and keeps its kernels)."
    )

    @default("connection_info")
    def _no_connection(self) -> dict[str, Any]:
        return {}

    def __init__(self, **kwargs: Any) -> None:
        unknown = {name: kwargs.pop(name) for name in list(kwargs) if not self.has_trait(name)}
        super().__init__(**kwargs)
        self._unknown = tuple(unknown)
        self._optional = False
        self.connection_info = {}  # the base class shares one mapping between all instances
        self._held: HeldKernel | None = None
        self._service: Any = None
        self._own = False
        self._process = False
        self._asked_to_end = False
        self._crashed = False
        self._final: Mapping[str, Any] | None = None
        self._choice: dict[str, Any] = {}

    @property
    def _around(self) -> Surroundings:
        return look_around(self.parent)

    async def _on_loop(self, work: Coroutine[Any, Any, T]) -> T:
        result: T = await self._service.loop.wrap(work)
        return result

    # --- starting -------------------------------------------------------------------------------------------

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        """Keep what concerns us of the launch arguments; the server's environment is not forwarded (T17)."""
        env: Mapping[str, str] = kwargs.get("env") or {}
        cwd = kwargs.get("cwd")
        return {
            "cmd": list(self.kernel_spec.argv),
            "cwd": None if cwd is None else os.fspath(cwd),  # `jupyter execute` hands a Path
            "dra": kwargs.get("dra"),
            "session_name": env.get("JPY_SESSION_NAME"),
        }

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Start in a session, or again in the same pod; returns the relay's endpoints.

        Raises KernelNotStarted after having undone what was begun.
        """
        try:
            self._refuse_unknown()
            if self._held is not None and ((await self._ending()) or {}).get("final"):
                await self._start_anew(self._held, cmd, **kwargs)
            elif self._held is not None:
                await self._start_again(self._held)
            else:
                await self._start_first(cmd, **kwargs)
        except DRAError as error:
            if self._optional and error.code in ("busy", "impossible"):
                error.next_step = "This notebook can do without a device: choose the kernel Python 3."
            raise KernelNotStarted(error) from error
        self._process, self._asked_to_end, self._crashed = True, False, False
        return self.connection_info

    def _refuse_unknown(self) -> None:
        """A field of the kernelspec that nobody knows is no wish to be dropped silently: it meant something."""
        for name in self._unknown:
            near = difflib.get_close_matches(name, [*WISHES, "wait_for_device"], n=1)
            raise InputError(
                f"The kernelspec asks for {name[:60]!r}, which is no field of a requirement.",
                code="unknown-field",
                path=f"metadata.kernel_provisioner.config.{name[:60]}",
                next_step=f"Did you mean {near[0]}?" if near else f"Fields: {', '.join(WISHES)}.",
            )

    async def _start_again(self, held: HeldKernel) -> None:
        try:
            await self._on_loop(held.start(auto=self._crashed))
        except RefusedError as error:
            if error.code == "restart-limit":
                self._declare_dead()
            raise

    async def _start_anew(self, held: HeldKernel, cmd: list[str], **kwargs: Any) -> None:
        """A person restarts a kernel whose pod is gone: a new session with the same wish.

        No restarter comes here: it was told that the kernel is dead (`poll`).
        """
        again = await self._asked_before(held) if kwargs.pop("dra", None) else None
        self._held, self._final = None, None
        if self._service.loop.running:
            await self._on_loop(held.close())
        await self._leave_service()
        await self._start_first(cmd, again=again, **kwargs)
        self._moved(self.connection_info)

    async def _asked_before(self, held: HeldKernel) -> Again:
        """What the ended session was asked for; raises SessionEnded where that is not known in full any more."""
        record = (await self._service.get(held.session_id)).as_dict()
        wish = {name: value for name, value in record["requirement"].items() if value is not None}
        kernel: Mapping[str, Any] = next(
            (one for one in record["kernels"] if one["id"] == held.kernel_id), {}
        )
        if kernel.get("name", "") not in PYTHON or wish.get("env"):
            ended = record["ended"] or {}
            raise SessionEnded(
                ended.get("message") or "The session ended.",
                code=ended.get("code") or "stopped",
                next_step="Start it again in the panel GPU sessions.",
            )
        return Again(wish, kernel.get("notebook"))

    async def _start_first(self, cmd: list[str], *, again: Again | None = None, **kwargs: Any) -> None:
        attach = kwargs.get("dra") or {}
        service = self._around.sessions
        if attach and service is None:
            raise InputError(
                "There is no session service in this program to attach to.",
                code="session",
                next_step="Attach from JupyterLab, or with `jupyter dra attach`.",
            )
        self._own = service is None
        self._service = service or own_sessions(self.config, self.context or None, self.kubeconfig or None)
        begun: str | None = None
        try:
            if attach:
                session_id, kernel_id = (
                    str(attach["session_id"]),
                    str(attach.get("kernel_id") or self.kernel_id),
                )
            else:
                session_id, kernel_id = await self._begin(
                    cmd, kwargs.get("cwd"), kwargs.get("session_name"), again
                )
                begun = session_id
            if self._around.follow is not None:
                await self._around.follow(self._service, session_id)
            handle = await self._service.ready(session_id, kernel_id)
            self.connection_info = await self._hold(handle)
        except BaseException:
            await asyncio.shield(self._undo(begun))
            raise

    async def _begin(
        self, cmd: list[str], cwd: str | None, session_name: str | None, again: Again | None
    ) -> tuple[str, str]:
        """Launch a session of our own for this kernel; returns its id and the kernel's."""
        notebook = read_notebook(session_name) if session_name else None
        if self._around.server is not None and notebook is not None and again is None:
            await asyncio.to_thread(self._check_consent, notebook)
        env = {str(key): str(value) for key, value in (self.kernel_spec.env or {}).items()}
        if session_name:
            env["JPY_SESSION_NAME"] = session_name
        choice = KernelChoice(
            argv=tuple(cmd),
            env=env,
            name=getattr(self.parent, "kernel_name", None) or "python3",
            display_name=self.kernel_spec.display_name,
            interrupt_mode=self.kernel_spec.interrupt_mode,
        )
        wish = self.wish(notebook) if again is None else dict(again.wish)
        self._optional = notebook is not None and notebook.optional
        name = wish.pop("name", None) or (Path(session_name).stem if session_name else None)
        seconds = float(parse_duration(self.wait_for_device)) if self.wait_for_device else None
        shown = again.notebook if again is not None else None
        if notebook is not None and shown is None:
            shown = self._around.relative(session_name)
        record = await self._service.launch(
            wish, name=name, notebook=shown, kernel=choice, kernel_id=self.kernel_id, wait=seconds, cwd=cwd
        )
        if all(entry["id"] != self.kernel_id for entry in record.as_dict()["kernels"]):
            # The same notebook has a start under way: this kernel joins that session.
            await self._service.attach(
                record.id, kernel=choice, kernel_id=self.kernel_id, notebook=shown, cwd=cwd
            )
        return record.id, self.kernel_id

    def wish(self, notebook: NotebookFacts | None = None) -> dict[str, Any]:
        """Requirement fields: the notebook's own wish over the kernelspec's."""
        found = {name: getattr(self, name) for name in WISHES if getattr(self, name) is not None}
        if notebook is not None:
            found.update(notebook.wish)
        return found

    def _check_consent(self, notebook: NotebookFacts) -> None:
        Consents(data_folder(os.environ, Path.home())).check(
            notebook, getattr(self.parent, "kernel_name", "")
        )

    async def _hold(self, handle: KernelHandle) -> KernelConnectionInfo:
        loop = asyncio.get_running_loop()

        def moved(info: KernelConnectionInfo) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._moved, info)

        held = HeldKernel(self._service, handle, on_moved=moved)
        info = await self._on_loop(held.open())
        self._held = held
        if self._own:
            atexit.register(self._at_exit)
        return info

    async def _undo(self, begun: str | None) -> None:
        """A failed launch gets no cleanup call: end what we began, and leave no thread behind."""
        if begun is not None:
            try:
                await self._service.stop(begun)
                if self._own:
                    await asyncio.wait_for(self._service.ended(begun), 60)
            except (DRAError, TimeoutError) as error:
                self.log.debug("undoing the launch of %s: %s", begun, error)
        await self._leave_service()

    def _at_exit(self) -> None:
        """A program that does not shut its kernel down, such as jupyter console, gives the device back when it ends."""
        service, held = self._service, self._held
        if service is None or held is None or self.keep_session or not service.loop.running:
            return
        try:
            service.loop.call(held.release(wait=True), EXIT_SECONDS)
        except (DRAError, TimeoutError, RuntimeError) as error:
            self.log.warning("The device is not given back yet; its pod ends by itself: %s", error)
        service.close(keep=True)

    async def _leave_service(self) -> None:
        atexit.unregister(self._at_exit)
        service, self._service = self._service, None
        if self._own and service is not None:
            await service.aclose(keep=True)

    async def adopt(self, service: Any, handle: KernelHandle) -> KernelConnectionInfo:
        """Take over a kernel that already runs (re-attach after a server restart); returns the connection info."""
        self._service, self._own = service, False
        self.connection_info = await self._hold(handle)
        self._process = True
        return self.connection_info

    # --- watching -------------------------------------------------------------------------------------------

    @property
    def session_id(self) -> str | None:
        """The session this kernel runs in; None before the start and after the end."""
        return self._held.session_id if self._held is not None else None

    @property
    def has_process(self) -> bool:
        return self._process

    async def _ending(self) -> Mapping[str, Any] | None:
        if self._final is not None:
            return self._final
        if self._held is None or self._service is None or not self._service.loop.running:
            return {"final": True}
        try:
            return await self._on_loop(self._held.ending())
        except DRAError as error:
            self.log.debug("the state of the kernel is not known now: %s", error.message)
            return None  # a cluster out of reach is no dead kernel

    async def poll(self) -> int | None:
        """None while the kernel lives; its exit code (1 when unknown) afterwards.

        Answers from what the session service last heard of podside and pod; sends nothing.
        """
        if not self._process:
            return 0
        ending = await self._ending()
        if ending is None or ending.get("telling"):
            return None
        if ending.get("final") and self._final is None:
            self._final = ending
            if not self._asked_to_end and self._declare_dead():
                return None  # the restarter that asked has just been told; it must not try again
        self._crashed = not self._asked_to_end
        code = ending.get("exit_code")
        return code if isinstance(code, int) else 1

    def _moved(self, info: KernelConnectionInfo) -> None:
        """The kernel runs in another pod, with keys of its own: the manager takes them, and open pages connect anew.

        Pages do so because they are told of a restart (jupyter_server/services/kernels/connection/channels.py).
        """
        self.connection_info = info
        manager: Any = self.parent
        manager._reconcile_connection_info(info)
        if getattr(manager, "_activity_stream", None) is not None:
            kernels: Any = manager.parent
            kernels.stop_watching_activity(self.kernel_id)
            kernels.start_watching_activity(self.kernel_id)
            manager.execution_state = "starting"
        restarter = getattr(manager, "_restarter", None)
        if restarter is not None:
            restarter._fire_callbacks("restart")

    def _declare_dead(self) -> bool:
        """Tell the restarter's listeners that this kernel cannot come back; False where there is no restarter."""
        restarter = getattr(self.parent, "_restarter", None)
        if restarter is None:
            return False
        restarter.stop()
        restarter._fire_callbacks("dead")
        return True

    async def wait(self) -> int | None:
        """Wait until the kernel is dead."""
        code: int | None = 0
        for _ in range(int(ALIVE_SECONDS / 0.05)):
            ending = await self._ending() if self._process else {}
            if ending is not None:
                code = ending.get("exit_code") or 0
                break
            await asyncio.sleep(0.05)
        self._process = False
        return code

    # --- ending ---------------------------------------------------------------------------------------------

    async def _ask(self, what: str) -> None:
        """One request to podside; a kernel or session that is gone already is no error."""
        if self._held is None or self._service is None or not self._service.loop.running or self._final:
            return
        try:
            await self._on_loop(getattr(self._held, what)())
        except DRAError as error:
            self.log.debug("%s: %s", what, error.message)

    async def send_signal(self, signum: int) -> None:
        if signum == signal.SIGINT:
            await self._ask("interrupt")
        elif signum in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
            await self._ask("kill")

    async def shutdown_requested(self, restart: bool = False) -> None:
        """The kernel was asked by message to end: what follows is no crash."""
        self._asked_to_end = True
        await self._ask("expect_shutdown")

    async def kill(self, restart: bool = False) -> None:
        """End the kernel process; device and pod are given back by `cleanup` only."""
        if await self._ending() is None:
            self._asked_to_end = True
            await self._ask("kill")

    async def terminate(self, restart: bool = False) -> None:
        await self.kill(restart)

    async def cleanup(self, restart: bool = False) -> None:
        """After a final shutdown: give the device back; before a restart: keep everything."""
        if restart:
            if self._held is not None:
                self._held.relay.restore()
            return
        held, self._held = self._held, None
        service = self._service
        if held is None or service is None:
            return
        if not service.loop.running:
            held.relay.discard()  # the service was closed before us: its sessions ended, or are kept on purpose
            return
        if self.keep_session:
            await service.loop.wrap(held.close())
        else:
            await service.loop.wrap(held.release(wait=self._own))
        await self._leave_service()

    # --- facts ----------------------------------------------------------------------------------------------

    async def get_provisioner_info(self) -> dict[str, Any]:
        info: dict[str, Any] = await super().get_provisioner_info()
        if self._held is not None:
            info.update(session_id=self._held.session_id, session_kernel_id=self._held.kernel_id)
        return info

    def resolve_path(self, path: str) -> str | None:
        """Paths of the pod are not the server's."""
        return None
