"""Get, list and watch over HTTP."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable

from jupyter_dra.localcluster import tables
from jupyter_dra.localcluster.handlers import Exchange
from jupyter_dra.localcluster.media import PARTIAL, TABLE
from jupyter_dra.localcluster.requests import Query
from jupyter_dra.localcluster.resources import Resource
from jupyter_dra.localcluster.selectors import Selection, parse_fields, parse_labels
from jupyter_dra.localcluster.status import (
    APIError,
    bad_request,
    expired,
    invalid,
    not_found,
    not_implemented,
    too_large_resource_version,
)
from jupyter_dra.localcluster.store import Stored, encode
from jupyter_dra.localcluster.watch import Seen, Watch

BOOKMARK_SECONDS = 60.0
_LAST_BOOKMARK_BEFORE_END = 2.0


def selection(exchange: Exchange, resource: Resource) -> Selection:
    """What a list, watch or deletecollection selects; raises 400 for selectors that make no sense."""
    query, target = exchange.query, exchange.target
    labels = query.text("labelSelector")
    fields = parse_fields(query.text("fieldSelector"), resource, labels)
    if target.name:
        fields = (*fields, *parse_fields(f"metadata.name={target.name}", resource))
    namespace = target.namespace if resource.namespaced and target.namespace else None
    return Selection(namespace, parse_labels(labels), fields)


def find(exchange: Exchange, resource: Resource) -> Stored:
    """The object a request names; raises 404."""
    target = exchange.target
    found = exchange.cluster.store.get(resource, target.namespace, target.name)
    if found is None:
        raise not_found(resource.group, resource.plural, target.name)
    return found


def answer_object(exchange: Exchange, stored: Stored, status: int = 200) -> None:
    """One object in the form the client asked for."""
    match exchange.wanted.form:
        case "Table":
            include = exchange.query.text("includeObject")
            now = exchange.cluster.clock.seconds()
            exchange.json(tables.table(stored.resource, [stored], include, now, stored.revision), status)
        case "PartialObjectMetadata":
            exchange.json(tables.partial(stored), status)
        case _:
            exchange.reply(stored.whole, status)


async def answer_get(exchange: Exchange, resource: Resource) -> None:
    stored = find(exchange, resource)
    asked = exchange.query.revision()
    if asked is not None and asked > exchange.cluster.store.revision:
        raise too_large_resource_version(asked, exchange.cluster.store.revision)
    answer_object(exchange, stored)


async def answer_list(exchange: Exchange, resource: Resource) -> None:
    query, store = exchange.query, exchange.cluster.store
    if query.text("continue"):
        raise not_implemented("continuing a list", "lists are always complete: ask without limit")
    _check_list_revision(query, store.revision)
    wanted = selection(exchange, resource)
    items = matching(exchange, resource, wanted)
    if exchange.wanted.form == TABLE:
        now = exchange.cluster.clock.seconds()
        exchange.json(tables.table(resource, items, query.text("includeObject"), now, store.revision))
        return
    if exchange.wanted.form == PARTIAL:
        exchange.json(tables.partial_list(items, store.revision))
        return
    head = (
        f'{{"kind":"{resource.list_kind}","apiVersion":"{resource.api_version}",'
        f'"metadata":{{"resourceVersion":"{store.revision}"}},"items":['
    )
    exchange.reply(head.encode() + b",".join([stored.item for stored in items]) + b"]}")


def matching(exchange: Exchange, resource: Resource, wanted: Selection) -> list[Stored]:
    store = exchange.cluster.store
    name = wanted.single_name
    if name is not None and wanted.namespace is not None:
        found = store.get(resource, wanted.namespace, name)
        candidates: Iterable[Stored] = [found] if found else []
    else:
        candidates = store.objects(resource, wanted.namespace)
    if wanted.everything:
        return list(candidates)
    return [stored for stored in candidates if wanted.matches(stored.value)]


def _check_list_revision(query: Query, current: int) -> None:
    match = query.text("resourceVersionMatch")
    asked = query.revision()
    if match not in ("", "Exact", "NotOlderThan"):
        text = f'Unsupported value: "{match}": supported values: "Exact", "NotOlderThan", ""'
        raise invalid(
            "meta.k8s.io", "ListOptions", "", [("FieldValueNotSupported", "resourceVersionMatch", text)]
        )
    if match and asked is None:
        text = "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"
        raise invalid(
            "meta.k8s.io", "ListOptions", "", [("FieldValueForbidden", "resourceVersionMatch", text)]
        )
    if match == "Exact" and asked != current:
        if asked == 0:
            text = 'Forbidden: resourceVersionMatch "Exact" is forbidden for resourceVersion "0"'
            raise invalid(
                "meta.k8s.io", "ListOptions", "", [("FieldValueForbidden", "resourceVersionMatch", text)]
            )
        if asked is not None and asked < current:
            raise expired("The resourceVersion for the provided list is too old.")
    if asked is not None and asked > current:
        raise too_large_resource_version(asked, current)


class Stream:
    """One watch response."""

    def __init__(self, exchange: Exchange, resource: Resource) -> None:
        query = exchange.query
        self._exchange = exchange
        self._resource = resource
        self._bookmarks = query.flag("allowWatchBookmarks")
        self._table = exchange.wanted.form == TABLE
        self._partial = exchange.wanted.form == PARTIAL
        self._include = query.text("includeObject")
        timeout = query.number("timeoutSeconds")
        seconds = float(timeout) if timeout else random.uniform(1800, 3600)
        loop = asyncio.get_running_loop()
        self._loop = loop
        self._end = loop.time() + seconds
        self._first_table = True
        self._watch = Watch(exchange.cluster.store.collections[resource], selection(exchange, resource))
        self._begin(query)

    def _begin(self, query: Query) -> None:
        """Open the watch where the query says; raises 400 or 422 for options that do not go together."""
        initial = query.text("sendInitialEvents")
        match = query.text("resourceVersionMatch")
        since = query.revision()
        self._initial = query.flag("sendInitialEvents")
        if initial and match != "NotOlderThan":
            text = "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            raise invalid(
                "meta.k8s.io", "ListOptions", "", [("FieldValueForbidden", "resourceVersionMatch", text)]
            )
        if match and not initial:
            text = (
                "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            )
            raise invalid(
                "meta.k8s.io", "ListOptions", "", [("FieldValueForbidden", "resourceVersionMatch", text)]
            )
        if self._initial and not self._bookmarks:
            raise bad_request("sendInitialEvents needs allowWatchBookmarks")
        current = self._exchange.cluster.store.revision
        self._start_error: APIError | None = None
        if since is not None and since > current and self._initial:
            raise too_large_resource_version(since, current)
        fresh = not since or self._initial
        if initial and not self._initial and not since:
            since, fresh = current, False
        try:
            self._watch.start(None if fresh else since)
        except APIError as error:
            self._start_error = error
        self._initial_end = current if self._initial else None

    async def run(self) -> None:
        exchange, watch = self._exchange, self._watch
        exchange.set_status(200)
        exchange.set_header("Content-Type", "application/json")
        if self._start_error is not None:
            exchange.write(_event(b"ERROR", encode(self._start_error.body)))
            await exchange.finish()
            return
        exchange.cluster.watches.add(watch)
        exchange.when_closed(watch.end)
        try:
            await exchange.flush()
            await self._send_all()
        finally:
            exchange.cluster.watches.discard(watch)
            watch.close()
        if not exchange.is_over:
            await exchange.finish()

    async def _send_all(self) -> None:
        loop, watch, exchange = self._loop, self._watch, self._exchange
        next_bookmark = loop.time() + BOOKMARK_SECONDS
        ending = self._end - _LAST_BOOKMARK_BEFORE_END
        while True:
            seen = watch.take()
            if seen and exchange.cluster.faults.event_delay:
                await asyncio.sleep(exchange.cluster.faults.event_delay)
            parts = [self._encode(one) for one in seen]
            if self._initial_end is not None:
                parts.append(self._bookmark(self._initial_end, end_of_list=True))
                self._initial_end = None
            now = loop.time()
            if self._bookmarks and now >= min(next_bookmark, ending):
                parts.append(self._bookmark(exchange.cluster.store.revision))
                if now >= ending:
                    ending = float("inf")
                next_bookmark = now + BOOKMARK_SECONDS
            if watch.dropped and watch.error is not None:
                parts.append(_event(b"ERROR", encode(watch.error.body)))
            if parts:
                exchange.write(b"".join(parts))
                await exchange.flush()
            if watch.dropped or now >= self._end:
                return
            until = min(self._end, next_bookmark, ending) if self._bookmarks else self._end
            await watch.wait(until - loop.time())

    def _encode(self, seen: Seen) -> bytes:
        stored = seen.stored
        if self._table:
            now = self._exchange.cluster.clock.seconds()
            value = tables.table(
                self._resource, [stored], self._include, now, stored.revision, columns=self._first_table
            )
            self._first_table = False
            body = encode(value)
        elif self._partial:
            body = encode(tables.partial(stored))
        else:
            body = stored.whole
        return _event(seen.type.encode(), body)

    def _bookmark(self, revision: int, *, end_of_list: bool = False) -> bytes:
        metadata: dict[str, object] = {"resourceVersion": str(revision), "creationTimestamp": None}
        if end_of_list:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        value: dict[str, object] = {
            "kind": self._resource.kind,
            "apiVersion": self._resource.api_version,
            "metadata": metadata,
        }
        if self._table:
            value = tables.empty(revision, metadata)
        return _event(b"BOOKMARK", encode(value))


def _event(kind: bytes, body: bytes) -> bytes:
    return b'{"type":"' + kind + b'","object":' + body + b"}\n"


async def answer_watch(exchange: Exchange, resource: Resource) -> None:
    await Stream(exchange, resource).run()
