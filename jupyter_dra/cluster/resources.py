"""The kinds we speak about, and the URL paths they have."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote

from ..errors import InputError

ALL_NAMESPACES = ""
"""As ``namespace``: the resource in every namespace."""

_PART = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9._:]{0,251}[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True)
class Resource:
    """Where one kind lives in the API."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def prefix(self) -> str:
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"


DRA_GROUP = "resource.k8s.io"

_RESOURCES = (
    Resource("", "v1", "namespaces", "Namespace", namespaced=False),
    Resource("", "v1", "nodes", "Node", namespaced=False),
    Resource("", "v1", "pods", "Pod"),
    Resource("", "v1", "secrets", "Secret"),
    Resource("", "v1", "configmaps", "ConfigMap"),
    Resource("", "v1", "events", "Event"),
    Resource("", "v1", "services", "Service"),
    Resource("", "v1", "serviceaccounts", "ServiceAccount"),
    Resource("", "v1", "resourcequotas", "ResourceQuota"),
    Resource("", "v1", "limitranges", "LimitRange"),
    Resource("coordination.k8s.io", "v1", "leases", "Lease"),
    Resource("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy"),
    Resource("rbac.authorization.k8s.io", "v1", "roles", "Role"),
    Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding"),
    Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False),
    Resource(
        "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False
    ),
    Resource("authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", False),
    Resource("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", False),
    Resource(DRA_GROUP, "v1", "resourceclaims", "ResourceClaim"),
    Resource(DRA_GROUP, "v1", "resourceclaimtemplates", "ResourceClaimTemplate"),
    Resource(DRA_GROUP, "v1", "deviceclasses", "DeviceClass", namespaced=False),
    Resource(DRA_GROUP, "v1", "resourceslices", "ResourceSlice", namespaced=False),
    Resource(DRA_GROUP, "v1", "devicetaintrules", "DeviceTaintRule", namespaced=False),
)
_BY_NAME = {name: entry for entry in _RESOURCES for name in (entry.kind, entry.plural)}


def resource(kind: str) -> Resource:
    """The resource of a kind (``Pod``) or plural (``pods``); raises InputError for one we do not speak about."""
    try:
        return _BY_NAME[kind]
    except KeyError:
        raise InputError(
            f"{kind!r} is not a kind this program works with.",
            path="kind",
            next_step=f"Kinds: {', '.join(sorted({one.kind for one in _RESOURCES}))}.",
            params={"kind": kind},
        ) from None


def path_part(text: str, what: str = "name") -> str:
    """``text`` percent-encoded as one path segment; raises InputError for anything that is no object name."""
    if not _PART.fullmatch(text) or ".." in text:
        raise InputError(
            f"{text!r} is not a valid {what}.",
            path=what,
            next_step="Names are lower-case letters, digits, '-' and '.'.",
            params={"value": text},
        )
    return quote(text, safe="")


def path(kind: str, namespace: str | None, name: str | None = None, subresource: str | None = None) -> str:
    """The URL path of a collection, an object, or a subresource.

    Args:
        namespace: ignored for cluster-scoped kinds; `ALL_NAMESPACES` for a collection over all of them.
    """
    entry = resource(kind)
    parts = [entry.prefix]
    if entry.namespaced and namespace:
        parts += ["namespaces", path_part(namespace, "namespace")]
    elif entry.namespaced and name is not None:
        raise InputError(
            f"A {entry.kind} is addressed with its namespace.", path="namespace", next_step="Name one."
        )
    parts.append(entry.plural)
    if name is not None:
        parts.append(path_part(name))
    if subresource is not None:
        parts.append(path_part(subresource, "subresource"))
    return "/".join(parts)
