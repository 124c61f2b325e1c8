"""Five local endpoints per kernel that stay the same while the pod behind them changes.

Jupyter's open sockets keep the addresses they were given. Behind them the pod may be replaced, moved or re-attached,
and the kernel in it restarted: the clients' connections stay, and are joined to the next kernel (`local_side.py`).
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
from .last_words import LOST, LastWords
from .local_side import KEPT, KeptSide, RawSide
from .tls import Dialer, TLSStream
from .unanswered import Obituary

CONNECTIONS_PER_CHANNEL = 64
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0
# After a restart the shell comes back last: a request that ran before iopub and stdin were there again would lose
# its output, and input() would ask nobody (a ROUTER drops what it cannot route).
LISTENERS = ("iopub", "stdin")
LISTENERS_SECONDS = 2.0
GREETED_SECONDS = 0.05
"""How long a kernel gets to greet a new subscriber, as ipykernel 7 does, or to publish anything at all."""
LOOK_SECONDS = 0.01
LEFT_SECONDS = 5.0


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
        self._sides: dict[asyncio.Task[None], RawSide] = {}
        self._dials: set[asyncio.Task[TLSStream]] = set()
        self._left: list[KeptSide] = []
        self._away = 0  # listeners of encrypted messages that will come back
        self._credentials: PodCredentials | None = None
        self.words = LastWords(kernel_id, self._kept)
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
        """Join the endpoints to another pod; the same target again changes nothing."""
        self._refuse_plain_tcp(credentials)
        current = self._dialer
        if current is not None and current.target.pod_uid == target.pod_uid and current.target is target:
            return
        if self._credentials is not None and self._credentials.key != credentials.key:
            self.words.left(LOST)  # signed as their clients still expect it
            for side in [one for channel in KEPT for one in self._kept(channel)]:
                side.new_keys(self._credentials)
        self._credentials = credentials
        self.words.use(credentials)
        self._dialer = Dialer(target, credentials)
        self.part()
        self._changed.set()

    def detach(self, why: Obituary) -> bool:
        """Leave the pod: connections wait for the next `retarget`; whether somebody waited for its kernel."""
        self._leave_pod()
        return self.words.left(why)

    def _leave_pod(self) -> None:
        self._dialer = None
        self._changed.clear()
        self.part()

    def part(self) -> None:
        """Leave the kernel; where there is a target, its kernel is joined again."""
        for dial in self._dials:
            dial.cancel()
        for side in self._sides.values():
            side.leave_kernel()

    def end(self, why: Obituary) -> bool:
        """The last kernel of these endpoints is gone; whether somebody waited for it."""
        self._leave_pod()
        return self.words.over(why)

    @property
    def open_connections(self) -> int:
        return len(self._sides)

    async def close(self) -> None:
        """Remove the endpoints."""
        for server in self._servers:
            server.close()
        tasks = list(self._sides)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for side in self._left:
            side.transport.abort()
        self._servers.clear()
        self.discard()

    def discard(self) -> None:
        """Remove the folder; alone only where the loop is gone already."""
        if self._folder is not None:
            self._folder.close()

    # --- connections ----------------------------------------------------------------------------------------

    def _kept(self, channel: str) -> list[KeptSide]:
        sides = dict.fromkeys([*self._left, *self._sides.values()])  # one that is just being left is in both
        return [side for side in sides if side.channel == channel and isinstance(side, KeptSide)]

    def _local(self, channel: str) -> RawSide:
        encrypted = self._credentials is not None and bool(self._credentials.curve)
        if channel in KEPT and not encrypted:
            return KeptSide(channel, self._accept, self.words)
        return RawSide(channel, self._accept)

    def _accept(self, side: RawSide) -> None:
        if sum(one.channel == side.channel for one in self._sides.values()) >= CONNECTIONS_PER_CHANNEL:
            self.refused += 1
            side.transport.abort()
            return
        task = asyncio.ensure_future(self._serve(side))
        self._sides[task] = side
        task.add_done_callback(self._sides.pop)
        side.over.add_done_callback(lambda _: task.cancel())

    async def _serve(self, side: RawSide) -> None:
        """Join a client's connection to one kernel after another until it is over."""
        try:
            await side.open
            if isinstance(side, KeptSide):
                await self._inherit(side)
            while True:
                stream = await self._join(side)
                try:
                    await asyncio.wait({stream.over})
                finally:
                    stream.close()
                if not self._part(side):
                    return
        except asyncio.CancelledError:
            side.transport.close()  # the client left, or the endpoints are removed

    def _part(self, side: RawSide) -> bool:
        """The kernel's end of a connection is over; whether the client's stays."""
        stays = side.part()
        if isinstance(side, KeptSide):
            self.words.parted(side)
            if not stays:
                self._left.append(side)
                asyncio.get_running_loop().call_later(LEFT_SECONDS, self._forget, side)
        elif side.channel in LISTENERS:
            self._away += 1
        return stays

    def _forget(self, side: KeptSide) -> None:
        if side in self._left:
            self._left.remove(side)

    async def _inherit(self, side: KeptSide) -> None:
        """Where a connection of this client was left, this one takes its place."""
        for left in self._left:
            if (left.channel, left.hello) == (side.channel, side.hello):
                self._left.remove(left)
                await left.over
                side.inherit(left)
                return

    async def _join(self, side: RawSide) -> TLSStream:
        """Connect to the current pod, patiently."""
        pause = FIRST_PAUSE
        while True:
            await self._changed.wait()
            dialer = self._dialer
            stream = None if dialer is None else await self._dial(dialer, side)
            if dialer is None or stream is None:
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
                continue
            kernel = (dialer.target.pod_uid, stream.starts)
            try:
                side.join(stream, kernel, dialer.credentials)
            except OSError:
                stream.close()
                continue
            if not isinstance(side, KeptSide) and side.channel in LISTENERS:
                self._away = max(0, self._away - 1)
            return stream

    async def _dial(self, dialer: Dialer, side: RawSide) -> TLSStream | None:
        """A stream to this pod; None where it does not answer, or is not the target any more."""
        dial = asyncio.ensure_future(self._connect(dialer, side))
        self._dials.add(dial)
        try:
            await asyncio.wait({dial})
            return None if dial.cancelled() else dial.result()
        except DRAError:
            return None
        finally:
            self._dials.discard(dial)
            dial.cancel()

    async def _connect(self, dialer: Dialer, side: RawSide) -> TLSStream:
        stream = await dialer.open(side.channel)
        try:
            if side.channel == "shell":
                await self._listeners()
        except BaseException:
            stream.close()
            raise
        return stream

    # --- order of the channels ------------------------------------------------------------------------------

    async def _listeners(self) -> None:
        """Until what a kernel publishes or asks reaches those who were joined to the one before."""
        if not await self._soon(
            lambda: not self._away and all(one.joined for one in self._back()), LISTENERS_SECONDS
        ):
            self._away = 0  # they do not come back
        await self._soon(
            lambda: all(one.heard for one in self._back() if one.channel == "iopub"), GREETED_SECONDS
        )

    def _back(self) -> list[KeptSide]:
        """Listeners of the kernel before."""
        return [side for channel in LISTENERS for side in self._kept(channel) if side.returns]

    async def _soon(self, condition: Callable[[], bool], seconds: float) -> bool:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while not condition():
            if loop.time() > deadline:
                return False
            await asyncio.sleep(LOOK_SECONDS)
        return True


def endpoints(info: Mapping[str, Any]) -> list[str]:
    """The five addresses of a connection info, in channel order (for messages and tests)."""
    ports = [info[f"{channel}_port"] for channel in CHANNELS]
    if info["transport"] == "ipc":
        return [f"ipc://{info['ip']}-{port}" for port in ports]
    return [f"tcp://{info['ip']}:{port}" for port in ports]
