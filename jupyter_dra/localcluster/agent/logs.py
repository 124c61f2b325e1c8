"""Container logs: one file per run of a container, written by the process itself and read through a held descriptor."""

from __future__ import annotations

import asyncio
import bisect
import os
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

_BLOCK = 1 << 16
_FOLLOW_SECONDS = 0.05
_LARGEST, _KEPT = 64 << 20, 16 << 20


@dataclass(frozen=True, slots=True)
class LogQuery:
    """What a reader asked for; the names are those of the kubelet's containerLogs query."""

    follow: bool = False
    tail_lines: int | None = None
    since: float | None = None
    timestamps: bool = False
    limit_bytes: int | None = None


class LogFile:
    """The output of one run of a container.

    The process writes to the file directly, so no line is lost when the agent is busy. Times are known as precisely
    as ``note_growth`` is called; each line gets the moment at which it was first seen.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        self.descriptor = os.open(path, flags, 0o600)
        self.closed = False
        self.dropped_bytes = 0
        self._offsets: list[int] = [0]
        self._moments: list[float] = [time.time()]

    def size(self) -> int:
        return os.fstat(self.descriptor).st_size

    def note_growth(self) -> None:
        """Remember that what stands in the file now was written by now; keep the file within its bound."""
        size = self.size()
        if size > self._offsets[-1]:
            self._offsets.append(size)
            self._moments.append(time.time())
            if len(self._offsets) > 20_000:
                del self._offsets[1:-1:2], self._moments[1:-1:2]
        if size > _LARGEST:
            self._drop_oldest(size)

    def _drop_oldest(self, size: int) -> None:
        kept = os.pread(self.descriptor, _KEPT, size - _KEPT)
        kept = kept[kept.find(b"\n") + 1 :]
        self.dropped_bytes += size - len(kept)
        os.ftruncate(self.descriptor, 0)
        os.write(self.descriptor, b"[the oldest output of this container was dropped]\n" + kept)
        self._offsets, self._moments = [0, self.size()], [time.time(), time.time()]

    def finish(self) -> None:
        """Say that the process has ended: followers stop at the end of the file."""
        if not self.closed:
            self.note_growth()
            self.closed = True

    def close(self) -> None:
        self.finish()
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def tail(self, *, lines: int, limit: int) -> str:
        """Return the last lines as text, at most ``limit`` bytes."""
        if self.descriptor < 0:
            return ""
        start = max(self._start_of_tail(lines), self.size() - limit)
        return os.pread(self.descriptor, limit, start).decode("utf-8", "replace")

    async def read(self, query: LogQuery) -> AsyncIterator[bytes]:
        """Yield the log as asked; with ``follow`` until the container ends."""
        offset = 0 if query.tail_lines is None else self._start_of_tail(query.tail_lines)
        if query.since is not None:
            offset = max(offset, self._offset_at(query.since))
        left = query.limit_bytes
        carry = b""
        while self.descriptor >= 0:
            ended = self.closed
            if self.size() < offset:
                offset = 0  # the oldest part was dropped meanwhile
            block = os.pread(self.descriptor, _BLOCK, offset)
            if not block:
                if ended or not query.follow:
                    break
                await asyncio.sleep(_FOLLOW_SECONDS)
                continue
            if query.timestamps:
                carry, block, start = b"", carry + block, offset - len(carry)
                end = block.rfind(b"\n") + 1
                carry, out = block[end:], self._stamped(block[:end], start)
                offset += len(block) - (offset - start)
            else:
                offset, out = offset + len(block), block
            if left is not None:
                out, left = out[:left], left - len(out)
            if out:
                yield out
            if left is not None and left <= 0:
                return
        if carry:
            yield self._stamped(carry, offset - len(carry))

    def _start_of_tail(self, lines: int) -> int:
        position = end = self.size()
        if lines <= 0:
            return end
        wanted = lines + 1
        while position > 0:
            start = max(0, position - _BLOCK)
            block = os.pread(self.descriptor, position - start, start)
            if position == end and not block.endswith(b"\n"):
                wanted -= 1
            count = block.count(b"\n")
            if count >= wanted:
                at = len(block)
                for _ in range(wanted):
                    at = block.rfind(b"\n", 0, at)
                return start + at + 1
            wanted -= count
            position = start
        return 0

    def _offset_at(self, moment: float) -> int:
        self.note_growth()
        index = bisect.bisect_left(self._moments, moment)
        return (
            self._offsets[index - 1] if 0 < index < len(self._offsets) else (0 if index == 0 else self.size())
        )

    def _stamped(self, block: bytes, start: int) -> bytes:
        self.note_growth()
        lines, position = [], start
        for line in block.splitlines(keepends=True):
            position += len(line)
            index = min(bisect.bisect_left(self._offsets, position), len(self._moments) - 1)
            stamp = datetime.fromtimestamp(self._moments[index], UTC).strftime("%Y-%m-%dT%H:%M:%S.%f000Z ")
            lines.append(stamp.encode() + line)
        return b"".join(lines)
