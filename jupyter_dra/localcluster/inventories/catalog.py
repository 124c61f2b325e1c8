"""Reading inventories: YAML of Kubernetes objects, by packaged name or file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from jupyter_dra.errors import InputError

Object = dict[str, Any]

_GPU_TIERS = ("small-gpu", "medium-gpu", "high-memory-gpu")
_NVIDIA = ("gpu.nvidia.com", "mig.nvidia.com", *_GPU_TIERS)

PACKAGED: Mapping[str, Sequence[str]] = {
    "default": (*_NVIDIA, "gpu-slice", "tpu.google.com", "tpu-v6e-node", "dra.net", "rdma-nic"),
    "dgx-h100": (*_NVIDIA, "dra.net", "rdma-nic"),
    "a100-mig": (*_NVIDIA, "gpu-slice"),
    "l4": _NVIDIA,
    "tpu": ("tpu.google.com", "tpu-v6e-node"),
    "mi300x": ("gpu.amd.com", *_GPU_TIERS, "gpu-slice"),
    "intel": ("gpu.intel.com", "gaudi.intel.com", *_GPU_TIERS),
    "shared": (*_NVIDIA, "gpu.example.com", "shared-gpu"),
    "tainted": _NVIDIA,
    "network-attached": ("fabric.example.com", *_GPU_TIERS),
    "incomplete": _NVIDIA,
    "example": ("gpu.example.com", *_GPU_TIERS),
    "cpu-numa": (*_NVIDIA, "dra.cpu"),
}
"""Packaged inventory → the classes of ``classes.yaml`` it is offered through."""

_HOST_CLASSES = _NVIDIA
_ALWAYS_CLUSTER = frozenset({"Node", "ResourceSlice", "DeviceClass", "DeviceTaintRule"})
_WHOLE_OBJECTS = "Each document needs apiVersion, kind and metadata.name."
_PART_TYPES = frozenset({"mig", "amdgpu-partition", "vfio"})
_DEFAULT_CAPACITY = {"cpu": "64", "memory": "512Gi"}


@dataclass(frozen=True, slots=True)
class Inventory:
    """Nodes, slices, classes and rules; ``others`` are further objects of the files (quotas, namespaces …)."""

    name: str
    nodes: tuple[Object, ...]
    slices: tuple[Object, ...]
    classes: tuple[Object, ...] = ()
    rules: tuple[Object, ...] = ()
    others: tuple[Object, ...] = field(default=())

    def node_names(self) -> list[str]:
        return [node["metadata"]["name"] for node in self.nodes]

    def drivers(self) -> set[str]:
        return {item["spec"]["driver"] for item in self.slices}

    def device_count(self) -> int:
        """Count whole devices: neither parts of one nor network cards, which are companions."""
        return sum(
            1
            for item in self.slices
            if item["spec"]["driver"] != "dra.net"
            for device in item["spec"].get("devices") or ()
            if ((device.get("attributes") or {}).get("type") or {}).get("string") not in _PART_TYPES
        )


def load(sources: Iterable[str], *, host: Sequence[Object] = ()) -> Inventory:
    """Read inventories and join them.

    Args:
        sources: packaged names (see ``PACKAGED``), paths of YAML files (several documents and Lists are fine), or
            ``host`` for the devices of this machine.
        host: nodes and slices of this machine, needed when ``host`` is among the sources.

    A file that holds DeviceClasses brings its own; slices from files without any get the vendors' classes of their
    drivers. Nodes that slices name but no document describes are made up, labelled with their name.

    Raises:
        InputError: a name that is neither packaged nor a file, or a file that is no inventory.
    """
    chosen = list(sources) or ["default"]
    objects: dict[tuple[str, str], Object] = {}
    class_names: list[str] = []
    own_classes = False
    for source in chosen:
        if source == "host":
            found: Sequence[Object] = host
            class_names += _HOST_CLASSES
        elif source in PACKAGED:
            found = _parse(_packaged_text(source), source)
            class_names += PACKAGED[source]
        else:
            found = _from_file(Path(source))
            own_classes = own_classes or any(item["kind"] == "DeviceClass" for item in found)
            if not own_classes:
                class_names += sorted({i["spec"]["driver"] for i in found if i["kind"] == "ResourceSlice"})
        for item in found:
            objects[(item["kind"], item["metadata"]["name"])] = item
    packaged = {item["metadata"]["name"]: item for item in _parse(_packaged_text("classes"), "classes")}
    for name in class_names:
        if name in packaged:
            objects.setdefault(("DeviceClass", name), packaged[name])
    return _joined("+".join(chosen), list(objects.values()))


def _joined(name: str, objects: Sequence[Object]) -> Inventory:
    def of(kind: str) -> tuple[Object, ...]:
        return tuple(item for item in objects if item["kind"] == kind)

    slices = tuple(_cleaned(item) for item in of("ResourceSlice"))
    nodes = {item["metadata"]["name"]: _node(item["metadata"]["name"], item) for item in of("Node")}
    for item in slices:
        spec = item["spec"]
        for node in (spec.get("nodeName"), *(d.get("nodeName") for d in spec.get("devices") or ())):
            if node and node not in nodes:
                nodes[node] = _node(node, {})
    return Inventory(
        name=name,
        nodes=tuple(nodes.values()),
        slices=slices,
        classes=tuple(_cleaned(item) for item in of("DeviceClass")),
        rules=tuple(_cleaned(item) for item in of("DeviceTaintRule")),
        others=tuple(_cleaned(item) for item in objects if item["kind"] not in _ALWAYS_CLUSTER),
    )


def _node(name: str, given: Mapping[str, Any]) -> Object:
    meta = given.get("metadata") or {}
    capacity = {**_DEFAULT_CAPACITY, **((given.get("status") or {}).get("capacity") or {})}
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        **(meta.get("labels") or {}),
    }
    spec = {
        key: value for key, value in (given.get("spec") or {}).items() if key in ("taints", "unschedulable")
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": dict(meta.get("annotations") or {})},
        "spec": spec,
        "status": {
            "capacity": {key: str(value) for key, value in capacity.items() if key in ("cpu", "memory")}
        },
    }


def _cleaned(item: Object) -> Object:
    """Drop what only the server that once held the object can have written."""
    meta = {
        key: value
        for key, value in item["metadata"].items()
        if key in ("name", "namespace", "labels", "annotations")
    }
    result = {key: value for key, value in item.items() if key not in ("metadata", "status")}
    return {**result, "metadata": meta}


def _from_file(path: Path) -> Sequence[Object]:
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        known = ", ".join(PACKAGED)
        raise InputError(
            f"{path} is neither a packaged inventory nor a readable file ({error.strerror}).",
            next_step=f"Packaged inventories: {known}; or host for this machine's devices.",
        ) from error
    return _parse(text, str(path))


def _packaged_text(name: str) -> str:
    return resources.files(__package__).joinpath(f"{name}.yaml").read_text("utf-8")


def _parse(text: str, name: str) -> list[Object]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found: list[Object] = []
    try:
        for document in yaml.load_all(text, Loader=loader):
            found += _flattened(document, name)
    except (yaml.YAMLError, RecursionError) as error:
        raise InputError(
            f"{name} is no readable YAML: {error}", next_step=f"`jupyter dra check {name}` shows the place."
        ) from error
    return found


def _flattened(document: Any, name: str) -> list[Object]:
    if document is None:
        return []
    if not isinstance(document, dict) or not isinstance(document.get("kind"), str):
        raise InputError(f"{name} holds a document that is no Kubernetes object.", next_step=_WHOLE_OBJECTS)
    if isinstance(document.get("items"), list):
        return [item for entry in document["items"] for item in _flattened(entry, name)]
    if not isinstance((document.get("metadata") or {}).get("name"), str):
        raise InputError(f"{name} holds a {document['kind']} without a name.", next_step=_WHOLE_OBJECTS)
    return [document]
