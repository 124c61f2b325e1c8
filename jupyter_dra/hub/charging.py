"""What servers cost against the limit per user: one count for claims that exist, start, or are only being asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..claims import labels

#: What quota charges for every device of a node (``pkg/quota/v1/evaluator/core/resource_claims.go``).
ALL_CHARGE = 32


def devices_of(claim: Mapping[str, Any]) -> int:
    """Devices a claim costs: what it holds, or else what quota would charge, alternatives by the dearest."""
    allocation = (claim.get("status") or {}).get("allocation")
    if allocation:
        return len((allocation.get("devices") or {}).get("results") or ())
    return charge((claim.get("spec") or {}).get("devices") or {})


def charge(devices: Mapping[str, Any]) -> int:
    """The same for ``spec.devices`` of a claim that does not exist yet."""
    total = 0
    for request in devices.get("requests") or ():
        ways = [request["exactly"]] if request.get("exactly") else request.get("firstAvailable") or ()
        total += max(
            (ALL_CHARGE if one.get("allocationMode") == "All" else one.get("count", 1) for one in ways),
            default=0,
        )
    return total


def held_by(
    user: str, user_label: str, pods: Iterable[Mapping[str, Any]], claims: Iterable[Mapping[str, Any]]
) -> dict[str, int]:
    """Devices a user holds, by server name.

    Counted are claims with the user's label, claims the cluster makes from templates for the user's pods, and claims
    their pods name: whoever uses a shared claim is charged for it. A claim that is being deleted counts no more.

    Args:
        user, user_label: the login name, and its hashed slug.
        pods: pods of servers, with KubeSpawner's annotations.
        claims: the claims of the hub's namespaces.
    """
    servers: dict[str, str] = {}
    named: dict[tuple[str, str], str] = {}
    for pod in pods:
        metadata = pod["metadata"]
        notes = metadata.get("annotations") or {}
        phase = (pod.get("status") or {}).get("phase")
        if notes.get("hub.jupyter.org/username") != user or phase in ("Succeeded", "Failed"):
            continue
        server = notes.get("hub.jupyter.org/servername", "")
        servers[metadata["uid"]] = server
        for entry in (pod.get("spec") or {}).get("resourceClaims") or ():
            if entry.get("resourceClaimName"):
                named[metadata["namespace"], entry["resourceClaimName"]] = server
    held: dict[str, int] = {}
    for claim in claims:
        metadata = claim["metadata"]
        if metadata.get("deletionTimestamp"):
            continue
        owner = next(
            (one["uid"] for one in metadata.get("ownerReferences") or () if one["uid"] in servers), None
        )
        if (metadata.get("labels") or {}).get(labels.USER) == user_label:
            server = (metadata.get("annotations") or {}).get(labels.SERVER, metadata["name"])
        elif owner is not None:
            server = servers[owner]
        elif (metadata["namespace"], metadata["name"]) in named:
            server = named[metadata["namespace"], metadata["name"]]
        else:
            continue
        held[server] = held.get(server, 0) + devices_of(claim)
    return held


@dataclass(slots=True)
class Reservations:
    """Devices of servers that are starting, counted before their claims can be seen (threat T33)."""

    _by_user: dict[str, dict[str, int]] = field(default_factory=dict)

    def take(self, user: str, server: str, devices: int) -> None:
        """Reserve; a server that starts again replaces its own."""
        self._by_user.setdefault(user, {})[server] = devices

    def give_back(self, user: str, server: str) -> None:
        """Forget a server's reservation: its claims are seen by now, or it did not start."""
        mine = self._by_user.get(user, {})
        mine.pop(server, None)
        if not mine:
            self._by_user.pop(user, None)

    def over(self, user: str, held: Mapping[str, int]) -> dict[str, int]:
        """*held* with the reservations: each server counts once, with the greater number."""
        mine = self._by_user.get(user, {})
        return {name: max(held.get(name, 0), mine.get(name, 0)) for name in {*held, *mine}}
