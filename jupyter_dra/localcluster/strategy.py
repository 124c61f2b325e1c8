"""What a create or an update does to an object before it is checked: the parts that the server owns.

Follows the ``strategy.go`` files in k8s.io/kubernetes ``pkg/registry``.
"""

from __future__ import annotations

import base64
import ipaddress
from collections.abc import Mapping
from typing import Any

from jupyter_dra.localcluster.resources import Resource
from jupyter_dra.model.quantity import Quantity

Object = dict[str, Any]

SYSTEM_FIELDS = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")
_KEEPS_METADATA = ("Pod", "Node")


def prepare_create(resource: Resource, value: Object) -> None:
    """Change a new object in place: no status from outside, and what its kind starts with."""
    metadata = value["metadata"]
    for name in (*SYSTEM_FIELDS, "resourceVersion", "selfLink", "managedFields"):
        metadata.pop(name, None)
    if resource.has_generation:
        metadata["generation"] = 1
    if resource.has_status and resource.kind != "Node":
        value.pop("status", None)
    starter = _STARTERS.get(resource.kind)
    if starter is not None:
        starter(value)


def prepare_update(resource: Resource, old: Object, new: Object) -> None:
    """Change the new object in place: system fields and status stay as they are."""
    _keep_system_fields(old, new)
    if resource.has_status:
        _copy(old, new, "status")
    if resource.kind == "Namespace":
        _copy(old, new, "spec")
    elif resource.kind == "Secret":
        merge_string_data(new)
    if resource.has_generation and _without_status(old) != _without_status(new):
        new["metadata"]["generation"] = int(old["metadata"].get("generation", 0)) + 1


def prepare_status(resource: Resource, old: Object, new: Object) -> None:
    """Change the new object in place: everything but the status stays as it is."""
    _keep_system_fields(old, new)
    for key in [key for key in new if key not in ("status", "metadata")]:
        del new[key]
    for key, part in old.items():
        if key not in ("status", "metadata"):
            new[key] = part
    kept: tuple[str, ...] = ("finalizers", "ownerReferences")
    if resource.kind not in _KEEPS_METADATA:
        kept = (*kept, "labels", "annotations")
    for name in kept:
        _copy(old["metadata"], new["metadata"], name)


def _copy(old: Mapping[str, Any], new: Object, name: str) -> None:
    if name in old:
        new[name] = old[name]
    else:
        new.pop(name, None)


def _keep_system_fields(old: Object, new: Object) -> None:
    for name in (*SYSTEM_FIELDS, "generateName"):
        _copy(old["metadata"], new["metadata"], name)
    new["metadata"].pop("managedFields", None)
    new["metadata"].pop("selfLink", None)


def _without_status(value: Object) -> Object:
    return {key: part for key, part in value.items() if key not in ("status", "metadata")}


def merge_string_data(secret: Object) -> None:
    """``stringData`` is write-only: it ends up in ``data``."""
    texts = secret.pop("stringData", None)
    if texts:
        encoded = {key: base64.b64encode(str(text).encode()).decode() for key, text in texts.items()}
        secret["data"] = {**(secret.get("data") or {}), **encoded}


def _start_pod(value: Object) -> None:
    value["status"] = {"phase": "Pending", "qosClass": quality_of_service(value.get("spec") or {})}


def _start_namespace(value: Object) -> None:
    labels = value["metadata"].get("labels") or {}
    value["metadata"]["labels"] = {**labels, "kubernetes.io/metadata.name": value["metadata"].get("name", "")}
    value["spec"] = {**(value.get("spec") or {}), "finalizers": ["kubernetes"]}
    value["status"] = {"phase": "Active"}


def _start_claim(value: Object) -> None:
    value["status"] = {}


def _start_service(value: Object) -> None:
    value["status"] = {"loadBalancer": {}}


_STARTERS = {
    "Pod": _start_pod,
    "Namespace": _start_namespace,
    "ResourceClaim": _start_claim,
    "Secret": merge_string_data,
    "Service": _start_service,
}

_SERVICE_RANGE = ipaddress.ip_network("10.96.0.0/16")


def assign_cluster_ip(value: Object) -> None:
    """Give a service an address of the usual range, from its uid; nothing listens there."""
    spec = value.setdefault("spec", {})
    if spec.get("type", "ClusterIP") == "ExternalName" or spec.get("clusterIP"):
        return
    offset = int(value["metadata"]["uid"].replace("-", "")[:8], 16) % (_SERVICE_RANGE.num_addresses - 2) + 1
    spec["clusterIP"] = str(_SERVICE_RANGE[offset])
    spec["clusterIPs"] = [spec["clusterIP"]]


def quality_of_service(spec: Mapping[str, Any]) -> str:
    """Guaranteed, Burstable or BestEffort, as pkg/apis/core/v1/helper/qos computes it."""
    guaranteed, any_set = True, False
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        resources = container.get("resources") or {}
        limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
        for name in ("cpu", "memory"):
            limit, request = _nanos(limits.get(name)), _nanos(requests.get(name, limits.get(name)))
            any_set = any_set or limit > 0 or request > 0
            guaranteed = guaranteed and limit > 0 and limit == request
    if not any_set:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _nanos(value: Any) -> int:
    return Quantity.parse(value).nanos if value is not None else 0
