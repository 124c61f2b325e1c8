"""Defaults of pods and pod templates. Follows ``k8s.io/kubernetes/pkg/apis/core/v1/defaults.go``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Struct = dict[str, Any]

# Exactly one of these says where a volume comes from; a volume without any is an emptyDir.
_NOT_A_SOURCE = {"name"}


def image_tag(image: str) -> str:
    """The tag of an image name; ``latest`` when neither tag nor digest is given."""
    name, _, digest = image.partition("@")
    last = name.rpartition("/")[2]
    _, colon, tag = last.partition(":")
    if colon:
        return tag
    return "" if digest else "latest"


def container(value: Struct) -> None:
    if not value.get("imagePullPolicy"):
        value["imagePullPolicy"] = (
            "Always" if image_tag(value.get("image") or "") == "latest" else "IfNotPresent"
        )
    _fill(value, terminationMessagePath="/dev/termination-log", terminationMessagePolicy="File")


def pod(value: Struct) -> None:
    spec = value["spec"]
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    for entry in containers:
        resources = entry.setdefault("resources", {}) or {}
        limits = resources.get("limits")
        if limits is not None:
            resources["requests"] = {**limits, **(resources.get("requests") or {})}
    if spec.get("enableServiceLinks") is None:
        spec["enableServiceLinks"] = True
    if spec.get("hostNetwork"):
        for entry in containers:
            for port in entry.get("ports") or ():
                if not port.get("hostPort"):
                    port["hostPort"] = port.get("containerPort", 0)


def pod_status(value: Struct) -> None:
    """Keep the single pod IP and the list in step."""
    single, several = value.get("podIP"), value.get("podIPs")
    if single and (not several or several[0].get("ip") != single):
        value["podIPs"] = [{"ip": single}]
    elif several and not single:
        value["podIP"] = several[0].get("ip", "")


def pod_spec(value: Struct) -> None:
    if not value.get("serviceAccountName"):
        value["serviceAccountName"] = value.get("serviceAccount", "")
    value["serviceAccount"] = value["serviceAccountName"]
    _fill(value, dnsPolicy="ClusterFirst", restartPolicy="Always", schedulerName="default-scheduler")
    if value.get("securityContext") is None:
        value["securityContext"] = {}
    if value.get("terminationGracePeriodSeconds") is None:
        value["terminationGracePeriodSeconds"] = 30


def volume(value: Struct) -> None:
    if not any(entry is not None for name, entry in value.items() if name not in _NOT_A_SOURCE):
        value["emptyDir"] = {}
    image = value.get("image")
    if isinstance(image, dict) and not image.get("pullPolicy"):
        tag = image_tag(image.get("reference") or "")
        image["pullPolicy"] = "Always" if tag == "latest" else "IfNotPresent"


def _fill(value: Struct, **defaults: Any) -> None:
    for name, default in defaults.items():
        if not value.get(name):
            value[name] = default


def _filler(**defaults: Any) -> Callable[[Struct], None]:
    return lambda value: _fill(value, **defaults)


def _mode(value: Struct) -> None:
    if value.get("defaultMode") is None:
        value["defaultMode"] = 0o644


def _token_projection(value: Struct) -> None:
    if value.get("expirationSeconds") is None:
        value["expirationSeconds"] = 3600


def _host_path(value: Struct) -> None:
    if value.get("type") is None:
        value["type"] = ""


POD_DEFAULTS: Mapping[str, Callable[[Struct], None]] = {
    "core/v1.Pod": pod,
    "core/v1.PodSpec": pod_spec,
    "core/v1.PodStatus": pod_status,
    "core/v1.Container": container,
    "core/v1.EphemeralContainer": container,
    "core/v1.ContainerPort": _filler(protocol="TCP"),
    "core/v1.Volume": volume,
    "core/v1.SecretVolumeSource": _mode,
    "core/v1.ConfigMapVolumeSource": _mode,
    "core/v1.DownwardAPIVolumeSource": _mode,
    "core/v1.ProjectedVolumeSource": _mode,
    "core/v1.ServiceAccountTokenProjection": _token_projection,
    "core/v1.HostPathVolumeSource": _host_path,
    "core/v1.ObjectFieldSelector": _filler(apiVersion="v1"),
    "core/v1.HTTPGetAction": _filler(path="/", scheme="HTTP"),
    "core/v1.Probe": _filler(timeoutSeconds=1, periodSeconds=10, successThreshold=1, failureThreshold=3),
}
