"""The messages inside a ZMTP 3 byte stream (rfc.zeromq.org/spec/23), followed without holding them up."""

from __future__ import annotations

from collections.abc import Callable, Iterable

GREETING = 64
MORE, LONG, COMMAND = 1, 2, 4
KEPT_FRAME = 64 * 1024
KEPT_FRAMES = 16

Tell = Callable[[list[bytes]], None]


class Messages:
    """Follows one direction of a connection.

    Args:
        tell: called with the frames of every message that is complete; a frame larger than `KEPT_FRAME` comes empty,
            and those beyond `KEPT_FRAMES` not at all. None: only the borders between messages are of interest.
    """

    def __init__(self, tell: Tell | None = None) -> None:
        self._tell = tell
        self._skip = GREETING  # bytes until what is under way is over
        self._flags = COMMAND
        self._head = b""  # of the next frame, as far as it is there
        self._kept: bytearray | None = None
        self._frames: list[bytes] = []
        self._inside = False

    @property
    def between(self) -> bool:
        """Whether everything fed so far ends with a whole message: another one may follow here."""
        return not (self._skip or self._head or self._inside)

    def feed(self, data: bytes) -> None:
        if self._head:
            data, self._head = self._head + data, b""
        at, end = 0, len(data)
        while at < end:
            if self._skip:
                step = min(self._skip, end - at)
                if self._kept is not None:
                    self._kept += data[at : at + step]
                at += step
                self._skip -= step
                if not self._skip:
                    self._frame_over()
                continue
            flags = data[at]
            size = 9 if flags & LONG else 2
            if end - at < size:
                self._head = data[at:]
                return
            self._begin(flags, int.from_bytes(data[at + 1 : at + size], "big"))
            at += size

    def _begin(self, flags: int, length: int) -> None:
        self._flags, self._skip = flags, length
        if not flags & COMMAND:
            self._inside = True
            wanted = self._tell is not None and len(self._frames) < KEPT_FRAMES
            self._kept = bytearray() if wanted and length <= KEPT_FRAME else None
        if not length:
            self._frame_over()

    def _frame_over(self) -> None:
        if self._flags & COMMAND:
            return
        if self._tell is not None and len(self._frames) < KEPT_FRAMES:
            self._frames.append(bytes(self._kept or b""))
        self._kept = None
        if self._flags & MORE:
            return
        frames, self._frames, self._inside = self._frames, [], False
        if self._tell is not None:
            self._tell(frames)


def encode(frames: Iterable[bytes]) -> bytes:
    """One message as it stands on the wire."""
    parts = list(frames)
    wire = bytearray()
    for number, body in enumerate(parts, start=1):
        more = MORE if number < len(parts) else 0
        if len(body) > 255:
            wire += bytes([more | LONG]) + len(body).to_bytes(8, "big")
        else:
            wire += bytes([more, len(body)])
        wire += body
    return bytes(wire)
