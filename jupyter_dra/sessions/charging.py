"""How many devices a wish is charged against a user's limit, counted as the quota of Kubernetes counts. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..claims import labels
from ..model import ClaimSpec
from ..model.reading import items, mapping, text

ALL_DEVICES = 32
"""What ``count: all`` is charged: the most devices a claim may hold."""


def charge_of(requirement: Mapping[str, Any]) -> int:
    """The charge of a requirement: the most any of its alternatives asks for, and its companions.

    A named claim or template counts as one device; `charge_of_claim` of the object itself tells more.
    """
    claim = requirement.get("claim")
    if isinstance(claim, Mapping):
        return charge_of_claim(claim)
    counts = [
        requirement.get("count", 1),
        *(entry.get("count", 1) for entry in requirement.get("or_else") or []),
    ]
    most = max(ALL_DEVICES if count == "all" else int(count) for count in counts)
    return most + sum(charge_of(one) for one in requirement.get("near") or [])


def charge_of_claim(claim: Mapping[str, Any]) -> int:
    """The charge of a claim or template: per request the most of its alternatives."""
    spec = mapping(claim.get("spec"))
    if claim.get("kind") == "ResourceClaimTemplate":
        spec = mapping(spec.get("spec"))
    total = 0
    for request in ClaimSpec.from_dict(spec).requests:
        amounts = [
            ALL_DEVICES if body.allocation_mode == "All" else max(body.count, 0)
            for _, body in request.bodies()
        ]
        total += max(amounts, default=0)
    return total


def held_elsewhere(
    user_label: str,
    own: Iterable[str],
    pods: Iterable[Mapping[str, Any]],
    claims: Iterable[Mapping[str, Any]],
) -> dict[str, int]:
    """Sessions of this user that other processes of his look after, with their charge.

    Args:
        user_label: the user as labels show him.
        own: ids of the sessions this process counts itself.
        pods, claims: as the watches know them; a pod that ended holds nothing.
    """
    known, found = set(own), dict[str, int]()
    made = {
        (obj["metadata"].get("namespace"), obj["metadata"]["name"]): charge_of_claim(obj) for obj in claims
    }
    for obj in claims:
        session = _session(obj, user_label)
        if session and session not in known:
            found[session] = charge_of_claim(obj)
    for pod in pods:
        session = _session(pod, user_label)
        ended = text(mapping(pod.get("status")).get("phase")) in ("Succeeded", "Failed")
        if not session or session in known or session in found or ended:
            continue
        names = [
            entry.get("resourceClaimName") for entry in items(mapping(pod.get("spec")).get("resourceClaims"))
        ]
        names += [
            entry.get("resourceClaimName")
            for entry in items(mapping(pod.get("status")).get("resourceClaimStatuses"))
        ]
        space = pod["metadata"].get("namespace")
        found[session] = sum(made.get((space, name), 0) for name in names if name) or 1
    return found


def _session(obj: Mapping[str, Any], user_label: str) -> str:
    tags = mapping(obj["metadata"].get("labels"))
    return text(tags.get(labels.SESSION)) if tags.get(labels.USER) == user_label else ""
