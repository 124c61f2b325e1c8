"""Rules for containers of a pod. Follows ``k8s.io/kubernetes/pkg/apis/core/validation/validation.go``."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from jupyter_dra.model.names import dns_label_problems, dns_subdomain_problems
from jupyter_dra.validation.fielderrors import Report
from jupyter_dra.validation.paths import Path
from jupyter_dra.validation.resources import validate_resources
from jupyter_dra.validation.volumes import check_local_path

Struct = Mapping[str, Any]
FIELD_PATHS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
PROTOCOLS = ("SCTP", "TCP", "UDP")
PULL_POLICIES = ("Always", "IfNotPresent", "Never")
MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
PORT_RANGE = "must be between 1 and 65535, inclusive"
NO_INIT = "may not be set for init containers without restartPolicy=Always"
_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_ENV_NAME = re.compile(r"[ -<>-~]+")


def config_key_problems(key: str) -> list[str]:
    """What keeps a text from being a key of a Secret or ConfigMap."""
    problems = ["must be no more than 253 bytes"] if len(key.encode()) > 253 else []
    if not _KEY.fullmatch(key):
        problems.append(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or "
            "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
        )
    if key in {".", ".."}:
        problems.append(f"must not be '{key}'")
    elif key.startswith(".."):
        problems.append("must not start with '..'")
    return problems


def validate_containers(
    report: Report, spec: Struct, path: Path, volumes: Collection[str], claims: Collection[str]
) -> None:
    """The containers and init containers of a pod spec; ``path`` is the spec's."""
    regular = spec.get("containers") or []
    if not regular:
        report.required(path.child("containers"))
    names: list[str] = []
    for index, container in enumerate(regular):
        where = path.child("containers").index(index)
        _validate_common(report, container, where, volumes, claims)
        _unique_name(report, container, where, names)
        _validate_restart(report, container, where, init=False)
    _check_host_ports(report, regular, path.child("containers"))
    for index, container in enumerate(spec.get("initContainers") or ()):
        where = path.child("initContainers").index(index)
        _validate_common(report, container, where, volumes, claims)
        _validate_restart(report, container, where, init=True)
        _unique_name(report, container, where, names)
        if container.get("restartPolicy") != "Always":
            for name in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
                if container.get(name) is not None:
                    report.forbidden(where.child(name), NO_INIT)


def _unique_name(report: Report, container: Struct, path: Path, names: list[str]) -> None:
    name = container.get("name") or ""
    if name in names:
        report.duplicate(path.child("name"), name)
    names.append(name)


def _validate_restart(report: Report, container: Struct, path: Path, *, init: bool) -> None:
    policy = container.get("restartPolicy")
    if policy is None:
        return
    where = path.child("restartPolicy")
    if report.minor >= 35:
        if policy not in {"Always", "Never", "OnFailure"}:
            report.not_supported(where, policy, ("Always", "Never", "OnFailure"))
    elif not init:
        report.forbidden(where, "may not be set for non-init containers")
    elif policy != "Always":
        report.not_supported(where, policy, ("Always",))


def _validate_common(
    report: Report, container: Struct, path: Path, volumes: Collection[str], claims: Collection[str]
) -> None:
    name = container.get("name") or ""
    if not name:
        report.required(path.child("name"))
    else:
        report.problems(path.child("name"), name, dns_label_problems(name))
    if not container.get("image"):
        report.required(path.child("image"))
    policy = container.get("terminationMessagePolicy") or ""
    if policy and policy not in MESSAGE_POLICIES:
        report.not_supported(path.child("terminationMessagePolicy"), policy, MESSAGE_POLICIES)
    _validate_ports(report, container.get("ports") or [], path.child("ports"))
    _validate_env(report, container.get("env") or [], path.child("env"))
    _validate_env_from(report, container.get("envFrom") or [], path.child("envFrom"))
    _validate_mounts(report, container.get("volumeMounts") or [], path.child("volumeMounts"), volumes)
    pull = container.get("imagePullPolicy") or ""
    if pull and pull not in PULL_POLICIES:
        report.not_supported(path.child("imagePullPolicy"), pull, PULL_POLICIES)
    validate_resources(report, container.get("resources") or {}, path.child("resources"), claims)
    _validate_security(report, container.get("securityContext") or {}, path.child("securityContext"))


def _validate_ports(report: Report, ports: Sequence[Struct], path: Path) -> None:
    names: set[str] = set()
    for index, port in enumerate(ports):
        where = path.index(index)
        name, number, host = port.get("name") or "", port.get("containerPort") or 0, port.get("hostPort") or 0
        if name:
            problems = port_name_problems(name)
            report.problems(where.child("name"), name, problems)
            if name in names:
                report.duplicate(where.child("name"), name)
            names.add(name)
        if not number:
            report.required(where.child("containerPort"))
        elif not 1 <= number <= 65535:
            report.invalid(where.child("containerPort"), number, PORT_RANGE)
        if host and not 1 <= host <= 65535:
            report.invalid(where.child("hostPort"), host, PORT_RANGE)
        protocol = port.get("protocol") or ""
        if protocol and protocol not in PROTOCOLS:
            report.not_supported(where.child("protocol"), protocol, PROTOCOLS)


def port_name_problems(name: str) -> list[str]:
    """What keeps a text from being a port name (IANA service name)."""
    problems = []
    if len(name) > 15:
        problems.append("must be no more than 15 characters")
    if not re.fullmatch(r"[-a-z0-9]+", name):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search(r"[a-z]", name):
        problems.append("must contain at least one letter (a-z)")
    if "--" in name:
        problems.append("must not contain consecutive hyphens")
    if name and (name[0] == "-" or name[-1] == "-"):
        problems.append("must not begin or end with a hyphen")
    return problems


def _check_host_ports(report: Report, containers: Sequence[Struct], path: Path) -> None:
    seen: set[tuple[Any, ...]] = set()
    for index, container in enumerate(containers):
        for number, port in enumerate(container.get("ports") or ()):
            host = port.get("hostPort") or 0
            key = (port.get("protocol"), port.get("hostIP"), host)
            if host and key in seen:
                where = path.index(index).child("ports").index(number).child("hostPort")
                report.duplicate(where, f"{port.get('protocol')}/{port.get('hostIP') or ''}/{host}")
            seen.add(key)


def _validate_env(report: Report, variables: Sequence[Struct], path: Path) -> None:
    for index, variable in enumerate(variables):
        where = path.index(index)
        name = variable.get("name") or ""
        if not name:
            report.required(where.child("name"))
        elif not _ENV_NAME.fullmatch(name):
            text = "a valid environment variable name must consist only of printable ASCII characters other than '='"
            report.invalid(where.child("name"), name, text)
        source = variable.get("valueFrom")
        if source is not None:
            _validate_value_from(report, source, where.child("valueFrom"), bool(variable.get("value")))


def _validate_value_from(report: Report, source: Struct, path: Path, has_value: bool) -> None:
    known = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
    used = [name for name in known if source.get(name) is not None]
    if source.get("fieldRef") is not None:
        _validate_field_ref(report, source["fieldRef"], path.child("fieldRef"))
    for name in ("configMapKeyRef", "secretKeyRef"):
        if source.get(name) is not None:
            _validate_key_ref(report, source[name], path.child(name))
    if not used:
        names = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`"
        rest = ", `secretKeyRef` or `fileKeyRef`" if report.minor >= 35 else " or `secretKeyRef`"
        report.invalid(path, "", f"must specify one of: {names}{rest}")
    elif has_value:
        report.invalid(path, "", "may not be specified when `value` is not empty")
    elif len(used) > 1:
        report.invalid(path, "", "may not have more than one field specified at a time")


def _validate_field_ref(report: Report, reference: Struct, path: Path) -> None:
    wanted = reference.get("fieldPath") or ""
    if not wanted:
        report.required(path.child("fieldPath"))
        return
    if re.fullmatch(r"metadata\.(labels|annotations)\['.+'\]", wanted):
        return
    if wanted not in FIELD_PATHS:
        if wanted in {"metadata.labels", "metadata.annotations"}:
            report.not_supported(path.child("fieldPath"), wanted, FIELD_PATHS)
        else:
            text = f"error converting fieldPath: field label not supported: {wanted}"
            report.invalid(path.child("fieldPath"), wanted, text)


def _validate_key_ref(report: Report, reference: Struct, path: Path) -> None:
    name, key = reference.get("name") or "", reference.get("key") or ""
    report.problems(path.child("name"), name, dns_subdomain_problems(name))
    if not key:
        report.required(path.child("key"))
    else:
        report.problems(path.child("key"), key, config_key_problems(key))


def _validate_env_from(report: Report, sources: Sequence[Struct], path: Path) -> None:
    for index, source in enumerate(sources):
        used = [name for name in ("configMapRef", "secretRef") if source.get(name) is not None]
        for name in used:
            target = source[name].get("name") or ""
            where = path.index(index).child(name, "name")
            if not target:
                report.required(where)
            else:
                report.problems(where, target, dns_subdomain_problems(target))
        if not used:
            report.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(used) > 1:
            report.invalid(path, "", "may not have more than one field specified at a time")


def _validate_mounts(report: Report, mounts: Sequence[Struct], path: Path, volumes: Collection[str]) -> None:
    places: set[str] = set()
    for index, mount in enumerate(mounts):
        where = path.index(index)
        name, place = mount.get("name") or "", mount.get("mountPath") or ""
        if not name:
            report.required(where.child("name"))
        if name not in volumes:
            report.not_found(where.child("name"), name)
        if not place:
            report.required(where.child("mountPath"))
        if place in places:
            report.invalid(where.child("mountPath"), place, "must be unique")
        places.add(place)
        inner, expression = mount.get("subPath") or "", mount.get("subPathExpr") or ""
        if inner:
            check_local_path(report, inner, path.child("subPath"))
        if expression:
            if inner:
                text = "subPathExpr and subPath are mutually exclusive"
                report.invalid(where.child("subPathExpr"), expression, text)
            check_local_path(report, expression, path.child("subPathExpr"))


def _validate_security(report: Report, context: Struct, path: Path) -> None:
    for name in ("runAsUser", "runAsGroup"):
        value = context.get(name)
        if value is not None and not 0 <= value <= 2**31 - 1:
            report.invalid(path.child(name), value, "must be between 0 and 2147483647, inclusive")
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged"):
            text = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            report.invalid(path, _internal_context(context), text)
        added = ((context.get("capabilities") or {}).get("add")) or ()
        if "CAP_SYS_ADMIN" in added:
            text = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            report.invalid(path, _internal_context(context), text)


CONTEXT_FIELDS = [
    "capabilities",
    "privileged",
    "seLinuxOptions",
    "windowsOptions",
    "runAsUser",
    "runAsGroup",
    "runAsNonRoot",
    "readOnlyRootFilesystem",
    "allowPrivilegeEscalation",
    "procMount",
    "seccompProfile",
    "appArmorProfile",
]


def _internal_context(context: Struct) -> dict[str, Any]:
    # The server dumps its internal struct, whose fields have no JSON names.
    names = {"seLinuxOptions": "SELinuxOptions"}
    return {names.get(name, name[0].upper() + name[1:]): context.get(name) for name in CONTEXT_FIELDS}
