"""The kinds the node side of the local cluster talks about, and their addresses in the API."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource of the Kubernetes API: where it lives and what its objects are called."""

    group_version: str
    plural: str
    kind: str
    namespaced: bool = True

    def path(
        self, namespace: str | None = None, name: str | None = None, subresource: str | None = None
    ) -> str:
        """Return the request path; without ``namespace`` a namespaced kind is addressed across all namespaces."""
        root = "/api/v1" if self.group_version == "v1" else f"/apis/{self.group_version}"
        scope = f"/namespaces/{namespace}" if namespace and self.namespaced else ""
        tail = "".join(f"/{part}" for part in (name, subresource) if part)
        return f"{root}{scope}/{self.plural}{tail}"


PODS = Resource("v1", "pods", "Pod")
NODES = Resource("v1", "nodes", "Node", namespaced=False)
NAMESPACES = Resource("v1", "namespaces", "Namespace", namespaced=False)
SECRETS = Resource("v1", "secrets", "Secret")
CONFIG_MAPS = Resource("v1", "configmaps", "ConfigMap")
SERVICE_ACCOUNTS = Resource("v1", "serviceaccounts", "ServiceAccount")
EVENTS = Resource("v1", "events", "Event")
LEASES = Resource("coordination.k8s.io/v1", "leases", "Lease")
CLAIMS = Resource("resource.k8s.io/v1", "resourceclaims", "ResourceClaim")
TEMPLATES = Resource("resource.k8s.io/v1", "resourceclaimtemplates", "ResourceClaimTemplate")
SLICES = Resource("resource.k8s.io/v1", "resourceslices", "ResourceSlice", namespaced=False)
CLASSES = Resource("resource.k8s.io/v1", "deviceclasses", "DeviceClass", namespaced=False)
TAINT_RULES = Resource("resource.k8s.io/v1", "devicetaintrules", "DeviceTaintRule", namespaced=False)

BY_KIND = {
    resource.kind: resource
    for resource in (
        PODS, NODES, NAMESPACES, SECRETS, CONFIG_MAPS, SERVICE_ACCOUNTS, EVENTS, LEASES,
        CLAIMS, TEMPLATES, SLICES, CLASSES, TAINT_RULES,
    )
}  # fmt: skip
