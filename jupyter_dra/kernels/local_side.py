"""A client's connection to the relay, and what it does while the kernel behind it changes.

`KeptSide` is for shell, iopub and stdin. It answers the client's ZMTP opening itself, so the connection outlives any
kernel; joined to a kernel, it opens that side in the client's name. It is in one of these states::

    opening -> waiting <-> joined        (and over, from each, once the client goes)

Joined, every byte passes at once. Once the kernel's side is over, the side waits: what the client sends is held and
goes to the next kernel as its first messages. Where the kernel fell silent in the midst of a message, nothing can
follow it on this connection: it is left (the client hears the end, closes and comes back, and the connection that
comes back inherits everything). So each request is given to exactly one kernel, whole, or is known to be lost with one.

`RawSide` is for the rest (heartbeat and control, whose messages are meant for one kernel process alone) and for
messages that are encrypted between client and kernel: it ends with the kernel's side.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from .credentials import PodCredentials
from .tls import CHUNK, TLSStream
from .unanswered import Resigner, Unanswered, ended_by, remember
from .zmtp import GREETING, Messages, Opening, encode, ready, split

KEPT = {"shell": b"ROUTER", "iopub": b"XPUB", "stdin": b"ROUTER"}
LEAVE_SECONDS = 2.0

Kernel = tuple[str, int | None]
"""A kernel process: the pod's uid and how many kernels were started in it; None from a pod that does not say."""


class RawSide(asyncio.Protocol):
    """Keeps what arrives until it is joined to a pod's stream, then passes it on at once."""

    def __init__(self, channel: str, accept: Callable[[RawSide], None]) -> None:
        self.channel = channel
        self._accept = accept
        self._held = bytearray()
        self._stream: TLSStream | None = None
        loop = asyncio.get_running_loop()
        self.open: asyncio.Future[None] = loop.create_future()
        """The client has said who it is."""
        self.over: asyncio.Future[None] = loop.create_future()
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._accept(self)
        self._opened()

    def _opened(self) -> None:
        if not self.open.done():
            self.open.set_result(None)

    def data_received(self, data: bytes) -> None:
        if self._stream is None or self._stream.over.done():
            self._hold(data)
            return
        try:
            self._stream.write(data)
        except OSError:
            self._hold(data)

    def _hold(self, data: bytes) -> None:
        self._held += data
        if len(self._held) > CHUNK:
            self.transport.pause_reading()

    def join(self, stream: TLSStream, kernel: Kernel, credentials: PodCredentials) -> None:
        """Raises OSError when the stream closed meanwhile."""
        stream.write(bytes(self._held))
        self._held.clear()
        self._stream = stream
        stream.join(self.transport)
        self.transport.resume_reading()

    def leave_kernel(self) -> None:
        """Have the kernel's side be over."""
        if self._stream is not None:
            self._stream.close()

    def part(self) -> bool:
        """The kernel's side is over; whether this one stays."""
        self.transport.close()
        return False

    # --- as the sink of a pod's stream ------------------------------------------------------------------------

    def pause_reading(self) -> None:
        self.transport.pause_reading()

    def resume_reading(self) -> None:
        self.transport.resume_reading()

    def is_closing(self) -> bool:
        return self.transport.is_closing()

    # --- called by the local transport ------------------------------------------------------------------------

    def pause_writing(self) -> None:
        if self._stream is not None:
            self._stream.pause_reading()

    def resume_writing(self) -> None:
        if self._stream is not None:
            self._stream.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.over.done():
            self.over.set_result(None)


class Watch(Protocol):
    """Who answers for requests that no kernel answers."""

    def asked(self, side: KeptSide) -> None:
        """A message came on a shell; the side's `requests` know it."""

    def joined(self, side: KeptSide, *, renewed: bool) -> None:
        """Messages pass to a kernel; ``renewed``: to another one than before."""


class KeptSide(RawSide):
    """A client's connection that stays while kernels come and go.

    Args:
        watch: told of what happens to its requests.
    """

    def __init__(
        self,
        channel: str,
        accept: Callable[[RawSide], None],
        watch: Watch,
    ) -> None:
        super().__init__(channel, accept)
        self.requests = Unanswered()
        self.kernel: Kernel | None = None
        self.heard = False
        """Whether the kernel this side is joined to sent a message: on iopub, its subscriptions work."""
        self.returns = False
        """Whether it was joined to an earlier kernel than the one it is, or will be, joined to."""
        self._watch = watch
        self._client = Opening()
        self._pod = Opening()
        self._next: tuple[TLSStream, Kernel, PodCredentials] | None = None
        self._outward = Messages(self._from_client)
        self._inward = self._follow()
        self._skipping = False
        self._words = bytearray()
        self._later: dict[str, bytes] = {}
        self._ended: dict[str, None] = {}
        self._topics: dict[bytes, None] = {}
        self._known: list[PodCredentials] = []
        self._resigner: Resigner | None = None
        self._left = False

    @property
    def hello(self) -> bytes | None:
        """What the client said of itself, its identity among it."""
        return self._client.command

    @property
    def joined(self) -> bool:
        """Whether messages pass now, as far as we know."""
        return self._stream is not None and not self._stream.over.done()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(GREETING + ready(KEPT[self.channel]))
        super().connection_made(transport)

    def _opened(self) -> None:
        if self.hello is not None:
            super()._opened()

    # --- from the client --------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self.hello is None:
            try:
                data = self._client.feed(data)
            except ValueError:
                self.transport.abort()
                return
            self._opened()
        if self._stream is not None and self._stream.over.done():
            self._unjoin()
        skipping = self._skipping
        self._outward.feed(data)
        if skipping:  # the rest of a message whose beginning went to a kernel that is gone
            border = self._outward.first_border
            data = b"" if border is None else data[border:]
        if self._stream is None:
            self._hold(data)
        else:
            self._pass(self._stream, data)

    def _pass(self, stream: TLSStream, data: bytes) -> None:
        if self._resigner is not None:
            self._held += data
            messages, rest = split(bytes(self._held))
            data = b"".join(encode(self._resigner.sign(one)) for one in messages)
            self._held[:] = rest
            if self._resigner.over:
                self._resigner = None
                self._known.clear()
                data += rest
                self._held.clear()
        if data:
            stream.write(data)  # not over: looked a moment ago

    def _from_client(self, frames: list[bytes]) -> None:
        """A whole message; it is not passed on yet."""
        skipped, self._skipping = self._skipping, False
        if self.channel == "shell":
            requests = self.requests
            joined = requests.given if self._stream is not None else requests.held
            requests.asked(frames, requests.torn if skipped else joined)
            self._watch.asked(self)
        elif self.channel == "iopub":
            self._subscription(frames)
            if skipped and self._stream is not None:
                self._stream.write(encode(frames))

    def _subscription(self, frames: list[bytes]) -> None:
        wanted, topic = frames[0][:1], frames[0][1:]
        if wanted == b"\x01":
            self._topics[topic] = None
        elif wanted == b"\x00":
            self._topics.pop(topic, None)

    # --- the kernel's side ------------------------------------------------------------------------------------

    def join(self, stream: TLSStream, kernel: Kernel, credentials: PodCredentials) -> None:
        """Open the kernel's side in the client's name; what is held follows once the kernel has answered."""
        stream.write(GREETING + (self.hello or b""))
        self._pod, self._next = Opening(), (stream, kernel, credentials)
        stream.join(self)

    def write(self, data: bytes) -> None:
        """What comes from the pod."""
        if self._next is not None:
            data = self._answered(*self._next, data)
            if not data:
                return
        self.heard = True
        self._inward.feed(data)
        self.transport.write(data)
        if self._words and self._inward.between:
            self.transport.write(bytes(self._words))
            self._words.clear()

    def _answered(self, stream: TLSStream, kernel: Kernel, credentials: PodCredentials, data: bytes) -> bytes:
        """The kernel opens its side; returns what it says after that."""
        try:
            rest = self._pod.feed(data)
        except ValueError:
            stream.close()
            return b""
        if self._pod.command is not None:
            self._next = None
            self._give(stream, kernel, credentials)
        return rest

    def _give(self, stream: TLSStream, kernel: Kernel, credentials: PodCredentials) -> None:
        """From here on messages pass; what was held is the first of them."""
        renewed = self.kernel not in (None, kernel)
        held, rest = split(bytes(self._held))
        if self.channel == "iopub":
            held = [[b"\x01" + topic] for topic in self._topics]
        elif self.channel == "stdin" and renewed:
            held = []  # answers to what another kernel asked
        self._held.clear()
        self._stream, self.kernel, self.heard = stream, kernel, False
        self._inward = self._follow()
        if self._known:
            self._resigner = Resigner(self._known, credentials)
        self.requests.joined(same=not renewed)
        self._watch.joined(self, renewed=renewed)
        self._pass(stream, b"".join(map(encode, held)) + rest)
        self.transport.resume_reading()

    def _follow(self) -> Messages:
        return Messages({"shell": self.requests.answered, "iopub": self._published}.get(self.channel))

    def _published(self, frames: list[bytes]) -> None:
        request = ended_by(frames)
        if request is not None:
            remember(self._ended, request, None)

    def end(self, request: str, words: bytes, *, later: bool = False) -> None:
        """On iopub, the last words about a request, unless the kernel's own were heard.

        Args:
            later: the kernel's own may still be under way, until its side is over.
        """
        if later:
            self._later[request] = words
        elif request not in self._ended:
            remember(self._ended, request, None)
            self.say(words)

    def say(self, words: bytes) -> None:
        """Whole messages of our own to the client, as soon as none of the kernel's is under way."""
        if self._left or not self._inward.between:
            self._words += words
        else:
            self.transport.write(words)

    def leave_kernel(self) -> None:
        if self._next is not None:
            self._next[0].close()
        super().leave_kernel()

    def _unjoin(self) -> None:
        self._stream, self.returns = None, True
        self._skipping = not self._outward.between
        self._resigner = None
        self._held.clear()  # at most the beginning of a message that is skipped now
        self.transport.resume_reading()

    def part(self) -> bool:
        self._next = None
        if self._stream is not None:
            self._unjoin()
        stays = self._inward.between
        if not stays:
            self._leave()
        later, self._later = self._later, {}
        for request, words in later.items():
            self.end(request, words)
        return stays

    def new_keys(self, known: PodCredentials) -> None:
        """The next pod signs with another key than this one, which the client uses until it is told."""
        if self.channel != "iopub":
            self._known.append(known)

    # --- left in the midst of a message -----------------------------------------------------------------------

    def _leave(self) -> None:
        """Have the client come back: it reads the end and closes; what it has sent before still arrives here."""
        self._left = True
        self.transport.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()
            asyncio.get_running_loop().call_later(LEAVE_SECONDS, self.transport.abort)
        else:
            self.transport.close()

    def inherit(self, other: KeptSide) -> None:
        """Take the place of a connection that was left; the client is the same."""
        self.requests.inherit(other.requests)
        self.kernel, self.returns, self._known = other.kernel, True, other._known
        self._ended = other._ended
        held, _ = split(bytes(other._held))
        self._held[:0] = b"".join(map(encode, held))
        if other._words:
            self.transport.write(bytes(other._words))
            other._words.clear()
