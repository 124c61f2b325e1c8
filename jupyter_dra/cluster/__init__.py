"""Speaking to a Kubernetes API server: configuration, client, watches, port-forward, rights."""

from .client import KubeClient, connect, ensure_created
from .direct import PodTarget, Reach
from .kubeconfig import ClusterChoice, Surroundings, choose, contexts
from .resources import ALL_NAMESPACES, Resource, resource
from .rights import rights
from .roles import AUDIENCES, rbac
from .version import ServerVersion, dropped_fields, fetch_version, require_v1
from .watch import WatchCache

__all__ = [
    "ALL_NAMESPACES",
    "AUDIENCES",
    "ClusterChoice",
    "KubeClient",
    "PodTarget",
    "Reach",
    "Resource",
    "ServerVersion",
    "Surroundings",
    "WatchCache",
    "choose",
    "connect",
    "contexts",
    "dropped_fields",
    "ensure_created",
    "fetch_version",
    "rbac",
    "require_v1",
    "resource",
    "rights",
]
