"""Events on objects, written in the background and counted up when they repeat."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from jupyter_dra.errors import DRAError
from jupyter_dra.localcluster.client import Client, Object
from jupyter_dra.localcluster.kinds import EVENTS

log = logging.getLogger(__name__)

_REMEMBERED = 4096
_MESSAGE_LIMIT = 1024


def now_text(moment: float | None = None, *, micro: bool = False) -> str:
    """Return a moment (seconds since the epoch, default now) as the API writes it."""
    stamp = datetime.fromtimestamp(time.time() if moment is None else moment, UTC)
    return stamp.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if micro else "%Y-%m-%dT%H:%M:%SZ")


class Recorder:
    """Writes events for one component; equal events become one with a count.

    Args:
        component: what stands under "From" in ``kubectl describe``.
        host: the node's name for events of a kubelet.
    """

    def __init__(self, client: Client, component: str, host: str | None = None) -> None:
        self._client = client
        self._source = {"component": component, **({"host": host} if host else {})}
        self._queue: asyncio.Queue[Object] = asyncio.Queue(maxsize=10_000)
        self._seen: dict[tuple[str, ...], tuple[str, str, int]] = {}
        self._task: asyncio.Task[None] | None = None

    def record(
        self,
        about: Mapping[str, Any],
        kind: str,
        reason: str,
        message: str,
        *,
        host: str | None = None,
        order: int | None = None,
    ) -> None:
        """Queue an event about an object. Never blocks and never raises.

        Args:
            kind: Normal or Warning.
            host: the node it happened on, if not the recorder's.
            order: nanoseconds since the epoch that place it among events of the same second; default now.
        """
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name=f"events-{self._source['component']}")
        meta = about["metadata"]
        moment = now_text()
        source = {**self._source, "host": host} if host else self._source
        event: Object = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": f"{meta['name'][:230]}.{order or time.time_ns():x}",
                "namespace": meta.get("namespace") or "default",
            },
            "involvedObject": {
                "apiVersion": about.get("apiVersion", "v1"),
                "kind": about.get("kind", "Pod"),
                "name": meta["name"],
                "uid": meta.get("uid", ""),
                **({"namespace": meta["namespace"]} if meta.get("namespace") else {}),
            },
            "type": kind,
            "reason": reason,
            "message": message[:_MESSAGE_LIMIT],
            "source": source,
            "firstTimestamp": moment,
            "lastTimestamp": moment,
            "count": 1,
            "reportingComponent": source["component"],
            "reportingInstance": source.get("host", ""),
        }
        try:
            self._queue.put_nowait(event)
        except asyncio.QueueFull:
            log.debug("Too many events; one about %s is dropped", meta["name"])

    async def flush(self) -> None:
        """Wait until everything queued so far has been written."""
        if self._task is not None:
            await self._queue.join()

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _run(self) -> None:
        while True:
            event = await self._queue.get()
            try:
                await self._write(event)
            except DRAError as error:
                log.debug("An event was not stored: %s", error)
            finally:
                self._queue.task_done()

    async def _write(self, event: Object) -> None:
        about = event["involvedObject"]
        key = (
            about["uid"],
            about["name"],
            event["reason"],
            event["message"],
            event["source"].get("host", ""),
        )
        if key in self._seen:
            name, namespace, count = self._seen[key]
            try:
                await self._client.patch(
                    EVENTS,
                    name,
                    {"count": count + 1, "lastTimestamp": event["lastTimestamp"]},
                    namespace=namespace,
                )
                self._seen[key] = (name, namespace, count + 1)
                return
            except DRAError:
                del self._seen[key]
        meta = event["metadata"]
        await self._client.create(EVENTS, event, meta["namespace"])
        if len(self._seen) >= _REMEMBERED:
            self._seen.pop(next(iter(self._seen)))
        self._seen[key] = (meta["name"], meta["namespace"], 1)
