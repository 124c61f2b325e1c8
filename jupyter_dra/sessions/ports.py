"""What the session service offers to surfaces, and what it asks of the code that speaks to a kernel pod.

Surfaces (server, CLI, magics, widgets, kernel provisioner) depend on `SessionService` and on the plain values here.
The kernels package implements `PodRuntime` and `Control`; the session service only knows these protocols.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from ..claims import Requirement

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True, slots=True)
class KernelChoice:
    """Which kernel runs in the pod: command line, the user's own environment, and the name people see.

    ``argv`` may contain ``{connection_file}``; podside fills it in. ``env`` goes into the pod's Secret, never
    into the pod specification.
    """

    argv: tuple[str, ...] = ("python", "-m", "ipykernel_launcher", "-f", "{connection_file}")
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    name: str = "python3"
    display_name: str = "Python 3"
    interrupt_mode: str = "message"


@dataclass(frozen=True, slots=True)
class PodMaterials:
    """Everything a kernel pod needs from us, made before the pod exists.

    Attributes:
        secret_data: file name to content; mounted read-only at ``/jupyter-dra/podside``.
        private_data: kept in the same Secret, never mounted: what a restarted server needs to connect again.
        command: the container's command.
        port: the one port podside listens on.
        credentials: opaque to sessions; handed to `PodRuntime.connect`.
    """

    secret_data: Mapping[str, bytes] = field(repr=False)
    command: tuple[str, ...]
    port: int
    credentials: object = field(repr=False)
    private_data: Mapping[str, bytes] = field(default_factory=dict, repr=False)


class Target(Protocol):
    """A kernel pod one can dial; bound to the pod's uid, so a successor under the same name is never reached."""

    @property
    def pod_uid(self) -> str: ...

    @property
    def transport(self) -> str:
        """``direct`` or ``port-forward``."""
        ...

    async def open(self) -> Streams:
        """Open one byte stream to podside's port (no TLS yet); raises ClusterError when it cannot."""
        ...


@dataclass(frozen=True, slots=True)
class KernelEvent:
    """Something podside told us.

    ``kind`` is started, ready, died, idle, busy, usage, lease, ending or closed.
    """

    kind: str
    params: Mapping[str, Any] = field(default_factory=dict)


class Control(Protocol):
    """The control connection to one podside; every method raises ClusterError when the connection is lost."""

    @property
    def events(self) -> AsyncIterator[KernelEvent]:
        """Events as they come; ends when the connection closes. Read by the session service only."""
        ...

    @property
    def others(self) -> int:
        """How many other programs had a living connection to podside when this one was made."""
        ...

    @property
    def busy(self) -> bool:
        """Whether the kernel ran something when this connection was made."""
        ...

    @property
    def held(self) -> bool:
        """Whether podside holds its kernel back until `start`, as far as it told."""
        ...

    async def start(self) -> Mapping[str, Any]:
        """Start the kernel (podside holds it until now); answers with its facts (pid, started_at)."""
        ...

    async def restart(self) -> Mapping[str, Any]: ...

    async def interrupt(self) -> None: ...

    async def facts(self, update: Mapping[str, Any]) -> None:
        """Merge ``update`` into the session.json that the kernel can read."""
        ...

    async def usage(self) -> Mapping[str, Any] | None: ...

    async def lease(self, *, ends_at: float | None = None, idle_seconds: float | None = None) -> None:
        """Set when podside ends the pod by itself: ``ends_at`` in epoch seconds, ``idle_seconds`` of no activity."""
        ...

    async def end(self, code: str = "stopped") -> None:
        """End the kernel and podside; the pod finishes with the kernel's exit code."""
        ...

    async def close(self) -> None:
        """Close this connection; the kernel goes on."""
        ...


class PodRuntime(Protocol):
    """Makes what goes into a kernel pod and connects to it; implemented by ``jupyter_dra.kernels``."""

    def materials(
        self,
        *,
        session_id: str,
        pod_name: str,
        facts: Mapping[str, Any],
        kernel: KernelChoice,
        hold: bool = False,
        lease: Mapping[str, Any] | None = None,
        measure_cells: bool = False,
    ) -> PodMaterials:
        """Everything for one new pod.

        Args:
            facts: first content of the session.json the kernel can read.
            hold: the kernel starts only at `Control.start`.
            lease: ``lease_seconds``, ``longest_seconds``, ``idle_limit_seconds``, counted from podside's start;
                ``idle_by`` ``kernel`` lets the kernel's activity decide where the device's use is not known.
            measure_cells: measure each cell's memory and device time, not only the whole session's.
        """
        ...

    def credentials(self, private_data: Mapping[str, bytes], secret_data: Mapping[str, bytes]) -> object:
        """The credentials of `materials`, from what its Secret holds (after a server restart)."""
        ...

    async def connect(self, target: Target, credentials: object, *, silence: float) -> Control:
        """Connect to podside; raises ClusterError when nobody listens yet or the certificate is not the pod's.

        Args:
            silence: seconds without a word of podside after which the connection counts as lost.
        """
        ...


@dataclass(frozen=True, slots=True)
class KernelHandle:
    """A running kernel of a session, for the relay and the provisioner of this process.

    After a pod was replaced `SessionService.handle` gives a new handle for the same ``kernel_id``.
    """

    session_id: str
    kernel_id: str
    pod_name: str
    pod_uid: str
    kernel: KernelChoice
    target: Target
    credentials: object = field(repr=False)
    control: Control = field(repr=False)


class KernelChannel(Protocol):
    """Code run on a kernel by a program that waits for it; blocking, for one thread at a time."""

    def execute(
        self,
        code: str,
        *,
        told: Callable[[Mapping[str, Any]], None],
        ask: Callable[[str, bool], str] | None = None,
        silent: bool = False,
    ) -> Mapping[str, Any]:
        """Run code and wait for its end; answers with the content of the kernel's reply.

        A KeyboardInterrupt meanwhile interrupts the kernel; a second one ends the waiting.

        Args:
            told: called with ``{"type", "content"}`` of everything this request publishes.
            ask: answers ``input()``: prompt, and whether it is a password; None refuses input.
            silent: not counted and not kept in the kernel's history.

        Raises:
            SessionEnded: the kernel ended meanwhile; ``code`` says how.
        """
        ...

    def evaluate(self, expression: str) -> str | None:
        """Evaluate one expression there, as it stands and unseen; None, or what went wrong.

        For large texts, which a kernel reads slowly as a cell.
        """
        ...

    def interrupt(self) -> None: ...

    def close(self) -> None:
        """Let go; the kernel goes on."""
        ...


@dataclass(frozen=True, slots=True)
class SessionEvent:
    """A change of a session, as in the contract's ``session/v1`` event; holds ids and codes only."""

    id: str
    revision: int
    change: str
    state: str
    step: Mapping[str, str] | None = None
    code: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "revision": self.revision,
            "change": self.change,
            "state": self.state,
            "step": dict(self.step) if self.step is not None else None,
            "code": self.code,
        }


class Record(Protocol):
    """One session as it stands now; a value that does not change afterwards."""

    @property
    def id(self) -> str: ...

    @property
    def state(self) -> str: ...

    def as_dict(self) -> dict[str, Any]:
        """The element of the contract's ``SessionList``."""
        ...


class SessionService(Protocol):
    """Launch, watch, share, extend and end sessions.

    Every coroutine may be awaited on any event loop; the work happens on the service's own background loop.
    """

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
    ) -> Record:
        """Check and begin a session; returns while its steps go on.

        Args:
            requirement: a Requirement or its dictionary.
            kernel_id: the id of the first kernel; made up when None.
            wait: seconds to wait for a free device; None refuses with ``busy``.
            key: idempotency key; a repeated key gives the first session.
            force: go on although the planner says impossible.

        Raises:
            InputError: the requirement is invalid (422). ConflictError: ``busy`` or ``impossible`` (409).
            RefusedError: ``limit``, ``policy``, ``quota`` (403). ClusterError: no cluster (503).
        """
        ...

    async def ready(self, session_id: str, kernel_id: str | None = None) -> KernelHandle:
        """Wait until the (first) kernel is connected; raises SessionEnded with the end code when it never will be."""
        ...

    async def list(self, *, everyone: bool = False) -> Sequence[Record]: ...

    async def get(self, session_id: str) -> Record: ...

    async def stop(self, session_id: str, *, code: str = "stopped", by: str | None = None) -> Record:
        """Cancel or stop; returns at once with the session in ``releasing`` (or ``ended``)."""
        ...

    async def ended(self, session_id: str) -> Record:
        """Wait until nothing of the session is left in the cluster."""
        ...

    async def extend(
        self,
        session_id: str,
        *,
        extend_seconds: float | None = None,
        ends_at: str | None = None,
        idle_seconds: float | None = None,
        name: str | None = None,
    ) -> Record: ...

    async def attach(
        self,
        session_id: str,
        *,
        kernel: KernelChoice | None = None,
        kernel_id: str | None = None,
        notebook: str | None = None,
    ) -> Record:
        """Add a kernel (its own pod and Secret) to a running session; the new kernel is last in ``kernels``."""
        ...

    async def share(self, session_id: str, users: Iterable[str]) -> Record:
        """Let exactly these users join the session, if the administrator allows it."""
        ...

    async def stop_kernel(self, session_id: str, kernel_id: str) -> Record:
        """End one kernel; the session ends with its last one."""
        ...

    async def adopt(self, claim: str) -> Record:
        """Look after a session or claim that was made elsewhere; only after a person agreed."""
        ...

    async def detach(self, session_id: str) -> Record:
        """Stop looking after a session; its kernel stays until its lease or deadline."""
        ...

    async def usage(self, session_id: str, kernel_id: str | None = None) -> Mapping[str, Any] | None:
        """A kernel's figures as podside has them now, its last measured cell included."""
        ...

    async def restart_kernel(self, session_id: str, kernel_id: str | None = None) -> Record:
        """Restart in place: same pod, same device."""
        ...

    async def activity(self, session_id: str, kernel_id: str, state: str) -> None:
        """Tell what the kernel does: ``busy`` or ``idle`` (the relay or server sees every status message)."""
        ...

    def logs(
        self, session_id: str, *, kernel_id: str | None = None, tail: int | None = None, follow: bool = False
    ) -> AsyncIterator[bytes]: ...

    def subscribe(
        self, callback: Callable[[SessionEvent], None], *, every: bool = False
    ) -> Callable[[], None]:
        """Call ``callback`` on changes, on the background loop; returns the function that ends it.

        At most five times a second per session unless ``every``.
        """
        ...
