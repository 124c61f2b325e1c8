"""Rules for container resources, claims included. Follows core ``validation.go``."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from jupyter_dra.model.names import dns_label_problems, label_key_problems
from jupyter_dra.model.quantity import Quantity
from jupyter_dra.validation.draclass import is_extended_resource
from jupyter_dra.validation.fielderrors import Report
from jupyter_dra.validation.paths import Path

Struct = Mapping[str, Any]
CONTAINER_RESOURCES = {"cpu", "memory", "ephemeral-storage"}
STANDARD = CONTAINER_RESOURCES | {
    "storage",
    "pods",
    "services",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "requests.hugepages-",
    "limits.hugepages-",
}
NOT_STANDARD = "must be a standard resource type or fully qualified"
NOT_FOR_CONTAINERS = "must be a standard resource for containers"
NOT_FOR_QUOTA = "must be a standard resource for quota"


def is_standard(name: str) -> bool:
    return name in STANDARD or name.startswith(("hugepages-", "requests.hugepages-"))


def check_resource_name(report: Report, name: str, path: Path) -> bool:
    """A resource name: standard, or qualified; returns whether further checks make sense."""
    problems = label_key_problems(name)
    if problems:
        report.problems(path, name, problems)
        return False
    if "/" not in name and not is_standard(name):
        report.invalid(path, name, NOT_STANDARD)
        return False
    return True


def _check_container_resource(report: Report, name: str, path: Path) -> None:
    before = len(report.errors)
    check_resource_name(report, name, path)
    if "/" not in name:
        if name not in CONTAINER_RESOURCES and not name.startswith("hugepages-"):
            report.invalid(path, name, NOT_FOR_CONTAINERS)
    elif "kubernetes.io/" not in name and not is_extended_resource(name) and len(report.errors) == before:
        report.invalid(path, name, "doesn't follow extended resource name standard")


def check_amount(report: Report, name: str, text: str, path: Path) -> None:
    """A quantity that may not be negative, and not fractional where only whole things exist."""
    value = Quantity.parse(text)
    if value.nanos < 0:
        report.invalid(path, value.canonical(), "must be greater than or equal to 0")
    if is_whole(name) and value.nanos % 10**9:
        report.invalid(path, value.canonical(), "must be an integer")


def is_whole(name: str) -> bool:
    """Whether a resource is counted, not measured."""
    counted = {
        "pods",
        "services",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    }
    return name in counted or ("/" in name and is_extended_resource(name))


def validate_resources(report: Report, resources: Struct, path: Path, claims: Collection[str]) -> None:
    """Limits, requests and claims of a container."""
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for name, amount in sorted(limits.items()):
        where = path.child("limits").key(name)
        _check_container_resource(report, name, where)
        check_amount(report, name, amount, where)
    for name, amount in sorted(requests.items()):
        where = path.child("requests").key(name)
        _check_container_resource(report, name, where)
        check_amount(report, name, amount, where)
        _check_within_limit(report, name, amount, limits.get(name), where, path)
    _validate_claims(report, resources.get("claims") or [], path.child("claims"), claims)


def _no_overcommit(name: str) -> bool:
    return name.startswith("hugepages-") or ("/" in name and is_extended_resource(name))


def _check_within_limit(
    report: Report, name: str, amount: str, limit: str | None, where: Path, path: Path
) -> None:
    if limit is None:
        if _no_overcommit(name):
            report.required(path.child("limits"), "Limit must be set for non overcommitable resources")
        return
    wanted, most = Quantity.parse(amount), Quantity.parse(limit)
    if _no_overcommit(name):
        if wanted != most:
            text = f"must be equal to {name} limit of {most.canonical()}"
            report.invalid(path.child("requests"), wanted.canonical(), text)
    elif wanted > most:
        text = f"must be less than or equal to {name} limit of {most.canonical()}"
        report.invalid(path.child("requests"), wanted.canonical(), text)


def _validate_claims(report: Report, entries: Sequence[Struct], path: Path, claims: Collection[str]) -> None:
    names: set[str] = set()
    for index, entry in enumerate(entries):
        where, name, request = path.index(index), entry.get("name") or "", entry.get("request") or ""
        if not name:
            report.required(where)
            continue
        if name in names:
            report.duplicate(where, name)
        else:
            if request:
                report.problems(where.child("request"), request, dns_label_problems(request))
            key = f"{name}/{request}" if request else name
            if key in names:
                report.duplicate(where, key)
            elif not request and any(other.startswith(f"{name}/") for other in names):
                report.duplicate(where, name)
            names.add(key)
        if name not in claims:
            known = f": {', '.join(sorted(claims))}" if claims else " which is empty"
            text = f"must be one of the names in pod.spec.resourceClaims{known}"
            report.not_found(where, name, text, rule="unknown-claim")
