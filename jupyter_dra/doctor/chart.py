"""Everything the doctor looks at, fetched once; what may not be read is None, never an error."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..claims import labels
from ..cluster import ALL_NAMESPACES, KubeClient, ServerVersion, dropped_fields, fetch_version, rights
from ..cluster.resources import DRA_GROUP
from ..errors import ClusterError, DRAError

Objects = list[dict[str, Any]]

PROBE = {
    "apiVersion": f"{DRA_GROUP}/v1",
    "kind": "ResourceClaim",
    "metadata": {"generateName": "jupyter-dra-doctor-"},
    "spec": {
        "devices": {
            "requests": [
                {
                    "name": "probe",
                    "exactly": {
                        "deviceClassName": "jupyter-dra-doctor",
                        "tolerations": [{"operator": "Exists"}],
                        "capacity": {"requests": {"memory": "1Gi"}},
                    },
                },
                {
                    "name": "list",
                    "firstAvailable": [{"name": "first", "deviceClassName": "jupyter-dra-doctor"}],
                },
            ]
        }
    },
}
"""Sent with dryRun only: fields of features that are off do not come back."""


@dataclass(frozen=True, slots=True)
class Chart:
    """The cluster as the doctor found it."""

    namespace: str
    in_cluster: bool
    local: bool
    version: ServerVersion
    kinds: frozenset[str]
    rights: Mapping[str, bool]
    slices: Objects | None = None
    classes: Objects | None = None
    claims: Objects | None = None
    pods: Objects | None = None
    quotas: Objects | None = None
    ranges: Objects | None = None
    events: Objects | None = None
    dropped: tuple[str, ...] | None = None
    probe_error: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


async def draw(client: KubeClient) -> Chart:
    """Fetch the chart; raises ClusterError only when the cluster itself cannot be reached."""
    version, may, kinds = await asyncio.gather(fetch_version(client), rights(client), _kinds(client))
    ours = f"{labels.MANAGED_BY}={labels.MANAGED_BY_VALUE}"
    where = ALL_NAMESPACES if may["read_all_claims"] else client.namespace
    probe = asyncio.create_task(
        _probe(client) if version.has_v1 and may["create_claims"] else _no_probe(), name="doctor probe"
    )
    slices, classes, claims, pods, quotas, ranges, events = await asyncio.gather(
        _list(client, "ResourceSlice", "") if version.has_v1 else _nothing(),
        _list(client, "DeviceClass", "") if version.has_v1 else _nothing(),
        _list(client, "ResourceClaim", where) if version.has_v1 else _nothing(),
        _list(client, "Pod", client.namespace, ours),
        _list(client, "ResourceQuota", client.namespace),
        _list(client, "LimitRange", client.namespace),
        _list(client, "Event", client.namespace),
    )
    dropped, probe_error = await probe
    return Chart(
        namespace=client.namespace,
        in_cluster=client.choice.source == "in-cluster",
        local=client.choice.is_local,
        version=version,
        kinds=kinds,
        rights=may,
        slices=slices,
        classes=classes,
        claims=claims,
        pods=pods,
        quotas=quotas,
        ranges=ranges,
        events=events,
        dropped=dropped,
        probe_error=probe_error,
    )


async def _nothing() -> Objects | None:
    return None


async def _no_probe() -> tuple[tuple[str, ...] | None, str | None]:
    return None, None


async def _kinds(client: KubeClient) -> frozenset[str]:
    """The kinds of resource.k8s.io/v1 that are served."""
    try:
        answer = await client.request("GET", f"/apis/{DRA_GROUP}/v1")
    except DRAError as error:
        if isinstance(error, ClusterError) and error.code in ("unreachable", "unauthorized"):
            raise
        return frozenset()
    found = (answer or {}).get("resources") or []
    return frozenset(str(entry.get("kind")) for entry in found if "/" not in str(entry.get("name")))


async def _list(client: KubeClient, kind: str, namespace: str, selector: str | None = None) -> Objects | None:
    try:
        return list((await client.list(kind, namespace, labels=selector)).get("items") or [])
    except DRAError:
        return None


async def _probe(client: KubeClient) -> tuple[tuple[str, ...] | None, str | None]:
    try:
        stored = await client.create(PROBE, dry_run=True)
    except DRAError as error:
        return None, error.message
    return tuple(dropped_fields(PROBE["spec"], stored.get("spec"), "spec")), None
