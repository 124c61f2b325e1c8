"""TLS over any byte stream: a pod's address and a port-forward are wrapped alike."""

from __future__ import annotations

import asyncio
import hashlib
import json
import ssl
from typing import Any, Protocol

from ..errors import ClusterError
from ..sessions.ports import Target
from .credentials import PodCredentials
from .pki import SERVER_NAME

CHUNK = 1 << 18
HELLO_SECONDS = 90.0  # podside waits up to 60 s for a starting kernel's socket
HANDSHAKE_SECONDS = 15.0


class Sink(Protocol):
    """Where a joined stream goes: a local transport, or what stands in front of one."""

    def write(self, data: bytes) -> None: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def is_closing(self) -> bool: ...


class TLSStream(asyncio.Protocol):
    """One TLS connection over a reader and a writer: read by lines at first, then joined to a local transport.

    It takes the transport over where that is possible (one callback per packet instead of two task switches); a
    transport that cannot change its protocol is fed through its reader.
    """

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, context: ssl.SSLContext
    ) -> None:
        self._writer = writer  # kept: a StreamWriter closes its transport when it is collected
        self._transport: asyncio.WriteTransport = writer.transport
        self._in = ssl.MemoryBIO()
        self._out = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_hostname=SERVER_NAME)
        self._plain = bytearray()
        self._handshaking = True
        self._news = asyncio.Event()
        self._open = asyncio.Event()
        self._open.set()
        self._error: Exception | None = None
        self._sink: Sink | None = None
        self._held = False
        self.starts: int | None = None
        """Of a kernel channel: the number of the kernel in its pod; None where podside does not say."""
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._feeding: asyncio.Task[None] | None = None
        try:
            self._transport.set_protocol(self)
        except NotImplementedError:
            self._feeding = asyncio.ensure_future(self._feed(reader, writer))

    async def _feed(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        error: Exception | None = None
        try:
            while data := await reader.read(CHUNK):
                self.data_received(data)
                await writer.drain()
                await self._open.wait()
        except OSError as caught:
            error = caught
        finally:
            self.connection_lost(error)

    # --- called by the transport ----------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        self._in.write(data)
        parts: list[bytes] = []
        ended = False
        try:
            if self._handshaking:
                self._tls.do_handshake()
                self._handshaking = False
            while part := self._tls.read(CHUNK):
                parts.append(part)
            ended = True  # the other side said that it closes
        except ssl.SSLWantReadError:
            pass
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            ended = True
        except ssl.SSLError as error:
            self._error, ended = error, True
        self._flush()
        if parts:
            self._deliver(b"".join(parts))
        self._news.set()
        if ended:
            self._finish()

    def _deliver(self, plain: bytes) -> None:
        if self._sink is not None:
            self._sink.write(plain)
            return
        self._plain += plain
        if len(self._plain) > 4 * CHUNK:
            self._held = True
            self.pause_reading()

    def eof_received(self) -> None:
        self._finish()

    def connection_lost(self, exc: Exception | None) -> None:
        self._error = self._error or exc
        self._finish()

    def pause_writing(self) -> None:
        if self._sink is not None:
            self._sink.pause_reading()

    def resume_writing(self) -> None:
        if self._sink is not None and not self._sink.is_closing():
            self._sink.resume_reading()

    def _finish(self) -> None:
        if not self.over.done():
            self.over.set_result(None)
        self._news.set()

    # --- called by us ---------------------------------------------------------------------------------------

    def pause_reading(self) -> None:
        self._open.clear()
        if self._feeding is None and isinstance(self._transport, asyncio.ReadTransport):
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._open.set()
        if (
            self._feeding is None
            and isinstance(self._transport, asyncio.ReadTransport)
            and not self.over.done()
        ):
            self._transport.resume_reading()

    def join(self, sink: Sink) -> None:
        """From now on everything received goes to ``sink``; neither side is read faster than the other writes."""
        self._sink = sink
        if self._plain:
            sink.write(bytes(self._plain))
            self._plain.clear()
        if self._held:
            self.resume_reading()

    def _flush(self) -> None:
        if self._out.pending and not self._transport.is_closing():
            self._transport.write(self._out.read())

    async def handshake(self, server_sha256: str) -> None:
        """Shake hands and compare the certificate with the pinned one; raises ssl.SSLError or OSError."""
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
        while self._handshaking:
            if self.over.done():
                raise self._error or ConnectionResetError("closed during the handshake")
            await self._wait()
        certificate = self._tls.getpeercert(binary_form=True) or b""
        if hashlib.sha256(certificate).hexdigest() != server_sha256:
            raise ssl.SSLCertVerificationError("the certificate is not the one made for this pod")

    async def _wait(self) -> None:
        self._news.clear()
        if not self.over.done():
            await self._news.wait()

    async def readline(self, limit: int) -> bytes:
        """One line with its end, or what is left at the end of the stream.

        Raises ValueError beyond ``limit`` bytes, and what ended the connection if that was an error.
        """
        searched = 0
        while (end := self._plain.find(b"\n", searched)) < 0:
            searched = len(self._plain)
            if searched > limit:
                raise ValueError("line too long")
            if self.over.done():
                if self._error is not None and not self._plain:
                    raise self._error
                end = len(self._plain) - 1
                break
            if self._held:
                self._held = False
                self.resume_reading()
            await self._wait()
        line = bytes(self._plain[: end + 1])
        del self._plain[: end + 1]
        if len(line) > limit:
            raise ValueError("line too long")
        return line

    def write(self, data: bytes) -> None:
        """Encrypt and send; raises OSError once the connection is over."""
        if self.over.done():
            raise ConnectionResetError("the connection is closed")
        self._tls.write(data)
        self._flush()

    def close(self) -> None:
        """Close after what was written has left."""
        self._transport.close()
        if self._feeding is not None:
            self._feeding.cancel()
        self._finish()


class Dialer:
    """Opens authenticated channels to one pod; keeps the TLS context of its credentials."""

    def __init__(self, target: Target, credentials: PodCredentials) -> None:
        self.target = target
        self.credentials = credentials
        self._context: ssl.SSLContext | None = None

    async def open(self, channel: str) -> TLSStream:
        """Dial podside and name a channel; raises ClusterError with code unreachable, impostor or no-kernel."""
        if self._context is None:
            self._context = self.credentials.tls_context()
        reader, writer = await self.target.open()
        stream = TLSStream(reader, writer, self._context)
        done = False
        try:
            try:
                await asyncio.wait_for(stream.handshake(self.credentials.server_sha256), HANDSHAKE_SECONDS)
                stream.write(json.dumps({"v": 1, "channel": channel}).encode() + b"\n")
                line = await asyncio.wait_for(stream.readline(4096), HELLO_SECONDS)
            except ssl.SSLError as error:
                raise ClusterError(
                    "Who answers at the pod's address is not the pod we made.",
                    code="impostor",
                    next_step="Stop the session and start a new one.",
                ) from error
            except (OSError, TimeoutError, ValueError) as error:
                raise ClusterError(
                    "The kernel pod does not answer.",
                    code="unreachable",
                    next_step="Wait a moment; `jupyter dra describe` tells how the pod is.",
                ) from error
            stream.starts = _check_hello(line)
            done = True
            return stream
        finally:
            if not done:
                stream.close()


def _check_hello(line: bytes) -> int | None:
    """The number of the kernel that the channel leads to, where podside says it; raises ClusterError."""
    if not line:
        raise ClusterError(
            "The kernel pod closed the connection.",
            code="unreachable",
            next_step="Look at its log: jupyter dra logs.",
        )
    try:
        reply: Any = json.loads(line)
        accepted = reply["ok"] is True
        refusal = {} if accepted else reply["error"]
        code, message = str(refusal.get("code", "")), str(refusal.get("message", ""))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ClusterError(
            "The kernel pod answers in another language.",
            code="unreachable",
            next_step="Stop the session and start a new one: another version made its pod.",
        ) from error
    if not accepted:
        raise ClusterError(
            message[:500] or "The kernel pod refused the connection.",
            code=code or "unreachable",
            next_step="Try again, or look at the log: jupyter dra logs.",
        )
    starts = reply.get("starts")
    return starts if isinstance(starts, int) else None
