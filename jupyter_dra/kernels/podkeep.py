"""What the kernel publishes while nobody is connected: kept up to a bound, the oldest dropped and counted.

Runs inside the user's image: standard library only, Python 3.8 and later. The subscription of the last client stays
open when the client is gone, so that nothing falls between its end and a subscription of our own.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import podkernel
else:
    import podkernel

MOST_BYTES = 4 * 1024 * 1024
TAKE_SECONDS = 60.0  # how long what was kept waits for somebody to ask, once clients are there again
GREETING = 64  # bytes before the first frame: rfc.zeromq.org/spec/23
MORE, LONG, COMMAND = 1, 2, 4


class Frames:
    """Follows the frames of one ZMTP stream; with ``keep`` set, hands over every message that begins from then on."""

    def __init__(self) -> None:
        self.keep: Any = None
        self._skip = GREETING
        self._head = b""
        self._flags = COMMAND
        self._parts: list[bytes] = []
        self._body: bytearray | None = None
        self._whole = True

    def feed(self, data: bytes) -> None:
        at, end = 0, len(data)
        while at < end:
            if self._skip:
                step = min(self._skip, end - at)
                if self._body is not None:
                    self._body += data[at : at + step]
                self._skip -= step
                at += step
                if not self._skip:
                    self._frame_over()
                continue
            wanted = 9 if (self._head or data[at : at + 1])[0] & LONG else 2
            piece = data[at : at + wanted - len(self._head)]
            self._head += piece
            at += len(piece)
            if len(self._head) == wanted:
                self._frame_begins()

    def _frame_begins(self) -> None:
        self._flags = self._head[0]
        self._skip = int.from_bytes(self._head[1:], "big")
        self._head = b""
        message = not self._flags & COMMAND
        self._body = bytearray() if self.keep is not None and self._whole and message else None
        if not self._skip:
            self._frame_over()

    def _frame_over(self) -> None:
        if self._body is not None:
            self._parts.append(bytes(self._body))
            self._body = None
        if self._flags & COMMAND:
            return
        if self._flags & MORE:
            self._whole = self._whole and (self.keep is None or bool(self._parts))
            return
        if self.keep is not None and self._whole and self._parts:
            self.keep(self._parts)
        self._parts, self._whole = [], True

    def begin(self, keep: Any) -> None:
        """Keep from the next message on; one that is under way has been sent in part already."""
        under_way = bool(self._skip and not self._flags & COMMAND) or bool(self._head) or self._flags & MORE
        self.keep, self._whole = keep, not under_way


class Published(podkernel.Pipe):
    """The kernel's end of an iopub connection; it can outlive the client's end."""

    def __init__(self) -> None:
        super().__init__()
        self.frames = Frames()
        self.parked = False

    def data_received(self, data: bytes) -> None:
        self.frames.feed(data)
        if not self.parked:
            super().data_received(data)

    def park(self, keep: Any) -> None:
        """Go on without a client."""
        self.parked = True
        self.frames.begin(keep)
        self.transport.resume_reading()


class Keeper:
    """The newest messages published while nobody was connected."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self.most = most
        self.messages: deque[list[bytes]] = deque()
        self.size = 0
        self.dropped_messages = 0
        self.dropped_bytes = 0
        self._readers: set[podkernel.Pipe] = set()
        self._parked: Published | None = None

    def joined(self, inner: podkernel.Pipe) -> None:
        """A client is connected; what was kept waits a while to be asked for."""
        if isinstance(inner, Published):
            self._readers.add(inner)
            if self._parked is not None:
                asyncio.get_running_loop().call_later(TAKE_SECONDS, self._forget, self._parked)

    def left(self, inner: podkernel.Pipe) -> bool:
        """A client is gone: whether its subscription is kept, because it was the last one."""
        self._readers.discard(inner)
        if self._readers or not isinstance(inner, Published) or inner.over.done():
            return False
        self.release()
        self._parked = inner
        inner.park(self.add)
        return True

    def add(self, parts: list[bytes]) -> None:
        self.messages.append(parts)
        self.size += sum(map(len, parts))
        while self.size > self.most and self.messages:
            size = sum(map(len, self.messages.popleft()))
            self.size -= size
            self.dropped_bytes += size
            self.dropped_messages += 1

    async def give(self, writer: asyncio.StreamWriter) -> None:
        """Write everything kept, a JSON line for each message, and how much is missing; then keep nothing more."""
        messages = list(self.messages)
        told = {"dropped_messages": self.dropped_messages, "dropped_bytes": self.dropped_bytes}
        self.release()
        writer.write(b'{"ok":true}\n')
        for parts in messages:
            writer.write(json.dumps([base64.b64encode(part).decode() for part in parts]).encode() + b"\n")
            await writer.drain()
        writer.write(json.dumps(told).encode() + b"\n")
        await writer.drain()

    def _forget(self, parked: Published) -> None:
        if self._parked is parked and self._readers:
            self.release()

    def release(self) -> None:
        """Let the subscription and what was kept go."""
        parked, self._parked = self._parked, None
        if parked is not None:
            parked.transport.close()
        self.messages.clear()
        self.size = self.dropped_messages = self.dropped_bytes = 0
