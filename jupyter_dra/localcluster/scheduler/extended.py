"""Pods that ask for devices as extended resources (``nvidia.com/gpu: 1``): the claim that is made for them (KEP-5004).

Follows pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go. A resource is served by the class
that names it (the newest, then the first by name), or by the class in ``deviceclass.resource.kubernetes.io/<class>``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from jupyter_dra.errors import QuantityError
from jupyter_dra.localcluster.client import Object
from jupyter_dra.model.quantity import Quantity

PLACEHOLDER = "<extended-resources>"
ANNOTATION = "resource.kubernetes.io/extended-resource-claim"
_IMPLICIT = "deviceclass.resource.kubernetes.io/"


@dataclass(frozen=True, slots=True)
class ExtendedClaim:
    """What a pod asks for this way: the claim's requests, and which container gets which."""

    requests: tuple[Object, ...]
    mappings: tuple[Object, ...]
    resources: frozenset[str]

    def placeholder(self, pod: Object) -> Object:
        """Return the claim as the allocator sees it before it exists."""
        meta = {"name": PLACEHOLDER, "namespace": pod["metadata"]["namespace"]}
        return {"metadata": meta, "spec": {"devices": {"requests": list(self.requests)}}}

    def claim(self, pod: Object, finalizer: str) -> Object:
        """Return the claim to create for a pod."""
        owner = {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": pod["metadata"]["name"],
            "uid": pod["metadata"]["uid"],
            "controller": True,
        }
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {
                "generateName": f"{pod['metadata']['name']}-extended-resources-",
                "namespace": pod["metadata"]["namespace"],
                "annotations": {ANNOTATION: "true"},
                "finalizers": [finalizer],
                "ownerReferences": [owner],
            },
            "spec": {"devices": {"requests": list(self.requests)}},
        }


def extended_claim(pod: Object, classes: Iterable[Object]) -> ExtendedClaim | None:
    """Return what a pod asks for as extended resources that classes serve; None when there is nothing."""
    by_resource = _by_resource(classes)
    requests: list[Object] = []
    mappings: list[Object] = []
    resources: set[str] = set()
    containers = [*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"]]
    for number, container in enumerate(containers):
        amounts = _amounts(container)
        for index, resource in enumerate(sorted(amounts)):
            device_class, count = by_resource.get(resource), _whole(amounts[resource])
            if device_class is None or count <= 0:
                continue
            name = f"container-{number}-request-{index}"
            exactly = {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": count}
            requests.append({"name": name, "exactly": exactly})
            mapping = {"containerName": container["name"], "resourceName": resource, "requestName": name}
            mappings.append(mapping)
            resources.add(resource)
    if not requests:
        return None
    return ExtendedClaim(tuple(requests), tuple(mappings), frozenset(resources))


def _by_resource(classes: Iterable[Object]) -> dict[str, str]:
    found: dict[str, str] = {}
    newest_last = sorted(
        sorted(classes, key=lambda item: str(item["metadata"]["name"]), reverse=True),
        key=lambda item: str(item["metadata"].get("creationTimestamp") or ""),
    )
    for item in newest_last:
        name = item["metadata"]["name"]
        found[_IMPLICIT + name] = name
        if item["spec"].get("extendedResourceName"):
            found[item["spec"]["extendedResourceName"]] = name
    return found


def _amounts(container: Mapping[str, Any]) -> dict[str, Any]:
    resources = container.get("resources") or {}
    return {**(resources.get("limits") or {}), **(resources.get("requests") or {})}


def _whole(amount: Any) -> int:
    try:
        return Quantity.parse(amount).nanos // 10**9
    except QuantityError:
        return 0
