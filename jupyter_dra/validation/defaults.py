"""The defaults clients see: what the API server fills in before it validates and stores.

Follows the ``defaults.go`` files of ``k8s.io/kubernetes/pkg/apis`` (core, apps, batch, rbac, networking, resource).
What admission adds to pods (service account, priority, tolerations) is not here.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from jupyter_dra.validation import schemas
from jupyter_dra.validation.normalize import normalize
from jupyter_dra.validation.poddefaults import POD_DEFAULTS
from jupyter_dra.validation.schemas import Shape

Struct = dict[str, Any]
Filler = Callable[[Struct], None]


def apply_defaults(obj: Mapping[str, Any], *, now: str | None = None) -> dict[str, Any]:
    """A copy of a decoded object with defaults filled in, in the form the server returns it.

    Args:
        obj: an object of a known kind that decodes; others are copied unchanged.
        now: RFC 3339 time for ``timeAdded`` of device taints; without it that field stays as it is.
    """
    kind = schemas.find_kind(obj.get("apiVersion"), obj.get("kind"))
    result = copy.deepcopy(dict(obj))
    if kind is None:
        return result
    _walk(result, schemas.shape(kind.type), now)
    return normalize(result)


def _walk(value: Struct, shape: Shape, now: str | None) -> None:
    _materialize(value, shape)
    filler = FILLERS.get(shape.name)
    if filler is not None:
        filler(value)
    if now is not None and shape.struct_name == "DeviceTaint" and value.get("timeAdded") is None:
        value["timeAdded"] = now
    for field in shape.fields.values():
        entry = value.get(field.name)
        if entry is not None:
            _walk_value(entry, schemas.shape(field.type), now)


def _materialize(value: Struct, shape: Shape) -> None:
    """Add the structs that Go always has: they get their defaults even when the document leaves them out."""
    for field in shape.fields.values():
        inner = schemas.shape(field.type)
        if inner.kind == "struct" and field.keep and not field.pointer:
            if not isinstance(value.get(field.name), dict):
                value[field.name] = {}
            _materialize(value[field.name], inner)


def _walk_value(value: Any, shape: Shape, now: str | None) -> None:
    if shape.kind == "struct" and isinstance(value, dict):
        _walk(value, shape, now)
    elif shape.kind in {"list", "map"} and shape.elem is not None:
        element = schemas.shape(shape.elem)
        if element.kind in {"struct", "list", "map"}:
            for entry in value.values() if isinstance(value, Mapping) else value:
                _walk_value(entry, element, now)


def constants(**values: Any) -> Filler:
    """A filler that sets fields that are unset or zero."""

    def fill(value: Struct) -> None:
        for name, default in values.items():
            if not value.get(name) and value.get(name) is not False:
                value[name] = copy.deepcopy(default)

    return fill


def unset(**values: Any) -> Filler:
    """A filler for pointer fields: only absent ones are set, a given zero stays."""

    def fill(value: Struct) -> None:
        for name, default in values.items():
            if value.get(name) is None:
                value[name] = copy.deepcopy(default)

    return fill


def device_request(value: Struct) -> None:
    """Allocation mode and count of a request or alternative."""
    if not value.get("allocationMode"):
        value["allocationMode"] = "ExactCount"
    if value["allocationMode"] == "ExactCount" and not value.get("count"):
        value["count"] = 1


def flat_device_request(value: Struct) -> None:
    """The v1beta1 request: nothing is filled in when it lists alternatives."""
    if not value.get("firstAvailable"):
        device_request(value)


def namespace(value: Struct) -> None:
    name = value["metadata"].get("name")
    if name:
        labels = value["metadata"].get("labels") or {}
        value["metadata"]["labels"] = {**labels, "kubernetes.io/metadata.name": name}
    if not value["status"].get("phase"):
        value["status"]["phase"] = "Active"


def node_status(value: Struct) -> None:
    if value.get("allocatable") is None and value.get("capacity") is not None:
        value["allocatable"] = dict(value["capacity"])


def limit_range_item(value: Struct) -> None:
    if value.get("type") != "Container":
        return
    limit = dict(value.get("default") or {})
    request = dict(value.get("defaultRequest") or {})
    for name, amount in (value.get("max") or {}).items():
        limit.setdefault(name, amount)
    for source in (limit, value.get("min") or {}):
        for name, amount in source.items():
            request.setdefault(name, amount)
    value["default"], value["defaultRequest"] = limit, request


def service(value: Struct) -> None:
    spec = value["spec"]
    constants(sessionAffinity="None", type="ClusterIP")(spec)
    for port in spec.get("ports") or ():
        constants(protocol="TCP")(port)
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)
    outside = spec["type"] in {"NodePort", "LoadBalancer"}
    if outside or (spec["type"] == "ClusterIP" and spec.get("externalIPs")):
        constants(externalTrafficPolicy="Cluster")(spec)
    if outside or spec["type"] == "ClusterIP":
        unset(internalTrafficPolicy="Cluster")(spec)
    if spec["type"] == "LoadBalancer":
        unset(allocateLoadBalancerNodePorts=True)(spec)


def deployment(value: Struct) -> None:
    spec = value["spec"]
    unset(replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)(spec)
    strategy = spec["strategy"]
    constants(type="RollingUpdate")(strategy)
    if strategy["type"] == "RollingUpdate":
        unset(rollingUpdate={})(strategy)
        unset(maxUnavailable="25%", maxSurge="25%")(strategy["rollingUpdate"])


def daemon_set(value: Struct) -> None:
    spec = value["spec"]
    unset(revisionHistoryLimit=10)(spec)
    strategy = spec["updateStrategy"]
    constants(type="RollingUpdate")(strategy)
    if strategy["type"] == "RollingUpdate":
        unset(rollingUpdate={})(strategy)
        unset(maxUnavailable=1, maxSurge=0)(strategy["rollingUpdate"])


def stateful_set(value: Struct) -> None:
    spec = value["spec"]
    unset(replicas=1, revisionHistoryLimit=10, persistentVolumeClaimRetentionPolicy={})(spec)
    constants(podManagementPolicy="OrderedReady")(spec)
    strategy = spec["updateStrategy"]
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        unset(rollingUpdate={})(strategy)
    if strategy["type"] == "RollingUpdate" and strategy.get("rollingUpdate") is not None:
        unset(partition=0)(strategy["rollingUpdate"])
    constants(whenDeleted="Retain", whenScaled="Retain")(spec["persistentVolumeClaimRetentionPolicy"])


def job(value: Struct) -> None:
    job_spec(value["spec"])
    labels = ((value["spec"].get("template") or {}).get("metadata") or {}).get("labels")
    if labels and not value["metadata"].get("labels"):
        value["metadata"]["labels"] = dict(labels)


def job_spec(spec: Struct) -> None:
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = spec["parallelism"] = 1
    unset(parallelism=1, completionMode="NonIndexed", suspend=False)(spec)
    unset(backoffLimit=6 if spec.get("backoffLimitPerIndex") is None else 2**31 - 1)(spec)
    terminating = "TerminatingOrFailed" if spec.get("podFailurePolicy") is None else "Failed"
    unset(podReplacementPolicy=terminating)(spec)


def role_binding(value: Struct) -> None:
    constants(apiGroup="rbac.authorization.k8s.io")(value["roleRef"])
    for subject in value.get("subjects") or ():
        if subject.get("kind") in {"User", "Group"}:
            constants(apiGroup="rbac.authorization.k8s.io")(subject)


def network_policy(value: Struct) -> None:
    spec = value["spec"]
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def config_map(value: Struct) -> None:
    # Go writes an empty map here and then drops it again; kept out of the stored form.
    if not value.get("data"):
        value.pop("data", None)


def persistent_volume_claim(value: Struct) -> None:
    unset(volumeMode="Filesystem")(value["spec"])
    constants(phase="Pending")(value["status"])


FILLERS: Mapping[str, Filler] = {
    **POD_DEFAULTS,
    "resource/v1.ExactDeviceRequest": device_request,
    "resource/v1.DeviceSubRequest": device_request,
    "resource/v1beta2.ExactDeviceRequest": device_request,
    "resource/v1beta2.DeviceSubRequest": device_request,
    "resource/v1beta1.DeviceRequest": flat_device_request,
    "resource/v1beta1.DeviceSubRequest": device_request,
    **{
        f"resource/{version}.DeviceToleration": constants(operator="Equal")
        for version in ("v1", "v1beta2", "v1beta1")
    },
    "core/v1.Secret": constants(type="Opaque"),
    "core/v1.ConfigMap": config_map,
    "core/v1.Namespace": namespace,
    "core/v1.NodeStatus": node_status,
    "core/v1.LimitRangeItem": limit_range_item,
    "core/v1.Service": service,
    "core/v1.PersistentVolumeClaim": persistent_volume_claim,
    "apps/v1.Deployment": deployment,
    "apps/v1.DaemonSet": daemon_set,
    "apps/v1.StatefulSet": stateful_set,
    "apps/v1.ReplicaSet": lambda value: unset(replicas=1)(value["spec"]),
    "batch/v1.Job": job,
    "batch/v1.CronJob": lambda value: (
        constants(concurrencyPolicy="Allow")(value["spec"]),
        unset(suspend=False, successfulJobsHistoryLimit=3, failedJobsHistoryLimit=1)(value["spec"]),
    )[0],
    "rbac/v1.RoleBinding": role_binding,
    "rbac/v1.ClusterRoleBinding": role_binding,
    "networking/v1.NetworkPolicy": network_policy,
    "networking/v1.NetworkPolicyPort": unset(protocol="TCP"),
}
