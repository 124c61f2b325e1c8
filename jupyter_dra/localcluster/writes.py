"""Create, replace and patch: one path for every resource and the status below it.

Follows k8s.io/apiserver ``pkg/registry/generic/registry/store.go`` and ``pkg/endpoints/handlers``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from jupyter_dra.localcluster import rules, strategy
from jupyter_dra.localcluster.admission import Admission
from jupyter_dra.localcluster.clock import Clock
from jupyter_dra.localcluster.identity import User
from jupyter_dra.localcluster.quota import QuotaKeeper
from jupyter_dra.localcluster.resources import RBAC_GROUP, Resource
from jupyter_dra.localcluster.status import (
    STALE,
    already_exists,
    bad_request,
    conflict,
    invalid,
    not_found,
)
from jupyter_dra.localcluster.store import Store, Stored

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How a request wants to be written."""

    user: User
    validation: str = "Warn"
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """The object after the write (not stored if it was a dry run) and warnings for the client."""

    stored: Stored
    created: bool = False
    warnings: list[str] = field(default_factory=list)


Change = Callable[[Object], Object]


class Writer:
    """Writes to the store; nothing here awaits, so every write is atomic."""

    def __init__(self, store: Store, admission: Admission, quota: QuotaKeeper, clock: Clock) -> None:
        self._store = store
        self._admission = admission
        self._quota = quota
        self._clock = clock

    def create(
        self, resource: Resource, namespace: str, document: Mapping[str, Any], options: WriteOptions
    ) -> Written:
        value, warnings = rules.read_object(resource, document, options.validation)
        metadata = value["metadata"]
        _place(resource, namespace, metadata)
        self._name(metadata)
        name = metadata.get("name", "")
        if resource.namespaced:
            self._admission.check_namespace(resource, namespace, name)
        strategy.prepare_create(resource, value)
        metadata["uid"] = self._clock.uid()
        metadata["creationTimestamp"] = self._clock.stamp()
        value = self._complete(resource, value, options.user)
        labels = self._admission.namespace_labels(namespace) if resource.namespaced else None
        if name and self._store.get(resource, namespace, name) is not None:
            raise already_exists(resource.group, resource.plural, name)
        rules.check_new(resource, value, labels)
        if resource.namespaced:
            self._quota.check(resource, namespace, value)
        if options.dry_run:
            return Written(Stored(resource, value, 0), True, warnings)
        return Written(self._store.add(resource, value), True, warnings)

    def _name(self, metadata: Object) -> None:
        if not metadata.get("name") and metadata.get("generateName"):
            prefix = metadata["generateName"][:58]
            metadata["name"] = prefix + self._clock.suffix()

    def _complete(self, resource: Resource, value: Object, user: User) -> Object:
        """Defaults of the type, then what admission adds; the defaults again for what admission added."""
        value = rules.with_defaults(value, self._clock.stamp())
        if resource.kind == "Pod":
            self._admission.mutate_pod(value)
            value["status"]["qosClass"] = strategy.quality_of_service(value["spec"])
        elif resource.kind == "Service":
            strategy.assign_cluster_ip(value)
        elif resource.group == RBAC_GROUP:
            self._admission.check_role(user, resource, value)
        return value

    def replace(
        self,
        resource: Resource,
        key: tuple[str, str, str],
        document: Mapping[str, Any],
        options: WriteOptions,
    ) -> Written:
        """PUT of an object or of its status; ``key`` is (namespace, name, subresource)."""
        namespace, name, subresource = key
        before = self._existing(resource, namespace, name)
        value, warnings = rules.read_object(resource, document, options.validation)
        _place(resource, namespace, value["metadata"])
        given = value["metadata"].get("name", "")
        if not given:
            raise bad_request(f'the name of the object is missing, expected the name on the URL ("{name}")')
        if given != name:
            raise bad_request(f"the name of the object ({given}) does not match the name on the URL ({name})")
        return self._update(before, value, subresource, options, warnings)

    def patch(
        self, resource: Resource, key: tuple[str, str, str], change: Change, options: WriteOptions
    ) -> Written:
        """Apply a change to the object as it is now; ``change`` gets its own copy and gives the new whole."""
        namespace, name, subresource = key
        before = self._existing(resource, namespace, name)
        changed = change(copy.deepcopy(before.value))
        value, warnings = rules.read_patched(resource, changed, options.validation)
        if value["metadata"].get("name") != name:
            raise bad_request(
                f"the name of the object ({value['metadata'].get('name', '')}) "
                f"does not match the name on the URL ({name})"
            )
        return self._update(before, value, subresource, options, warnings)

    def _existing(self, resource: Resource, namespace: str, name: str) -> Stored:
        found = self._store.get(resource, namespace, name)
        if found is None:
            raise not_found(resource.group, resource.plural, name)
        return found

    def _update(
        self, before: Stored, value: Object, subresource: str, options: WriteOptions, warnings: list[str]
    ) -> Written:
        resource, old = before.resource, before.value
        _preconditions(before, value["metadata"])
        if subresource == "status":
            strategy.prepare_status(resource, old, value)
        else:
            strategy.prepare_update(resource, old, value)
        _check_finalizers(before, value)
        value = rules.with_defaults(value, self._clock.stamp())
        value["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        if value == old:
            return Written(before, warnings=warnings)
        namespace = before.key.namespace
        if resource.group == RBAC_GROUP:
            self._admission.check_role(options.user, resource, value)
        rules.check_change(resource, value, old, subresource)
        if resource.namespaced and not subresource:
            self._quota.check(resource, namespace, value, old)
        if options.dry_run:
            return Written(Stored(resource, value, before.revision), warnings=warnings)
        return Written(self.commit(before, value), warnings=warnings)

    def commit(self, before: Stored, value: Object) -> Stored:
        """Store a checked update; an object that waits for nothing more is removed instead."""
        metadata = value["metadata"]
        ending = metadata.get("deletionTimestamp") and metadata.get("deletionGracePeriodSeconds", 0) == 0
        if ending and not metadata.get("finalizers") and before.resource.kind != "Namespace":
            last = self._store.remove(before)
            return Stored(before.resource, value, last.revision)
        return self._store.replace(before, value)


def _place(resource: Resource, namespace: str, metadata: Object) -> None:
    if not resource.namespaced:
        metadata.pop("namespace", None)
        return
    given = metadata.get("namespace")
    if given and given != namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request "
            f"({given} and {namespace})"
        )
    metadata["namespace"] = namespace


def _preconditions(before: Stored, metadata: Mapping[str, Any]) -> None:
    resource, name = before.resource, before.key.name
    uid = metadata.get("uid")
    if uid and uid != before.uid:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {before.uid}"
        raise conflict(resource.group, resource.plural, name, why)
    revision = metadata.get("resourceVersion")
    if revision and revision != before.value["metadata"]["resourceVersion"]:
        raise conflict(resource.group, resource.plural, name, STALE)


def _check_finalizers(before: Stored, value: Object) -> None:
    """An object that is being deleted takes no new finalizers."""
    if not before.value["metadata"].get("deletionTimestamp"):
        return
    known = before.value["metadata"].get("finalizers") or []
    fresh = [name for name in value["metadata"].get("finalizers") or [] if name not in known]
    if fresh:
        text = (
            "Forbidden: no new finalizers can be added if the object is being deleted, "
            f"found new finalizers {fresh}"
        )
        cause = ("FieldValueForbidden", "metadata.finalizers", text)
        raise invalid(before.resource.group, before.resource.kind, before.key.name, [cause])
