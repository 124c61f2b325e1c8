"""Answers in place of a kernel that is gone: every request it did not answer gets exactly one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from .credentials import PodCredentials
from .local_side import KeptSide
from .unanswered import Header, Obituary, Writer

AHEAD_SECONDS, TOLD_SECONDS = 3.0, 1.0
REASON_SECONDS = 3.0
"""How long a request that went down with its kernel waits for the reason, once the next kernel is there."""
TORN = Obituary(
    "output-lost", "The kernel did not get this cell: its connection had just broken.", "Run the cell again."
)
LOST = Obituary(
    "crashed", "The kernel ended before it answered; its variables are gone.", "Run the cells you need again."
)


class LastWords:
    """Tells the clients of one kernel id what happened to the kernel that had their requests.

    Args:
        sides: connections of a channel, those that were left and are expected back among them.
    """

    def __init__(self, kernel_id: str, sides: Callable[[str], Iterable[KeptSide]]) -> None:
        self._kernel_id = kernel_id
        self._sides = sides
        self._writer: Writer | None = None
        self._ahead: Obituary | None = None
        self._over: Obituary | None = None
        self._told_at = self._renewed_at = float("-inf")

    def use(self, credentials: PodCredentials) -> None:
        """Sign with this pod's key; nothing can be said where messages are encrypted between client and kernel."""
        self._writer = None if credentials.curve else Writer(credentials, self._kernel_id)

    # --- what is known ----------------------------------------------------------------------------------------

    def died(self, why: Obituary) -> bool:
        """The kernel died, its pod goes on; whether somebody waited for it.

        The news may come before the connections break, or after the next kernel took their place.
        """
        late = any(side.requests.lost for side in self._sides("shell"))
        if not late and self._now() - self._renewed_at > AHEAD_SECONDS:
            self._ahead = why
            asyncio.get_running_loop().call_later(AHEAD_SECONDS, self._late, why)
        told = False
        for side in self._sides("shell"):
            places = [side.requests.lost, *([] if side.joined else [side.requests.given])]
            told |= self._tell(side, places, why)
        return told

    def left(self, why: Obituary) -> bool:
        """The kernel's pod is left for another; what no kernel got waits for that."""
        told = False
        for side in self._sides("shell"):
            told |= self._tell(side, [side.requests.lost, side.requests.given], why)
        for listener in self._sides("iopub"):
            self._close(listener)
        return told

    def over(self, why: Obituary) -> bool:
        """No kernel comes any more: whoever asks from now on is told as well."""
        self._over = why
        told = self.left(why)
        for side in self._sides("shell"):
            told |= self._tell(side, [side.requests.held], why)
        return told

    def remark(self, text: str) -> None:
        """Words in the output of every cell that runs."""
        if self._writer is None:
            return
        for side in self._sides("shell"):
            for request in side.requests.given.values():
                for listener in self._sides("iopub"):
                    listener.say(self._writer.said(request, text))

    @property
    def telling(self) -> bool:
        """Whether clients were told of an end a moment ago, or will be in a moment."""
        recent = self._now() - self._told_at < TOLD_SECONDS
        return recent or (self._ahead is not None and self.waiting)

    @property
    def waiting(self) -> bool:
        """Whether a client waits for a kernel's answer to an execute request."""
        return any(side.requests.given or side.requests.lost for side in self._sides("shell"))

    # --- what a connection goes through -----------------------------------------------------------------------

    def asked(self, side: KeptSide) -> None:
        """A client sent a request."""
        requests = side.requests
        if self._over is not None:
            self._tell(side, [requests.held, requests.torn], self._over)
        elif requests.torn:
            self._tell(side, [requests.torn], TORN)

    def parted(self, side: KeptSide) -> None:
        """The kernel's end of the connection is over."""
        if self._ahead is not None:
            self._tell(side, [side.requests.given], self._ahead)

    def joined(self, side: KeptSide, *, renewed: bool) -> None:
        """The connection leads to a kernel again; ``renewed``: to another one than before."""
        if not renewed:
            return
        if side.channel == "iopub":
            self._close(side)
        self._renewed_at = self._now()
        lost = side.requests.lost
        if side.channel == "shell" and self._ahead is not None:
            self._tell(side, [lost], self._ahead)
            self._ahead = None  # it was about the kernel before
        if lost:
            asyncio.get_running_loop().call_later(REASON_SECONDS, self._tell, side, [lost], LOST)

    # --- telling ----------------------------------------------------------------------------------------------

    def _tell(self, side: KeptSide, places: list[dict[str, Header]], why: Obituary) -> bool:
        """Answer the requests of these places on both channels."""
        writer = self._writer
        if writer is None:
            return False
        given = set(side.requests.given)
        requests = side.requests.take(*places)
        for request in requests:
            name = str(request.get("msg_id"))
            for listener in self._sides("iopub"):
                still = name in given and listener.joined and listener.kernel == side.kernel
                listener.end(name, writer.published(request, why), later=still)
            side.say(writer.replied(request, why))
        if requests:
            self._told_at = self._now()
        return bool(requests)

    def _close(self, listener: KeptSide) -> None:
        """End what a kernel that is gone replied to and did not publish the end of."""
        if self._writer is None:
            return
        for side in self._sides("shell"):
            for name, request in side.requests.replied.items():
                listener.end(name, self._writer.ended(request))

    def _late(self, why: Obituary) -> None:
        if self._ahead is why:
            self._ahead = None

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
