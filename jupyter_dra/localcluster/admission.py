"""What is added to or refused in a new object besides its own rules.

Follows k8s.io/kubernetes ``plugin/pkg/admission``: NamespaceLifecycle, ServiceAccount, Priority,
DefaultTolerationSeconds, LimitRanger; and the escalation check of ``pkg/registry/rbac``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jupyter_dra.localcluster.identity import User
from jupyter_dra.localcluster.limit_ranges import apply_limit_ranges
from jupyter_dra.localcluster.rbac import Authorizer, Rule
from jupyter_dra.localcluster.resources import Resource, named
from jupyter_dra.localcluster.status import APIError, bad_request, forbidden, not_found
from jupyter_dra.localcluster.store import Store

Object = dict[str, Any]

_NAMESPACES = named("namespaces")
_ACCOUNTS = named("serviceaccounts")
_LIMIT_RANGES = named("limitranges")
_TOLERATION_SECONDS = 300
_SYSTEM_PRIORITIES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}


class Admission:
    """The admission chain of one cluster."""

    def __init__(self, store: Store, authorizer: Authorizer) -> None:
        self._store = store
        self._authorizer = authorizer

    def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        found = self._store.get(_NAMESPACES, "", namespace) if namespace else None
        return (found.value["metadata"].get("labels") or {}) if found else {}

    def check_namespace(self, resource: Resource, namespace: str, name: str) -> None:
        """Raise 404 where the namespace is missing and 403 where it is ending."""
        found = self._store.get(_NAMESPACES, "", namespace)
        if found is None:
            raise not_found("", "namespaces", namespace)
        if found.value["metadata"].get("deletionTimestamp"):
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            cause = {
                "reason": "NamespaceTerminating",
                "message": f"namespace {namespace} is being terminated",
                "field": "metadata.namespace",
            }
            raise forbidden(resource.group, resource.plural, name, why, [cause])

    def mutate_pod(self, value: Object) -> None:
        """Fill in account, priority, tolerations and limits of a new pod, in place."""
        spec = value.setdefault("spec", {})
        metadata = value["metadata"]
        self._service_account(metadata, spec)
        _priority(spec)
        _tolerations(spec)
        ranges = [stored.value for stored in self._store.objects(_LIMIT_RANGES, metadata["namespace"])]
        problems = apply_limit_ranges(spec, ranges)
        if problems:
            text = problems[0] if len(problems) == 1 else "[" + ", ".join(problems) + "]"
            raise forbidden("", "pods", metadata.get("name", ""), text)

    def _service_account(self, metadata: Mapping[str, Any], spec: Object) -> None:
        name = spec.get("serviceAccountName") or spec.get("serviceAccount") or "default"
        spec["serviceAccountName"] = spec["serviceAccount"] = name
        namespace = metadata["namespace"]
        account = self._store.get(_ACCOUNTS, namespace, name)
        if account is None:
            why = f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'
            raise forbidden("", "pods", metadata.get("name", ""), why)
        if not spec.get("imagePullSecrets") and account.value.get("imagePullSecrets"):
            spec["imagePullSecrets"] = list(account.value["imagePullSecrets"])

    def check_role(self, user: User, resource: Resource, value: Object) -> None:
        """Raise 403 where a role or binding would give more than the user has (escalate, bind)."""
        namespace = value["metadata"].get("namespace", "")
        if resource.kind in ("Role", "ClusterRole"):
            wanted: list[Rule] = self._authorizer.expand(value)
        else:
            ref = value.get("roleRef") or {}
            found = self._authorizer.role_rules(ref, namespace)
            if found is None:
                plural = "clusterroles" if ref.get("kind") == "ClusterRole" else "roles"
                if self._authorizer.is_master(user):
                    return
                raise not_found(resource.group, plural, ref.get("name", ""))
            wanted = found
        missing = self._authorizer.covers(user, namespace, wanted)
        if missing:
            raise _escalation(user, resource, value["metadata"].get("name", ""), missing)


def _escalation(user: User, resource: Resource, name: str, missing: list[Rule]) -> APIError:
    groups = '" "'.join(user.groups)
    listed = "\n".join(_rule_text(rule) for rule in missing)
    who = f'user "{user.name}" (groups=["{groups}"])'
    why = f"{who} is attempting to grant RBAC permissions not currently held:\n{listed}"
    return forbidden(resource.group, resource.plural, name, why)


def _rule_text(rule: Rule) -> str:
    parts = [
        f"{label}:[{', '.join(f'{chr(34)}{item}{chr(34)}' for item in rule[field])}]"
        for label, field in (
            ("APIGroups", "apiGroups"),
            ("Resources", "resources"),
            ("ResourceNames", "resourceNames"),
            ("NonResourceURLs", "nonResourceURLs"),
            ("Verbs", "verbs"),
        )
        if rule.get(field)
    ]
    return "{" + ", ".join(parts) + "}"


def _priority(spec: Object) -> None:
    name = spec.get("priorityClassName", "")
    if name and name not in _SYSTEM_PRIORITIES:
        raise forbidden("", "pods", "", f"no PriorityClass with name {name} was found")
    priority = _SYSTEM_PRIORITIES.get(name, 0)
    if spec.get("priority") not in (None, priority):
        raise bad_request(
            "the integer value of priority must not be provided in pod spec; "
            "priority admission controller computed "
            f"{priority} from the given PriorityClass name"
        )
    spec["priority"] = priority
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")


def _tolerations(spec: Object) -> None:
    present = spec.get("tolerations") or []
    added = []
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        covered = any(
            t.get("key") in (key, None, "") and t.get("effect") in ("NoExecute", None, "") for t in present
        )
        if not covered:
            added.append(
                {
                    "key": key,
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": _TOLERATION_SECONDS,
                }
            )
    if added:
        spec["tolerations"] = [*present, *added]
