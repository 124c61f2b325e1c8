"""What goes away by itself: dependents of deleted owners, and the contents of ending namespaces.

Follows k8s.io/kubernetes ``pkg/controller/garbagecollector`` and ``pkg/controller/namespace``. Works on the
store in the server's own loop, shortly after the change that caused it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from typing import Any

from jupyter_dra.localcluster.deletion import FOREGROUND, ORPHAN, DeleteOptions, Deleter
from jupyter_dra.localcluster.resources import RESOURCES, named
from jupyter_dra.localcluster.store import Event, Key, Store, Stored
from jupyter_dra.localcluster.writes import Writer

log = logging.getLogger(__name__)

_NAMESPACES = named("namespaces")
_PODS = named("pods")
_SERVED = frozenset((resource.api_version, resource.kind) for resource in RESOURCES)
Place = tuple[Any, Key]


def _owners(stored: Stored) -> list[dict[str, Any]]:
    return stored.value["metadata"].get("ownerReferences") or []


class Collector:
    """Keeps an index of owners; ``notice`` is called with every event, ``run_pending`` does what is due."""

    def __init__(self, store: Store, deleter: Deleter, writer: Writer, also: Callable[[], None]) -> None:
        self._store = store
        self._deleter = deleter
        self._writer = writer
        self._also = also
        self._dependents: dict[str, set[Place]] = {}
        self._alive: dict[str, Place] = {}
        self._due: dict[Place, None] = {}
        self._namespaces: dict[str, None] = {}
        self._scheduled = False
        for stored in store.everything():
            self._index(stored)
        for stored in store.everything():
            if _owners(stored) or stored.value["metadata"].get("deletionTimestamp"):
                self._due[(stored.resource, stored.key)] = None
                if stored.resource is _NAMESPACES:
                    self._namespaces[stored.key.name] = None

    def notice(self, event: Event) -> None:
        stored = event.stored
        place = (stored.resource, stored.key)
        if event.previous is not None:
            self._forget(event.previous)
        if event.type == "DELETED":
            self._alive.pop(stored.uid, None)
            self._due.update(dict.fromkeys(self._dependents.get(stored.uid, ())))
            self._wake_owners(stored)
        else:
            self._index(stored)
            metadata = stored.value["metadata"]
            if metadata.get("ownerReferences") or metadata.get("deletionTimestamp"):
                self._due[place] = None
        if stored.resource is _NAMESPACES:
            if event.type != "DELETED" and stored.value["metadata"].get("deletionTimestamp"):
                self._namespaces[stored.key.name] = None
        elif stored.key.namespace and self._ending(stored.key.namespace):
            self._namespaces[stored.key.namespace] = None
        self.schedule()

    def schedule(self) -> None:
        """Run soon, once, outside the write that is going on."""
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self.run_pending)

    def run_pending(self) -> None:
        self._scheduled = False
        due, self._due = self._due, {}
        namespaces, self._namespaces = self._namespaces, {}
        for resource, key in due:
            stored = self._store.get(resource, key.namespace, key.name)
            if stored is not None:
                self._settle(stored)
        for name in namespaces:
            self._clear_namespace(name)
        self._also()

    def _index(self, stored: Stored) -> None:
        self._alive[stored.uid] = (stored.resource, stored.key)
        for owner in _owners(stored):
            self._dependents.setdefault(owner.get("uid", ""), set()).add((stored.resource, stored.key))

    def _forget(self, stored: Stored) -> None:
        for owner in _owners(stored):
            uid = owner.get("uid", "")
            places = self._dependents.get(uid)
            if places is not None:
                places.discard((stored.resource, stored.key))
                if not places:
                    del self._dependents[uid]

    def _wake_owners(self, stored: Stored) -> None:
        """An owner in foreground deletion may have waited for this one."""
        for owner in _owners(stored):
            place = self._alive.get(owner.get("uid", ""))
            if place is not None:
                self._due[place] = None

    def _settle(self, stored: Stored) -> None:
        metadata = stored.value["metadata"]
        finalizers = metadata.get("finalizers") or []
        if metadata.get("deletionTimestamp"):
            if ORPHAN in finalizers:
                self._orphan(stored)
            elif FOREGROUND in finalizers:
                self._foreground(stored)
            return
        owners = _owners(stored)
        gone = [owner for owner in owners if self._is_gone(owner)]
        if owners and len(gone) == len(owners):
            self._deleter.delete(stored, DeleteOptions(policy="Background", uid=stored.uid))
        elif gone:
            kept = [owner for owner in owners if owner not in gone]
            self._rewrite(stored, ownerReferences=kept)

    def _is_gone(self, owner: dict[str, Any]) -> bool:
        """Whether an owner no longer exists; of kinds that are not served nothing can be said."""
        return owner.get("uid") not in self._alive and (owner.get("apiVersion"), owner.get("kind")) in _SERVED

    def _children(self, stored: Stored) -> Iterator[tuple[Stored, dict[str, Any]]]:
        for resource, key in list(self._dependents.get(stored.uid, ())):
            child = self._store.get(resource, key.namespace, key.name)
            if child is not None:
                for owner in _owners(child):
                    if owner.get("uid") == stored.uid:
                        yield child, owner

    def _orphan(self, stored: Stored) -> None:
        for child, _ in list(self._children(stored)):
            self._rewrite(child, ownerReferences=[o for o in _owners(child) if o.get("uid") != stored.uid])
        self._drop_finalizer(stored, ORPHAN)

    def _foreground(self, stored: Stored) -> None:
        children = list(self._children(stored))
        for child, _ in children:
            others = [o for o in _owners(child) if o.get("uid") != stored.uid and not self._is_gone(o)]
            if others:
                self._rewrite(child, ownerReferences=others)
            elif not child.value["metadata"].get("deletionTimestamp"):
                self._deleter.delete(child, DeleteOptions(policy="Foreground", uid=child.uid))
        if not any(owner.get("blockOwnerDeletion") for _, owner in self._children(stored)):
            self._drop_finalizer(stored, FOREGROUND)

    def _drop_finalizer(self, stored: Stored, name: str) -> None:
        kept = [other for other in stored.value["metadata"].get("finalizers") or [] if other != name]
        self._rewrite(stored, finalizers=kept)

    def _rewrite(self, stored: Stored, **changes: list[Any]) -> None:
        current = self._store.get(stored.resource, stored.key.namespace, stored.key.name)
        if current is None:
            return
        metadata = dict(current.value["metadata"])
        for name, items in changes.items():
            if items:
                metadata[name] = items
            else:
                metadata.pop(name, None)
        self._writer.commit(current, {**current.value, "metadata": metadata})

    def _ending(self, namespace: str) -> bool:
        found = self._store.get(_NAMESPACES, "", namespace)
        return found is not None and bool(found.value["metadata"].get("deletionTimestamp"))

    def _clear_namespace(self, name: str) -> None:
        found = self._store.get(_NAMESPACES, "", name)
        if found is None or not found.value["metadata"].get("deletionTimestamp"):
            return
        contents = self._contents(name)
        # Pods go first: what they use stays until they have ended (KEP-5080).
        for stored in [one for one in contents if one.resource is _PODS] or contents:
            if not stored.value["metadata"].get("deletionTimestamp"):
                self._deleter.delete(stored, DeleteOptions(policy="Background"))
        if self._contents(name):
            return
        current = self._store.get(_NAMESPACES, "", name)
        if current is not None and not current.value["metadata"].get("finalizers"):
            self._store.remove(current)
            log.debug("namespace %s is gone", name)

    def _contents(self, namespace: str) -> list[Stored]:
        collections = self._store.collections.values()
        return [s for c in collections if c.resource.namespaced for s in c.objects(namespace)]
