"""How many devices a wish is charged against a user's limit, counted as the quota of Kubernetes counts. Pure."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Set
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any, Protocol

from ..claims import labels
from ..model import ClaimSpec
from ..model.reading import items, mapping, text
from .record import epoch

ClaimKey = tuple[str | None, str]
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


class Holding(Protocol):
    """A session of this process, as far as its charge goes."""

    @property
    def id(self) -> str: ...

    @property
    def namespace(self) -> str: ...

    @property
    def claim_name(self) -> str | None: ...

    @property
    def charge(self) -> int: ...

    @property
    def created_at(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Held:
    """What a user's sessions are charged.

    Attributes:
        by_session: a claim that several sessions use is charged to the first of them, as the quota counts it once.
        claims: namespace and name of every claim that is counted.
    """

    by_session: Mapping[str, int]
    claims: Set[ClaimKey]

    def further(self, claim: Mapping[str, Any]) -> int:
        """What one more session on a claim or template is charged: nothing for a claim that is counted already."""
        counted = claim.get("kind") != "ResourceClaimTemplate" and _key(claim) in self.claims
        return 0 if counted else charge_of_claim(claim)


def held_by(
    user_label: str,
    own: Iterable[Holding],
    known: Container[str],
    pods: Iterable[Mapping[str, Any]],
    claims: Iterable[Mapping[str, Any]],
) -> Held:
    """What this user's sessions are charged, in this process and in others of his.

    Args:
        user_label: the user as labels show him.
        own: the living sessions of this process.
        known: ids of all sessions of this process, ended ones too: what the watches still show of those is no more.
        pods, claims: as the watches know them; a pod that ended holds nothing.
    """
    found, counted = dict[str, int](), set[ClaimKey]()

    def count(session_id: str, used: set[ClaimKey], charge: int) -> None:
        if session_id not in found:
            found[session_id] = 0 if used and used <= counted else charge
            counted.update(used)

    for session in own:
        count(session.id, {(session.namespace, session.claim_name or session.id)}, session.charge)
    made = {_key(obj): charge_of_claim(obj) for obj in claims}
    for obj in claims:
        session_id = _session(obj, user_label)
        if session_id and session_id not in known:
            count(session_id, {_key(obj)}, made[_key(obj)])
    for pod in pods:
        session_id = _session(pod, user_label)
        if session_id and session_id not in known and not _over(pod):
            used = _claims_of(pod)
            count(session_id, used, sum(made.get(key, 0) for key in used - counted) or 1)
    return Held(found, counted)


def payer_of(session: Holding, pods: Iterable[Mapping[str, Any]]) -> str | None:
    """The other session that the devices of this one are counted with; None where they count here.

    A claim counts once: with the session it was made for, else with the one that was begun first of those whose pods
    use it now.

    Args:
        pods: of the session's namespace, as the watches know them, whoever's they are.
    """
    key = (session.namespace, session.claim_name or "")
    first: dict[str, float] = {}
    for pod in pods:
        other = text(mapping(pod["metadata"].get("labels")).get(labels.SESSION))
        if other and key in _claims_of(pod) and not _over(pod):
            begun = begun_at(pod)
            first[other] = min(first.get(other, begun), begun)
    first.setdefault(session.id, session.created_at)
    payer = min(first, key=lambda one: (one != session.claim_name, int(first[one]), one))
    return None if payer == session.id else payer


def begun_at(obj: Mapping[str, Any]) -> float:
    """When the session of a pod or claim was begun; where it does not say, when the object was made."""
    meta = obj["metadata"]
    try:
        told = float(mapping(meta.get("annotations"))[labels.CREATED])
    except (KeyError, TypeError, ValueError):
        told = nan
    return told if isfinite(told) else epoch(meta.get("creationTimestamp")) or 0.0


def _over(pod: Mapping[str, Any]) -> bool:
    """Whether a pod ended: it holds nothing."""
    return text(mapping(pod.get("status")).get("phase")) in ("Succeeded", "Failed")


def _key(claim: Mapping[str, Any]) -> ClaimKey:
    return claim["metadata"].get("namespace"), claim["metadata"]["name"]


def _claims_of(pod: Mapping[str, Any]) -> set[ClaimKey]:
    entries = items(mapping(pod.get("spec")).get("resourceClaims"))
    entries += items(mapping(pod.get("status")).get("resourceClaimStatuses"))
    names = [text(entry.get("resourceClaimName")) for entry in entries]
    return {(pod["metadata"].get("namespace"), name) for name in names if name}


def _session(obj: Mapping[str, Any], user_label: str) -> str:
    tags = mapping(obj["metadata"].get("labels"))
    return text(tags.get(labels.SESSION)) if tags.get(labels.USER) == user_label else ""
