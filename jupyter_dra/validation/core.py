"""Rules for the smaller core kinds: Secret, ConfigMap, Namespace, quota, limits, Node, Lease, events, PVC.

Follows ``k8s.io/kubernetes/pkg/apis/core/validation`` and ``pkg/apis/coordination/validation``.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from jupyter_dra.model.names import label_key_problems
from jupyter_dra.model.quantity import Quantity
from jupyter_dra.validation.containers import config_key_problems, port_name_problems
from jupyter_dra.validation.fielderrors import Report
from jupyter_dra.validation.metadata import validate_label_key, validate_label_selector
from jupyter_dra.validation.paths import Path, root
from jupyter_dra.validation.resources import NOT_FOR_QUOTA, check_amount, check_resource_name

Struct = Mapping[str, Any]
MAX_SECRET = 1024 * 1024
QUOTA_NAMES = {
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "persistentvolumeclaims",
    "configmaps",
    "services.nodeports",
    "services.loadbalancers",
}
ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
BOUNDS = {
    "min": "min value",
    "max": "max value",
    "default": "default value",
    "defaultRequest": "default request value",
}
REQUIRED_KEYS = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
}


def validate_secret(report: Report, obj: Struct) -> None:
    data, path = obj.get("data") or {}, root("data")
    for key in sorted(data):
        report.problems(path.key(key), key, config_key_problems(key))
    size = sum(len(base64.b64decode(value or "")) for value in data.values())
    if size > MAX_SECRET:
        report.too_long(path, MAX_SECRET)
    kind = obj.get("type") or ""
    for key in REQUIRED_KEYS.get(kind, ()):
        if not data.get(key):
            report.required(path.key(key))
        elif kind.startswith("kubernetes.io/docker"):
            _check_docker_json(report, data[key], path.key(key))
    if kind == "kubernetes.io/basic-auth" and not {"username", "password"} & set(data):
        report.required(path.key("username"))
        report.required(path.key("password"))
    name = "kubernetes.io/service-account.name"
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    if kind == "kubernetes.io/service-account-token" and not annotations.get(name):
        report.required(root("metadata", "annotations").key(name))


def _check_docker_json(report: Report, value: str, path: Path) -> None:
    try:
        parsed = json.loads(base64.b64decode(value))
    except ValueError as error:
        report.invalid(path, "<secret contents redacted>", str(error))
        return
    if not isinstance(parsed, Mapping):
        report.invalid(path, "<secret contents redacted>", "must be a JSON object")


def validate_secret_update(report: Report, obj: Struct, old: Struct) -> None:
    report.immutable(root("type"), obj.get("type"), old.get("type"), declarative=True)
    _validate_frozen(report, obj, old, ("data",))
    validate_secret(report, obj)


def _validate_frozen(report: Report, obj: Struct, old: Struct, fields: tuple[str, ...]) -> None:
    if not old.get("immutable"):
        return
    text = "field is immutable when `immutable` is set"
    if not obj.get("immutable"):
        report.forbidden(root("immutable"), text)
    for name in fields:
        if (obj.get(name) or {}) != (old.get(name) or {}):
            report.forbidden(root(name), text)


def validate_config_map(report: Report, obj: Struct) -> None:
    data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    for key in sorted(data):
        where = root("data").key(key)
        report.problems(where, key, config_key_problems(key))
        if key in binary:
            report.invalid(where, key, "duplicate of key present in binaryData")
    for key in sorted(binary):
        report.problems(root("binaryData").key(key), key, config_key_problems(key))
    size = sum(len(value.encode()) for value in data.values())
    size += sum(len(base64.b64decode(value or "")) for value in binary.values())
    if size > MAX_SECRET:
        report.too_long(Path("", ()), MAX_SECRET)


def validate_config_map_update(report: Report, obj: Struct, old: Struct) -> None:
    _validate_frozen(report, obj, old, ("data", "binaryData"))
    validate_config_map(report, obj)


def validate_quota(report: Report, obj: Struct) -> None:
    path = root("spec", "hard")
    for name, amount in sorted(((obj.get("spec") or {}).get("hard") or {}).items()):
        where = path.key(name)
        check_resource_name(report, name, where)
        if "/" not in name and not is_quota_name(name):
            report.invalid(where, name, NOT_FOR_QUOTA)
        check_amount(report, name, amount, where)


def is_quota_name(name: str) -> bool:
    return name in QUOTA_NAMES or name.startswith(("hugepages-", "requests.hugepages-"))


def validate_limit_range(report: Report, obj: Struct) -> None:
    path = root("spec", "limits")
    kinds: set[str] = set()
    for index, item in enumerate((obj.get("spec") or {}).get("limits") or ()):
        where, kind = path.index(index), item.get("type") or ""
        if kind in kinds:
            report.duplicate(where.child("type"), kind)
        kinds.add(kind)
        if label_key_problems(kind):
            report.problems(where.child("type"), kind, label_key_problems(kind))
        elif "/" not in kind and kind not in {"Pod", "Container", "PersistentVolumeClaim"}:
            report.invalid(where.child("type"), kind, "must be a standard limit type or fully qualified")
        if kind == "Pod":
            for name in ("default", "defaultRequest"):
                if item.get(name):
                    report.forbidden(where.child(name), "may not be specified when `type` is 'Pod'")
        _validate_bounds(report, item, where)


def _validate_bounds(report: Report, item: Struct, path: Path) -> None:
    names = {name for part in ("min", "max", "default", "defaultRequest") for name in item.get(part) or ()}
    for name in sorted(names):
        low, high = (item.get("min") or {}).get(name), (item.get("max") or {}).get(name)
        request = (item.get("defaultRequest") or {}).get(name)
        limit = (item.get("default") or {}).get(name)
        # Small side, large side, and the side whose path and value the server names.
        pairs = (
            ("min", low, "max", high, "min", low),
            ("min", low, "defaultRequest", request, "defaultRequest", request),
            ("defaultRequest", request, "max", high, "defaultRequest", request),
            ("defaultRequest", request, "default", limit, "defaultRequest", request),
            ("min", low, "default", limit, "default", low),
            ("default", limit, "max", high, "default", high),
        )
        for small_name, small, large_name, large, where, shown in pairs:
            if small is not None and large is not None and Quantity.parse(small) > Quantity.parse(large):
                text = (
                    f"{BOUNDS[small_name]} {Quantity.parse(small).canonical()} is greater than "
                    f"{BOUNDS[large_name]} {Quantity.parse(large).canonical()}"
                )
                report.invalid(path.child(where).key(name), Quantity.parse(shown or "0").canonical(), text)


def validate_lease(report: Report, obj: Struct) -> None:
    spec, path = obj.get("spec") or {}, root("spec")
    seconds, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if seconds is not None and seconds <= 0:
        report.invalid(path.child("leaseDurationSeconds"), seconds, "must be greater than 0")
    if transitions is not None and transitions < 0:
        report.invalid(path.child("leaseTransitions"), transitions, "must be greater than or equal to 0")
    if spec.get("preferredHolder") and not spec.get("strategy"):
        report.forbidden(path.child("preferredHolder"), "may only be specified if `strategy` is defined")


def validate_node(report: Report, obj: Struct) -> None:
    path = root("metadata", "taints")
    for index, taint in enumerate((obj.get("spec") or {}).get("taints") or ()):
        where = path.index(index)
        validate_label_key(report, taint.get("key") or "", where.child("key"))
        effect = taint.get("effect") or ""
        effects = ("NoSchedule", "PreferNoSchedule", "NoExecute")
        if not effect:
            report.required(where.child("effect"))
        elif effect not in effects:
            report.not_supported(where.child("effect"), effect, effects)


def validate_event(report: Report, obj: Struct) -> None:
    """An event's namespace is that of the object it is about."""
    about = obj.get("involvedObject") or obj.get("regarding") or {}
    namespace = (obj.get("metadata") or {}).get("namespace") or ""
    if obj.get("apiVersion") == "events.k8s.io/v1":
        _validate_new_event(report, obj)
    about_namespace = about.get("namespace") or ""
    if about_namespace and about_namespace != namespace:
        text = "does not match event.namespace"
        report.invalid(root("involvedObject", "namespace"), about_namespace, text)


def _validate_new_event(report: Report, obj: Struct) -> None:
    if not obj.get("eventTime"):
        report.required(root("eventTime"))
    if obj.get("type") not in {"Normal", "Warning"}:
        report.invalid(root("type"), obj.get("type") or "", "has invalid value: ")
    for name in ("action", "reason"):
        if not obj.get(name):
            report.required(root(name))
    controller = obj.get("reportingController") or ""
    if not controller:
        report.required(root("reportingController"))
    if not obj.get("reportingInstance"):
        report.required(root("reportingInstance"))


def validate_volume_claim(report: Report, obj: Struct) -> None:
    spec, path = obj.get("spec") or {}, root("spec")
    modes = spec.get("accessModes") or []
    if not modes:
        report.required(path.child("accessModes"), "at least 1 access mode is required")
    validate_label_selector(report, spec.get("selector"), path.child("selector"))
    for mode in modes:
        if mode not in ACCESS_MODES:
            report.not_supported(path.child("accessModes"), mode, ACCESS_MODES)
    where = path.child("resources").key("storage")
    size = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if size is None:
        report.required(where)
    elif Quantity.parse(size).nanos <= 0:
        report.invalid(where, Quantity.parse(size).canonical(), "must be greater than zero")


def validate_service(report: Report, obj: Struct) -> None:
    spec, path = obj.get("spec") or {}, root("spec")
    kind = spec.get("type") or ""
    kinds = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
    ports = spec.get("ports") or []
    if not ports and spec.get("clusterIP") != "None" and kind != "ExternalName":
        report.required(path.child("ports"))
    names: set[str] = set()
    for index, port in enumerate(ports):
        where, name, number = path.child("ports").index(index), port.get("name") or "", port.get("port") or 0
        if not name and len(ports) > 1:
            report.required(where.child("name"))
        if name and name in names:
            report.duplicate(where.child("name"), name)
        names.add(name)
        if not 1 <= number <= 65535:
            report.invalid(where.child("port"), number, "must be between 1 and 65535, inclusive")
        target = port.get("targetPort")
        if isinstance(target, str):
            report.problems(where.child("targetPort"), target, port_name_problems(target))
        elif target is not None and not 1 <= target <= 65535:
            report.invalid(where.child("targetPort"), target, "must be between 1 and 65535, inclusive")
    if kind not in kinds:
        report.not_supported(path.child("type"), kind, kinds)
