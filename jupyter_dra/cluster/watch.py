"""A cache of one kind of object, kept current by list and watch."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

from ..errors import ClusterError, ConflictError, DRAError
from .client import KubeClient

log = logging.getLogger(__name__)

T = TypeVar("T")
Object = dict[str, Any]
Key = tuple[str, str]
Change = tuple[str, Object]
"""``ADDED``, ``MODIFIED`` or ``DELETED``, and the object as it is now (for DELETED: as it last was)."""

WATCH_SECONDS = 300
SILENCE = 90.0
_BACKOFF_FIRST, _BACKOFF_MOST = 0.1, 30.0
_STEADY = 5.0
_BRIEF = 1.0
_REFUSALS = ("forbidden", "unauthorized", "unsupported", "not-found")
_REFUSED_AGAIN = 6
_QUEUE_LIMIT = 10_000


def key_of(obj: Mapping[str, Any]) -> Key:
    meta = obj["metadata"]
    return (meta.get("namespace") or "", meta["name"])


class WatchCache:
    """Objects of one kind (and selector), as the API server last told them.

    One list, then one watch that continues from bookmarks; a new list only after 410. Used on one event loop.
    Objects are shared: do not change them.

    Attributes:
        revision: counts changes; grows with every applied event.
        fresh: False while the connection is down (objects may be old).
        error: why it is not fresh; None otherwise.
    """

    def __init__(
        self,
        client: KubeClient,
        kind: str,
        namespace: str | None = None,
        *,
        labels: str | None = None,
        fields: str | None = None,
        keep: Callable[[Object], bool] | None = None,
        slim: Callable[[Object], Object] | None = None,
        group: Callable[[Object], str] | None = None,
        most: int = 100,
    ) -> None:
        """``keep`` leaves objects out; ``slim`` replaces an object by a smaller one before it is stored.

        With ``group`` only the ``most`` objects that changed last are remembered of each group; the others are
        forgotten without a word, so that a flood (of events, say) costs neither memory nor time.
        """
        self.client = client
        self.kind = kind
        self.namespace = namespace
        self._labels, self._fields = labels, fields
        self._keep, self._slim = keep, slim
        self._group, self._most = group, most
        self._groups: dict[str, dict[Key, None]] = {}
        self._items: dict[Key, Object] = {}
        self._version: str | None = None
        self._task: asyncio.Task[None] | None = None
        self._listed = asyncio.Event()
        self._listeners: list[Callable[[str, Object], None]] = []
        self._waiters: dict[Key | None, set[asyncio.Future[None]]] = {}
        self.revision = 0
        self.fresh = False
        self.error: DRAError | None = None
        self.lists = 0
        self.watches = 0

    # --- reading ---

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Object]:
        return iter(list(self._items.values()))

    def get(self, name: str, namespace: str | None = None) -> Object | None:
        """The object as last seen, or None; ``namespace`` defaults to the cache's, then to the client's."""
        return self._items.get((self._where(namespace), name)) or self._items.get(("", name))

    def of_group(self, name: str) -> list[Object]:
        """The remembered objects of a group, the one that changed last at the end."""
        return [self._items[key] for key in self._groups.get(name, ())]

    def _where(self, namespace: str | None) -> str:
        if namespace is not None:
            return namespace
        return self.namespace if self.namespace else self.client.namespace

    # --- life ---

    def start(self) -> WatchCache:
        """Begin to list and watch; safe to call again."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name=f"watch {self.kind}")
        return self

    async def ready(self, timeout: float = 30.0) -> WatchCache:
        """Wait for the first list; raises the ClusterError that prevents it."""
        self.start()
        deadline = time.monotonic() + timeout
        while not self._listed.is_set():
            if self.error is not None and self.error.code in (*_REFUSALS, "fault"):
                raise self.error
            try:
                await self._changed(None, deadline - time.monotonic())
            except TimeoutError:
                raise self.error or ClusterError(
                    f"The cluster did not list {self.kind} objects in {timeout:.0f} s.",
                    code="unreachable",
                    next_step="Try again; `jupyter dra doctor` says what else is wrong.",
                ) from None
        return self

    async def close(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    # --- changes ---

    def subscribe(self, listener: Callable[[str, Object], None]) -> Callable[[], None]:
        """Call ``listener(type, object)`` for each later change; returns what ends it."""
        self._listeners.append(listener)

        def end() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return end

    @asynccontextmanager
    async def changes(self) -> AsyncIterator[AsyncIterator[Change]]:
        """Changes as an async iterator: what is there first (as ADDED), then what comes.

        A reader slower than the cluster raises ClusterError ``overrun`` rather than filling memory.
        """
        queue: asyncio.Queue[Change] = asyncio.Queue(_QUEUE_LIMIT)

        def put(type: str, obj: Object) -> None:
            try:
                queue.put_nowait((type, obj))
            except asyncio.QueueFull:
                end()

        end = self.subscribe(put)
        start = [("ADDED", obj) for obj in self]

        async def read() -> AsyncIterator[Change]:
            for change in start:
                yield change
            while True:
                if queue.full():
                    raise ClusterError(
                        "Changes came faster than they were read.",
                        code="overrun",
                        next_step="Read them anew from the start.",
                    )
                yield await queue.get()

        try:
            yield read()
        finally:
            end()

    async def wait_for(self, predicate: Callable[[WatchCache], T | None], timeout: float | None = None) -> T:
        """Wait until ``predicate(cache)`` is true and return its value; raises TimeoutError."""
        return await self._wait(None, lambda: predicate(self), timeout)

    async def wait_object(
        self,
        name: str,
        predicate: Callable[[Object | None], T | None],
        timeout: float | None = None,
        *,
        namespace: str | None = None,
    ) -> T:
        """Wait until ``predicate(object or None)`` is true for one object; cheaper than `wait_for`."""
        key = (self._where(namespace), name)
        return await self._wait(key, lambda: predicate(self._items.get(key)), timeout)

    async def _wait(self, key: Key | None, test: Callable[[], T | None], timeout: float | None) -> T:
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            value = test()
            if value:
                return value
            await self._changed(key, None if deadline is None else deadline - time.monotonic())

    async def _changed(self, key: Key | None, timeout: float | None) -> None:
        if timeout is not None and timeout <= 0:
            raise TimeoutError
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiters = self._waiters.setdefault(key, set())
        waiters.add(future)
        try:
            async with asyncio.timeout(timeout):
                await future
        finally:
            waiters.discard(future)
            if not waiters and self._waiters.get(key) is waiters:
                del self._waiters[key]

    def _notify(self, type: str, obj: Object) -> None:
        self.revision += 1
        for listener in list(self._listeners):
            try:
                listener(type, obj)
            except Exception:
                log.exception("A listener of the %s watch failed", self.kind)
        self._wake(key_of(obj))

    def _wake(self, key: Key | None) -> None:
        for wanted in {key, None}:
            for future in self._waiters.get(wanted, ()):
                if not future.done():
                    future.set_result(None)

    # --- the loop ---

    async def _run(self) -> None:
        failures = 0
        while True:
            began = time.monotonic()
            try:
                if self._version is None:
                    await self._list()
                if await self._watch():
                    failures = 0
                    continue
                failures += 1
                await asyncio.sleep(_backoff(failures))
            except DRAError as error:
                if isinstance(error, ConflictError) and error.code == "expired":
                    log.info("The %s watch is too old; listing again", self.kind)
                    self._version = None
                    await asyncio.sleep(_backoff(failures) if failures else 0)
                    failures += 1
                    continue
                failures = 1 if time.monotonic() - began > _STEADY else failures + 1
                self._stale(error)
                await asyncio.sleep(_backoff(failures, error, had_rights=self._listed.is_set()))
            except Exception as error:
                # Whoever reads the cache must not take it for current; what could not be taken in may be gone by then.
                log.exception("The %s watch meets an object it cannot take in", self.kind)
                failures = 1 if time.monotonic() - began > _STEADY else failures + 1
                text = f"A fault of jupyter-dra in the {self.kind} watch: {type(error).__name__}"
                self._stale(ClusterError(text, code="fault", next_step="The server's log has the details."))
                self._version = None
                await asyncio.sleep(_backoff(failures))

    def _stale(self, error: DRAError) -> None:
        if self.fresh or self.error is None:
            log.info("The %s watch is interrupted: %s", self.kind, error)
        self.fresh, self.error = False, error
        self._wake(None)

    def _current(self) -> None:
        self.fresh, self.error = True, None

    async def _list(self) -> None:
        self.lists += 1
        answer = await self.client.list(self.kind, self.namespace, labels=self._labels, fields=self._fields)
        now: dict[Key, Object] = {}
        for item in answer.get("items") or []:
            if self._keep is None or self._keep(item):
                now[key_of(item)] = item
        for key in [key for key in self._items if key not in now]:
            self._notify("DELETED", self._drop(key))
        for key, item in now.items():
            old = self._items.get(key)
            if old is not None and old["metadata"].get("uid") != item["metadata"].get("uid"):
                self._notify("DELETED", self._drop(key))
                old = None
            if old is None or _version(old) != _version(item):
                self._store(key, item, "ADDED" if old is None else "MODIFIED")
        self._version = str(answer.get("metadata", {}).get("resourceVersion") or "0")
        self._current()
        self._listed.set()
        self._wake(None)

    async def _watch(self) -> bool:
        """Take in one watch until it ends; False where it ended at once and brought nothing (a broken proxy)."""
        self.watches += 1
        seconds = int(WATCH_SECONDS * random.uniform(0.8, 1.0))
        stream = self.client.watch(
            self.kind,
            self.namespace,
            labels=self._labels,
            fields=self._fields,
            resource_version=self._version,
            timeout_seconds=seconds,
            read_timeout=SILENCE,
        )
        started, brought = time.monotonic(), False
        try:
            async for event in stream:
                self._current()
                brought = True
                obj = event["object"]
                self._version = _version(obj) or self._version
                if event["type"] != "BOOKMARK":
                    self._apply(event["type"], obj)
        except ClusterError as error:
            if error.code != "unreachable" or time.monotonic() - started < _BRIEF:
                raise
            log.debug("The %s watch ended: %s", self.kind, error)
        return brought or time.monotonic() - started > _BRIEF

    def _apply(self, type: str, obj: Object) -> None:
        key = key_of(obj)
        if type == "DELETED":
            old = self._items.get(key)
            if old is not None and old["metadata"].get("uid") == obj["metadata"].get("uid"):
                self._drop(key)
                self._notify("DELETED", obj)
            return
        if self._keep is not None and not self._keep(obj):
            if key in self._items:
                self._notify("DELETED", self._drop(key))
            return
        self._store(key, obj, "MODIFIED" if key in self._items else "ADDED")

    def _store(self, key: Key, obj: Object, type: str) -> None:
        obj["metadata"].pop("managedFields", None)
        stored = self._slim(obj) if self._slim else obj
        self._items[key] = stored
        self._remember(key, stored)
        self._notify(type, stored)

    def _remember(self, key: Key, obj: Object) -> None:
        if self._group is None:
            return
        members = self._groups.setdefault(self._group(obj), {})
        members.pop(key, None)
        members[key] = None
        if len(members) > self._most:
            oldest = next(iter(members))
            del members[oldest], self._items[oldest]

    def _drop(self, key: Key) -> Object:
        obj = self._items.pop(key)
        if self._group is not None:
            name = self._group(obj)
            members = self._groups.get(name, {})
            members.pop(key, None)
            if not members:
                self._groups.pop(name, None)
        return obj


def _version(obj: Mapping[str, Any]) -> str | None:
    value = obj["metadata"].get("resourceVersion")
    return value if isinstance(value, str) else None


def _backoff(failures: int, error: DRAError | None = None, *, had_rights: bool = True) -> float:
    """Seconds until the next try.

    A refusal is final, unless the watch had the right before: an API server that has just started refuses everybody
    until it has read its roles, which takes some seconds.
    """
    refused = error is not None and error.code in _REFUSALS
    if refused and (not had_rights or failures > _REFUSED_AGAIN):
        return 60.0
    return float(min(_BACKOFF_FIRST * 2 ** (failures - 1), _BACKOFF_MOST)) * random.uniform(0.5, 1.0)
