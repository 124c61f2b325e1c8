"""Connections of clients joined to the kernel's own sockets.

Runs inside the user's image: standard library only, Python 3.8 and later.
"""

from __future__ import annotations

import asyncio
from typing import Any


class Pipe(asyncio.Protocol):
    """One end of two joined connections; a slow end slows the other down."""

    def __init__(self) -> None:
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.peer: Pipe
        self.transport: Any

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.peer.transport.write(data)

    def pause_writing(self) -> None:
        self.peer.transport.pause_reading()

    def resume_writing(self) -> None:
        if not self.peer.transport.is_closing():
            self.peer.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.over.done():
            self.over.set_result(None)


def couple(inner: Pipe, writer: asyncio.StreamWriter) -> Pipe:
    """Put a pipe in the place of a reader and a writer, and let bytes pass between it and another.

    The other side sends nothing between its first line and our answer, so no byte is left in the reader.
    """
    outer = Pipe()
    inner.peer, outer.peer = outer, inner
    writer.transport.set_protocol(outer)
    outer.connection_made(writer.transport)
    return outer


class Joins:
    """The joined connections of one kernel after another."""

    def __init__(self) -> None:
        self._open: set[asyncio.Future[None]] = set()

    async def passing(self, inner: Pipe, outer: Pipe) -> None:
        """Let bytes pass both ways until one side closes; the outer one is closed then."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._open.add(done)
        try:
            await asyncio.wait([inner.over, outer.over], return_when=asyncio.FIRST_COMPLETED)
        finally:
            outer.transport.close()
            self._open.discard(done)
            done.set_result(None)

    async def closed(self, seconds: float) -> None:
        """Wait until every connection to a kernel that has ended is closed, so that its clients know it by then."""
        if self._open:
            await asyncio.wait(set(self._open), timeout=seconds)
