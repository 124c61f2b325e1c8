"""Many random small clusters in one control plane: each is a cell of nodes that its pods are bound to by label."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.allocator import clusters

Object = dict[str, Any]
NAMESPACE = "cells"
DRA = "resource.k8s.io/v1"


@dataclass(slots=True)
class Cell:
    """One small cluster; ``held`` are claims with the allocation they are given."""

    name: str
    nodes: list[Object]
    slices: list[Object]
    held: list[Object]
    claims: list[Object] = field(default_factory=list)
    pod: Object = field(default_factory=dict)

    def ask(self, rnd: Random) -> None:
        """Draw what the cell's pod wants."""
        self.claims = [_claim(one, self.name) for one in clusters.wanted(rnd)]
        self.pod = _pod(self.name, self.claims)


def device_classes() -> list[Object]:
    return [{"apiVersion": DRA, "kind": "DeviceClass", **one} for one in clusters.classes()]


def cell(rnd: Random, number: int) -> Cell:
    """A random cell: 1 to 6 nodes, several drivers, held devices, and a pod with one or two claims."""
    name = f"c{number}"
    made = clusters.cluster(rnd, rnd.randint(1, 6))
    names = {node: f"{name}-{node}" for node in made["nodes"]}
    slices = [_slice(one, name, names) for one in made["slices"]]
    drawn = Cell(
        name,
        [_node(one, name) for one in names.values()],
        slices,
        [_held(rnd, one, name, names) for one in made["held"]],
    )
    drawn.ask(rnd)
    return drawn


def _node(name: str, cell_name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"cell": cell_name}}}


def ready(node: Object) -> Object:
    """The node as a kubelet would report it, without the taint that new nodes get."""
    room = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    condition = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready"}
    spec = {key: value for key, value in (node.get("spec") or {}).items() if key != "taints"}
    return {
        **node,
        "spec": spec,
        "status": {"capacity": room, "allocatable": room, "conditions": [condition]},
    }


def _slice(one: Object, cell_name: str, names: dict[str, str]) -> Object:
    spec = one["spec"]
    pool = {**spec["pool"], "name": f"{cell_name}-{spec['pool']['name']}"}
    made = {**spec, "pool": pool}
    if "nodeName" in spec:
        made["nodeName"] = names[spec["nodeName"]]
    if made.pop("allNodes", False):
        term = {"matchExpressions": [{"key": "cell", "operator": "In", "values": [cell_name]}]}
        made["nodeSelector"] = {"nodeSelectorTerms": [term]}
    # Devices of one set are found in the order of slice names, in the scheduler's cache and here.
    name = f"{cell_name}-{one['metadata']['name']}"
    return {"apiVersion": DRA, "kind": "ResourceSlice", "metadata": {"name": name}, "spec": made}


def _claim(one: Object, cell_name: str) -> Object:
    name = f"{cell_name}-{one['metadata']['name']}"
    spec = json.loads(json.dumps(one["spec"]))
    return {
        "apiVersion": DRA,
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    }


def _held(rnd: Random, one: Object, cell_name: str, names: dict[str, str]) -> Object:
    (result,) = one["status"]["allocation"]["devices"]["results"]
    result = {**result, "pool": f"{cell_name}-{result['pool']}"}
    request: Object = {"deviceClassName": "any"}
    if result.get("adminAccess"):
        request["adminAccess"] = True
    if "shareID" in result:
        result["shareID"] = str(uuid.UUID(int=rnd.getrandbits(128), version=4))
    return {
        "apiVersion": DRA,
        "kind": "ResourceClaim",
        "metadata": {"name": f"{cell_name}-{one['metadata']['name']}", "namespace": NAMESPACE},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": request}]}},
        "status": {"allocation": {"devices": {"results": [result]}}},
    }


def _pod(cell_name: str, claims: list[Object]) -> Object:
    uses = [{"name": f"p{n}", "resourceClaimName": one["metadata"]["name"]} for n, one in enumerate(claims)]
    main = {
        "name": "main",
        "image": "python",
        "resources": {"claims": [{"name": one["name"]} for one in uses]},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": cell_name, "namespace": NAMESPACE},
        "spec": {"nodeSelector": {"cell": cell_name}, "containers": [main], "resourceClaims": uses},
    }
