"""The real GPUs of this machine as an inventory, read through NVML (package nvidia-ml-py).

Names, attributes and capacities are those of the NVIDIA driver for DRA (kubernetes-sigs/dra-driver-nvidia-gpu,
cmd/gpu-kubelet-plugin/deviceinfo.go): a whole card, or its MIG parts where the card is split.
"""

from __future__ import annotations

import logging
import os
import re
import socket
from pathlib import Path
from typing import Any

from jupyter_dra.errors import ClusterError

log = logging.getLogger(__name__)

Object = dict[str, Any]

DRIVER = "gpu.nvidia.com"
_SIMULATED = "jupyter-dra.dev/simulated"
_PCI = Path("/sys/bus/pci/devices")
_ARCHITECTURES = {
    2: "Kepler",
    3: "Maxwell",
    4: "Pascal",
    5: "Volta",
    6: "Turing",
    7: "Ampere",
    8: "Ada Lovelace",
    9: "Hopper",
    10: "Blackwell",
    13: "Rubin",
}
_BRANDS = {
    1: "Quadro",
    2: "Tesla",
    3: "NVS",
    4: "Grid",
    5: "GeForce",
    6: "Titan",
    7: "NvidiaVApps",
    8: "NvidiaVPC",
    9: "NvidiaVCS",
    10: "NvidiaVWS",
    11: "NvidiaVGaming",
    12: "QuadroRTX",
    13: "NvidiaRTX",
    14: "Nvidia",
    15: "GeForceRTX",
    16: "TitanRTX",
}
_SIMULATE = "Use a simulated inventory: --devices default."
_ADDRESSING = {1: "HMM", 2: "ATS"}
_PROFILE = re.compile(r"\bMIG ([0-9a-z.+]+)\s*$")
_PART_CAPACITIES = {
    "multiprocessors": "multiprocessorCount",
    "copyEngines": "sharedCopyEngineCount",
    "decoders": "sharedDecoderCount",
    "encoders": "sharedEncoderCount",
    "jpegEngines": "sharedJpegCount",
    "ofaEngines": "sharedOfaCount",
}


class NoHostDevices(ClusterError):
    """This machine has no GPU that NVML can see."""

    code = "no-devices"


def host_objects(node: str | None = None) -> list[Object]:
    """Return a Node and a ResourceSlice for this machine, with the devices of the NVIDIA driver.

    Raises:
        NoHostDevices: no library, no driver, no GPU, or only cards that are split and have no parts; the message
            says which.
    """
    name = node or (socket.gethostname().split(".")[0].lower() or "localhost")
    devices = _devices()
    capacity = {"cpu": str(os.cpu_count() or 1), "memory": f"{_memory_kibibytes()}Ki"}
    return [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"capacity": capacity}},
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": f"0-{DRIVER}-{name}", "annotations": {_SIMULATED: "false"}},
            "spec": {
                "driver": DRIVER,
                "nodeName": name,
                "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
                "devices": devices,
            },
        },
    ]


def _devices() -> list[Object]:
    try:
        import pynvml  # optional: only `--devices host` needs it
    except ImportError:
        raise NoHostDevices(
            "The devices of this machine cannot be read: the package nvidia-ml-py is missing.",
            next_step="pip install nvidia-ml-py, or use a simulated inventory.",
        ) from None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        raise NoHostDevices(
            f"This machine has no usable NVIDIA driver ({error}).",
            next_step=_SIMULATE,
        ) from None
    try:
        count = _told(pynvml, "nvmlDeviceGetCount") or 0
        found = [device for index in range(count) for device in _read_card(pynvml, index)]
    finally:
        pynvml.nvmlShutdown()
    if not count:
        raise NoHostDevices("The NVIDIA driver of this machine lists no GPU.", next_step=_SIMULATE)
    if not found:
        raise NoHostDevices(
            f"None of the {count} GPUs of this machine can be used: they do not answer, or are split without parts.",
            next_step="Look at nvidia-smi; nvidia-smi mig -cgi … makes parts.",
        )
    return found


def _read_card(nvml: Any, index: int) -> list[Object]:
    """One card's devices; a card that does not answer is left out and does not hide the others."""
    try:
        return _of_card(nvml, index)
    except nvml.NVMLError as error:
        log.warning("GPU %d of this machine is left out: %s", index, error)
        return []


def _of_card(nvml: Any, index: int) -> list[Object]:
    """The whole card, or its parts where it is split."""
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    number = _told(nvml, "nvmlDeviceGetMinorNumber", handle)
    name = f"gpu-{index if number is None else number}"
    shared, uuid = _shared_attributes(nvml, handle), _text(nvml.nvmlDeviceGetUUID(handle))
    mode = _told(nvml, "nvmlDeviceGetMigMode", handle)
    if mode is not None and mode[0]:
        return _parts(nvml, handle, name, {**shared, "parentUUID": {"string": uuid}})
    total = nvml.nvmlDeviceGetMemoryInfo(handle).total
    return [
        {
            "name": name,
            "attributes": {"type": {"string": "gpu"}, "uuid": {"string": uuid}, **shared},
            "capacity": {"memory": {"value": f"{total >> 20}Mi"}},
        }
    ]


def _shared_attributes(nvml: Any, handle: Any) -> Object:
    """What a card says of itself and its parts."""
    major, minor = nvml.nvmlDeviceGetCudaComputeCapability(handle)
    cuda = nvml.nvmlSystemGetCudaDriverVersion_v2()
    bus = _text(nvml.nvmlDeviceGetPciInfo(handle).busId).lower()[-12:]
    attributes: Object = {
        "productName": {"string": _text(nvml.nvmlDeviceGetName(handle))[:64]},
        "brand": {"string": _BRANDS.get(_told(nvml, "nvmlDeviceGetBrand", handle) or 0, "Unknown")},
        "architecture": {"string": _ARCHITECTURES.get(nvml.nvmlDeviceGetArchitecture(handle), "Unknown")},
        "cudaComputeCapability": {"version": f"{major}.{minor}.0"},
        "driverVersion": {"version": _semantic(_text(nvml.nvmlSystemGetDriverVersion()))},
        "cudaDriverVersion": {"version": f"{cuda // 1000}.{cuda % 1000 // 10}.0"},
        "resource.kubernetes.io/pciBusID": {"string": bus},
    }
    addressing = _ADDRESSING.get(_told(nvml, "nvmlDeviceGetAddressingMode", handle) or 0)
    if addressing:
        attributes["addressingMode"] = {"string": addressing}
    root, numa = _pcie_root(bus), _numa_node(bus)
    if root is not None:
        attributes["resource.kubernetes.io/pcieRoot"] = {"string": root}
    if numa is not None:
        attributes["resource.kubernetes.io/numaNode"] = {"int": numa}
    return attributes


def _parts(nvml: Any, card: Any, name: str, shared: Object) -> list[Object]:
    found = []
    for index in range(_told(nvml, "nvmlDeviceGetMaxMigDeviceCount", card) or 0):
        part = _told(nvml, "nvmlDeviceGetMigDeviceHandleByIndex", card, index)
        if part is not None:
            found.append(_part(nvml, card, part, name, shared))
    return found


def _part(nvml: Any, card: Any, part: Any, name: str, shared: Object) -> Object:
    facts = nvml.nvmlDeviceGetAttributes_v2(part)
    instance = nvml.nvmlDeviceGetGpuInstanceById(card, nvml.nvmlDeviceGetGpuInstanceId(part))
    place = nvml.nvmlGpuInstanceGetInfo(instance)
    profile = _profile(_text(nvml.nvmlDeviceGetName(part)), facts)
    start, size = place.placement.start, place.placement.size
    capacity = {"memory": f"{facts.memorySizeMB}Mi"}
    capacity |= {key: str(getattr(facts, field)) for key, field in _PART_CAPACITIES.items()}
    capacity |= {f"memorySlice{number}": "1" for number in range(start, start + size)}
    return {
        "name": f"{name}-mig-{profile.replace('.', '').replace('+', '-')}-{place.profileId}-{start}",
        "attributes": {
            "type": {"string": "mig"},
            "uuid": {"string": _text(nvml.nvmlDeviceGetUUID(part))},
            "profile": {"string": profile},
            **shared,
        },
        "capacity": {key: {"value": value} for key, value in capacity.items()},
    }


def _profile(name: str, facts: Any) -> str:
    """``1g.5gb``, as the part's own name ends; by its slices where an old driver names it otherwise."""
    found = _PROFILE.search(name)
    if found:
        return found[1]
    return f"{facts.gpuInstanceSliceCount}g.{round(facts.memorySizeMB / 1024)}gb"


def _told(nvml: Any, call: str, *arguments: Any) -> Any:
    """What a call answers; None where this card or this driver does not know it."""
    try:
        return getattr(nvml, call)(*arguments)
    except (nvml.NVMLError, AttributeError):
        return None


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _semantic(version: str) -> str:
    numbers = [str(int(part)) for part in version.split(".") if part.isdigit()]
    return ".".join([*numbers, "0", "0"][:3])


def _pcie_root(bus: str) -> str | None:
    """``pci0000:15``: the first part of the device's place in the tree of buses."""
    try:
        parts = (_PCI / bus).resolve(strict=True).parts
    except OSError:
        return None
    return next((part for part in parts if re.fullmatch(r"pci[0-9a-f]{4}:[0-9a-f]{2}", part)), None)


def _numa_node(bus: str) -> int | None:
    try:
        number = int((_PCI / bus / "numa_node").read_text())
    except (OSError, ValueError):
        return None
    return number if number >= 0 else None


def _memory_kibibytes() -> int:
    import psutil  # heavy; only needed here

    return int(psutil.virtual_memory().total) >> 10
