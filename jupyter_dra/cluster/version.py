"""What the API server is and can: its version, whether resource.k8s.io/v1 is there, which fields it dropped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import ClusterError, NotFoundError
from ..model.releases import minor_release
from .client import KubeClient
from .resources import DRA_GROUP
from .transport import REQUEST_TIMEOUT

FIRST_WITH_V1 = "1.34"


@dataclass(frozen=True, slots=True)
class ServerVersion:
    """The API server's version and the DRA versions it serves."""

    git: str
    minor: str
    dra_versions: tuple[str, ...]

    @property
    def has_v1(self) -> bool:
        return "v1" in self.dra_versions


async def fetch_version(client: KubeClient, *, timeout: float = REQUEST_TIMEOUT) -> ServerVersion:
    """Ask the server what it is; two requests."""
    info = await client.request("GET", "/version", timeout=timeout)
    git = str((info or {}).get("gitVersion") or "")
    try:
        group = await client.request("GET", f"/apis/{DRA_GROUP}", timeout=timeout)
        versions = tuple(str(entry["version"]) for entry in (group or {}).get("versions") or [])
    except NotFoundError:
        versions = ()
    return ServerVersion(git, minor_release(git), versions)


def require_v1(version: ServerVersion) -> None:
    """Raise ClusterError ``too-old`` unless resource.k8s.io/v1 is served."""
    if version.has_v1:
        return
    older = ", ".join(version.dra_versions)
    seen = f"it serves only {older}" if older else "it does not serve the group at all"
    raise ClusterError(
        f"This cluster (Kubernetes {version.git or 'of unknown version'}) has no resource.k8s.io/v1; {seen}.",
        code="too-old",
        next_step=f"DRA is on by default from Kubernetes {FIRST_WITH_V1}; ask the administrator to upgrade.",
        params={"server_version": version.git, "served": list(version.dra_versions)},
    )


def dropped_fields(sent: Any, stored: Any, path: str = "") -> list[str]:
    """Paths of what was sent and is not in what the server stored.

    A field of a disabled feature is dropped silently on create (kubernetes ``pkg/registry/resource/…/strategy.go``,
    dropDisabledFields), so what was created is read back. Empty values count as kept.

    >>> dropped_fields({"a": {"b": 1}, "c": [2]}, {"a": {}, "c": [2]})
    ['a.b']
    """
    if isinstance(sent, Mapping):
        if not isinstance(stored, Mapping):
            return [path] if sent else []
        lost: list[str] = []
        for key, value in sent.items():
            inner = f"{path}.{key}" if path else str(key)
            if key in stored:
                lost += dropped_fields(value, stored[key], inner)
            elif value not in (None, {}, [], ""):
                lost.append(inner)
        return lost
    if isinstance(sent, list):
        if not isinstance(stored, list) or len(stored) < len(sent):
            return [path]
        pairs = zip(sent, stored, strict=False)
        return [found for i, (a, b) in enumerate(pairs) for found in dropped_fields(a, b, f"{path}[{i}]")]
    return []
