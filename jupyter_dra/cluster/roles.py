"""The least rights for each kind of person, as RBAC manifests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import InputError
from .resources import DRA_GROUP

READ = ("get", "list", "watch")
AUDIENCES = ("user", "occupancy", "queue", "hub", "admin", "viewer")
VIEWER_ROLE = "jupyter-dra-viewer"
_RBAC = "rbac.authorization.k8s.io"
_MANAGED = {"app.kubernetes.io/name": "jupyter-dra"}


def rbac(
    audience: str,
    *,
    namespace: str = "default",
    subject: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A List of roles and bindings for ``audience``, one of ``AUDIENCES``.

    Args:
        namespace: where a namespaced Role goes.
        subject: an RBAC subject; None binds the service account ``jupyter-dra`` of ``namespace``.

    >>> [item["kind"] for item in rbac("viewer")["items"]]
    ['ClusterRole', 'ClusterRoleBinding']
    """
    if audience not in AUDIENCES:
        raise InputError(
            f"{audience!r} is not one of {', '.join(AUDIENCES)}.",
            path="audience",
            next_step="Name one of them.",
            params={"known": list(AUDIENCES)},
        )
    who = dict(subject or {"kind": "ServiceAccount", "name": "jupyter-dra", "namespace": namespace})
    if who.get("kind") in ("User", "Group"):
        who.setdefault("apiGroup", _RBAC)
    build = {
        "user": _user,
        "occupancy": _occupancy,
        "queue": _queue,
        "hub": _hub,
        "admin": _admin,
        "viewer": _viewer,
    }
    return {"apiVersion": "v1", "kind": "List", "items": build[audience](namespace, who)}


def _user(namespace: str, who: Mapping[str, Any]) -> list[dict[str, Any]]:
    rules = [
        _rule(DRA_GROUP, ("resourceclaims",), (*READ, "create", "patch", "delete")),
        _rule(DRA_GROUP, ("resourceclaimtemplates",), READ),
        _rule("", ("pods",), (*READ, "create", "patch", "delete")),
        _rule("", ("pods/log",), ("get",)),
        _rule("", ("pods/portforward",), ("get", "create")),
        # get is for connecting again after a server restart; no list, no watch (threat T13).
        _rule("", ("secrets",), ("get", "create", "patch", "delete")),
        _rule("", ("events", "resourcequotas", "limitranges"), READ),
        _rule("coordination.k8s.io", ("leases",), ("get", "create", "update")),
    ]
    return [*_role("jupyter-dra-user", namespace, rules, who), *_viewer(namespace, who)]


def _viewer(namespace: str, who: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Seeing tiers and devices; without it no face can show what exists."""
    rules = [_rule(DRA_GROUP, ("deviceclasses", "resourceslices"), READ)]
    return _cluster_role(
        VIEWER_ROLE, rules, who, "Shows node names and device identifiers of the whole cluster."
    )


def _occupancy(namespace: str, who: Mapping[str, Any]) -> list[dict[str, Any]]:
    rules = [_rule(DRA_GROUP, ("resourceclaims",), READ)]
    note = "Shows the claims of all namespaces: who holds which device. With it free counts are exact."
    return _cluster_role("jupyter-dra-occupancy", rules, who, note)


def _queue(namespace: str, who: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Where Kueue decides who starts: why a session waits, and its place in the line."""
    rules = [
        _rule("kueue.x-k8s.io", ("workloads",), ("get",)),
        _rule("visibility.kueue.x-k8s.io", ("localqueues/pendingworkloads",), ("get",)),
    ]
    return _role("jupyter-dra-queue", namespace, rules, who)


def _hub(namespace: str, who: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What DRASpawner needs beyond KubeSpawner's own Role."""
    rules = [
        _rule(DRA_GROUP, ("resourceclaims",), (*READ, "create", "delete")),
        _rule(DRA_GROUP, ("resourceclaimtemplates",), ("get",)),
        _rule("", ("pods",), (*READ, "create", "delete")),
        # Only for internal TLS: one secret and one service per server, read by name.
        _rule("", ("secrets", "services"), ("get", "create", "delete")),
        _rule("", ("persistentvolumeclaims",), ("get", "create", "delete")),
        _rule("", ("events",), READ),
        # Named when one of them stops a server; the API server's refusal does not say which.
        _rule("", ("limitranges",), ("list",)),
    ]
    return [*_role("jupyter-dra-hub", namespace, rules, who), *_viewer(namespace, who)]


def _admin(namespace: str, who: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Looking after everybody's sessions: see all, stop any; nothing that reads secrets."""
    rules = [
        _rule(DRA_GROUP, ("resourceclaims",), (*READ, "delete")),
        _rule(DRA_GROUP, ("resourceclaimtemplates", "resourceslices", "devicetaintrules"), READ),
        _rule(DRA_GROUP, ("deviceclasses",), (*READ, "create", "update", "patch", "delete")),
        _rule("", ("pods",), (*READ, "delete")),
        _rule("", ("pods/log",), ("get",)),
        _rule("", ("events", "nodes", "namespaces", "resourcequotas", "limitranges"), READ),
    ]
    note = "Sees and ends the sessions of everybody, and maintains tiers."
    return _cluster_role("jupyter-dra-admin", rules, who, note)


def _rule(group: str, resources: tuple[str, ...], verbs: tuple[str, ...]) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}


def _role(
    name: str, namespace: str, rules: list[dict[str, Any]], who: Mapping[str, Any]
) -> list[dict[str, Any]]:
    meta = {"name": name, "namespace": namespace, "labels": dict(_MANAGED)}
    return [
        {"apiVersion": f"{_RBAC}/v1", "kind": "Role", "metadata": meta, "rules": rules},
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": dict(meta),
            "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": name},
            "subjects": [dict(who)],
        },
    ]


def _cluster_role(
    name: str, rules: list[dict[str, Any]], who: Mapping[str, Any], note: str
) -> list[dict[str, Any]]:
    meta = {"name": name, "labels": dict(_MANAGED), "annotations": {"kubernetes.io/description": note}}
    return [
        {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "metadata": meta, "rules": rules},
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name, "labels": dict(_MANAGED)},
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": name},
            "subjects": [dict(who)],
        },
    ]
