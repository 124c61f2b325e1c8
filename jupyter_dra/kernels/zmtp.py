"""ZMTP 3.0 with the NULL mechanism (rfc.zeromq.org/spec/23): its opening, and the messages of a stream as it passes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

MORE, LONG, COMMAND = 1, 2, 4
KEPT_FRAME = 64 * 1024
KEPT_FRAMES = 16
LARGEST_OPENING = 4096

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)

Tell = Callable[[list[bytes]], None]


def ready(socket_type: bytes) -> bytes:
    """The command that ends the opening of a socket of this type without an identity."""
    body = b"\x05READY\x0bSocket-Type" + len(socket_type).to_bytes(4, "big") + socket_type
    return bytes([COMMAND, len(body)]) + body


class Opening:
    """What a peer says before its first message: a greeting, then one command (READY, where all is well)."""

    def __init__(self) -> None:
        self._heard = bytearray()
        self.command: bytes | None = None
        """The command as it stands on the wire; None until it is there."""

    def feed(self, data: bytes) -> bytes:
        """Take bytes of the peer; returns those that come after the opening. Raises ValueError where it is none."""
        self._heard += data
        at = len(GREETING)
        if len(self._heard) < at + 2:
            return b""
        size = 9 if self._heard[at] & LONG else 2
        end = at + size + int.from_bytes(self._heard[at + 1 : at + size], "big")
        if end > LARGEST_OPENING:
            raise ValueError("no opening is as long as that")
        if len(self._heard) < max(end, at + size):
            return b""
        self.command = bytes(self._heard[at:end])
        return bytes(self._heard[end:])


class Messages:
    """Follows one direction of a connection from its opening on, without holding it up.

    Args:
        tell: called with the frames of every message that is complete; a frame larger than `KEPT_FRAME` comes empty,
            and those beyond `KEPT_FRAMES` not at all. None: only the borders between messages are of interest.
    """

    def __init__(self, tell: Tell | None = None) -> None:
        self._tell = tell
        self._skip = 0  # bytes until the frame that is under way is over
        self._flags = 0
        self._head = b""  # of the next frame, as far as it is there
        self._kept: bytearray | None = None
        self._frames: list[bytes] = []
        self._inside = False
        self.first_border: int | None = None
        """Where in the bytes fed last the first message ended; None where none did."""

    @property
    def between(self) -> bool:
        """Whether everything fed so far ends with a whole message: another one may follow here."""
        return not (self._skip or self._head or self._inside)

    def feed(self, data: bytes) -> None:
        self.first_border = None
        before = len(self._head)
        if before:
            data, self._head = self._head + data, b""
        at, end = self._rest(data), len(data)
        frames, tell = self._frames, self._tell
        while at < end:
            flags = data[at]
            body = at + (9 if flags & LONG else 2)
            if body > end:
                self._head = data[at:]
                break
            over = body + (int.from_bytes(data[at + 1 : body], "big") if flags & LONG else data[at + 1])
            if over > end:
                self._begin(flags, over - body, data[body:])
                break
            at = over
            if flags & COMMAND:
                continue
            if tell is not None and len(frames) < KEPT_FRAMES:
                frames.append(data[body:over] if over - body <= KEPT_FRAME else b"")
            self._inside = bool(flags & MORE)
            if not self._inside:
                if self.first_border is None:
                    self.first_border = at - before
                if tell is not None:
                    frames = self._told(tell)

    def _told(self, tell: Tell) -> list[bytes]:
        """A message is complete; returns the frames of the next one."""
        frames, self._frames = self._frames, []
        tell(frames)
        return self._frames

    def _begin(self, flags: int, length: int, part: bytes) -> None:
        """A frame of which only a part is there."""
        self._flags, self._skip = flags, length - len(part)
        if not flags & COMMAND:
            self._inside = True
            wanted = self._tell is not None and len(self._frames) < KEPT_FRAMES
            self._kept = bytearray(part) if wanted and length <= KEPT_FRAME else None

    def _rest(self, data: bytes) -> int:
        """Take what is left of the frame that is under way; returns where the next one begins."""
        if not self._skip:
            return 0
        step = min(self._skip, len(data))
        self._skip -= step
        if self._kept is not None:
            self._kept += data[:step]
        if self._skip or self._flags & COMMAND:
            return step
        if self._tell is not None and len(self._frames) < KEPT_FRAMES:
            self._frames.append(bytes(self._kept or b""))
        self._kept = None
        self._inside = bool(self._flags & MORE)
        if not self._inside:
            self.first_border = step
            if self._tell is not None:
                self._told(self._tell)
        return step


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


def split(wire: bytes) -> tuple[list[list[bytes]], bytes]:
    """The whole messages at the beginning, and what is left of one that is not complete; commands are passed over."""
    messages: list[list[bytes]] = []
    frames: list[bytes] = []
    at = done = 0
    while at + 2 <= len(wire):
        flags = wire[at]
        size = 9 if flags & LONG else 2
        begin = at + size
        at = begin + int.from_bytes(wire[at + 1 : begin], "big")
        if begin > len(wire) or at > len(wire):
            break
        if not flags & COMMAND:
            frames.append(wire[begin:at])
        if not flags & (COMMAND | MORE):
            messages.append(frames)
            frames, done = [], at
    return messages, wire[done:]
