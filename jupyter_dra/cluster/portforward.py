"""Port-forward over WebSockets (``v4.channel.k8s.io``): one socket per TCP connection.

Follows kubernetes/kubernetes ``staging/src/k8s.io/kubelet/pkg/cri/streaming/portforward/websocket.go``: for the
one port we ask for, channel 0 carries data and channel 1 error text, and the first frame of each is the port.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..errors import ClusterError
from .client import KubeClient
from .resources import path as path_of

if TYPE_CHECKING:
    import aiohttp

log = logging.getLogger(__name__)

PROTOCOL = "v4.channel.k8s.io"
HEARTBEAT = 20.0
_CHUNK = 64 * 1024
_BUFFER = 256 * 1024
_DATA, _ERROR = 0, 1
_LOOK_AT_THE_POD = "Look at the pod and its node: `kubectl describe pod`."


class _Pipe(asyncio.Transport):
    """The write side of a forwarded connection, as an asyncio transport."""

    def __init__(
        self, socket: aiohttp.ClientWebSocketResponse[bool], protocol: asyncio.StreamReaderProtocol
    ) -> None:
        super().__init__()
        self._socket = socket
        self._protocol = protocol
        self._loop = asyncio.get_running_loop()
        self._pending = bytearray()
        self._wake = asyncio.Event()
        self._closing = False
        self._paused_writing = False
        self._reading = asyncio.Event()
        self._reading.set()
        self._lost = False
        self._tasks = [
            self._loop.create_task(self._send(), name="port-forward send"),
            self._loop.create_task(self._receive(), name="port-forward receive"),
        ]

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._socket.get_extra_info(name, default)

    def is_closing(self) -> bool:
        return self._closing

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._closing or not data:
            return
        self._pending += data
        self._wake.set()
        if len(self._pending) > _BUFFER and not self._paused_writing:
            self._paused_writing = True
            self._protocol.pause_writing()

    def get_write_buffer_size(self) -> int:
        return len(self._pending)

    def can_write_eof(self) -> bool:
        return False

    def pause_reading(self) -> None:
        self._reading.clear()

    def resume_reading(self) -> None:
        self._reading.set()

    def is_reading(self) -> bool:
        return self._reading.is_set()

    def close(self) -> None:
        """Close after what is buffered has been sent."""
        self._closing = True
        self._wake.set()

    def abort(self) -> None:
        self._pending.clear()
        self.close()

    async def _send(self) -> None:
        error: BaseException | None = None
        try:
            while True:
                if not self._pending:
                    if self._closing:
                        break
                    self._wake.clear()
                    await self._wake.wait()
                    continue
                chunk = bytes(self._pending[:_CHUNK])
                del self._pending[:_CHUNK]
                await self._socket.send_bytes(bytes([_DATA]) + chunk)
                if self._paused_writing and len(self._pending) <= _BUFFER // 4:
                    self._paused_writing = False
                    self._protocol.resume_writing()
        except (OSError, RuntimeError) as caught:
            error = caught
        self._end(error)

    async def _receive(self) -> None:
        import aiohttp

        error: BaseException | None = None
        try:
            async for message in self._socket:
                if message.type is not aiohttp.WSMsgType.BINARY or not message.data:
                    continue
                channel, payload = message.data[0], message.data[1:]
                if channel == _DATA and payload:
                    await self._reading.wait()
                    self._protocol.data_received(payload)
                elif channel == _ERROR and payload:
                    error = ConnectionError(payload.decode("utf-8", "replace").strip()[:500])
                    break
            error = error or self._socket.exception()
        except (OSError, RuntimeError) as caught:
            error = caught
        self._end(error)

    def _end(self, error: BaseException | None) -> None:
        if self._lost:
            return
        self._lost = self._closing = True
        self._reading.set()
        self._protocol.connection_lost(error if isinstance(error, Exception) else None)
        current = asyncio.current_task()
        for task in self._tasks:
            if task is not current:
                task.cancel()
        self._tasks.append(self._loop.create_task(self._finish(), name="port-forward close"))

    async def _finish(self) -> None:
        with suppress(Exception):
            await self._socket.close()


async def open(
    client: KubeClient, namespace: str, pod: str, port: int, *, timeout: float = 10.0
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Open one TCP connection to ``port`` of a pod through the API server.

    Needs get and create on pods/portforward. Raises ClusterError when the server, the kubelet or the port refuses.
    The pod is addressed by name only; check its uid before sending anything secret.
    """
    path = path_of("Pod", namespace, pod, "portforward")
    socket = await client.transport.websocket(
        path, query={"ports": port}, protocol=PROTOCOL, heartbeat=HEARTBEAT, timeout=timeout
    )
    try:
        async with asyncio.timeout(timeout):
            await _greeting(socket, port)
    except BaseException as error:
        await socket.close()
        if isinstance(error, TimeoutError):
            raise ClusterError(
                f"Port-forward to {pod} gave no answer.", code="unreachable", next_step=_LOOK_AT_THE_POD
            ) from error
        raise
    reader = asyncio.StreamReader(limit=_BUFFER)
    protocol = asyncio.StreamReaderProtocol(reader)
    pipe = _Pipe(socket, protocol)
    protocol.connection_made(pipe)
    return reader, asyncio.StreamWriter(pipe, protocol, reader, asyncio.get_running_loop())


async def _greeting(socket: aiohttp.ClientWebSocketResponse[bool], port: int) -> None:
    """Read the first frame of both channels; each holds the port, little endian."""
    import aiohttp

    expected = port.to_bytes(2, "little")
    seen: set[int] = set()
    while seen != {_DATA, _ERROR}:
        message = await socket.receive()
        if message.type is not aiohttp.WSMsgType.BINARY:
            raise ClusterError(
                "Port-forward was closed before it began.", code="unreachable", next_step=_LOOK_AT_THE_POD
            )
        channel, payload = message.data[0], message.data[1:]
        if channel in seen or channel not in (_DATA, _ERROR) or payload[:2] != expected:
            text = payload.decode("utf-8", "replace").strip()[:500]
            raise ClusterError(
                f"Port-forward was refused: {text}", code="unreachable", next_step=_LOOK_AT_THE_POD
            )
        seen.add(channel)
