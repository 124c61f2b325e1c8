"""A cache of one kind, kept current by list and watch."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jupyter_dra.errors import ClusterError
from jupyter_dra.localcluster.client import ApiError, Client, Object
from jupyter_dra.localcluster.kinds import Resource

Key = tuple[str, str]
Handler = Callable[[str, Object, Object | None], None]

log = logging.getLogger(__name__)

_FIRST_DELAY, _LONGEST_DELAY = 0.05, 5.0


def key_of(item: Mapping[str, Any]) -> Key:
    """Return (namespace, name); the namespace of a cluster-scoped object is empty."""
    meta = item["metadata"]
    return meta.get("namespace") or "", meta["name"]


class Informer:
    """The objects of one kind as last seen, with handlers called for every change.

    Handlers get ``("ADDED" | "MODIFIED" | "DELETED", object, object before or None)``, are plain functions and must
    not block. After a broken watch or a 410 the list is read anew and the difference is reported.
    """

    def __init__(
        self,
        client: Client,
        resource: Resource,
        *,
        namespace: str | None = None,
        params: Mapping[str, str] | None = None,
    ) -> None:
        self.resource = resource
        self.items: dict[Key, Object] = {}
        self.synced = asyncio.Event()
        self._client = client
        self._namespace = namespace
        self._params = dict(params or {})
        self._handlers: list[Handler] = []
        self._task: asyncio.Task[None] | None = None

    def on_change(self, handler: Handler) -> None:
        """Register a handler; objects already here are reported to it as ADDED."""
        self._handlers.append(handler)
        for item in list(self.items.values()):
            handler("ADDED", item, None)

    def off_change(self, handler: Handler) -> None:
        """Forget a handler."""
        self._handlers = [known for known in self._handlers if known is not handler]

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name=f"watch-{self.resource.plural}")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    def get(self, name: str, namespace: str = "") -> Object | None:
        return self.items.get((namespace, name))

    def values(self) -> Iterator[Object]:
        return iter(list(self.items.values()))

    def learn(self, item: Object) -> None:
        """Take in the answer of our own write, so that the next decision need not wait for the watch.

        Older news than what is here changes nothing; so does an object that the cache has never held or no longer
        holds, because its deletion may have been seen already.
        """
        key = key_of(item)
        before = self.items.get(key)
        if before is None or before["metadata"].get("uid") != item["metadata"].get("uid"):
            return
        if _version(item) > _version(before):
            item.setdefault("apiVersion", self.resource.group_version)
            item.setdefault("kind", self.resource.kind)
            self.items[key] = item
            self._notify("MODIFIED", item, before)

    async def _run(self) -> None:
        delay = _FIRST_DELAY
        while True:
            try:
                version = await self._list()
                delay = _FIRST_DELAY
                while True:
                    version = await self._watch(version)
            except ApiError as error:
                if error.is_gone:
                    continue
                log.warning("Watching %s was refused: %s", self.resource.plural, error)
            except ClusterError as error:
                log.debug("%s", error)
            await asyncio.sleep(delay)
            delay = min(delay * 2, _LONGEST_DELAY)

    async def _list(self) -> str:
        answer = await self._client.list(self.resource, self._namespace, params=self._params)
        fresh = {key_of(item): item for item in answer.get("items") or ()}
        for key in [key for key in self.items if key not in fresh]:
            before = self.items.pop(key)
            self._notify("DELETED", before, before)
        for key, item in fresh.items():
            self._store(key, item)
        self.synced.set()
        return str(answer["metadata"]["resourceVersion"])

    async def _watch(self, version: str) -> str:
        async for kind, item in self._client.watch(
            self.resource, resource_version=version, namespace=self._namespace, params=self._params
        ):
            version = item["metadata"]["resourceVersion"]
            if kind == "BOOKMARK":
                continue
            if kind == "DELETED":
                before = self.items.pop(key_of(item), None)
                if before is not None:
                    self._notify("DELETED", item, before)
            else:
                self._store(key_of(item), item)
        return version

    def _store(self, key: Key, item: Object) -> None:
        before = self.items.get(key)
        if before is None:
            self.items[key] = item
            self._notify("ADDED", item, None)
        elif before["metadata"].get("uid") != item["metadata"].get("uid"):
            self.items[key] = item
            self._notify("DELETED", before, before)
            self._notify("ADDED", item, None)
        elif _version(item) > _version(before):
            self.items[key] = item
            self._notify("MODIFIED", item, before)

    def _notify(self, kind: str, item: Object, before: Object | None) -> None:
        for handler in self._handlers:
            try:
                handler(kind, item, before)
            except Exception:
                log.exception("A handler failed for %s %s", self.resource.plural, key_of(item))


def _version(item: Mapping[str, Any]) -> int:
    """Return the resourceVersion as a number: since Kubernetes 1.35 versions of one resource may be compared."""
    text = item["metadata"].get("resourceVersion", "0")
    return int(text) if text.isdigit() else 0


async def started(*informers: Informer, timeout: float = 30.0) -> None:
    """Start informers and wait until each has its first list.

    Raises:
        ClusterError: the API server did not answer within ``timeout`` seconds.
    """
    for informer in informers:
        informer.start()
    try:
        async with asyncio.timeout(timeout):
            await asyncio.gather(*(informer.synced.wait() for informer in informers))
    except TimeoutError:
        late = ", ".join(i.resource.plural for i in informers if not i.synced.is_set())
        raise ClusterError(f"The API server did not list {late} within {timeout:.0f} s.") from None
