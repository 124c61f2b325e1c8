"""Delete: grace periods, finalizers, propagation policies, and namespaces.

Follows k8s.io/apiserver ``pkg/registry/rest/delete.go`` and ``pkg/registry/generic/registry/store.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jupyter_dra.localcluster.clock import Clock, stamp
from jupyter_dra.localcluster.requests import Query
from jupyter_dra.localcluster.status import APIError, bad_request, conflict, forbidden, invalid
from jupyter_dra.localcluster.store import Object, Store, Stored

POLICIES = ("Background", "Foreground", "Orphan")
FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
PROTECTED_NAMESPACES = ("default", "kube-public", "kube-system")


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """How to delete. ``grace`` None means the object's own; ``policy`` None means background."""

    grace: int | None = None
    policy: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    dry_run: bool = False


def read_options(body: Mapping[str, Any], query: Query) -> DeleteOptions:
    """Options from the body or, where there is none, from the query; raises 400 or 422 for nonsense."""
    kind = body.get("kind")
    if kind not in (None, "DeleteOptions"):
        raise bad_request(
            f'no kind "{kind}" is registered for version "v1" in scheme, expected DeleteOptions'
        )
    preconditions = body.get("preconditions") or {}
    grace = body.get("gracePeriodSeconds", query.number("gracePeriodSeconds"))
    if grace is not None and (isinstance(grace, bool) or not isinstance(grace, int)):
        raise bad_request(
            "json: cannot unmarshal into Go struct field DeleteOptions.gracePeriodSeconds of type int64"
        )
    policy = body.get("propagationPolicy") or query.text("propagationPolicy") or None
    orphan = body.get("orphanDependents")
    if policy is None and orphan is not None:
        policy = "Orphan" if orphan else "Background"
    if policy is not None and policy not in POLICIES:
        supported = ", ".join(f'"{known}"' for known in (*POLICIES, "nil"))
        cause = (
            "FieldValueNotSupported",
            "propagationPolicy",
            f'Unsupported value: "{policy}": supported values: {supported}',
        )
        raise invalid("meta.k8s.io", "DeleteOptions", "", [cause])
    return DeleteOptions(
        grace=grace,
        policy=policy,
        uid=preconditions.get("uid"),
        resource_version=preconditions.get("resourceVersion"),
        dry_run=bool(body.get("dryRun")) or bool(query.all("dryRun")),
    )


@dataclass(frozen=True, slots=True)
class Deleted:
    """The object as it was last seen, and whether it is gone already."""

    stored: Stored
    gone: bool


class Deleter:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def delete(self, before: Stored, options: DeleteOptions) -> Deleted:
        """Delete now, or mark the object as ending and leave the rest to whoever it waits for."""
        _check(before, options)
        if before.resource.kind == "Namespace":
            return self._namespace(before, options)
        grace = _grace(before, options)
        metadata = dict(before.value["metadata"])
        finalizers = _finalizers(metadata.get("finalizers") or [], options.policy)
        ending = bool(metadata.get("deletionTimestamp"))
        if ending and not self._shortens(metadata, grace, finalizers):
            return Deleted(before, False)
        if grace == 0 and not finalizers:
            return Deleted(before if options.dry_run else self._store.remove(before), True)
        if not ending or grace < metadata.get("deletionGracePeriodSeconds", 0):
            metadata["deletionTimestamp"] = stamp(self._clock.seconds() + grace)
            metadata["deletionGracePeriodSeconds"] = grace
            if "generation" in metadata:
                metadata["generation"] = int(metadata["generation"]) + 1
        if finalizers:
            metadata["finalizers"] = finalizers
        else:
            metadata.pop("finalizers", None)
        if options.dry_run:
            return Deleted(before, False)
        return Deleted(self._store.replace(before, {**before.value, "metadata": metadata}), False)

    def _shortens(self, metadata: Mapping[str, Any], grace: int, finalizers: list[str]) -> bool:
        """Whether a repeated delete changes anything about an object that is ending already."""
        if grace == 0 and not finalizers:
            return True
        known = metadata.get("finalizers") or []
        return grace < metadata.get("deletionGracePeriodSeconds", 0) or finalizers != known

    def _namespace(self, before: Stored, options: DeleteOptions) -> Deleted:
        if before.key.name in PROTECTED_NAMESPACES:
            raise forbidden("", "namespaces", before.key.name, "this namespace may not be deleted")
        if before.value["metadata"].get("deletionTimestamp") or options.dry_run:
            return Deleted(before, False)
        metadata = {**before.value["metadata"], "deletionTimestamp": self._clock.stamp()}
        value: Object = {**before.value, "metadata": metadata, "status": {"phase": "Terminating"}}
        return Deleted(self._store.replace(before, value), False)


def _check(before: Stored, options: DeleteOptions) -> None:
    if options.uid and options.uid != before.uid:
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({before.uid}). "
            "The object might have been deleted and then recreated"
        )
        raise _precondition(before, why)
    revision = before.value["metadata"]["resourceVersion"]
    if options.resource_version and options.resource_version != revision:
        why = (
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the "
            f"ResourceVersion in record ({revision}). The object might have been modified"
        )
        raise _precondition(before, why)


def _precondition(before: Stored, why: str) -> APIError:
    return conflict(before.resource.group, before.resource.plural, before.key.name, why)


def _grace(before: Stored, options: DeleteOptions) -> int:
    """Only pods wait: those on a node, as long as they have not ended."""
    if before.resource.kind != "Pod":
        return 0
    spec = before.value.get("spec") or {}
    phase = (before.value.get("status") or {}).get("phase")
    if not spec.get("nodeName") or phase in ("Succeeded", "Failed"):
        return 0
    if options.grace is not None:
        # Negative means "at once, but let the kubelet stop it": one second, as the server turns it into.
        return 1 if options.grace < 0 else options.grace
    return int(spec.get("terminationGracePeriodSeconds", 30))


def _finalizers(known: list[str], policy: str | None) -> list[str]:
    kept = [name for name in known if policy is None or name not in (FOREGROUND, ORPHAN)]
    if policy == "Foreground":
        kept.append(FOREGROUND)
    elif policy == "Orphan":
        kept.append(ORPHAN)
    return kept
