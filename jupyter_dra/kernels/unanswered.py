"""Requests that a kernel took and never answered, and what their clients are told in its place.

Without it a cell of a kernel that died waits for ever, or shows no more than that the kernel is gone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jupyter_client.session import DELIM, Session

from .credentials import PodCredentials
from .zmtp import encode

MOST = 100
MARK = "jupyter_dra"
"""Key of the contents we wrote ourselves: ``{"code", "message", "next"}``."""
ENAME = "KernelLost"

Header = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Obituary:
    """Why a kernel does not answer any more, in an end code and in words."""

    code: str
    message: str
    next_step: str | None = None

    @property
    def words(self) -> str:
        return f"{self.message} {self.next_step}" if self.next_step else self.message


NOT_RUN = Obituary(
    "output-lost", "The kernel did not get this cell: its connection had just broken.", "Run the cell again."
)


class Unanswered:
    """Execute requests of one shell connection without a reply, by message id."""

    def __init__(self) -> None:
        self.requests: dict[str, Header] = {}

    def asked(self, frames: list[bytes]) -> Header | None:
        """A message of the client; its header where it waits for an answer from now on."""
        header = _part(frames, 2)
        if header.get("msg_type") != "execute_request" or len(self.requests) >= MOST:
            return None
        self.requests[str(header.get("msg_id"))] = header
        return header

    def answered(self, frames: list[bytes]) -> None:
        """A message of the kernel."""
        if self.requests:
            self.requests.pop(str(_part(frames, 3).get("msg_id")), None)


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
        self._session = Session(
            key=credentials.key.encode(), signature_scheme=credentials.signature_scheme, check_pid=False
        )
        self._kernel_id = kernel_id

    def published(self, request: Header, why: Obituary) -> bytes:
        """What iopub subscribers get: the error in the cell's output, and that nothing works any more."""
        return b"".join(
            (
                self._topic(request, "error", _error(why)),
                self._topic(request, "status", {"execution_state": "idle"}),
            )
        )

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
