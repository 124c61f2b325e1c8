"""TLS over any byte stream: a pod's address and a port-forward are wrapped alike."""

from __future__ import annotations

import asyncio
import hashlib
import json
import ssl
from typing import Any

from ..errors import ClusterError
from ..sessions.ports import Target
from .credentials import PodCredentials
from .pki import SERVER_NAME

CHUNK = 1 << 18
HELLO_SECONDS = 90.0  # podside waits up to 60 s for a starting kernel's socket
HANDSHAKE_SECONDS = 15.0


class TLSStream:
    """One TLS connection over a reader and a writer, with the methods of both that we use."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, context: ssl.SSLContext
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._in = ssl.MemoryBIO()
        self._out = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_hostname=SERVER_NAME)
        self._line = b""

    def _flush(self) -> None:
        if self._out.pending:
            self._writer.write(self._out.read())

    async def handshake(self, server_sha256: str) -> None:
        """Shake hands and compare the certificate with the pinned one; raises ssl.SSLError or OSError."""
        while True:
            try:
                self._tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self._flush()
                data = await self._reader.read(CHUNK)
                if not data:
                    raise ConnectionResetError("closed during the handshake") from None
                self._in.write(data)
        self._flush()
        certificate = self._tls.getpeercert(binary_form=True) or b""
        if hashlib.sha256(certificate).hexdigest() != server_sha256:
            raise ssl.SSLCertVerificationError("the certificate is not the one made for this pod")

    async def read(self, size: int = CHUNK) -> bytes:
        """What has arrived, up to about ``size`` bytes; empty at the end of the stream."""
        if self._line:
            data, self._line = self._line, b""
            return data
        while True:
            parts: list[bytes] = []
            length = 0
            try:
                while length < size:
                    part = self._tls.read(size - length)
                    if not part:  # the other side said that it closes
                        return b"".join(parts)
                    parts.append(part)
                    length += len(part)
            except ssl.SSLWantReadError:
                pass
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                return b"".join(parts)
            if parts:
                return b"".join(parts)
            self._flush()
            data = await self._reader.read(CHUNK)
            if not data:
                return b""
            self._in.write(data)

    async def readline(self, limit: int) -> bytes:
        """One line with its end, or what is left at the end of the stream; ValueError beyond ``limit`` bytes."""
        kept = b""
        while b"\n" not in kept:
            if len(kept) > limit:
                raise ValueError("line too long")
            data = await self.read()
            if not data:
                return kept
            kept += data
        line, _, rest = kept.partition(b"\n")
        if len(line) > limit:
            raise ValueError("line too long")
        self._line = rest
        return line + b"\n"

    def write(self, data: bytes) -> None:
        self._tls.write(data)
        self._flush()

    async def drain(self) -> None:
        await self._writer.drain()

    def close(self) -> None:
        self._writer.close()


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
                raise ClusterError("The kernel pod does not answer.", code="unreachable") from error
            _check_hello(line)
            done = True
            return stream
        finally:
            if not done:
                stream.close()


def _check_hello(line: bytes) -> None:
    if not line:
        raise ClusterError("The kernel pod closed the connection.", code="unreachable")
    try:
        reply: Any = json.loads(line)
        accepted = reply["ok"] is True
        refusal = {} if accepted else reply["error"]
        code, message = str(refusal.get("code", "")), str(refusal.get("message", ""))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ClusterError("The kernel pod answers in another language.", code="unreachable") from error
    if not accepted:
        raise ClusterError(
            message[:500] or "The kernel pod refused the connection.", code=code or "unreachable"
        )
