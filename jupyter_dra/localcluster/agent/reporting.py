"""Writing a pod's status: changes that come while one is written go out together, a failed write is repeated."""

from __future__ import annotations

import asyncio
import logging
from typing import Protocol

from jupyter_dra.errors import DRAError
from jupyter_dra.localcluster.client import STRATEGIC_PATCH, ApiError, Client, Object
from jupyter_dra.localcluster.kinds import PODS

log = logging.getLogger(__name__)

_RETRY_FIRST, _RETRY_LONGEST = 0.05, 2.0
_FIRST_AFTER = 0.05


class Reported(Protocol):
    """A pod whose status is written; ``pod`` is replaced by what the server answered."""

    pod: Object
    uid: str

    def status(self) -> Object: ...


class StatusReporter:
    """Keeps one pod's status in the API current.

    Args:
        gone: set when the object no longer exists; nothing is written then.
    """

    def __init__(self, of: Reported, client: Client, gone: asyncio.Event) -> None:
        self._of = of
        self._client = client
        self._gone = gone
        self._news = asyncio.Event()
        self._writing = asyncio.Lock()
        self._last: Object = {}

    def report(self) -> None:
        """Have the present status written soon."""
        self._news.set()

    async def run(self) -> None:
        """Write whenever there is news; the first status goes out after a moment even without any."""
        try:
            async with asyncio.timeout(_FIRST_AFTER):
                await self._news.wait()
        except TimeoutError:
            self._news.set()
        delay = _RETRY_FIRST
        while True:
            await self._news.wait()
            self._news.clear()
            if await self._write():
                delay = _RETRY_FIRST
            else:
                self._news.set()
                await asyncio.sleep(delay)
                delay = min(delay * 2, _RETRY_LONGEST)

    async def write_until_stored(self) -> None:
        """Write the last status, as often as it takes."""
        delay = _RETRY_FIRST
        while not await self._write() and not self._gone.is_set():
            await asyncio.sleep(delay)
            delay = min(delay * 2, _RETRY_LONGEST)

    async def _write(self) -> bool:
        """Write the status if it changed; False when the server could not take it."""
        async with self._writing:
            status = self._of.status()
            if status == self._last or self._gone.is_set():
                return True
            meta = self._of.pod["metadata"]
            try:
                answer = await self._client.patch(
                    PODS,
                    meta["name"],
                    {"metadata": {"uid": self._of.uid}, "status": status},
                    namespace=meta["namespace"],
                    subresource="status",
                    content_type=STRATEGIC_PATCH,
                )
            except DRAError as error:
                log.debug("Status of %s: %s", meta["name"], error)
                return isinstance(error, ApiError) and error.status in (404, 409, 422)
            self._last = status
            if answer.get("metadata", {}).get("uid") == self._of.uid:
                self._of.pod = {**self._of.pod, "status": answer.get("status", {})}
            return True
