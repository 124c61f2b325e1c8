"""Calls from the API server to a node's agent: one TLS connection each, with a client certificate."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from jupyter_dra.localcluster.certificates import KUBELET_NAME
from jupyter_dra.localcluster.status import APIError, internal

CONNECT_SECONDS = 5.0
_LINE_LIMIT = 1 << 16


@dataclass(frozen=True, slots=True)
class Address:
    """Where a node's agent listens, as its Node object says."""

    host: str
    port: int


def address_of(node: Mapping[str, Any]) -> Address | None:
    status = node.get("status") or {}
    port = ((status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}).get("Port")
    addresses = {entry.get("type"): entry.get("address") for entry in status.get("addresses") or ()}
    host = addresses.get("InternalIP")
    return Address(host, int(port)) if host and port else None


@dataclass(frozen=True, slots=True)
class Reply:
    """The head of a kubelet's answer; the body is read from ``reader``."""

    status: int
    headers: Mapping[str, str]
    head: bytes
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def close(self) -> None:
        """Drop the connection at once; whatever mattered has been read or written by now."""
        self.writer.transport.abort()

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body, as it arrives."""
        if "chunked" in self.headers.get("transfer-encoding", "").lower():
            while True:
                size = int((await self.reader.readline()).split(b";")[0].strip() or b"0", 16)
                if size == 0:
                    return
                yield await self.reader.readexactly(size)
                await self.reader.readexactly(2)
        length = self.headers.get("content-length")
        left = int(length) if length is not None else None
        while left is None or left > 0:
            data = await self.reader.read(1 << 16 if left is None else min(left, 1 << 16))
            if not data:
                return
            left = None if left is None else left - len(data)
            yield data

    async def text(self) -> str:
        parts = [part async for part in self.chunks()]
        return b"".join(parts)[:4096].decode("utf-8", "replace")


async def call(
    tls: ssl.SSLContext,
    address: Address,
    path: str,
    headers: Mapping[str, str] | None = None,
    method: str = "GET",
) -> Reply:
    """Send a request without a body and read the head of the answer; raises 500 where nobody answers."""
    url = f"https://{address.host}:{address.port}{path.partition('?')[0]}"
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            reader, writer = await asyncio.open_connection(
                address.host,
                address.port,
                ssl=tls,
                server_hostname=KUBELET_NAME,
                limit=_LINE_LIMIT,
            )
    except (OSError, TimeoutError, ssl.SSLError) as error:
        raise _unreachable(url, error) from None
    lines = [f"{method} {path} HTTP/1.1", f"Host: {address.host}:{address.port}"]
    lines += [f"{name}: {value}" for name, value in (headers or {"Connection": "close"}).items()]
    try:
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
        await writer.drain()
        head = await reader.readuntil(b"\r\n\r\n")
    except (OSError, ssl.SSLError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        writer.transport.abort()
        raise _unreachable(url, error) from None
    first, *rest = head.decode("latin-1").split("\r\n")
    fields = (line.partition(":") for line in rest if line)
    return Reply(
        int(first.split(" ", 2)[1]),
        {name.strip().lower(): value.strip() for name, _, value in fields},
        head,
        reader,
        writer,
    )


def _unreachable(url: str, error: BaseException) -> APIError:
    return internal(f'Get "{url}": {error or type(error).__name__}')
