"""Objects in memory with one revision counter, as etcd behind the API server.

Stored values are never changed in place: a write puts a new value in. That is what lets lists and watches
share one encoded form of each object. Everything runs on one event loop, so a write is atomic as long as it
does not await.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from jupyter_dra.localcluster.resources import RESOURCES, Resource

Object = dict[str, Any]
EventType = Literal["ADDED", "MODIFIED", "DELETED"]

HISTORY = 4096
"""Events kept per resource; a watch from before the oldest gets 410."""


def encode(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


class Key(NamedTuple):
    """Where an object stands; ``namespace`` is empty for cluster-scoped kinds. Sorts as lists do."""

    namespace: str
    name: str


class Stored:
    """One version of one object and its encoded forms, made once when first asked for."""

    __slots__ = ("_item", "_whole", "key", "resource", "revision", "value")

    def __init__(self, resource: Resource, value: Object, revision: int) -> None:
        self.resource = resource
        self.value = value
        self.revision = revision
        metadata = value["metadata"]
        self.key = Key(metadata.get("namespace", "") if resource.namespaced else "", metadata["name"])
        self._item: bytes | None = None
        self._whole: bytes | None = None

    @property
    def item(self) -> bytes:
        """JSON without kind and apiVersion, as objects stand in a list."""
        if self._item is None:
            self._item = encode({k: v for k, v in self.value.items() if k not in ("kind", "apiVersion")})
        return self._item

    @property
    def whole(self) -> bytes:
        """JSON with kind and apiVersion, as objects stand alone and in watch events."""
        if self._whole is None:
            head = f'{{"kind":"{self.resource.kind}","apiVersion":"{self.resource.api_version}",'
            self._whole = head.encode() + self.item[1:]
        return self._whole

    @property
    def uid(self) -> str:
        uid: str = self.value["metadata"].get("uid", "")
        return uid

    def at(self, revision: int) -> Stored:
        """The same object as of another revision (what a DELETED event carries)."""
        metadata = {**self.value["metadata"], "resourceVersion": str(revision)}
        return Stored(self.resource, {**self.value, "metadata": metadata}, revision)


@dataclass(slots=True)
class Event:
    """One change. ``previous`` is what was stored before, None for ADDED."""

    type: EventType
    stored: Stored
    previous: Stored | None
    _left: Stored | None = field(default=None, repr=False)

    @property
    def revision(self) -> int:
        return self.stored.revision

    @property
    def left(self) -> Stored:
        """The previous object under this event's revision, for watchers whose selector it no longer meets."""
        if self._left is None:
            assert self.previous is not None
            self._left = self.previous.at(self.revision)
        return self._left


Listener = Callable[[Event], None]


class Collection:
    """All objects of one resource, by namespace and name, and its latest events."""

    __slots__ = ("by_namespace", "history", "listeners", "oldest", "resource")

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self.by_namespace: dict[str, dict[str, Stored]] = {}
        self.history: deque[Event] = deque()
        self.oldest = 0
        self.listeners: set[Listener] = set()

    def get(self, namespace: str, name: str) -> Stored | None:
        inside = self.by_namespace.get(namespace)
        return inside.get(name) if inside else None

    def objects(self, namespace: str | None = None) -> list[Stored]:
        """Sorted by namespace and name; None means every namespace."""
        if namespace is not None:
            inside = self.by_namespace.get(namespace, {})
            return [inside[name] for name in sorted(inside)]
        return [inside[name] for _, inside in sorted(self.by_namespace.items()) for name in sorted(inside)]

    def put(self, stored: Stored) -> None:
        self.by_namespace.setdefault(stored.key.namespace, {})[stored.key.name] = stored

    def drop(self, key: Key) -> None:
        inside = self.by_namespace[key.namespace]
        del inside[key.name]
        if not inside:
            del self.by_namespace[key.namespace]

    def record(self, event: Event) -> None:
        self.history.append(event)
        if len(self.history) > HISTORY:
            self.oldest = self.history.popleft().revision
        for listener in tuple(self.listeners):
            listener(event)

    def since(self, revision: int) -> Iterator[Event]:
        return (event for event in self.history if event.revision > revision)

    def forget(self, revision: int) -> None:
        """Drop the history up to now, so that every older watch must list again."""
        self.history.clear()
        self.oldest = revision


class Store:
    """Every collection, and the revision they share."""

    def __init__(self, revision: int = 1, objects: Iterable[Object] = ()) -> None:
        self.revision = revision
        self.collections: dict[Resource, Collection] = {
            resource: Collection(resource) for resource in RESOURCES
        }
        self.listeners: list[Listener] = []
        kinds = {(r.api_version, r.kind): r for r in RESOURCES}
        for value in objects:
            resource = kinds.get((value.get("apiVersion", ""), value.get("kind", "")))
            if resource is not None:
                stored = Stored(resource, value, int(value["metadata"]["resourceVersion"]))
                self.collections[resource].put(stored)
        for collection in self.collections.values():
            collection.oldest = revision - 1

    def get(self, resource: Resource, namespace: str, name: str) -> Stored | None:
        return self.collections[resource].get(namespace if resource.namespaced else "", name)

    def objects(self, resource: Resource, namespace: str | None = None) -> list[Stored]:
        return self.collections[resource].objects(namespace)

    def add(self, resource: Resource, value: Object) -> Stored:
        """Store a new object; the caller has checked that the name is free."""
        return self._commit("ADDED", resource, value, None)

    def replace(self, before: Stored, value: Object) -> Stored:
        return self._commit("MODIFIED", before.resource, value, before)

    def remove(self, before: Stored) -> Stored:
        """Take the object out; the answer is its last state under the revision of the removal."""
        self.revision += 1
        last = before.at(self.revision)
        collection = self.collections[before.resource]
        collection.drop(before.key)
        self._publish(collection, Event("DELETED", last, before))
        return last

    def _commit(self, kind: EventType, resource: Resource, value: Object, before: Stored | None) -> Stored:
        self.revision += 1
        value["metadata"]["resourceVersion"] = str(self.revision)
        stored = Stored(resource, value, self.revision)
        collection = self.collections[resource]
        collection.put(stored)
        self._publish(collection, Event(kind, stored, before))
        return stored

    def _publish(self, collection: Collection, event: Event) -> None:
        collection.record(event)
        for listener in self.listeners:
            listener(event)

    def everything(self) -> Iterator[Stored]:
        for collection in self.collections.values():
            for inside in collection.by_namespace.values():
                yield from inside.values()

    def forget_history(self) -> None:
        """Make every watch that continues from an earlier revision end with 410."""
        self.revision += 1
        for collection in self.collections.values():
            collection.forget(self.revision)
