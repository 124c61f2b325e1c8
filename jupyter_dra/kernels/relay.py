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

CONNECTIONS_PER_CHANNEL = 64
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0
# After a restart the shell comes back last: a request that ran before iopub and stdin were there again would lose
# its output, and input() would ask nobody (a ROUTER drops what it cannot route).
LISTENERS = ("iopub", "stdin")
AWAITED = (*LISTENERS, "shell")
LISTENERS_SECONDS = 1.0
SETTLE_SECONDS = 0.05


class _LocalSide(asyncio.Protocol):
    """A local connection: keeps what arrives until it is joined to a pod's stream, then passes it on at once."""

    def __init__(self, accept: Callable[[_LocalSide], None]) -> None:
        self._accept = accept
        self._waiting = bytearray()
        self._stream: TLSStream | None = None
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._accept(self)

    def data_received(self, data: bytes) -> None:
        if self._stream is None:
            self._waiting += data
            if len(self._waiting) > CHUNK:
                self.transport.pause_reading()
            return
        try:
            self._stream.write(data)
        except OSError:
            self.transport.close()

    def join(self, stream: TLSStream) -> None:
        """Raises OSError when the stream closed meanwhile."""
        stream.write(bytes(self._waiting))
        self._waiting.clear()
        self._stream = stream
        stream.join(self.transport)
        self.transport.resume_reading()

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
        self._joined: set[asyncio.Task[None]] = set()
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
        return _LocalSide(lambda side: self._accept(channel, side))

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
            self._joined.add(task)
            try:
                local.join(stream)
                await asyncio.wait([local.over, stream.over], return_when=asyncio.FIRST_COMPLETED)
            finally:
                if channel in AWAITED and not local.over.done():
                    self._missing[channel] += 1  # the pod's side went; the client will come back
                stream.close()
        except (asyncio.CancelledError, OSError):
            pass  # cut on purpose, or lost on the way
        finally:
            self._joined.discard(task)
            local.transport.close()

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
