"""What our kernels say while their page is away: kept up to a bound, and what was dropped is said.

jupyter_server keeps such messages in a plain list without an end (services/kernels/kernelmanager.py,
``start_buffering``); for kernels on devices, which often print for hours, that list is replaced by ours.
"""

from __future__ import annotations

import json
import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

log = logging.getLogger(__name__)

MOST_BYTES = 16 * 2**20
MOST_CELLS = 200
"""Cells that are told of dropped output; of more than these the oldest are not told."""
_DELIMITER = b"<IDS|MSG>"

Item = tuple[str, list[Any]]


class OfflineBuffer:
    """The newest messages of one kernel; of output (iopub) the oldest is dropped beyond the bound.

    Replies and requests for input are few and small, and are kept whatever happens. Iterating gives a notice for
    each cell that lost output first, then the messages: jupyter_server replays them in this order.

    Args:
        notice: makes the wire form of a notice from a parent header and the number of bytes dropped.
    """

    def __init__(
        self, notice: Callable[[Mapping[str, Any], int], list[bytes]], most: int = MOST_BYTES
    ) -> None:
        self._notice, self._most = notice, most
        self._items: deque[Item] = deque()
        self._kept: list[Item] = []
        self._bytes = 0
        self.missing: Callable[[list[list[Any]], set[bytes]], Iterable[list[bytes]]] | None = None
        """Makes replies that got lost, from the iopub messages and the parents that were answered."""
        self.dropped: dict[bytes, int] = {}
        """Bytes dropped, by the parent header they belong to."""

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
        size = _size(parts)
        self._bytes -= size
        parent = parent_of(parts)
        self.dropped[parent] = self.dropped.pop(parent, 0) + size
        if len(self.dropped) > MOST_CELLS:
            del self.dropped[next(iter(self.dropped))]

    def put_first(self, messages: Iterable[list[bytes]], dropped_bytes: int) -> None:
        """Put older iopub messages before what is here, each once; of still older ones this much was dropped."""
        here = {_signature(parts) for _, parts in self._items}
        older = [parts for parts in messages if _signature(parts) not in here]
        self._items.extendleft(("iopub", parts) for parts in reversed(older))
        self._bytes += sum(map(_size, older))
        if older and dropped_bytes:
            self.dropped[parent_of(older[0])] = dropped_bytes
        while self._bytes > self._most and self._items:
            self._drop(self._items.popleft()[1])

    def __len__(self) -> int:
        return len(self._items) + len(self._kept) + len(self.dropped)

    def __iter__(self) -> Iterator[Item]:
        for parent, size in self.dropped.items():
            try:
                header = json.loads(parent)
            except ValueError:
                continue
            yield "iopub", self._notice(header, size)
        yield from self._items
        yield from self._kept
        if self.missing is not None:
            answered = {parent_of(parts) for _, parts in self._kept}
            yield from (("shell", reply) for reply in self.missing([one for _, one in self._items], answered))


def _size(parts: list[Any]) -> int:
    return sum(len(part) for part in parts)


def parent_of(parts: list[Any]) -> bytes:
    """The parent header of a wire message, as it stands."""
    frames = [bytes(part) for part in parts[:8]]
    try:
        return frames[frames.index(_DELIMITER) + 3]
    except (ValueError, IndexError):
        return b""


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
            lambda header, size: _notice(session, header, size)
        )

    start_buffering._jupyter_dra = True  # type: ignore[attr-defined]
    manager.start_buffering = start_buffering


def _notice(session: Any, header: Mapping[str, Any], size: int) -> list[bytes]:
    text = f"… {size / 2**20:.1f} MiB of output were dropped here while this page was away …\n"
    message = session.msg("stream", content={"name": "stderr", "text": text}, parent={"header": dict(header)})
    wire: list[bytes] = session.serialize(message, ident=b"stream")
    return wire
