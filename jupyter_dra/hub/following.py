"""One kind of object at one path, kept current by one list and one watch that goes on where it was cut."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import aiohttp
from kubernetes_asyncio import client

_WATCH_SECONDS = 300
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
#: A watch that ends sooner and brought nothing was no watch: whoever ends it at once is not asked without pause.
_BRIEF = 1.0


class Reader(Protocol):
    """Who is told what a `Follower` hears."""

    def listed(self, kind: str, path: str, items: Sequence[Mapping[str, Any]]) -> None:
        """All objects at *path*, as they are now."""

    def changed(self, kind: str, event: Mapping[str, Any]) -> None:
        """One event of the watch, bookmarks and errors left out."""

    def troubled(self, kind: str, reason: str | None) -> None:
        """The objects cannot be read now; None: they can again."""


class Follower:
    """Lists and watches until it is canceled; faults of cluster and network end nothing.

    Args:
        refused: called when the right to list is missing, and the follower ends; None keeps asking.
    """

    def __init__(
        self,
        api: Any,
        kind: str,
        path: str,
        reader: Reader,
        log: logging.Logger,
        *,
        refused: Callable[[], None] | None = None,
    ) -> None:
        self._api, self._kind, self._path = api, kind, path
        self._reader, self._log, self._refused = reader, log, refused
        self._version: str | None = None
        #: Set once the objects were listed, or it is known that they cannot be read.
        self.loaded = asyncio.Event()

    async def run(self) -> None:
        """Follow for ever; returns only when `refused` was called."""
        pause = _FIRST_PAUSE
        while True:
            began, reason = time.monotonic(), None
            try:
                if self._version is None:
                    self._version = await self._list()
                    self.loaded.set()
                if await self._watch(self._version):
                    pause = _FIRST_PAUSE
                    continue
            except client.ApiException as error:
                if error.status == 403 and self._refused is not None:
                    self._refused()
                    return
                if error.status == 410:
                    self._version = None
                reason = f"HTTP {error.status}"
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                reason = type(error).__name__
            except Exception as error:
                self._log.warning("An answer about %s cannot be taken in", self._kind, exc_info=True)
                self._version, reason = None, type(error).__name__
            self.loaded.set()
            if time.monotonic() - began > _BRIEF:
                pause = _FIRST_PAUSE  # it worked until now: a lost connection is no trouble yet
            elif reason is not None:
                self._reader.troubled(self._kind, reason)
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def _list(self) -> str:
        answer = await request(self._api, self._path, [], 60)
        raw = await answer.read()
        # Tens of thousands of devices are megabytes: parsed beside the hub's loop.
        document = await asyncio.get_running_loop().run_in_executor(None, json.loads, raw)
        self._reader.listed(self._kind, self._path, document.get("items") or [])
        self._reader.troubled(self._kind, None)
        return str(document["metadata"]["resourceVersion"])

    async def _watch(self, version: str) -> bool:
        """Take in one watch; False where the server ended it at once with nothing to say."""
        query = [
            ("watch", "true"),
            ("allowWatchBookmarks", "true"),
            ("resourceVersion", version),
            ("timeoutSeconds", str(_WATCH_SECONDS)),
        ]
        began, brought = time.monotonic(), False
        answer = await request(self._api, self._path, query, _WATCH_SECONDS + 30)
        try:
            self._reader.troubled(self._kind, None)
            buffer = b""
            async for chunk in answer.content.iter_any():
                *lines, buffer = (buffer + chunk).split(b"\n")
                for line in filter(bytes.strip, lines):
                    brought = True
                    if not self._take(json.loads(line)):
                        return True
        finally:
            answer.close()
        return brought or time.monotonic() - began > _BRIEF

    def _take(self, event: Mapping[str, Any]) -> bool:
        """Take one event in; False when the list must be read anew."""
        if event["type"] == "ERROR":
            self._version = None
            return False
        told = (event["object"].get("metadata") or {}).get("resourceVersion")
        if event["type"] != "BOOKMARK":
            self._reader.changed(self._kind, event)
        self._version = str(told) if told else self._version
        return True


async def request(api: Any, path: str, query: list[tuple[str, str]], seconds: float) -> Any:
    """GET *path* with KubeSpawner's client; answers with the response, unread.

    Raises:
        ApiException: the server refused.
    """
    answer = await api.call_api(
        path,
        "GET",
        query_params=query,
        header_params={"Accept": "application/json"},
        auth_settings=["BearerToken"],
        _preload_content=False,
        _request_timeout=seconds,
    )
    if answer.status != 200:
        answer.close()
        raise client.ApiException(status=answer.status, reason=answer.reason)
    return answer
