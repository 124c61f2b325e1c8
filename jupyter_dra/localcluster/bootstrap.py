"""What a new cluster contains: namespaces and the roles every cluster has.

Rules follow k8s.io/kubernetes ``plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go``, cut to the
served kinds.
"""

from __future__ import annotations

from typing import Any

from jupyter_dra.localcluster.identity import AUTHENTICATED, MASTERS
from jupyter_dra.localcluster.resources import RBAC_GROUP, RESOURCE_GROUP

Object = dict[str, Any]

AGENT_USER = "system:jupyter-dra:agent"
CONTROL_USER = "system:jupyter-dra:control"
NODES_GROUP = "system:nodes"

NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")

READ = ["get", "list", "watch"]
WRITE = ["create", "delete", "deletecollection", "patch", "update"]


def _rule(groups: list[str], resources: list[str], verbs: list[str]) -> Object:
    return {"apiGroups": groups, "resources": resources, "verbs": verbs}


_VIEW = [
    _rule(
        [""],
        [
            "configmaps",
            "events",
            "limitranges",
            "namespaces",
            "pods",
            "pods/log",
            "pods/status",
            "resourcequotas",
            "resourcequotas/status",
            "serviceaccounts",
            "services",
            "services/status",
        ],
        READ,
    ),
    _rule(["networking.k8s.io"], ["networkpolicies"], READ),
    _rule([RESOURCE_GROUP], ["resourceclaims", "resourceclaims/status", "resourceclaimtemplates"], READ),
]
_EDIT = [
    *_VIEW,
    _rule([""], ["secrets"], READ),
    _rule([""], ["pods/attach", "pods/exec", "pods/portforward"], [*READ, *WRITE]),
    _rule([""], ["configmaps", "events", "pods", "secrets", "serviceaccounts", "services"], WRITE),
    _rule([""], ["serviceaccounts/token"], ["create"]),
    _rule(["networking.k8s.io"], ["networkpolicies"], WRITE),
    _rule(["coordination.k8s.io"], ["leases"], [*READ, *WRITE]),
    _rule([RESOURCE_GROUP], ["resourceclaims", "resourceclaimtemplates"], WRITE),
]
_ADMIN = [
    *_EDIT,
    _rule([RBAC_GROUP], ["roles", "rolebindings"], [*READ, *WRITE]),
]
_REVIEWS = [
    _rule(["authorization.k8s.io"], ["selfsubjectaccessreviews", "selfsubjectrulesreviews"], ["create"]),
    _rule(["authentication.k8s.io"], ["selfsubjectreviews"], ["create"]),
]
_PATHS = [
    "/api",
    "/api/*",
    "/apis",
    "/apis/*",
    "/healthz",
    "/livez",
    "/openapi",
    "/openapi/*",
    "/readyz",
    "/version",
    "/version/",
]
_AGENT = [
    _rule([""], ["nodes", "nodes/status"], ["*"]),
    _rule([""], ["pods", "pods/status", "pods/log"], [*READ, "create", "delete", "patch", "update"]),
    _rule([""], ["secrets", "configmaps", "serviceaccounts", "namespaces", "services"], READ),
    _rule([""], ["events"], ["create", "patch", "update"]),
    _rule([""], ["serviceaccounts/token"], ["create"]),
    _rule(["coordination.k8s.io"], ["leases"], [*READ, *WRITE]),
    _rule([RESOURCE_GROUP], ["resourceslices"], [*READ, *WRITE]),
    _rule([RESOURCE_GROUP], ["resourceclaims", "deviceclasses", "devicetaintrules"], READ),
    _rule([RESOURCE_GROUP], ["resourceclaims/status"], ["get", "patch", "update"]),
]
_CONTROL = [
    _rule(
        [""], ["nodes", "namespaces", "services", "serviceaccounts", "resourcequotas", "limitranges"], READ
    ),
    _rule([""], ["nodes", "nodes/status"], ["patch", "update"]),
    _rule([""], ["pods"], [*READ, "delete", "patch", "update"]),
    _rule([""], ["pods/binding"], ["create"]),
    _rule([""], ["pods/status"], ["get", "patch", "update"]),
    _rule([""], ["events"], [*READ, "create", "patch", "update"]),
    _rule(["coordination.k8s.io"], ["leases"], READ),
    _rule([RESOURCE_GROUP], ["resourceclaims"], [*READ, *WRITE]),
    _rule([RESOURCE_GROUP], ["resourceclaims/status", "devicetaintrules/status"], ["get", "patch", "update"]),
    _rule(
        [RESOURCE_GROUP],
        ["resourceclaimtemplates", "resourceslices", "deviceclasses", "devicetaintrules"],
        READ,
    ),
]

CLUSTER_ROLES: dict[str, list[Object]] = {
    "cluster-admin": [_rule(["*"], ["*"], ["*"]), {"nonResourceURLs": ["*"], "verbs": ["*"]}],
    "admin": _ADMIN,
    "edit": _EDIT,
    "view": _VIEW,
    "system:basic-user": _REVIEWS,
    "system:discovery": [{"nonResourceURLs": _PATHS, "verbs": ["get"]}],
    AGENT_USER: _AGENT,
    CONTROL_USER: _CONTROL,
}

_BINDINGS = (
    ("cluster-admin", "Group", MASTERS),
    ("system:basic-user", "Group", AUTHENTICATED),
    ("system:discovery", "Group", AUTHENTICATED),
    (AGENT_USER, "User", AGENT_USER),
    (CONTROL_USER, "User", CONTROL_USER),
)
_BOOTSTRAP = {"kubernetes.io/bootstrapping": "rbac-defaults"}


def role_objects() -> list[Object]:
    """The ClusterRoles and ClusterRoleBindings of a new cluster, ready to be created."""
    api_version = f"{RBAC_GROUP}/v1"
    roles: list[Object] = [
        {
            "apiVersion": api_version,
            "kind": "ClusterRole",
            "metadata": {"name": name, "labels": dict(_BOOTSTRAP)},
            "rules": rules,
        }
        for name, rules in CLUSTER_ROLES.items()
    ]
    bindings: list[Object] = [
        {
            "apiVersion": api_version,
            "kind": "ClusterRoleBinding",
            "metadata": {"name": role, "labels": dict(_BOOTSTRAP)},
            "roleRef": {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": RBAC_GROUP, "kind": kind, "name": name}],
        }
        for role, kind, name in _BINDINGS
    ]
    return roles + bindings


def namespace_object(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
