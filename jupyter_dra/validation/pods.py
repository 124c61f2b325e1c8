"""Rules for pods, pod templates and their updates.

Follows ``k8s.io/kubernetes/pkg/apis/core/validation/validation.go``: everything that concerns claims, names,
containers and volumes, and of the rest what clients of ours write. Affinity, probes and Windows fields pass unseen.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from jupyter_dra.model.names import dns_label_problems, dns_subdomain_problems, label_value_problems
from jupyter_dra.validation.containers import validate_containers
from jupyter_dra.validation.fielderrors import Report, show
from jupyter_dra.validation.metadata import (
    validate_annotations,
    validate_label_key,
    validate_labels,
    validate_metadata,
    validate_metadata_update,
)
from jupyter_dra.validation.nodeselector import validate_node_selector
from jupyter_dra.validation.paths import Path, root
from jupyter_dra.validation.volumes import validate_volumes

Struct = Mapping[str, Any]
RESTART_POLICIES = ("Always", "OnFailure", "Never")
DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
SECONDS = "must be between {low} and 2147483647, inclusive"
UPDATABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
    "previously negative)"
)
TWO_SOURCES = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
NO_SOURCE = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
MIRROR = "kubernetes.io/config.mirror"


def validate_pod(report: Report, obj: Struct) -> None:
    """A pod about to be created."""
    meta, spec, path = obj.get("metadata") or {}, obj.get("spec") or {}, root("spec")
    validate_metadata(report, meta, namespaced=True)
    validate_pod_spec(report, spec, path, meta)
    _validate_only_pod(report, spec, path)
    if spec.get("ephemeralContainers"):
        report.forbidden(path.child("ephemeralContainers"), "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        text = "cannot be set until all schedulingGates have been cleared"
        report.forbidden(path.child("nodeName"), text)


def validate_pod_template(report: Report, template: Struct, path: Path) -> None:
    """The pod template of a workload."""
    meta = template.get("metadata") or {}
    validate_labels(report, meta.get("labels") or {}, path.child("labels"))
    validate_annotations(report, meta.get("annotations") or {}, path.child("annotations"))
    spec = template.get("spec") or {}
    validate_pod_spec(report, spec, path.child("spec"), None)
    if spec.get("ephemeralContainers"):
        where = path.child("spec", "ephemeralContainers")
        report.forbidden(where, "ephemeral containers not allowed in pod template")


def validate_pod_spec(report: Report, spec: Struct, path: Path, meta: Struct | None) -> None:
    """A pod spec, in a pod (``meta`` given) or in a template."""
    if spec.get("terminationGracePeriodSeconds") is None:
        report.required(path.child("terminationGracePeriodSeconds"))
    volumes = validate_volumes(report, spec.get("volumes") or [], path.child("volumes"))
    entries = spec.get("resourceClaims") or []
    claims = {entry.get("name") for entry in entries if entry.get("name")}
    _validate_claims(report, entries, path.child("resourceClaims"), meta)
    validate_containers(report, spec, path, volumes, claims)
    for name, choices in (("restartPolicy", RESTART_POLICIES), ("dnsPolicy", DNS_POLICIES)):
        value = spec.get(name) or ""
        if not value:
            report.required(path.child(name))
        elif value not in choices:
            report.not_supported(path.child(name), value, choices)
    validate_labels(report, spec.get("nodeSelector") or {}, path.child("nodeSelector"))
    _validate_node_affinity(report, spec, path)
    _validate_names(report, spec, path)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= 2**31 - 1:
        report.invalid(path.child("activeDeadlineSeconds"), deadline, SECONDS.format(low=1))
    for index, gate in enumerate(spec.get("schedulingGates") or ()):
        validate_label_key(report, gate.get("name") or "", path.child("schedulingGates").index(index))
    validate_tolerations(report, spec.get("tolerations") or [], path.child("tolerations"))


def _validate_node_affinity(report: Report, spec: Struct, path: Path) -> None:
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is not None:
        where = path.child("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
        validate_node_selector(report, required, where)


def _validate_names(report: Report, spec: Struct, path: Path) -> None:
    rules = {
        "serviceAccountName": dns_subdomain_problems,
        "nodeName": dns_subdomain_problems,
        "hostname": dns_label_problems,
        "subdomain": dns_label_problems,
        "priorityClassName": dns_subdomain_problems,
        "runtimeClassName": dns_subdomain_problems,
    }
    for name, rule in rules.items():
        value = spec.get(name)
        if value:
            report.problems(path.child(name), value, rule(value))


def _validate_claims(report: Report, entries: Sequence[Struct], path: Path, meta: Struct | None) -> None:
    if entries and MIRROR in ((meta or {}).get("annotations") or {}):
        report.forbidden(Path("[]"), "static pods do not support resource claims")
        return
    seen: set[str] = set()
    for index, entry in enumerate(entries):
        where = path.index(index)
        name = entry.get("name") or ""
        if not name:
            report.required(where.child("name"))
        elif name in seen:
            report.duplicate(where.child("name"), name)
        else:
            report.problems(where.child("name"), name, dns_label_problems(name))
            seen.add(name)
        claim, template = entry.get("resourceClaimName"), entry.get("resourceClaimTemplateName")
        if claim is not None and template is not None:
            report.invalid(where, _internal_claim(entry), TWO_SOURCES, rule="claim-source")
        if claim is None and template is None:
            report.invalid(where, _internal_claim(entry), NO_SOURCE, rule="claim-source")
        for field, value in (("resourceClaimName", claim), ("resourceClaimTemplateName", template)):
            if value is not None:
                report.problems(where.child(field), value, dns_subdomain_problems(value))


def _internal_claim(entry: Struct) -> dict[str, Any]:
    # The server dumps its internal struct, whose fields have no JSON names.
    return {
        "Name": entry.get("name") or "",
        "ResourceClaimName": entry.get("resourceClaimName"),
        "ResourceClaimTemplateName": entry.get("resourceClaimTemplateName"),
    }


def validate_tolerations(report: Report, tolerations: Sequence[Struct], path: Path) -> None:
    """Tolerations of node taints."""
    for index, entry in enumerate(tolerations):
        where = path.index(index)
        key, operator = entry.get("key") or "", entry.get("operator") or ""
        value, effect = entry.get("value") or "", entry.get("effect") or ""
        if key:
            validate_label_key(report, key, where.child("key"))
        elif operator != "Exists":
            text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            report.invalid(where.child("operator"), operator, text)
        if entry.get("tolerationSeconds") is not None and effect != "NoExecute":
            text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            report.invalid(where.child("effect"), effect, text)
        _validate_operator(report, operator, value, where)
        if effect and effect not in TAINT_EFFECTS:
            report.not_supported(where.child("effect"), effect, TAINT_EFFECTS)


def _validate_operator(report: Report, operator: str, value: str, path: Path) -> None:
    if operator in {"", "Equal"}:
        problems = label_value_problems(value)
        if problems:
            report.invalid(path.child("operator"), value, ";".join(problems))
    elif operator == "Exists":
        if value:
            text = "value must be empty when `operator` is 'Exists'"
            report.invalid(path.child("operator"), value, text)
    elif operator not in {"Lt", "Gt"}:
        report.not_supported(path.child("operator"), operator, ("Equal", "Exists"))


def _validate_only_pod(report: Report, spec: Struct, path: Path) -> None:
    grace = spec.get("terminationGracePeriodSeconds")
    if grace is not None and grace < 0:
        text = "must be greater than or equal to 0"
        report.invalid(path.child("terminationGracePeriodSeconds"), grace, text)
    for name in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(name) or ()):
            image = container.get("image") or ""
            if image != image.strip():
                where = path.child(name).index(index).child("image")
                report.invalid(where, image, "must not have leading or trailing whitespace")


def validate_pod_update(report: Report, obj: Struct, old: Struct) -> None:
    """A changed pod: images, a shorter deadline and more tolerations are all that may differ."""
    meta, spec, before = obj.get("metadata") or {}, obj.get("spec") or {}, old.get("spec") or {}
    path = root("spec")
    validate_metadata_update(report, meta, old.get("metadata") or {})
    validate_metadata(report, meta, namespaced=True)
    validate_pod_spec(report, spec, path, meta)
    for name in ("containers", "initContainers"):
        if len(spec.get(name) or ()) != len(before.get(name) or ()):
            report.forbidden(path.child(name), "pod updates may not add or remove containers")
            return
    _validate_only_pod(report, spec, path)
    if not _validate_deadline(report, spec, before, path.child("activeDeadlineSeconds")):
        return
    _validate_added_tolerations(report, spec, before, path.child("tolerations"))
    gates = {gate.get("name") for gate in before.get("schedulingGates") or ()}
    for index, gate in enumerate(spec.get("schedulingGates") or ()):
        if gate.get("name") not in gates:
            text = f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'"
            report.forbidden(path.child("schedulingGates").index(index).child("name"), text)
    rest = _without_updatable(spec, before)
    if rest != before:
        changed = [name for name in sorted({*rest, *before}) if rest.get(name) != before.get(name)]
        lines = "\n".join(f"{name}: {show(before.get(name))} -> {show(rest.get(name))}" for name in changed)
        report.forbidden(path, f"pod updates may not change fields other than {UPDATABLE}\n{lines}\n")


def _validate_deadline(report: Report, spec: Struct, before: Struct, path: Path) -> bool:
    new, old = spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    if new is None:
        if old is not None:
            report.invalid(path, None, "must not update from a positive integer to nil value")
        return True
    if not 0 <= new <= 2**31 - 1:
        report.invalid(path, new, SECONDS.format(low=0))
        return False
    if old is not None and old < new:
        report.invalid(path, new, "must be less than or equal to previous value")
        return False
    return True


def _validate_added_tolerations(report: Report, spec: Struct, before: Struct, path: Path) -> None:
    def without_seconds(entry: Struct) -> dict[str, Any]:
        return {name: value for name, value in entry.items() if name != "tolerationSeconds"}

    kept = [without_seconds(entry) for entry in spec.get("tolerations") or ()]
    for entry in before.get("tolerations") or ():
        if without_seconds(entry) not in kept:
            text = "existing toleration can not be modified except its tolerationSeconds"
            report.forbidden(path, text)
            return


def _without_updatable(spec: Struct, before: Struct) -> dict[str, Any]:
    """The new spec with everything that may change put back."""
    rest = copy.deepcopy(dict(spec))
    for name in ("containers", "initContainers"):
        for new, old in zip(rest.get(name) or (), before.get(name) or (), strict=False):
            if "image" in old:
                new["image"] = old["image"]
    for name in ("activeDeadlineSeconds", "tolerations", "schedulingGates"):
        rest.pop(name, None)
        if name in before:
            rest[name] = before[name]
    old_grace = before.get("terminationGracePeriodSeconds")
    if old_grace is not None and old_grace < 0 and rest.get("terminationGracePeriodSeconds") == 1:
        rest["terminationGracePeriodSeconds"] = old_grace
    return rest
