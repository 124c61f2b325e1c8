"""Rules for workloads with a pod template, RBAC objects and network policies.

Follows ``k8s.io/kubernetes/pkg/apis/{apps,batch,rbac,networking}/validation``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jupyter_dra.model.names import dns_subdomain_problems
from jupyter_dra.validation.fielderrors import Report
from jupyter_dra.validation.metadata import path_segment_problems, validate_label_selector
from jupyter_dra.validation.paths import Path, root
from jupyter_dra.validation.pods import validate_pod_template

Struct = Mapping[str, Any]
RBAC = "rbac.authorization.k8s.io"
EMPTY_SELECTOR = "empty selector is invalid for {kind}"
LABELS = "`selector` does not match template `labels`"


def selects(selector: Struct, labels: Mapping[str, str]) -> bool:
    """Whether a label selector matches labels."""
    for key, value in (selector.get("matchLabels") or {}).items():
        if labels.get(key) != value:
            return False
    for entry in selector.get("matchExpressions") or ():
        key, values, operator = entry.get("key"), entry.get("values") or (), entry.get("operator")
        held = labels.get(key)
        fine = {
            "In": held in values,
            "NotIn": held not in values,
            "Exists": held is not None,
            "DoesNotExist": held is None,
        }
        if not fine.get(operator, False):
            return False
    return True


def validate_workload(report: Report, obj: Struct) -> None:
    """Deployment, StatefulSet, DaemonSet, ReplicaSet."""
    spec, path = obj.get("spec") or {}, root("spec")
    kind = str(obj.get("kind"))
    template = spec.get("template") or {}
    selector = spec.get("selector")
    labels = (template.get("metadata") or {}).get("labels")
    replicas = spec.get("replicas")
    if replicas is not None and replicas < 0:
        report.invalid(path.child("replicas"), replicas, "must be greater than or equal to 0")
    before, broken = len(report.errors), False
    if selector is None:
        if kind != "DaemonSet":
            report.required(path.child("selector"))
    else:
        validate_label_selector(report, selector, path.child("selector"))
        broken = len(report.errors) > before
        if not selector.get("matchLabels") and not selector.get("matchExpressions"):
            # A copy-and-paste of upstream's: ReplicaSets call themselves deployment here.
            text = EMPTY_SELECTOR.format(kind="deployment" if kind == "ReplicaSet" else kind.lower())
            report.invalid(path.child("selector"), dict(selector), text)
    where = path.child("template")
    if selector is not None and broken:
        if kind != "DaemonSet":
            text = "" if kind == "StatefulSet" else "invalid label selector"
            report.invalid(path.child("selector"), dict(selector), text)
        if kind != "DaemonSet":
            return  # these look no further
    elif selector is None or not selects(selector, labels or {}):
        report.invalid(where.child("metadata", "labels"), labels, LABELS)
    validate_pod_template(report, template, where)
    policy = (template.get("spec") or {}).get("restartPolicy") or ""
    if policy != "Always":
        report.not_supported(where.child("spec", "restartPolicy"), policy, ("Always",))


def validate_job(report: Report, obj: Struct) -> None:
    _validate_job_spec(report, obj.get("spec") or {}, root("spec"))


def validate_cron_job(report: Report, obj: Struct) -> None:
    spec, path = obj.get("spec") or {}, root("spec")
    if not spec.get("schedule"):
        report.required(path.child("schedule"))
    template = (spec.get("jobTemplate") or {}).get("spec") or {}
    _validate_job_spec(report, template, path.child("jobTemplate", "spec"))


def _validate_job_spec(report: Report, spec: Struct, path: Path) -> None:
    for name in (
        "parallelism",
        "completions",
        "backoffLimit",
        "activeDeadlineSeconds",
        "ttlSecondsAfterFinished",
    ):
        value = spec.get(name)
        if value is not None and value < 0:
            report.invalid(path.child(name), value, "must be greater than or equal to 0")
    template, where = spec.get("template") or {}, path.child("template")
    validate_pod_template(report, template, where)
    policy = (template.get("spec") or {}).get("restartPolicy") or ""
    if policy == "Always":
        text_path = where.child("spec", "restartPolicy")
        report.required(text_path, 'valid values: "OnFailure", "Never"')
    elif policy not in {"OnFailure", "Never"}:
        report.not_supported(where.child("spec", "restartPolicy"), policy, ("OnFailure", "Never"))


def validate_role(report: Report, obj: Struct) -> None:
    """Role and ClusterRole."""
    namespaced = obj.get("kind") == "Role"
    for index, rule in enumerate(obj.get("rules") or ()):
        path = root("rules").index(index)
        if not rule.get("verbs"):
            declarative = report.minor >= 37
            text = "" if declarative else "verbs must contain at least one value"
            report.required(path.child("verbs"), text, declarative=declarative)
        urls = rule.get("nonResourceURLs") or []
        if urls:
            if namespaced:
                text = "namespaced rules cannot apply to non-resource URLs"
                report.invalid(path.child("nonResourceURLs"), list(urls), text)
            if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
                text = "rules cannot apply to both regular resources and non-resource URLs"
                report.invalid(path.child("nonResourceURLs"), list(urls), text)
            continue
        if not rule.get("apiGroups"):
            report.required(path.child("apiGroups"), "resource rules must supply at least one api group")
        if not rule.get("resources"):
            report.required(path.child("resources"), "resource rules must supply at least one resource")


def validate_binding(report: Report, obj: Struct) -> None:
    """RoleBinding and ClusterRoleBinding."""
    reference, path = obj.get("roleRef") or {}, root("roleRef")
    group, kind, name = (reference.get(field) or "" for field in ("apiGroup", "kind", "name"))
    if group != RBAC:
        report.not_supported(path.child("apiGroup"), group, (RBAC,))
    kinds = ("Role", "ClusterRole") if obj.get("kind") == "RoleBinding" else ("ClusterRole",)
    if kind not in kinds:
        report.not_supported(path.child("kind"), kind, kinds)
    if not name:
        report.required(path.child("name"), declarative=True)
    else:
        report.problems(path.child("name"), name, path_segment_problems(name))
    for index, subject in enumerate(obj.get("subjects") or ()):
        _validate_subject(report, subject, root("subjects").index(index), obj.get("kind") == "RoleBinding")


def _validate_subject(report: Report, subject: Struct, path: Path, namespaced: bool) -> None:
    name, kind, group = (subject.get(field) or "" for field in ("name", "kind", "apiGroup"))
    if not name:
        report.required(path.child("name"), declarative=True)
    if kind == "ServiceAccount":
        if name:
            report.problems(path.child("name"), name, dns_subdomain_problems(name))
        if group:
            report.not_supported(path.child("apiGroup"), group, ("",))
        if not namespaced and not subject.get("namespace"):
            report.required(path.child("namespace"))
    elif kind in {"User", "Group"}:
        if group != RBAC:
            report.not_supported(path.child("apiGroup"), group, (RBAC,))
    else:
        report.not_supported(path.child("kind"), kind, ("ServiceAccount", "User", "Group"))


def validate_binding_update(report: Report, obj: Struct, old: Struct) -> None:
    validate_binding(report, obj)
    reference = obj.get("roleRef") or {}
    if reference != (old.get("roleRef") or {}):
        shown = {name[0].upper() + name[1:]: reference.get(name) or "" for name in ("kind", "name")}
        shown = {"APIGroup": reference.get("apiGroup") or "", **shown}
        text = "field is immutable" if report.minor >= 37 else "cannot change roleRef"
        report.invalid(root("roleRef"), shown, text)


def validate_network_policy(report: Report, obj: Struct) -> None:
    spec, path = obj.get("spec") or {}, root("spec")
    validate_label_selector(report, spec.get("podSelector"), path.child("podSelector"))
    kinds = spec.get("policyTypes") or []
    for index, kind in enumerate(kinds):
        if kind not in {"Ingress", "Egress"}:
            report.not_supported(path.child("policyTypes").index(index), kind, ("Ingress", "Egress"))
