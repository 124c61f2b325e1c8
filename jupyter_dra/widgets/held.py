"""What this kernel holds, read from inside it: podside's session.json and the driver's own metadata files.

No credentials and no network. Every value keeps the name of its source: ``session`` (told by the server beside the
kernel, kept by podside), ``driver-file`` (KEP-5304, written when the container started), ``measured`` (NVML in the
pod). Also laid out by podside in images that lack this package: standard library only, Python 3.8 and later.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

RUN_DIR = "/run/jupyter-dra"
METADATA_DIR = "/var/run/kubernetes.io/dra-device-attributes"
SIZE_LIMIT = 1 << 20
KNOWN_VERSIONS = (
    "metadata.resource.k8s.io/v1",
    "metadata.resource.k8s.io/v1beta1",
    "metadata.resource.k8s.io/v1alpha1",
)
FILES_LIMIT = 64
DEVICES_LIMIT = 128


def run_folder(environ: Mapping[str, str] | None = None) -> str:
    return (os.environ if environ is None else environ).get("JUPYTER_DRA_RUN_DIR") or RUN_DIR


def read_session(folder: str) -> dict[str, Any] | None:
    """podside's facts; None where this kernel has no podside or the file cannot be read."""
    content = _read_json(os.path.join(folder, "session.json"))
    return content if isinstance(content, dict) and content.get("kind") == "SessionFacts" else None


def _read_text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(SIZE_LIMIT)
    except OSError:
        return ""


def _read_json(path: str) -> Any:
    try:
        return json.loads(_read_text(path) or "null")
    except (ValueError, RecursionError):
        return None


def _objects(text: str) -> Iterator[Any]:
    """The JSON objects of a stream, until one cannot be read."""
    decoder, position = json.JSONDecoder(), 0
    while position < len(text):
        while position < len(text) and text[position] in " \t\r\n":
            position += 1
        if position >= len(text):
            return
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            return
        yield value


def read_metadata(root: str = METADATA_DIR) -> list[dict[str, Any]]:
    """Devices of the drivers' metadata files (KEP-5304), with ``request`` and ``claim``; empty where there are none.

    A file is a stream of the same facts in several API versions: the first version known here counts.
    """
    found: list[dict[str, Any]] = []
    files = 0
    for kind in ("resourceclaims", "resourceclaimtemplates"):
        base = os.path.join(root, kind)
        for folder, _folders, names in os.walk(base):
            for name in sorted(names):
                if name.endswith("-metadata.json") and files < FILES_LIMIT:
                    files += 1
                    claim = os.path.relpath(folder, base).split(os.sep)[0]
                    found.extend(_devices_of(_read_text(os.path.join(folder, name)), claim))
    return found[:DEVICES_LIMIT]


def _devices_of(text: str, claim: str) -> list[dict[str, Any]]:
    for content in _objects(text):
        if isinstance(content, dict) and content.get("apiVersion") in KNOWN_VERSIONS:
            return [
                dict(device, request=request.get("name"), claim=claim)
                for request in _mappings(content.get("requests"))
                for device in _mappings(request.get("devices"))
            ]
    return []


def _mappings(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _attributes(value: Any, driver: Any) -> dict[str, Any]:
    """Attributes or capacities under their full names; a name without a domain is in the driver's own."""
    if not isinstance(value, dict):
        return {}
    return {str(name) if "/" in str(name) else f"{driver}/{name}": entry for name, entry in value.items()}


def _key(device: Mapping[str, Any]) -> tuple[str, str, str]:
    name = device.get("name") or device.get("device")
    return str(device.get("driver")), str(device.get("pool")), str(name)


def merge(session: Mapping[str, Any] | None, metadata: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One entry per device and request; attributes keep where they come from under ``sources``."""
    devices: dict[tuple[str, str, str], dict[str, Any]] = {}
    for source, listed in (("session", _mappings((session or {}).get("devices"))), ("driver-file", metadata)):
        for told in listed[:DEVICES_LIMIT]:
            device = devices.setdefault(
                _key(told), {"sources": {}, "attributes": {}, "capacity": {}, "found_in": []}
            )
            device["found_in"].append(source)
            for name, value in told.items():
                if name in ("attributes", "capacity"):
                    for key, entry in _attributes(value, told.get("driver")).items():
                        if key not in device[name]:
                            device[name][key] = entry
                            device["sources"][key] = source
                elif value is not None:
                    device.setdefault("name" if name == "device" else name, value)
    return list(devices.values())


def uuids(devices: list[dict[str, Any]]) -> list[str]:
    """The uuid attributes drivers publish for the devices."""
    found = []
    for device in devices:
        for name, value in device["attributes"].items():
            if (
                name.split("/")[-1] == "uuid"
                and isinstance(value, dict)
                and isinstance(value.get("string"), str)
            ):
                found.append(value["string"])
    return found


def compare(devices: list[dict[str, Any]], seen: Any) -> dict[str, Any] | None:
    """Allocated against seen inside: ``{"given", "sees", "extra", "missing"}``; None where it cannot be told."""
    if not isinstance(seen, dict):
        return None
    visible = [str(entry.get("uuid")) for entry in _mappings(seen.get("devices"))]
    given = uuids(devices)
    if devices and not given:
        return None  # the driver publishes no identity: nothing to compare
    return {
        "given": len(given),
        "sees": len(visible),
        "extra": [uuid for uuid in visible if uuid not in given],
        "missing": [uuid for uuid in given if uuid not in visible],
    }


def blind_libraries(modules: Mapping[str, Any] | None = None) -> list[str]:
    """Names of loaded libraries that were built without GPU support; nothing is imported for it."""
    torch = (sys.modules if modules is None else modules).get("torch")
    version = getattr(torch, "version", None)
    built_for = [getattr(version, name, None) for name in ("cuda", "hip", "xpu")]
    return ["torch"] if version is not None and not any(built_for) else []


def older_drivers(devices: list[dict[str, Any]], modules: Mapping[str, Any] | None = None) -> list[list[str]]:
    """Loaded libraries built for a newer CUDA than the driver serves: [library, what it was built for, what is served].

    Within one major version newer libraries mostly run on older drivers (CUDA's minor version compatibility): one that
    has begun to use its device there is left out.
    """
    torch = (sys.modules if modules is None else modules).get("torch")
    built = getattr(getattr(torch, "version", None), "cuda", None)
    works = getattr(getattr(torch, "cuda", None), "_initialized", False)
    for device in devices:
        for name, value in device["attributes"].items():
            served = value.get("version") if isinstance(value, dict) else None
            if name.split("/")[-1] != "cudaDriverVersion" or not isinstance(served, str):
                continue
            wants, has = _cuda_version(built), _cuda_version(served)
            if wants and has and wants > has and not (works and wants[0] == has[0]):
                return [["torch", ".".join(map(str, wants)), ".".join(map(str, has))]]
    return []


def _cuda_version(text: Any) -> tuple[int, ...]:
    """Major and minor number; empty for what is no version."""
    parts = text.split(".")[:2] if isinstance(text, str) else []
    return tuple(map(int, parts)) if parts and all(part.isdigit() for part in parts) else ()


def collect(folder: str | None = None, root: str | None = None) -> dict[str, Any]:
    """Everything known inside this kernel, as one mapping: session, claim, devices, lease, usage, seen."""
    session = read_session(folder or run_folder())
    root = root or os.environ.get("JUPYTER_DRA_DEVICE_ATTRIBUTES") or METADATA_DIR
    metadata = read_metadata(root)
    devices = merge(session, metadata)
    told = session or {}
    sources = [name for name, there in (("session", session), ("driver-file", metadata)) if there]
    return {
        "as_of": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "sources": sources,
        "session": _session(told) if session else None,
        "claim": _claim(told),
        "devices": devices,
        "kernel": told.get("kernel") if isinstance(told.get("kernel"), dict) else None,
        "lease": told.get("lease") if isinstance(told.get("lease"), dict) else None,
        "usage": told.get("usage") if isinstance(told.get("usage"), dict) else None,
        "activity": told.get("activity") if isinstance(told.get("activity"), str) else None,
        "written_at": told.get("written_at"),
        "comparison": compare(devices, told.get("seen")),
        "blind": blind_libraries(),
        "older_drivers": older_drivers(devices),
    }


def _session(told: Mapping[str, Any]) -> dict[str, Any]:
    requirement = told.get("requirement")
    tier = requirement.get("tier") if isinstance(requirement, dict) else None
    names = ("name", "namespace", "node", "pod", "image", "kernel_id", "notebooks", "kernels", "price")
    found: dict[str, Any] = {name: told.get(name) for name in names}
    found.update(id=told.get("session"), tier=tier, simulated=told.get("simulated") is True)
    return found


def _claim(told: Mapping[str, Any]) -> dict[str, Any] | None:
    return {"name": told["claim"], "namespace": told.get("namespace")} if told.get("claim") else None


def held_devices() -> list[dict[str, Any]]:
    """The devices this kernel was given, as ``%dra`` shows them: driver, pool, name, product, memory, attributes.

    Empty where the kernel holds none; ``simulated`` is true for devices on which nothing computes.
    """
    devices: list[dict[str, Any]] = collect()["devices"]
    return devices


def card() -> Any:
    """The card of what this kernel holds, ready to display."""
    from .card import device_card

    return device_card(collect())
