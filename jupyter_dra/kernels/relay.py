"""Five local endpoints per kernel that stay the same while the pod behind them changes.

Jupyter's open sockets keep the addresses they were given; after a pod was replaced, moved or re-attached only the
target changes, all connections are cut once, and ZMQ connects again by itself.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

from jupyter_client.connect import KernelConnectionInfo

from ..errors import DRAError, RefusedError
from ..sessions.ports import Target
from .credentials import CHANNELS, PodCredentials
from .folders import PrivateFolder
from .tls import CHUNK, Dialer, TLSStream
from .unanswered import NOT_RUN, Header, Obituary, Unanswered, Writer
from .zmtp import Messages

CONNECTIONS_PER_CHANNEL = 64
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0
# After a restart the shell comes back last: a request that ran before iopub and stdin were there again would lose
# its output, and input() would ask nobody (a ROUTER drops what it cannot route).
LISTENERS = ("iopub", "stdin")
AWAITED = (*LISTENERS, "shell")
TOLD = ("iopub", "shell")
LISTENERS_SECONDS = 1.0
SETTLE_SECONDS = 0.05
AHEAD_SECONDS, TOLD_SECONDS = 3.0, 1.0
VERDICT_SECONDS = 10.0
"""How long clients that wait for an answer stay connected after the kernel's side broke, to be told why."""


class _LocalSide(asyncio.Protocol):
    """A local connection: keeps what arrives until it is joined to a pod's stream, then passes it on at once.

    Both directions are followed where the kernel's death is to be told: ``unanswered`` of a shell, ``inward`` of both.
    """

    def __init__(self, channel: str, accept: Callable[[_LocalSide], None]) -> None:
        self._accept = accept
        self.unanswered = Unanswered() if channel == "shell" else None
        self._outward = Messages(self._asked) if self.unanswered is not None else None
        self._not_sent: list[Header] = []
        self.inward: Messages | None = None
        if channel in TOLD:
            self.inward = Messages(self.unanswered.answered if self.unanswered is not None else None)
        self._waiting = bytearray()
        self._stream: TLSStream | None = None
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._accept(self)

    def data_received(self, data: bytes) -> None:
        if self._outward is not None:
            self._outward.feed(data)
        if self._stream is None:
            self._waiting += data
            if len(self._waiting) > CHUNK:
                self.transport.pause_reading()
            return
        if self.broken:
            return  # nobody takes it; whoever waits for an answer is told
        try:
            self._stream.write(data)
        except OSError:
            self.transport.close()

    def join(self, stream: TLSStream) -> None:
        """Raises OSError when the stream closed meanwhile."""
        stream.write(bytes(self._waiting))
        self._waiting.clear()
        self._stream = stream
        stream.join(self if self.inward is not None else self.transport)
        self.transport.resume_reading()

    @property
    def broken(self) -> bool:
        """Whether the pod's side is over."""
        return self._stream is not None and self._stream.over.done()

    def _asked(self, frames: list[bytes]) -> None:
        header = self.unanswered.asked(frames) if self.unanswered is not None else None
        if header is not None and self.broken:
            self._not_sent.append(header)

    @property
    def not_sent(self) -> list[Header]:
        """Requests that came after the pod's side broke, and of which nobody was told yet."""
        waiting = self.unanswered.requests if self.unanswered is not None else {}
        return [one for one in self._not_sent if str(one.get("msg_id")) in waiting]

    def forget(self, request: Header) -> None:
        """The request is answered."""
        if self.unanswered is not None:
            self.unanswered.requests.pop(str(request.get("msg_id")), None)

    def write(self, data: bytes) -> None:
        """What comes from the pod."""
        if self.inward is not None:
            self.inward.feed(data)
        self.transport.write(data)

    def insert(self, data: bytes) -> None:
        """Whole messages of our own; dropped where the kernel's last one is not complete."""
        if self.inward is not None and self.inward.between:
            self.write(data)

    def pause_reading(self) -> None:
        self.transport.pause_reading()

    def resume_reading(self) -> None:
        self.transport.resume_reading()

    def is_closing(self) -> bool:
        return self.transport.is_closing()

    def pause_writing(self) -> None:
        if self._stream is not None:
            self._stream.pause_reading()

    def resume_writing(self) -> None:
        if self._stream is not None:
            self._stream.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.over.done():
            self.over.set_result(None)


class Relay:
    """Local endpoints of one kernel id; every method runs on the loop of `open`.

    Args:
        kernel_id: names the folder, nothing else.
        folder: parent of the private folder; default XDG_RUNTIME_DIR or the system's temporary folder.
        tcp: loopback ports instead of Unix sockets; refused unless the kernel's messages are encrypted end to
            end with Curve, because any account of this machine can connect to them. None: where there are no
            Unix sockets.
    """

    def __init__(self, kernel_id: str, *, folder: str | None = None, tcp: bool | None = None) -> None:
        self.kernel_id = kernel_id
        self.tcp = not hasattr(socket, "AF_UNIX") if tcp is None else tcp
        self._parent = folder
        self._folder: PrivateFolder | None = None
        self._servers: list[asyncio.Server] = []
        self._ports: dict[str, int] = {}
        self._dialer: Dialer | None = None
        self._changed = asyncio.Event()
        self._tasks: dict[str, set[asyncio.Task[None]]] = {channel: set() for channel in CHANNELS}
        self._joined: dict[asyncio.Task[None], tuple[str, _LocalSide]] = {}
        self._verdict = asyncio.Event()
        self._ahead: Obituary | None = None
        self._told_at = float("-inf")
        self._leaving: set[asyncio.Task[None]] = set()
        self._missing = dict.fromkeys(AWAITED, 0)
        self.refused = 0

    async def open(self) -> None:
        """Bind the endpoints; does nothing the second time."""
        if self._servers:
            return
        loop = asyncio.get_running_loop()
        if self.tcp:
            for channel in CHANNELS:
                server = await loop.create_server(partial(self._local, channel), "127.0.0.1", 0)
                self._servers.append(server)
                self._ports[channel] = server.sockets[0].getsockname()[1]
            return
        self._folder = PrivateFolder(self._parent)
        for channel, port in CHANNELS.items():
            path = f"{self._folder.path}/r-{port}"
            self._servers.append(await loop.create_unix_server(partial(self._local, channel), path))
            os.chmod(path, 0o600)
            self._ports[channel] = port
        self.restore()

    def restore(self) -> None:
        """Put the endpoints' names back.

        jupyter_client removes "its" ipc files at every restart (manager.py, cleanup_resources), so the names it
        knows are links to our sockets.
        """
        if self._folder is None or not self._servers:
            return  # closed: the session ended
        for port in CHANNELS.values():
            try:
                os.symlink(f"r-{port}", f"{self._folder.path}/k-{port}")
            except FileExistsError:
                continue

    def connection_info(self) -> KernelConnectionInfo:
        """What a connection file holds: our endpoints with the kernel's keys (``key`` as bytes).

        Raises RefusedError where the endpoints are ports and the kernel does not encrypt.
        """
        if self._dialer is None or not self._servers:
            raise RuntimeError("the relay has no target yet")
        keys = self._dialer.credentials.message_keys()
        self._refuse_plain_tcp(self._dialer.credentials)
        info = {
            "transport": "tcp" if self._folder is None else "ipc",
            "ip": "127.0.0.1" if self._folder is None else f"{self._folder.path}/k",
            **keys,
            **{f"{channel}_port": port for channel, port in self._ports.items()},
        }
        return cast(KernelConnectionInfo, info)

    def _refuse_plain_tcp(self, credentials: PodCredentials) -> None:
        if self.tcp and not credentials.curve:
            raise RefusedError(
                "This system has no Unix sockets, and the kernel does not encrypt its messages.",
                code="policy",
                next_step="Use an image with ipykernel 7.3 or newer, or run Jupyter on Linux or macOS.",
            )

    def retarget(self, target: Target, credentials: PodCredentials) -> None:
        """Point the endpoints at another pod; whatever is open is cut. The same pod again changes nothing."""
        self._refuse_plain_tcp(credentials)
        current = self._dialer
        if current is not None and current.target.pod_uid == target.pod_uid and current.target is target:
            return
        self._dialer = Dialer(target, credentials)
        self.cut()
        self._changed.set()

    def detach(self) -> None:
        """Forget the target: connections are cut, new ones wait for the next `retarget`."""
        self._dialer = None
        self._changed.clear()
        self.cut()

    def cut(self) -> None:
        """Close every open connection; ZMQ connects again by itself."""
        self._cancel([task for tasks in self._tasks.values() for task in tasks])

    def cut_joined(self) -> None:
        """Close the connections to a kernel that is dead; those that wait for the next one stay."""
        self._cancel(list(self._joined))

    def _cancel(self, tasks: list[asyncio.Task[None]]) -> None:
        for task in tasks:
            task.cancel()
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)

    @property
    def open_connections(self) -> int:
        return sum(len(tasks) for tasks in self._tasks.values())

    async def close(self) -> None:
        """Remove the endpoints."""
        for server in self._servers:
            server.close()
        tasks = [task for tasks in self._tasks.values() for task in tasks]
        self.cut()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._servers.clear()
        self.discard()

    def discard(self) -> None:
        """Remove the folder; alone only where the loop is gone already."""
        if self._folder is not None:
            self._folder.close()

    # --- connections ----------------------------------------------------------------------------------------

    def _local(self, channel: str) -> _LocalSide:
        return _LocalSide(channel, lambda side: self._accept(channel, side))

    def _accept(self, channel: str, local: _LocalSide) -> None:
        tasks = self._tasks[channel]
        if len(tasks) >= CONNECTIONS_PER_CHANNEL:
            self.refused += 1
            local.transport.abort()
            return
        task = asyncio.ensure_future(self._serve(channel, local))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    async def _serve(self, channel: str, local: _LocalSide) -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            stream = await self._dial(channel, local)
            if stream is None:
                return
            self._missing[channel] = max(0, self._missing.get(channel, 0) - 1)
            self._joined[task] = (channel, local)
            try:
                local.join(stream)
                await asyncio.wait([local.over, stream.over], return_when=asyncio.FIRST_COMPLETED)
                if channel in TOLD and not local.over.done():
                    await self._stay(channel, local)
            finally:
                if channel in AWAITED and not local.over.done():
                    self._missing[channel] += 1  # the pod's side went; the client will come back
                stream.close()
        except (asyncio.CancelledError, OSError):
            pass  # cut on purpose, or lost on the way
        finally:
            self._joined.pop(task, None)
            local.transport.close()

    async def _stay(self, channel: str, local: _LocalSide) -> None:
        """The pod's side broke while somebody waits for an answer: until it is told why, or the kernel is back."""
        self._verdict.clear()
        if self._ahead is not None:
            self.announce(self._ahead, broken=True)
        if not self.waiting:
            return
        back = asyncio.ensure_future(self._reachable(channel))
        told = asyncio.ensure_future(self._told())
        try:
            await asyncio.wait(
                {local.over, back, told}, timeout=VERDICT_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
            self._tell([(side, one) for side in self._sides("shell") for one in side.not_sent], NOT_RUN)
        finally:
            back.cancel()
            told.cancel()
            await asyncio.gather(back, told, return_exceptions=True)

    async def _told(self) -> None:
        await self._verdict.wait()

    async def _reachable(self, channel: str) -> None:
        """Return once the kernel can be connected to again, for all that stay."""
        while True:
            await asyncio.sleep(FIRST_PAUSE)
            try:
                if self._dialer is not None:
                    (await self._dialer.open(channel)).close()
                    self._verdict.set()
                    return
            except DRAError:
                await asyncio.sleep(LISTENERS_SECONDS)

    # --- what the kernel cannot say any more ------------------------------------------------------------------

    def _sides(self, channel: str) -> list[_LocalSide]:
        return [side for name, side in self._joined.values() if name == channel]

    def _waiting(self, *, broken: bool = False) -> list[tuple[_LocalSide, Header]]:
        """Execute requests without an answer, each with its connection; ``broken``: of those to a dead kernel."""
        return [
            (side, request)
            for side in self._sides("shell")
            if side.unanswered is not None and (side.broken or not broken)
            for request in side.unanswered.requests.values()
        ]

    @property
    def waiting(self) -> bool:
        """Whether a client waits for the answer to an execute request."""
        return bool(self._waiting())

    def announce(self, why: Obituary, *, broken: bool = False) -> bool:
        """Tell every client that waits for an answer why none will come; whether there was one.

        Args:
            broken: only those whose connection broke, or breaks in a moment, since the news may come before: the pod,
                and perhaps the next kernel, goes on.
        """
        loop = asyncio.get_running_loop()
        if broken and self._ahead is not why:
            self._ahead = why
            loop.call_later(AHEAD_SECONDS, self._late, why)
        if self._writer() is None:
            return False
        waiting = self._waiting(broken=broken)
        self._tell(waiting, why)
        self._verdict.set()
        if waiting:
            self._told_at = loop.time()
        return bool(waiting)

    def _tell(self, waiting: list[tuple[_LocalSide, Header]], why: Obituary) -> None:
        writer = self._writer()
        if writer is None:
            return
        for side, request in waiting:
            for listener in self._sides("iopub"):
                listener.insert(writer.published(request, why))
            side.insert(writer.replied(request, why))
            side.forget(request)

    def _late(self, why: Obituary) -> None:
        if self._ahead is why:
            self._ahead = None

    @property
    def telling(self) -> bool:
        """Whether clients were told of an end a moment ago, or will be in a moment."""
        recent = asyncio.get_running_loop().time() - self._told_at < TOLD_SECONDS
        return recent or (self._ahead is not None and self.waiting)

    def remark(self, text: str) -> None:
        """Words in the output of every cell that runs."""
        writer = self._writer()
        if writer is None:
            return
        for _, request in self._waiting():
            for listener in self._sides("iopub"):
                listener.insert(writer.said(request, text))

    def _writer(self) -> Writer | None:
        """None where the messages are encrypted between client and kernel."""
        if self._dialer is None or self._dialer.credentials.curve:
            return None
        return Writer(self._dialer.credentials, self.kernel_id)

    async def _dial(self, channel: str, local: _LocalSide) -> TLSStream | None:
        """Connect to the current pod, patiently: the local side stays connected meanwhile."""
        pause = FIRST_PAUSE
        while not local.over.done():
            await self._changed.wait()
            dialer = self._dialer
            if dialer is None:
                continue
            try:
                stream = await dialer.open(channel)
            except DRAError:
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
                continue
            if channel == "shell":
                await self._listeners()
            return stream
        return None

    async def _listeners(self) -> None:
        if any(self._missing.get(channel) for channel in LISTENERS):
            await self._back(LISTENERS)
            await asyncio.sleep(SETTLE_SECONDS)

    async def settled(self) -> None:
        """Wait until clients that were cut are connected again; at most a second, they may have left.

        For the end of a restart: what a client sends before it noticed the cut is lost, as with any kernel.
        """
        if self._leaving:
            await asyncio.wait(self._leaving, timeout=LISTENERS_SECONDS)  # only then is it known who was cut
        if any(self._missing.get(channel) for channel in AWAITED):
            await self._back(AWAITED)

    async def _back(self, channels: tuple[str, ...]) -> None:
        deadline = asyncio.get_running_loop().time() + LISTENERS_SECONDS
        while any(self._missing.get(channel) for channel in channels):
            if asyncio.get_running_loop().time() > deadline:
                self._missing.update(dict.fromkeys(channels, 0))
                return
            await asyncio.sleep(0.01)


def endpoints(info: Mapping[str, Any]) -> list[str]:
    """The five addresses of a connection info, in channel order (for messages and tests)."""
    ports = [info[f"{channel}_port"] for channel in CHANNELS]
    if info["transport"] == "ipc":
        return [f"ipc://{info['ip']}-{port}" for port in ports]
    return [f"tcp://{info['ip']}:{port}" for port in ports]
