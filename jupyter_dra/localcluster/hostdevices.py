"""The real GPUs of this machine as an inventory, read through NVML (package nvidia-ml-py)."""

from __future__ import annotations

import os
import socket
from typing import Any

from jupyter_dra.errors import DRAError

Object = dict[str, Any]

_SIMULATED = "jupyter-dra.dev/simulated"
_ARCHITECTURES = {2: "Kepler", 3: "Maxwell", 4: "Pascal", 5: "Volta", 6: "Turing", 7: "Ampere", 8: "Ada Lovelace",
                  9: "Hopper", 10: "Blackwell"}  # fmt: skip


class NoHostDevices(DRAError):
    """This machine has no GPU that NVML can see."""

    code = "no-devices"


def host_objects(node: str | None = None) -> list[Object]:
    """Return a Node and a ResourceSlice for this machine, with the attributes of the NVIDIA driver.

    Raises:
        NoHostDevices: no library, no driver, or no GPU; the message says which.
    """
    name = node or (socket.gethostname().split(".")[0].lower() or "localhost")
    devices = _devices()
    capacity = {"cpu": str(os.cpu_count() or 1), "memory": f"{_memory_kibibytes()}Ki"}
    return [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"capacity": capacity}},
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": f"0-gpu.nvidia.com-{name}", "annotations": {_SIMULATED: "false"}},
            "spec": {
                "driver": "gpu.nvidia.com",
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
            next_step="Use a simulated inventory: --devices default.",
        ) from None
    try:
        found = [_device(pynvml, index) for index in range(pynvml.nvmlDeviceGetCount())]
    finally:
        pynvml.nvmlShutdown()
    if not found:
        raise NoHostDevices(
            "The NVIDIA driver of this machine lists no GPU.", next_step="Use --devices default."
        )
    return found


def _device(nvml: Any, index: int) -> Object:
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    major, minor = nvml.nvmlDeviceGetCudaComputeCapability(handle)
    cuda = nvml.nvmlSystemGetCudaDriverVersion_v2()
    bus = _text(nvml.nvmlDeviceGetPciInfo(handle).busId).lower()[-12:]
    attributes: Object = {
        "type": {"string": "gpu"},
        "uuid": {"string": _text(nvml.nvmlDeviceGetUUID(handle))},
        "productName": {"string": _text(nvml.nvmlDeviceGetName(handle))[:64]},
        "brand": {"string": "Nvidia"},
        "cudaComputeCapability": {"version": f"{major}.{minor}.0"},
        "driverVersion": {"version": _semantic(_text(nvml.nvmlSystemGetDriverVersion()))},
        "cudaDriverVersion": {"version": f"{cuda // 1000}.{cuda % 1000 // 10}.0"},
        "resource.kubernetes.io/pciBusID": {"string": bus},
    }
    architecture = _ARCHITECTURES.get(nvml.nvmlDeviceGetArchitecture(handle))
    if architecture:
        attributes["architecture"] = {"string": architecture}
    numa = _numa_node(bus)
    if numa is not None:
        attributes["resource.kubernetes.io/numaNode"] = {"int": numa}
    total = nvml.nvmlDeviceGetMemoryInfo(handle).total
    return {
        "name": f"gpu-{index}",
        "attributes": attributes,
        "capacity": {"memory": {"value": f"{total >> 20}Mi"}},
    }


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _semantic(version: str) -> str:
    numbers = [str(int(part)) for part in version.split(".") if part.isdigit()]
    return ".".join([*numbers, "0", "0"][:3])


def _numa_node(bus: str) -> int | None:
    try:
        with open(f"/sys/bus/pci/devices/{bus}/numa_node") as file:
            number = int(file.read())
    except (OSError, ValueError):
        return None
    return number if number >= 0 else None


def _memory_kibibytes() -> int:
    import psutil  # heavy; only needed here

    return int(psutil.virtual_memory().total) >> 10
