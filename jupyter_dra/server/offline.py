"""What our kernels say while their page is away: kept up to a bound, and what was dropped is said.

jupyter_server keeps such messages in a plain list without an end (services/kernels/kernelmanager.py,
``start_buffering``); for kernels on devices, which often print for hours, that list is replaced by ours.
"""

from __future__ import annotations

import json
import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

log = logging.getLogger(__name__)

MOST_BYTES = 16 * 2**20
MOST_CELLS = 200
"""Cells that are told of dropped output; of more than these the oldest are not told."""
_DELIMITER = b"<IDS|MSG>"

Item = tuple[str, list[Any]]


@dataclass(slots=True)
class Lost:
    """Output of one cell that was not kept: how much, and when it was printed (as the kernel dates its messages)."""

    size: int = 0
    lines: int = 0
    since: str | None = None
    until: str | None = None

    def add(self, parts: list[Any]) -> None:
        """One message more."""
        self.size += _size(parts)
        frames = _frames(parts)
        if len(frames) < 4:
            return
        self.lines += bytes(frames[3]).count(rb"\n")
        date = _date(bytes(frames[0]))
        self.since, self.until = self.since or date, date or self.until


class OfflineBuffer:
    """The newest messages of one kernel; of output (iopub) the oldest is dropped beyond the bound.

    Replies and requests for input are few and small, and are kept whatever happens. Iterating gives a notice for
    each cell that lost output first, then the messages: jupyter_server replays them in this order.

    Args:
        notice: makes the wire form of a notice from a parent header and what was dropped.
    """

    def __init__(
        self, notice: Callable[[Mapping[str, Any], Lost], list[bytes]], most: int = MOST_BYTES
    ) -> None:
        self._notice, self._most = notice, most
        self._items: deque[Item] = deque()
        self._kept: list[Item] = []
        self._bytes = 0
        self.missing: Callable[[list[list[Any]], set[bytes]], Iterable[list[bytes]]] | None = None
        """Makes replies that got lost, from the iopub messages and the parents that were answered."""
        self.dropped: dict[bytes, Lost] = {}
        """What was dropped, by the parent header it belongs to."""

    def append(self, item: Item) -> None:
        """Called by jupyter_server with ``(channel, wire message)``."""
        channel, parts = item
        if channel != "iopub":
            self._kept.append(item)
            return
        self._items.append(item)
        self._bytes += _size(parts)
        while self._bytes > self._most and self._items:
            self._drop(self._items.popleft()[1])

    def _drop(self, parts: list[Any]) -> None:
        self._bytes -= _size(parts)
        parent = parent_of(parts)
        lost = self.dropped.pop(parent, None) or Lost()
        lost.add(parts)
        self.dropped[parent] = lost
        if len(self.dropped) > MOST_CELLS:
            del self.dropped[next(iter(self.dropped))]

    def put_first(self, messages: Iterable[list[bytes]], lost: Lost) -> None:
        """Put older iopub messages before what is here, each once; of still older ones this was dropped."""
        here = {_signature(parts) for _, parts in self._items}
        older = [parts for parts in messages if _signature(parts) not in here]
        self._items.extendleft(("iopub", parts) for parts in reversed(older))
        self._bytes += sum(map(_size, older))
        if older and lost.size:
            self.dropped[parent_of(older[0])] = lost
        while self._bytes > self._most and self._items:
            self._drop(self._items.popleft()[1])

    def __len__(self) -> int:
        return len(self._items) + len(self._kept) + len(self.dropped)

    def __iter__(self) -> Iterator[Item]:
        for parent, lost in self.dropped.items():
            try:
                header = json.loads(parent)
            except (ValueError, RecursionError):
                continue
            yield "iopub", self._notice(header, lost)
        yield from self._items
        yield from self._kept
        if self.missing is not None:
            answered = {parent_of(parts) for _, parts in self._kept}
            yield from (("shell", reply) for reply in self.missing([one for _, one in self._items], answered))


def _size(parts: list[Any]) -> int:
    return sum(len(part) for part in parts)


def _frames(parts: list[Any]) -> list[Any]:
    """Header, parent header, metadata and content of a wire message; nothing of what is none."""
    frames = [bytes(part) for part in parts[:8]]
    try:
        return parts[frames.index(_DELIMITER) + 2 :]
    except ValueError:
        return []


def _date(header: bytes) -> str | None:
    try:
        date = json.loads(header).get("date")
    except (ValueError, AttributeError, RecursionError):
        return None
    return date if isinstance(date, str) and len(date) < 64 else None


def parent_of(parts: list[Any]) -> bytes:
    """The parent header of a wire message, as it stands."""
    frames = _frames(parts)
    return bytes(frames[1]) if len(frames) > 1 else b""


def _signature(parts: list[Any]) -> bytes:
    """What tells a message from every other: the frame behind the delimiter."""
    frames = [bytes(part) for part in parts[:8]]
    try:
        return frames[frames.index(_DELIMITER) + 1]
    except (ValueError, IndexError):
        return b""


def bound_buffers(manager: Any, is_ours: Callable[[str], bool]) -> None:
    """Have ``manager`` (jupyter_server's kernel manager) keep the output of our kernels in an `OfflineBuffer`.

    Calling it again for the same manager changes nothing.
    """
    if getattr(manager.start_buffering, "_jupyter_dra", False):
        return
    original = manager.start_buffering

    def start_buffering(kernel_id: str, session_key: str, channels: Any) -> None:
        original(kernel_id, session_key, channels)
        if kernel_id not in manager._kernel_buffers or not is_ours(kernel_id):
            return
        session = manager.get_kernel(kernel_id).session
        manager._kernel_buffers[kernel_id]["buffer"] = OfflineBuffer(
            lambda header, lost: _notice(session, header, lost)
        )

    start_buffering._jupyter_dra = True  # type: ignore[attr-defined]
    manager.start_buffering = start_buffering


def _notice(session: Any, header: Mapping[str, Any], lost: Lost) -> list[bytes]:
    """An output in place of what is missing (message 53): our renderer says it in the reader's language and zone."""
    message = session.msg(
        "display_data",
        content={"data": gap_bundle(lost), "metadata": {}, "transient": {}},
        parent={"header": dict(header)},
    )
    wire: list[bytes] = session.serialize(message, ident=b"display_data")
    return wire


def gap_bundle(lost: Lost) -> dict[str, Any]:
    """A card of kind ``gap``, with a sentence for front ends that do not know our cards."""
    amount = (
        f"{lost.lines:,} {'line' if lost.lines == 1 else 'lines'}" if lost.lines else _mebibytes(lost.size)
    )
    span = "–".join(dict.fromkeys(_minute(date) for date in (lost.since, lost.until) if date))
    when = f" from {span} UTC" if span else ""
    verb = "was" if lost.lines == 1 or not lost.lines else "were"
    return {
        "application/vnd.jupyter-dra.card+json": {
            "version": 1,
            "card": "gap",
            "gap": {"lines": lost.lines, "bytes": lost.size, "since": lost.since, "until": lost.until},
        },
        "text/plain": f"{amount} of output{when} {verb} not kept.",
    }


def _mebibytes(size: int) -> str:
    return f"{size / 2**20:.1f} MiB"


def _minute(date: str) -> str:
    try:
        return datetime.fromisoformat(date).astimezone(UTC).strftime("%H:%M")
    except ValueError:
        return ""
