"""ResourceQuota: what an object charges, what a namespace uses, and the refusal texts.

Follows k8s.io/kubernetes ``pkg/quota/v1/evaluator/core`` (pods.go, resource_claims.go) and
k8s.io/apiserver ``pkg/admission/plugin/resourcequota/controller.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jupyter_dra.localcluster.resources import RESOURCE_GROUP, Resource, named
from jupyter_dra.localcluster.status import forbidden
from jupyter_dra.localcluster.store import Event, Store
from jupyter_dra.model.quantity import Quantity

Object = dict[str, Any]
Usage = dict[str, Quantity]

_QUOTAS = named("resourcequotas")
_PLAIN_COUNTS = {
    "configmaps": "configmaps",
    "pods": "pods",
    "resourcequotas": "resourcequotas",
    "secrets": "secrets",
    "services": "services",
}
_ALL_DEVICES = 32
_ONE = Quantity.from_int(1)


def charges(resource: Resource, value: Mapping[str, Any]) -> Usage:
    """What one object counts for, by quota key."""
    if resource.kind == "Pod" and _finished(value):
        return {f"count/{resource.qualified}": _ONE}
    usage: Usage = {f"count/{resource.qualified}": _ONE}
    if not resource.group and resource.plural in _PLAIN_COUNTS:
        usage[resource.plural] = _ONE
    if resource.kind == "Pod":
        usage.update(_pod_amounts(value.get("spec") or {}))
    elif resource.kind == "ResourceClaim":
        usage.update(_claim_devices(value.get("spec") or {}))
    return usage


def _finished(value: Mapping[str, Any]) -> bool:
    return (value.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _pod_amounts(spec: Mapping[str, Any]) -> Usage:
    usage: Usage = {}
    for field in ("requests", "limits"):
        total = _sum(spec.get("containers") or (), field)
        for container in spec.get("initContainers") or ():
            for name, amount in _amounts(container, field).items():
                total[name] = max(total.get(name, amount), amount)
        for name, amount in total.items():
            usage[f"{field}.{name}"] = amount
            if field == "requests" and name in ("cpu", "memory", "ephemeral-storage"):
                usage[name] = amount
    return usage


def _amounts(container: Mapping[str, Any], field: str) -> Usage:
    found = (container.get("resources") or {}).get(field) or {}
    return {name: Quantity.parse(amount) for name, amount in found.items()}


def _sum(containers: Iterable[Mapping[str, Any]], field: str) -> Usage:
    total: Usage = {}
    for container in containers:
        for name, amount in _amounts(container, field).items():
            total[name] = total[name] + amount if name in total else amount
    return total


def _claim_devices(spec: Mapping[str, Any]) -> Usage:
    """Devices per class; of alternatives the greatest count of each class."""
    counts: dict[str, int] = {}
    for request in (spec.get("devices") or {}).get("requests") or ():
        if request.get("exactly"):
            found = _count(request["exactly"])
        else:
            found = {}
            for choice in request.get("firstAvailable") or ():
                for name, number in _count(choice).items():
                    found[name] = max(found.get(name, 0), number)
        for name, number in found.items():
            counts[name] = counts.get(name, 0) + number
    return {
        f"{name}.deviceclass.{RESOURCE_GROUP}/devices": Quantity.from_int(n) for name, n in counts.items()
    }


def _count(request: Mapping[str, Any]) -> dict[str, int]:
    name = request.get("deviceClassName", "")
    if request.get("allocationMode") == "All":
        return {name: _ALL_DEVICES}
    return {name: int(request.get("count") or 1)}


def in_scope(quota: Mapping[str, Any], resource: Resource, value: Mapping[str, Any]) -> bool:
    """Whether the quota's scopes select this object; scopes speak about pods only."""
    spec = quota.get("spec") or {}
    scopes = list(spec.get("scopes") or ())
    scopes += [
        item.get("scopeName", "")
        for item in (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
        if item.get("operator") == "Exists"
    ]
    if not scopes:
        return True
    if resource.kind != "Pod":
        return False
    pod = value.get("spec") or {}
    best_effort = (value.get("status") or {}).get("qosClass") == "BestEffort"
    terminating = pod.get("activeDeadlineSeconds") is not None
    facts = {
        "BestEffort": best_effort,
        "NotBestEffort": not best_effort,
        "Terminating": terminating,
        "NotTerminating": not terminating,
        "PriorityClass": bool(pod.get("priorityClassName")),
    }
    return all(facts.get(scope, False) for scope in scopes)


class QuotaKeeper:
    """Refuses what goes over a quota, and keeps ``status.used`` current."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stale: set[str] = set()

    def check(self, resource: Resource, namespace: str, value: Object, old: Object | None = None) -> None:
        """Raise 403 if this new object, or this growth of ``old``, exceeds a quota of the namespace."""
        quotas = self._store.objects(_QUOTAS, namespace)
        if not quotas:
            return
        wanted = charges(resource, value)
        before = charges(resource, old) if old is not None else {}
        for stored in quotas:
            quota = stored.value
            hard = (quota.get("spec") or {}).get("hard") or {}
            if not in_scope(quota, resource, value):
                continue
            if resource.kind == "Pod" and old is None:
                _require_stated(quota, value, hard)
            self._check_one(quota, resource, value, _grown(wanted, before), hard)

    def _check_one(
        self, quota: Object, resource: Resource, value: Object, delta: Usage, hard: Mapping[str, Any]
    ) -> None:
        keys = sorted(name for name in delta if name in hard)
        if not keys:
            return
        used = self.usage(quota)
        over = [name for name in keys if used[name] + delta[name] > Quantity.parse(hard[name])]
        if over:
            requested = ",".join(f"{name}={delta[name].canonical()}" for name in over)
            have = ",".join(f"{name}={used[name].canonical()}" for name in over)
            limited = ",".join(f"{name}={Quantity.parse(hard[name]).canonical()}" for name in over)
            name = quota["metadata"]["name"]
            why = f"exceeded quota: {name}, requested: {requested}, used: {have}, limited: {limited}"
            raise forbidden(resource.group, resource.plural, value["metadata"].get("name", ""), why)

    def usage(self, quota: Mapping[str, Any]) -> Usage:
        """What the namespace uses now of each key the quota limits."""
        hard = (quota.get("spec") or {}).get("hard") or {}
        used = {name: Quantity.from_int(0) for name in hard}
        namespace = quota["metadata"]["namespace"]
        for resource, collection in self._store.collections.items():
            if not resource.namespaced or not any(_may_charge(resource, name) for name in hard):
                continue
            for stored in collection.objects(namespace):
                if not in_scope(quota, resource, stored.value):
                    continue
                for name, amount in charges(resource, stored.value).items():
                    if name in used:
                        used[name] = used[name] + amount
        return used

    def notice(self, event: Event) -> bool:
        """Remember that a namespace's usage may have changed; true if there is something to refresh."""
        namespace = event.stored.key.namespace
        if not namespace or (event.stored.resource is _QUOTAS and event.type == "DELETED"):
            return False
        if namespace in self._store.collections[_QUOTAS].by_namespace:
            self._stale.add(namespace)
            return True
        return False

    def refresh(self) -> None:
        """Write the status of every quota whose namespace changed."""
        stale, self._stale = self._stale, set()
        for namespace in stale:
            for stored in self._store.objects(_QUOTAS, namespace):
                hard = (stored.value.get("spec") or {}).get("hard") or {}
                used = {name: amount.canonical() for name, amount in self.usage(stored.value).items()}
                status = {"hard": dict(hard), "used": used}
                if stored.value.get("status") != status:
                    metadata = dict(stored.value["metadata"])
                    self._store.replace(stored, {**stored.value, "metadata": metadata, "status": status})
        self._stale.clear()


def _grown(wanted: Usage, before: Usage) -> Usage:
    zero = Quantity.from_int(0)
    delta = {name: amount - before.get(name, zero) for name, amount in wanted.items()}
    return {name: amount for name, amount in delta.items() if amount > zero}


def _may_charge(resource: Resource, name: str) -> bool:
    if name == f"count/{resource.qualified}" or (not resource.group and name == resource.plural):
        return True
    if resource.kind == "Pod":
        return name in ("cpu", "memory", "ephemeral-storage") or name.startswith(("requests.", "limits."))
    return resource.kind == "ResourceClaim" and name.endswith(f".deviceclass.{RESOURCE_GROUP}/devices")


def _require_stated(quota: Mapping[str, Any], value: Mapping[str, Any], hard: Mapping[str, Any]) -> None:
    """Where compute amounts are limited, each container must state them."""
    missing: list[str] = []
    for name in sorted(hard):
        field, _, what = name.partition(".")
        if not what:
            field, what = "requests", name
        if field not in ("requests", "limits") or what not in ("cpu", "memory"):
            continue
        containers = [
            c.get("name", "")
            for c in (value.get("spec") or {}).get("containers") or ()
            if what not in ((c.get("resources") or {}).get(field) or {})
        ]
        if containers:
            missing.append(f"{name} for: {','.join(sorted(containers))}")
    if missing:
        why = f"failed quota: {quota['metadata']['name']}: must specify {'; '.join(missing)}"
        raise forbidden("", "pods", value["metadata"].get("name", ""), why)
