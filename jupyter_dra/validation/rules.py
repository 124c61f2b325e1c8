"""Validation of a whole object: which rules belong to which kind, on create and on update."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from jupyter_dra.model.names import dns_label_problems, dns_subdomain_problems
from jupyter_dra.validation import core, pods, workloads
from jupyter_dra.validation.conversion import to_v1
from jupyter_dra.validation.draclaim import validate_claim_spec
from jupyter_dra.validation.draclass import validate_class, validate_taint_rule
from jupyter_dra.validation.draslice import validate_slice
from jupyter_dra.validation.drastatus import validate_claim_status, validate_conditions
from jupyter_dra.validation.fielderrors import IMMUTABLE, FieldError, Report
from jupyter_dra.validation.metadata import (
    NameRule,
    path_segment_problems,
    validate_metadata,
    validate_metadata_update,
    validate_template_metadata,
)
from jupyter_dra.validation.paths import root
from jupyter_dra.validation.versions import admin_label

Struct = Mapping[str, Any]
Create = Callable[[Report, Struct], None]
Update = Callable[[Report, Struct, Struct], None]


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one kind; ``update`` None means that a changed object is checked like a new one.

    ``own_metadata``: create checks metadata itself. ``late_metadata``: metadata is checked only if all else is well.
    """

    create: Create | None = None
    update: Update | None = None
    namespaced: bool = True
    name: NameRule = dns_subdomain_problems
    own_metadata: bool = False
    late_metadata: bool = False
    declarative_name: bool = False


def validate(
    obj: Struct,
    *,
    operation: str = "create",
    old: Struct | None = None,
    target: str = "1.37",
    namespace_labels: Mapping[str, str] | None = None,
    subresource: str | None = None,
) -> list[FieldError]:
    """What the API server would refuse about a decoded, defaulted object, in its order and words.

    Args:
        obj: the object, with name and namespace as they will be stored. Kinds without rules here get metadata rules.
        operation: ``create`` or ``update``; an update needs ``old``.
        target: Kubernetes minor version whose rules apply.
        namespace_labels: labels of the object's namespace, for admin access. None means not known: no refusal.
        subresource: ``status`` for a write to status, else None.
    """
    report = Report(target)
    new = to_v1(obj)
    rules = RULES.get((group_of(new), str(new.get("kind"))), Rules())
    if operation == "update" and old is not None:
        _validate_update(report, new, to_v1(old), rules, subresource)
    else:
        _validate_create(report, new, rules, namespace_labels)
    return report.ordered()


def _validate_create(
    report: Report, new: Struct, rules: Rules, namespace_labels: Mapping[str, str] | None
) -> None:
    _check_admin(report, new, namespace_labels)
    if rules.late_metadata and rules.create is not None:
        rules.create(report, new)
    if not rules.own_metadata and not (rules.late_metadata and report.errors):
        validate_metadata(
            report,
            new.get("metadata") or {},
            namespaced=rules.namespaced,
            name_rule=rules.name,
            declarative_name=rules.declarative_name and report.minor >= 37,
        )
    if rules.create is not None and not rules.late_metadata:
        rules.create(report, new)


def group_of(obj: Struct) -> str:
    """The API group of an object; empty for core."""
    return str(obj.get("apiVersion") or "").rpartition("/")[0]


def _validate_update(report: Report, new: Struct, old: Struct, rules: Rules, subresource: str | None) -> None:
    if subresource == "status":
        validate_metadata_update(report, new.get("metadata") or {}, old.get("metadata") or {})
        status = STATUS_RULES.get((group_of(new), str(new.get("kind"))))
        if status is not None:
            status(report, new, old)
        return
    if not rules.own_metadata:
        validate_metadata_update(report, new.get("metadata") or {}, old.get("metadata") or {})
    if rules.update is not None:
        rules.update(report, new, old)
    elif rules.create is not None:
        rules.create(report, new)


def _check_admin(report: Report, obj: Struct, labels: Mapping[str, str] | None) -> None:
    """Admin access needs a label on the namespace (``pkg/registry/resource/utils.go``)."""
    if labels is None or obj.get("kind") not in {"ResourceClaim", "ResourceClaimTemplate"}:
        return
    spec = obj.get("spec") or {}
    if obj.get("kind") == "ResourceClaimTemplate":
        spec = spec.get("spec") or {}
    label = admin_label(report.target)
    for index, request in enumerate((spec.get("devices") or {}).get("requests") or ()):
        if (request.get("exactly") or {}).get("adminAccess") and labels.get(label) != "true":
            path = root("spec", "devices", "requests").index(index).child("adminAccess")
            text = f"admin access to devices requires the `{label}: true` label on the containing namespace"
            report.forbidden(path, text, rule="admin-namespace")
            return


def _claim(report: Report, obj: Struct) -> None:
    validate_claim_spec(report, obj.get("spec") or {}, root("spec"))


def _immutable_spec(report: Report, obj: Struct, old: Struct) -> None:
    if obj.get("spec") == old.get("spec"):
        return
    # 1.37 checks a claim's spec declaratively and then shows no value.
    declarative = obj.get("kind") == "ResourceClaim" and report.minor >= 37
    shown = None if declarative else obj.get("spec")
    report.invalid(root("spec"), shown, IMMUTABLE, declarative=declarative)


def _template(report: Report, obj: Struct) -> None:
    spec = obj.get("spec") or {}
    validate_template_metadata(report, spec.get("metadata") or {}, root("spec", "metadata"))
    validate_claim_spec(report, spec.get("spec") or {}, root("spec", "spec"))


def _pod_status(report: Report, obj: Struct, old: Struct) -> None:
    """A pod's status is written by the kubelet; of the rules only the node name's is kept."""
    new_node = (obj.get("spec") or {}).get("nodeName")
    if new_node != (old.get("spec") or {}).get("nodeName"):
        report.invalid(root("status", "nodeName"), new_node, "may not be changed directly")


def _taint_rule_status(report: Report, obj: Struct, old: Struct) -> None:
    conditions = (obj.get("status") or {}).get("conditions") or []
    validate_conditions(report, conditions, root("status", "conditions"))


DRA = "resource.k8s.io"
RBAC = "rbac.authorization.k8s.io"
RULES: Mapping[tuple[str, str], Rules] = {
    (DRA, "ResourceClaim"): Rules(_claim, _immutable_spec),
    (DRA, "ResourceClaimTemplate"): Rules(_template, _immutable_spec),
    (DRA, "DeviceClass"): Rules(validate_class, validate_class, namespaced=False, declarative_name=True),
    (DRA, "ResourceSlice"): Rules(validate_slice, validate_slice, namespaced=False),
    (DRA, "DeviceTaintRule"): Rules(validate_taint_rule, namespaced=False),
    ("", "Pod"): Rules(pods.validate_pod, pods.validate_pod_update, own_metadata=True),
    ("", "Secret"): Rules(core.validate_secret, core.validate_secret_update),
    ("", "ConfigMap"): Rules(core.validate_config_map, core.validate_config_map_update),
    ("", "Namespace"): Rules(namespaced=False, name=dns_label_problems),
    ("", "Node"): Rules(core.validate_node, namespaced=False),
    ("", "ServiceAccount"): Rules(),
    ("", "ResourceQuota"): Rules(core.validate_quota),
    ("", "LimitRange"): Rules(core.validate_limit_range),
    ("", "Event"): Rules(core.validate_event, late_metadata=True),
    ("events.k8s.io", "Event"): Rules(core.validate_event, late_metadata=True),
    ("", "Service"): Rules(core.validate_service, name=dns_label_problems),
    ("", "PersistentVolumeClaim"): Rules(core.validate_volume_claim),
    ("coordination.k8s.io", "Lease"): Rules(core.validate_lease),
    ("apps", "Deployment"): Rules(workloads.validate_workload),
    ("apps", "StatefulSet"): Rules(workloads.validate_workload, name=dns_label_problems),
    ("apps", "DaemonSet"): Rules(workloads.validate_workload),
    ("apps", "ReplicaSet"): Rules(workloads.validate_workload),
    ("batch", "Job"): Rules(workloads.validate_job),
    ("batch", "CronJob"): Rules(workloads.validate_cron_job),
    (RBAC, "Role"): Rules(workloads.validate_role, name=path_segment_problems),
    (RBAC, "ClusterRole"): Rules(workloads.validate_role, namespaced=False, name=path_segment_problems),
    (RBAC, "RoleBinding"): Rules(
        workloads.validate_binding, workloads.validate_binding_update, name=path_segment_problems
    ),
    (RBAC, "ClusterRoleBinding"): Rules(
        workloads.validate_binding,
        workloads.validate_binding_update,
        namespaced=False,
        name=path_segment_problems,
    ),
    ("networking.k8s.io", "NetworkPolicy"): Rules(workloads.validate_network_policy),
    ("scheduling.k8s.io", "PriorityClass"): Rules(namespaced=False),
}
STATUS_RULES: Mapping[tuple[str, str], Update] = {
    (DRA, "ResourceClaim"): validate_claim_status,
    (DRA, "DeviceTaintRule"): _taint_rule_status,
    ("", "Pod"): _pod_status,
}
