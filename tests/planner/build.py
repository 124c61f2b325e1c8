"""Short ways to write objects for planner tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Json = dict[str, Any]

NVIDIA_CLASS = 'device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].type == "gpu"'


def device_class(name: str, *selectors: str, **annotations: str) -> Json:
    notes = {f"jupyter-dra.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name, "annotations": notes},
        "spec": {"selectors": [{"cel": {"expression": text}} for text in selectors]},
    }


def device(name: str, memory: str | None = None, **fields: Any) -> Json:
    """A device; keyword arguments are attributes, ``extra`` is merged in as it stands."""
    extra = fields.pop("extra", {})
    attributes = {
        key.replace("__", "/").replace("_DOT_", "."): _value(value) for key, value in fields.items()
    }
    found: Json = {"name": name, "attributes": attributes}
    if memory is not None:
        found["capacity"] = {"memory": {"value": memory}}
    return {**found, **extra}


def _value(value: Any) -> Json:
    if isinstance(value, dict):
        return value
    if isinstance(value, bool):
        return {"bool": value}
    return {"int": value} if isinstance(value, int) else {"string": value}


def gpu(name: str, product: str, memory: str | None, architecture: str = "Hopper", **fields: Any) -> Json:
    return device(name, memory, type="gpu", productName=product, architecture=architecture, **fields)


def h100(name: str, **fields: Any) -> Json:
    return gpu(name, "NVIDIA H100 80GB HBM3", "81559Mi", "Hopper", **fields)


def a100(name: str, **fields: Any) -> Json:
    return gpu(name, "NVIDIA A100-SXM4-40GB", "40960Mi", "Ampere", **fields)


def l4(name: str, **fields: Any) -> Json:
    return gpu(name, "NVIDIA L4", "23034Mi", "Ada Lovelace", **fields)


def slice_of(node: str, devices: Sequence[Json], driver: str = "gpu.nvidia.com", **spec: Any) -> Json:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1, **spec.pop("pool", {})}
    name = spec.pop("name", f"0-{driver}-{node}")
    where = {} if {"allNodes", "nodeSelector", "perDeviceNodeSelection"} & spec.keys() else {"nodeName": node}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": {"driver": driver, "pool": pool, **where, "devices": list(devices), **spec},
    }


def claim(name: str, *requests: Json, namespace: str = "team-a", **devices: Any) -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"devices": {"requests": list(requests), **devices}},
    }


def request(name: str, class_name: str, *selectors: str, **fields: Any) -> Json:
    exactly: Json = {"deviceClassName": class_name, **fields}
    if selectors:
        exactly["selectors"] = [{"cel": {"expression": text}} for text in selectors]
    return {"name": name, "exactly": exactly}


def held(name: str, *devices: tuple[str, str, str], namespace: str = "team-b", **metadata: Any) -> Json:
    """A claim that holds devices, each ``(driver, pool, device)``."""
    results = [{"request": "r", "driver": d, "pool": p, "device": n} for d, p, n in devices]
    reserved = metadata.pop("reserved", True)
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": {"devices": {"requests": [request("r", "any")]}},
        "status": {
            "allocation": {"devices": {"results": results}},
            "reservedFor": [{"resource": "pods", "name": f"{name}-0", "uid": "1"}] if reserved else [],
        },
    }


def node(name: str, labels: Mapping[str, str] | None = None, **fields: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": dict(labels or {})},
        **fields,
    }


def codes(plan: Any) -> dict[str, int]:
    """Devices by reason code."""
    found: dict[str, int] = {}
    for reason in plan.reasons:
        found[reason["code"]] = found.get(reason["code"], 0) + reason["devices"]
    return found


def adds_up(plan: Any) -> bool:
    """Every device stands in one reason, unless it is free on a node that fits."""
    total, free = sum(codes(plan).values()), plan.counts["free_at_most"]
    if plan.verdict in ("fits", "unknown"):
        return bool(total <= plan.counts["devices"] <= total + free)
    return bool(total == plan.counts["devices"])
