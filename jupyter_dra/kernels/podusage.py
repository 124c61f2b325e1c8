"""What the devices inside the pod do: memory and use, by NVML, nvidia-smi, AMD's files in sysfs, or the simulation.

Runs inside the user's image: standard library only, Python 3.8 and later. Unknown is None with ``why_missing``
(no-library, no-device, not-on-a-part, not-permitted, not-known), never 0. Functions and structures follow nvml.h.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import subprocess
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    Device = dict[str, Any]

SIMULATED = "simulated-usage.json"
SIZE_LIMIT = 256 * 1024
AMD = "0x1002"
PCI_DEVICES = "/sys/bus/pci/devices"
PCI_ATTRIBUTES = ("pciBusID", "pciAddr", "pciAddress")
PCI_ADDRESS = re.compile(r"[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")
NOT_SUPPORTED, NO_PERMISSION = 3, 4


class Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class Utilization(ctypes.Structure):
    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


class Process(ctypes.Structure):
    _fields_ = [
        ("pid", ctypes.c_uint),
        ("used", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    ]


class NVMLError(Exception):
    """A call that NVML did not answer; ``status`` is its return code."""

    def __init__(self, name: str, status: int) -> None:
        super().__init__(f"{name}: {status}")
        self.status = status


class NVML:
    """The few NVML calls we need. Raises OSError without the library, NVMLError where it cannot start."""

    def __init__(self, path: str | None = None) -> None:
        self.library = ctypes.CDLL(path or "libnvidia-ml.so.1")
        self.call("nvmlInit_v2")

    def call(self, name: str, *arguments: Any) -> None:
        try:
            function = getattr(self.library, name)
        except AttributeError:
            raise NVMLError(name, NOT_SUPPORTED) from None
        status = function(*arguments)
        if status:
            raise NVMLError(name, status)

    def handles(self) -> list[tuple[ctypes.c_void_p, bool]]:
        """Handles of everything a program here can use: whole devices, or their MIG parts (True)."""
        count = ctypes.c_uint()
        self.call("nvmlDeviceGetCount_v2", ctypes.byref(count))
        found: list[tuple[ctypes.c_void_p, bool]] = []
        for index in range(min(count.value, 64)):
            handle = ctypes.c_void_p()
            try:
                self.call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(handle))
            except NVMLError:
                continue
            parts = self.parts(handle)
            found.extend((part, True) for part in parts)
            if not parts:
                found.append((handle, False))
        return found

    def parts(self, handle: ctypes.c_void_p) -> list[ctypes.c_void_p]:
        current, pending, most = ctypes.c_uint(), ctypes.c_uint(), ctypes.c_uint()
        try:
            self.call("nvmlDeviceGetMigMode", handle, ctypes.byref(current), ctypes.byref(pending))
            if not current.value:
                return []
            self.call("nvmlDeviceGetMaxMigDeviceCount", handle, ctypes.byref(most))
        except NVMLError:
            return []
        parts: list[ctypes.c_void_p] = []
        for index in range(min(most.value, 16)):
            part = ctypes.c_void_p()
            try:
                self.call(
                    "nvmlDeviceGetMigDeviceHandleByIndex", handle, ctypes.c_uint(index), ctypes.byref(part)
                )
            except NVMLError:
                continue
            parts.append(part)
        return parts

    def text(self, name: str, handle: ctypes.c_void_p) -> str | None:
        buffer = ctypes.create_string_buffer(96)
        try:
            self.call(name, handle, buffer, ctypes.c_uint(96))
        except NVMLError:
            return None
        return buffer.value.decode("utf-8", "replace")

    def device(self, handle: ctypes.c_void_p, is_part: bool, pids: Sequence[int]) -> Device:
        memory, use = Memory(), Utilization()
        told: Device = {
            "uuid": self.text("nvmlDeviceGetUUID", handle),
            "name": self.text("nvmlDeviceGetName", handle),
            "memory_used_bytes": None,
            "memory_total_bytes": None,
            "utilisation_percent": None,
            "memory_of_kernel_bytes": self.memory_of(handle, pids),
            "why_missing": "not-on-a-part" if is_part else None,
        }
        try:
            self.call("nvmlDeviceGetMemoryInfo", handle, ctypes.byref(memory))
            told.update(memory_used_bytes=memory.used, memory_total_bytes=memory.total)
            if not is_part:
                self.call("nvmlDeviceGetUtilizationRates", handle, ctypes.byref(use))
                told["utilisation_percent"] = use.gpu
        except NVMLError as error:
            told["why_missing"] = "not-permitted" if error.status == NO_PERMISSION else "not-known"
        return told

    def memory_of(self, handle: ctypes.c_void_p, pids: Sequence[int]) -> int | None:
        """Memory of the given processes; None where another pid namespace or the driver hides them."""
        count = ctypes.c_uint(256)
        table = (Process * 256)()
        try:
            self.call("nvmlDeviceGetComputeRunningProcesses_v3", handle, ctypes.byref(count), table)
        except NVMLError:
            return None
        mine = [entry.used for entry in table[: min(count.value, 256)] if entry.pid in pids]
        if any(used == (1 << 64) - 1 for used in mine):
            return None
        return sum(mine) if mine or not count.value else None


def from_smi() -> list[Device]:
    """Devices by nvidia-smi, for images where the library cannot be loaded but the tool is there."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return []
    query = "--query-gpu=uuid,name,memory.used,memory.total,utilization.gpu"
    try:
        done = subprocess.run(
            [tool, query, "--format=csv,noheader,nounits"], stdout=subprocess.PIPE, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return []
    devices: list[Device] = []
    for line in done.stdout.decode("utf-8", "replace").splitlines()[:64]:
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) == 5:
            used, total, percent = (int(cell) if cell.isdigit() else None for cell in cells[2:])
            devices.append(
                {
                    "uuid": cells[0],
                    "name": cells[1],
                    "memory_used_bytes": None if used is None else used << 20,
                    "memory_total_bytes": None if total is None else total << 20,
                    "utilisation_percent": percent,
                    "memory_of_kernel_bytes": None,
                    "why_missing": None if percent is not None else "not-known",
                }
            )
    return devices


def from_sysfs(allocated: Sequence[Any], root: str) -> list[Device]:
    """AMD's cards by the files of their driver (docs.kernel.org/gpu/amdgpu), found by PCI address.

    sysfs shows the whole machine's devices, so only the allocated ones are looked at. A part of a card shares the
    card's files: what it does by itself is not told there.
    """
    devices: list[Device] = []
    for told in allocated:
        address = _attribute(told, PCI_ATTRIBUTES)
        if address is None or not PCI_ADDRESS.fullmatch(address):
            continue
        folder = os.path.join(root, address.lower())
        if _line(os.path.join(folder, "vendor")) != AMD:
            continue
        is_part = "partition" in (_attribute(told, ("type",)) or "")
        names = ("mem_info_vram_used", "mem_info_vram_total", "gpu_busy_percent")
        figures = [None if is_part else _line(os.path.join(folder, name)) for name in names]
        used, total, percent = (int(text) if text and text.isdigit() else None for text in figures)
        missing = "not-on-a-part" if is_part else "not-known" if percent is None else None
        devices.append(
            {
                "uuid": _attribute(told, ("uuid",)) or address,
                "name": _attribute(told, ("productName",)),
                "memory_used_bytes": used,
                "memory_total_bytes": total,
                "utilisation_percent": percent,
                "memory_of_kernel_bytes": None,
                "why_missing": missing,
            }
        )
    return devices


def _line(path: str) -> str | None:
    try:
        with open(path, encoding="ascii") as file:
            return file.read(64).strip()
    except (OSError, ValueError):
        return None


def _attribute(device: Any, names: Sequence[str]) -> str | None:
    """A text attribute by the last part of its name."""
    attributes = device.get("attributes") if isinstance(device, dict) else None
    for key, value in attributes.items() if isinstance(attributes, dict) else []:
        text = value.get("string") if isinstance(value, dict) else None
        if key.split("/")[-1] in names and isinstance(text, str):
            return text
    return None


def from_simulation(run: str) -> list[Device] | None:
    """Figures the local cluster's node gives for its simulated devices; None where there are none."""
    told_path = os.environ.get("JUPYTER_DRA_SIMULATED_USAGE")
    try:
        with open(told_path or os.path.join(run, SIMULATED), encoding="utf-8") as file:
            listed = json.loads(file.read(SIZE_LIMIT))["devices"]
    except (OSError, ValueError, KeyError, TypeError):
        return (
            [] if told_path else None
        )  # announced and not written yet: real devices are not ours to look at
    names = ("uuid", "name", "driver", "pool", "device")
    figures = ("memory_used_bytes", "memory_total_bytes", "utilisation_percent", "memory_of_kernel_bytes")
    devices: list[Device] = []
    for entry in listed if isinstance(listed, list) else []:
        if isinstance(entry, dict):
            told: Device = {name: entry[name] for name in names if isinstance(entry.get(name), str)}
            told.update({name: _number(entry.get(name)) for name in figures})
            told["why_missing"] = entry.get("why_missing")
            devices.append(told)
    return devices


def _number(value: Any) -> int | None:
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def allocated_uuids(devices: Sequence[Any]) -> list[str]:
    """The uuid attributes of the allocated devices, as their drivers publish them."""
    found: list[str] = []
    for device in devices:
        attributes = device.get("attributes") if isinstance(device, dict) else None
        for name, value in (attributes or {}).items() if isinstance(attributes, dict) else []:
            if (
                name.split("/")[-1] == "uuid"
                and isinstance(value, dict)
                and isinstance(value.get("string"), str)
            ):
                found.append(value["string"])
    return found


def usable(devices: list[Device], chosen: str | None) -> list[Device]:
    """Those a CUDA program here can use: NVML lists the machine's, ``CUDA_VISIBLE_DEVICES`` may name fewer by uuid."""
    names = [name.strip() for name in (chosen or "").split(",") if name.strip()]
    if not names or not all(name.startswith(("GPU-", "MIG-")) for name in names):
        return devices
    return [device for device in devices if any(str(device["uuid"]).startswith(name) for name in names)]


def summary(devices: list[Device], source: str) -> dict[str, Any]:
    """The figures of a pod: sums over its devices, the mean of use; None as soon as one is unknown.

    Devices without memory of their own (network cards beside a GPU) are left out.
    """
    counted = [device for device in devices if device.get("memory_total_bytes") is not None] or devices

    def column(name: str) -> list[int] | None:
        values = [device.get(name) for device in counted]
        return None if any(value is None for value in values) else [int(value or 0) for value in values]

    used, total = column("memory_used_bytes"), column("memory_total_bytes")
    percent, mine = column("utilisation_percent"), column("memory_of_kernel_bytes")
    missing = [device["why_missing"] for device in counted if device.get("why_missing")]
    return {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "source": source,
        "memory_used_bytes": None if used is None else sum(used),
        "memory_total_bytes": None if total is None else sum(total),
        "utilisation_percent": None if percent is None else round(sum(percent) / max(len(percent), 1)),
        "by_kernel": None if mine is None else [{"memory_used_bytes": sum(mine)}],
        "why_missing": missing[0] if missing else None,
        "simulated": source == "simulated",
        "devices": devices,
    }


def nothing(why: str) -> dict[str, Any]:
    told = summary([], "")
    told.update(source=None, why_missing=why, by_kernel=None, devices=[])
    told.update(memory_used_bytes=None, memory_total_bytes=None, utilisation_percent=None)
    return told


class Sampler:
    """Takes one sample at a time; remembers which source works."""

    def __init__(self, run: str, library: str | None = None, pci: str = PCI_DEVICES) -> None:
        self.run = run
        self.pci = pci
        self.library = library
        self.nvml: NVML | None = None
        self.tried = 0

    def sample(self, allocated: Sequence[Any], pids: Sequence[int]) -> tuple[dict[str, Any], Device | None]:
        """(usage, seen): figures of the allocated devices; which devices a program here can see at all."""
        simulated = from_simulation(self.run)
        if simulated is not None:
            listed = [{"uuid": d["uuid"], "name": d.get("name")} for d in simulated if d.get("uuid")]
            seen = {"source": "simulated", "devices": listed} if listed else None
            return (summary(simulated, "simulated") if simulated else nothing("not-known")), seen
        source, listed = self.visible(pids)
        visible = usable(listed, os.environ.get("CUDA_VISIBLE_DEVICES"))
        if source is None:
            found = from_sysfs(allocated, self.pci)
            return (summary(found, "sysfs") if found else nothing("no-library")), None
        seen = {
            "source": source,
            "devices": [{"uuid": device["uuid"], "name": device["name"]} for device in visible],
        }
        uuids = allocated_uuids(allocated)
        ours = [device for device in visible if device["uuid"] in uuids] if uuids else visible
        return (summary(ours, source) if ours else nothing("no-device")), seen

    def visible(self, pids: Sequence[int]) -> tuple[str | None, list[Device]]:
        if self.nvml is None and self.tried < 3:
            self.tried += 1
            try:
                self.nvml = NVML(self.library)
            except (OSError, NVMLError):
                pass
        if self.nvml is not None:
            try:
                return "nvml", [self.nvml.device(handle, part, pids) for handle, part in self.nvml.handles()]
            except NVMLError:
                self.nvml = None
        devices = from_smi()
        return ("nvidia-smi" if devices else None), devices
