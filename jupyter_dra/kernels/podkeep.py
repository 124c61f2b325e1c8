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
    from . import podjoin
else:
    import podjoin

MOST_BYTES = 4 * 1024 * 1024
TAKE_SECONDS = 60.0  # how long what was kept waits for somebody to ask, once clients are there again
GREETING = 64  # bytes before the first frame: rfc.zeromq.org/spec/23
MORE, LONG, COMMAND = 1, 2, 4
OVER = 0x100  # no frame is under way


class Frames:
    """Follows the frames of one ZMTP stream; from `begin` on it hands over every message that begins."""

    def __init__(self) -> None:
        self._keep: Any = None
        self._skip = GREETING  # bytes until the frame (at first the greeting) is over
        self._flags = COMMAND  # of the frame that is under way
        self._head = b""  # of the next frame, as far as it is there
        self._parts: list[bytes] = []
        self._body = bytearray()
        self._partly = False

    def feed(self, data: bytes) -> None:
        data, self._head = self._head + data, b""
        at, end = 0, len(data)
        while True:
            step = min(self._skip, end - at)
            if self._keep is not None and step:
                self._body += data[at : at + step]
            at += step
            self._skip -= step
            if self._skip:
                return
            if self._keep is not None:
                self._frame_over()
            if at == end:
                return
            flags = data[at]
            size = 9 if flags & LONG else 2
            if end - at < size:
                self._head = data[at:]
                return
            self._flags = flags
            self._skip = int.from_bytes(data[at + 1 : at + 9], "big") if size == 9 else data[at + 1]
            at += size

    def _frame_over(self) -> None:
        """Once for each frame, and again when nothing came since (its flags are none then)."""
        flags, self._flags = self._flags, OVER
        if flags == OVER or flags & COMMAND:
            self._body.clear()
            return
        self._parts.append(bytes(self._body))
        self._body.clear()
        if not flags & MORE:
            if not self._partly:
                self._keep(self._parts)
            self._parts, self._partly = [], False

    def begin(self, keep: Any) -> None:
        """Keep from the next message on; one that is under way has been sent in part already."""
        in_body = self._skip and not self._flags & COMMAND
        self._partly = bool(in_body or self._head or (self._flags & MORE and not self._flags & COMMAND))
        self._keep = keep
        if not self._skip:
            self._flags = OVER


class Published(podjoin.Pipe):
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


def lines_and_date(parts: list[bytes]) -> tuple[int, str | None]:
    """Ends of lines in a message, and when the kernel made it; of what is no message (0, None)."""
    try:
        header, content = parts[parts.index(b"<IDS|MSG>") + 2], parts[parts.index(b"<IDS|MSG>") + 5]
        date = json.loads(header.decode()).get("date")
    except (ValueError, IndexError, AttributeError, RecursionError):
        return 0, None
    return content.count(b"\\n"), date if isinstance(date, str) else None


class Keeper:
    """The newest messages published while nobody was connected."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self.most = most
        self.messages: deque[list[bytes]] = deque()
        self.size = 0
        self.dropped_messages = 0
        self.dropped_bytes = 0
        self.dropped_lines = 0
        self.dropped_since: str | None = None
        self.dropped_until: str | None = None
        self._readers: set[podjoin.Pipe] = set()
        self._parked: Published | None = None

    def joined(self, inner: podjoin.Pipe) -> None:
        """A client is connected; what was kept waits a while to be asked for."""
        if isinstance(inner, Published):
            self._readers.add(inner)
            if self._parked is not None:
                asyncio.get_running_loop().call_later(TAKE_SECONDS, self._forget, self._parked)

    def left(self, inner: podjoin.Pipe) -> bool:
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
            self._drop(self.messages.popleft())

    def _drop(self, parts: list[bytes]) -> None:
        size = sum(map(len, parts))
        self.size -= size
        self.dropped_bytes += size
        self.dropped_messages += 1
        lines, date = lines_and_date(parts)
        self.dropped_lines += lines
        self.dropped_since = self.dropped_since or date
        self.dropped_until = date or self.dropped_until

    async def give(self, writer: asyncio.StreamWriter) -> None:
        """Write everything kept, a JSON line for each message, and how much is missing; then keep nothing more."""
        messages = list(self.messages)
        told = {
            "dropped_messages": self.dropped_messages,
            "dropped_bytes": self.dropped_bytes,
            "dropped_lines": self.dropped_lines,
            "dropped_since": self.dropped_since,
            "dropped_until": self.dropped_until,
        }
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
        self.size = self.dropped_messages = self.dropped_bytes = self.dropped_lines = 0
        self.dropped_since = self.dropped_until = None
