"""Server-side tables: the columns that ``kubectl get`` prints, and objects cut down to their metadata.

Columns follow k8s.io/kubernetes ``pkg/printers/internalversion/printers.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jupyter_dra.localcluster.durations import age
from jupyter_dra.localcluster.pod_rows import pod_cells
from jupyter_dra.localcluster.resources import Resource
from jupyter_dra.localcluster.store import Stored

Object = Mapping[str, Any]
Cells = Callable[[Object, float], list[Any]]


@dataclass(frozen=True, slots=True)
class Column:
    """One column; priority 1 shows with ``-o wide`` only."""

    name: str
    priority: int = 0
    type: str = "string"
    format: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": "",
            "priority": self.priority,
        }


NAME = Column("Name", format="name")
AGE = Column("Age")


def _wide(name: str) -> Column:
    return Column(name, 1)


def _get(value: Object, *path: str, default: Any = "") -> Any:
    found: Any = value
    for step in path:
        found = found.get(step) if isinstance(found, Mapping) else None
    return default if found is None else found


def _name(value: Object) -> Any:
    return value["metadata"]["name"]


def _age(value: Object, now: float) -> str:
    return age(value["metadata"].get("creationTimestamp"), now)


def _plain(value: Object, now: float) -> list[Any]:
    return [_name(value), _age(value, now)]


def _namespace(value: Object, now: float) -> list[Any]:
    return [_name(value), _get(value, "status", "phase"), _age(value, now)]


def _secret(value: Object, now: float) -> list[Any]:
    return [_name(value), value.get("type", ""), len(value.get("data") or {}), _age(value, now)]


def _config_map(value: Object, now: float) -> list[Any]:
    count = len(value.get("data") or {}) + len(value.get("binaryData") or {})
    return [_name(value), count, _age(value, now)]


def _account(value: Object, now: float) -> list[Any]:
    return [_name(value), len(value.get("secrets") or ()), _age(value, now)]


def _labels(labels: Object | None) -> str:
    return ",".join(f"{key}={text}" for key, text in sorted((labels or {}).items())) or "<none>"


def _node(value: Object, now: float) -> list[Any]:
    roles = [
        key.split("/", 1)[1]
        for key in value["metadata"].get("labels") or {}
        if key.startswith("node-role.kubernetes.io/")
    ]
    info = _get(value, "status", "nodeInfo", default={})
    addresses = {a.get("type"): a.get("address") for a in _get(value, "status", "addresses", default=())}
    return [
        _name(value),
        _node_state(value),
        ",".join(sorted(roles)) or "<none>",
        _age(value, now),
        info.get("kubeletVersion", ""),
        addresses.get("InternalIP") or "<none>",
        addresses.get("ExternalIP") or "<none>",
        info.get("osImage") or "<unknown>",
        info.get("kernelVersion") or "<unknown>",
        info.get("containerRuntimeVersion") or "<unknown>",
    ]


def _node_state(value: Object) -> str:
    state = "Unknown"
    for condition in _get(value, "status", "conditions", default=()):
        if condition.get("type") == "Ready":
            state = "Ready" if condition.get("status") == "True" else "NotReady"
    return f"{state},SchedulingDisabled" if _get(value, "spec", "unschedulable") else state


def _event(value: Object, now: float) -> list[Any]:
    subject = value.get("involvedObject") or {}
    first = (
        value.get("firstTimestamp") or value.get("eventTime") or value["metadata"].get("creationTimestamp")
    )
    series = value.get("series") or {}
    last = series.get("lastObservedTime") or value.get("lastTimestamp") or first
    count = series.get("count") or value.get("count") or 1
    seen = age(last, now)
    if count > 1:
        seen = f"{seen} (x{count} over {age(first, now)})"
    source = value.get("source") or {}
    component = source.get("component") or value.get("reportingComponent") or ""
    return [
        seen,
        value.get("type", ""),
        value.get("reason", ""),
        f"{str(subject.get('kind', '')).lower()}/{subject.get('name', '')}",
        subject.get("fieldPath", ""),
        ", ".join(part for part in (component, source.get("host", "")) if part),
        str(value.get("message", "")).strip(),
        age(first, now),
        count,
        _name(value),
    ]


def _quota(value: Object, now: float) -> list[Any]:
    hard, used = _get(value, "status", "hard", default={}), _get(value, "status", "used", default={})
    requests: list[str] = []
    limits: list[str] = []
    for name in sorted(hard):
        text = f"{name}: {used.get(name, '0')}/{hard[name]}"
        (limits if name.startswith("limits.") else requests).append(text)
    return [_name(value), ", ".join(requests), ", ".join(limits), _age(value, now)]


def _limit_range(value: Object, now: float) -> list[Any]:
    return [_name(value), value["metadata"].get("creationTimestamp", "")]


def _service(value: Object, now: float) -> list[Any]:
    spec = value.get("spec") or {}
    ports = ",".join(f"{p.get('port')}/{p.get('protocol', 'TCP')}" for p in spec.get("ports") or ())
    return [
        _name(value),
        spec.get("type", "ClusterIP"),
        spec.get("clusterIP") or "None",
        "<none>",
        ports or "<none>",
        _age(value, now),
        _labels(spec.get("selector")),
    ]


def _lease(value: Object, now: float) -> list[Any]:
    return [_name(value), _get(value, "spec", "holderIdentity"), _age(value, now)]


def _network_policy(value: Object, now: float) -> list[Any]:
    selector = _get(value, "spec", "podSelector", "matchLabels", default={})
    return [_name(value), _labels(selector), _age(value, now)]


def _role(value: Object, now: float) -> list[Any]:
    return [_name(value), value["metadata"].get("creationTimestamp", "")]


def _binding(value: Object, now: float) -> list[Any]:
    ref = value.get("roleRef") or {}
    subjects = value.get("subjects") or ()

    def names(kind: str) -> str:
        found = [
            f"{s.get('namespace')}/{s.get('name')}" if kind == "ServiceAccount" else str(s.get("name"))
            for s in subjects
            if s.get("kind") == kind
        ]
        return ", ".join(found)

    role = f"{ref.get('kind')}/{ref.get('name')}"
    return [_name(value), role, _age(value, now), names("User"), names("Group"), names("ServiceAccount")]


def _claim(value: Object, now: float) -> list[Any]:
    status = value.get("status") or {}
    words = []
    if value["metadata"].get("deletionTimestamp"):
        words.append("deleted")
    words.append("allocated" if status.get("allocation") is not None else "pending")
    if status.get("reservedFor"):
        words.append("reserved")
    return [_name(value), ",".join(words), _age(value, now)]


def _slice(value: Object, now: float) -> list[Any]:
    spec = value.get("spec") or {}
    if spec.get("nodeName"):
        node = spec["nodeName"]
    elif spec.get("allNodes"):
        node = "<all>"
    elif spec.get("nodeSelector") or spec.get("perDeviceNodeSelection"):
        node = "<selector>"
    else:
        node = "<none>"
    return [_name(value), node, spec.get("driver", ""), _get(spec, "pool", "name"), _age(value, now)]


_TABLES: dict[str, tuple[tuple[Column, ...], Cells]] = {
    "Pod": (
        (
            NAME,
            Column("Ready"),
            Column("Status"),
            Column("Restarts"),
            AGE,
            _wide("IP"),
            _wide("Node"),
            _wide("Nominated Node"),
            _wide("Readiness Gates"),
        ),
        pod_cells,
    ),
    "Namespace": ((NAME, Column("Status"), AGE), _namespace),
    "Secret": ((NAME, Column("Type"), Column("Data", type="integer"), AGE), _secret),
    "ConfigMap": ((NAME, Column("Data", type="integer"), AGE), _config_map),
    "ServiceAccount": ((NAME, Column("Secrets", type="integer"), AGE), _account),
    "Node": (
        (
            NAME,
            Column("Status"),
            Column("Roles"),
            AGE,
            Column("Version"),
            _wide("Internal-IP"),
            _wide("External-IP"),
            _wide("OS-Image"),
            _wide("Kernel-Version"),
            _wide("Container-Runtime"),
        ),
        _node,
    ),
    "Event": (
        (
            Column("Last Seen"),
            Column("Type"),
            Column("Reason"),
            Column("Object"),
            _wide("Subobject"),
            _wide("Source"),
            Column("Message"),
            _wide("First Seen"),
            _wide("Count"),
            Column("Name", 1, format="name"),
        ),
        _event,
    ),
    "ResourceQuota": ((NAME, Column("Request"), Column("Limit"), AGE), _quota),
    "LimitRange": ((NAME, Column("Created At")), _limit_range),
    "Service": (
        (
            NAME,
            Column("Type"),
            Column("Cluster-IP"),
            Column("External-IP"),
            Column("Port(s)"),
            AGE,
            _wide("Selector"),
        ),
        _service,
    ),
    "Lease": ((NAME, Column("Holder"), AGE), _lease),
    "NetworkPolicy": ((NAME, Column("Pod-Selector"), AGE), _network_policy),
    "Role": ((NAME, Column("Created At")), _role),
    "ClusterRole": ((NAME, Column("Created At")), _role),
    "RoleBinding": (
        (NAME, Column("Role"), AGE, _wide("Users"), _wide("Groups"), _wide("ServiceAccounts")),
        _binding,
    ),
    "ClusterRoleBinding": (
        (NAME, Column("Role"), AGE, _wide("Users"), _wide("Groups"), _wide("ServiceAccounts")),
        _binding,
    ),
    "ResourceClaim": ((NAME, Column("State"), AGE), _claim),
    "ResourceSlice": ((NAME, Column("Node"), Column("Driver"), Column("Pool"), AGE), _slice),
}
_PLAIN: tuple[tuple[Column, ...], Cells] = ((NAME, AGE), _plain)


def partial(stored: Stored) -> dict[str, Any]:
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": stored.value["metadata"],
    }


def partial_list(items: Iterable[Stored], revision: int) -> dict[str, Any]:
    return {
        "kind": "PartialObjectMetadataList",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": str(revision)},
        "items": [partial(stored) for stored in items],
    }


def empty(revision: int, metadata: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": dict(metadata or {"resourceVersion": str(revision)}),
        "columnDefinitions": None,
        "rows": [],
    }


def table(
    resource: Resource,
    items: Sequence[Stored],
    include: str,
    now: float,
    revision: int,
    *,
    columns: bool = True,
) -> dict[str, Any]:
    """A Table; ``include`` is None, Metadata (the default) or Object: what a row carries."""
    definitions, cells = _TABLES.get(resource.kind, _PLAIN)
    rows = [{"cells": cells(stored.value, now), "object": _row_object(stored, include)} for stored in items]
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": str(revision)},
        "columnDefinitions": [column.as_dict() for column in definitions] if columns else None,
        "rows": rows,
    }


def _row_object(stored: Stored, include: str) -> dict[str, Any] | None:
    if include == "None":
        return None
    return stored.value if include == "Object" else partial(stored)
