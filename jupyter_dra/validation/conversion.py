"""Older shapes of resource.k8s.io as v1, the way the API server reads them.

Follows ``pkg/apis/resource/v1beta1/conversion.go``. v1beta2 and v1 differ in the version's name only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

GROUP = "resource.k8s.io/"
EXACT_FIELDS = (
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
    "derivedAttributes",
)


def to_v1(obj: Mapping[str, Any]) -> dict[str, Any]:
    """An object in v1 shape; anything but a v1beta1 or v1beta2 object of the group is copied as it is."""
    version = str(obj.get("apiVersion") or "")
    result = dict(obj)
    if version not in {f"{GROUP}v1beta1", f"{GROUP}v1beta2", f"{GROUP}v1alpha3"}:
        return result
    result["apiVersion"] = f"{GROUP}v1"
    if version != f"{GROUP}v1beta1" or not isinstance(obj.get("spec"), Mapping):
        return result
    kind = obj.get("kind")
    if kind == "ResourceClaim":
        result["spec"] = _claim_spec(obj["spec"])
    elif kind == "ResourceClaimTemplate" and isinstance(obj["spec"].get("spec"), Mapping):
        result["spec"] = {**obj["spec"], "spec": _claim_spec(obj["spec"]["spec"])}
    elif kind == "ResourceSlice":
        devices = obj["spec"].get("devices")
        if isinstance(devices, list):
            result["spec"] = {**obj["spec"], "devices": [flatten_device(device) for device in devices]}
    return result


def _claim_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    devices = spec.get("devices")
    if not isinstance(devices, Mapping) or not isinstance(devices.get("requests"), list):
        return dict(spec)
    requests = [nest_request(request) for request in devices["requests"]]
    return {**spec, "devices": {**devices, "requests": requests}}


def nest_request(request: Any) -> Any:
    """A flat request with its device fields moved under ``exactly``."""
    if not isinstance(request, Mapping):
        return request
    moved = {name: request[name] for name in EXACT_FIELDS if name in request}
    rest = {name: value for name, value in request.items() if name not in EXACT_FIELDS}
    # Without any device field the server leaves ``exactly`` unset.
    if moved:
        name = {"name": rest.pop("name")} if "name" in rest else {}
        return {**name, "exactly": moved, **rest}
    return rest


def flatten_device(device: Any) -> Any:
    """A device with the fields under ``basic`` moved up."""
    if not isinstance(device, Mapping) or not isinstance(device.get("basic"), Mapping):
        return device
    rest = {name: value for name, value in device.items() if name != "basic"}
    return {**rest, **device["basic"]}
