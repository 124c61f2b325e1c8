"""Requests that a kernel took and never answered, and what their clients are told in its place.

Without it a cell of a kernel that died waits for ever, or shows no more than that the kernel is gone.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from jupyter_client.session import DELIM, Session

from .credentials import PodCredentials
from .zmtp import encode

MOST = 2000
RECENT = 256
MARK = "jupyter_dra"
"""Key of the contents we wrote ourselves: ``{"code", "message", "next"}``."""
ENAME = "KernelLost"

Header = Mapping[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Obituary:
    """Why a kernel does not answer any more, in an end code and in words."""

    code: str
    message: str
    next_step: str | None = None

    @property
    def words(self) -> str:
        return f"{self.message} {self.next_step}" if self.next_step else self.message


class Unanswered:
    """Execute requests of one shell connection without a reply, by message id.

    Each is in one of four places: ``held`` for the next kernel, ``given`` to the kernel the connection is joined to
    or was joined to last, ``lost`` with a kernel that is gone, or ``torn``: its connection broke before all of it was
    sent. It leaves them by the kernel's reply, or by ours.
    """

    def __init__(self) -> None:
        self.held: dict[str, Header] = {}
        self.given: dict[str, Header] = {}
        self.lost: dict[str, Header] = {}
        self.torn: dict[str, Header] = {}
        self.replied: dict[str, Header] = {}
        """The latest that the present kernel replied to; what it published about them may still be under way."""

    def asked(self, frames: list[bytes], place: dict[str, Header]) -> None:
        """A message of the client, and the place it goes to."""
        header = _part(frames, 2)
        if header.get("msg_type") == "execute_request" and len(self.given) + len(self.held) < MOST:
            place[str(header.get("msg_id"))] = header

    def answered(self, frames: list[bytes]) -> None:
        """A message of the kernel."""
        if not self.given:
            return
        request = str(_part(frames, 3).get("msg_id"))
        header = self.given.pop(request, None)
        if header is not None:
            remember(self.replied, request, header)

    def joined(self, *, same: bool) -> None:
        """What was held is given; whether to the ``same`` kernel as what was given before."""
        if not same:
            self.lost.update(self.given)
            self.given.clear()
            self.replied.clear()
        self.given.update(self.held)
        self.held.clear()

    def take(self, *places: dict[str, Header]) -> list[Header]:
        """Remove and return the requests of these places: their answer is being written."""
        taken = [header for place in places for header in place.values()]
        for place in places:
            place.clear()
        return taken

    def inherit(self, other: Unanswered) -> None:
        """Those of the connection that this one takes the place of come first."""
        self.replied.update(other.replied)
        pairs = (self.held, other.held), (self.given, other.given), (self.lost, other.lost)
        for mine, theirs in pairs:
            own = dict(mine)
            mine.clear()
            mine.update({**theirs, **own})
            theirs.clear()


def remember(recent: dict[str, T], name: str, value: T) -> None:
    """Add to the latest of a kind, of which the oldest is forgotten."""
    if len(recent) >= RECENT:
        del recent[next(iter(recent))]
    recent[name] = value


def ended_by(frames: list[bytes]) -> str | None:
    """The request whose end this message on iopub tells; None for every other message."""
    if b"status" not in frames[0] or b'"idle"' not in frames[-1]:
        return None
    request = _part(frames, 3).get("msg_id")
    return None if request is None else str(request)


def _part(frames: list[bytes], place: int) -> Header:
    """Header (2) or parent header (3) of a message; empty where there is none to be read."""
    try:
        found = json.loads(frames[frames.index(DELIM) + place])
    except (ValueError, IndexError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


class Writer:
    """Writes messages as the kernel of these credentials would."""

    def __init__(self, credentials: PodCredentials, kernel_id: str) -> None:
        self._session = session_of(credentials)
        self._kernel_id = kernel_id

    def published(self, request: Header, why: Obituary) -> bytes:
        """What iopub subscribers get: the error in the cell's output, and that nothing works any more."""
        return self._topic(request, "error", _error(why)) + self.ended(request)

    def ended(self, request: Header) -> bytes:
        """That nothing more comes for a request."""
        return self._topic(request, "status", {"execution_state": "idle"})

    def replied(self, request: Header, why: Obituary) -> bytes:
        """What the asking client gets on its shell connection."""
        content = {**_error(why), "status": "error", "execution_count": None}
        return self._wire("execute_reply", content, request)

    def said(self, request: Header, text: str) -> bytes:
        """Words in the output of a cell that goes on."""
        return self._topic(request, "stream", {"name": "stderr", "text": text + "\n"})

    def _topic(self, request: Header, kind: str, content: Mapping[str, Any]) -> bytes:
        return self._wire(kind, content, request, f"kernel.{self._kernel_id}.{kind}".encode())

    def _wire(
        self, kind: str, content: Mapping[str, Any], request: Header, topic: bytes | None = None
    ) -> bytes:
        message = self._session.msg(kind, content=dict(content), parent={"header": dict(request)})
        return encode(self._session.serialize(message, ident=topic))


def session_of(credentials: PodCredentials) -> Session:
    """What signs messages with the pod's key."""
    return Session(
        key=credentials.key.encode(), signature_scheme=credentials.signature_scheme, check_pid=False
    )


class Resigner:
    """Signs anew what a client signed with the key of an earlier pod, until it is seen to use that of the next.

    Args:
        known: the earlier pods; messages that nobody signed pass as they are.
    """

    def __init__(self, known: Iterable[PodCredentials], credentials: PodCredentials) -> None:
        self._known = [session_of(one) for one in known]
        self._session = session_of(credentials)
        self.over = False
        """Whether the client uses the key of the next pod."""

    def sign(self, frames: list[bytes]) -> list[bytes]:
        """The message as the next kernel accepts it."""
        try:
            at = frames.index(DELIM) + 1
        except ValueError:
            return frames
        signature, signed = b"".join(frames[at : at + 1]), frames[at + 1 : at + 5]
        if hmac.compare_digest(signature, self._session.sign(signed)):
            self.over = True
        elif any(hmac.compare_digest(signature, one.sign(signed)) for one in self._known):
            return [*frames[:at], self._session.sign(signed), *frames[at + 1 :]]
        return frames


def _error(why: Obituary) -> dict[str, Any]:
    mark = {"code": why.code, "message": why.message, "next": why.next_step}
    return {"ename": ENAME, "evalue": why.words, "traceback": [why.words], MARK: mark}


def told_by_us(content: Mapping[str, Any]) -> Obituary | None:
    """The obituary that a reply or an error of ours carries; None for a kernel's own."""
    mark = content.get(MARK)
    if not isinstance(mark, Mapping) or content.get("ename") != ENAME:
        return None
    next_step = mark.get("next")
    return Obituary(str(mark.get("code")), str(mark.get("message")), next_step and str(next_step))
