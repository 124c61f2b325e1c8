"""The claims of a server's pod: put beside what KubeSpawner and the admin wrote, never instead of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubernetes_asyncio import client as k8s

from ..errors import InputError


@dataclass(frozen=True, slots=True)
class PodClaim:
    """An entry of ``spec.resourceClaims``: its pod-local name, what it refers to, and who wrote it."""

    name: str
    reference: str
    template: bool
    source: str

    def as_model(self) -> Any:
        """The entry as KubeSpawner's client writes it."""
        key = "resource_claim_template_name" if self.template else "resource_claim_name"
        return k8s.V1PodResourceClaim(name=self.name, **{key: self.reference})


def add_claims(pod: Any, claims: Sequence[PodClaim], extra: Mapping[str, Any]) -> None:
    """Complete a pod of KubeSpawner's: the admin's container resources over the limits, then the claims.

    Args:
        pod: the V1Pod that KubeSpawner made without the ``resources`` of ``extra_container_config``, which would have
            replaced all limits.
        extra: these resources, expanded.

    Raises:
        InputError: a name twice (both places named), a claim that the pod lacks, a placeholder left unfilled.
    """
    container = pod.spec.containers[0]
    built = container.resources or k8s.V1ResourceRequirements()
    by_hand = [_plain(one) for one in pod.spec.resource_claims or ()]
    used = [*(_plain(one) for one in built.claims or ()), *(extra.get("claims") or ())]
    _check(by_hand, used, claims)
    entries = [
        *(
            k8s.V1PodResourceClaim(
                name=one["name"],
                resource_claim_name=one.get("resourceClaimName"),
                resource_claim_template_name=one.get("resourceClaimTemplateName"),
            )
            for one in by_hand
        ),
        *(one.as_model() for one in claims),
    ]
    uses = [k8s.CoreV1ResourceClaim(name=one["name"], request=one.get("request")) for one in used]
    uses += [k8s.CoreV1ResourceClaim(name=one.name) for one in claims]
    container.resources = k8s.V1ResourceRequirements(
        limits={**(built.limits or {}), **(extra.get("limits") or {})} or None,
        requests={**(built.requests or {}), **(extra.get("requests") or {})} or None,
        claims=uses or None,
    )
    if entries:
        pod.spec.resource_claims = entries


def _check(
    by_hand: Iterable[Mapping[str, Any]], used: Iterable[Mapping[str, Any]], ours: Sequence[PodClaim]
) -> None:
    where: dict[str, str] = {}
    for entry in by_hand:
        for key, value in entry.items():
            if "{" in str(value) or "}" in str(value):
                raise InputError(
                    f"extra_pod_config.resourceClaims: {key} {str(value)!r} holds an unfilled placeholder.",
                    code="placeholder",
                    path="extra_pod_config.resourceClaims",
                    next_step="Ask your admin: it stands in the hub's configuration.",
                )
        _claim_name(where, str(entry["name"]), "extra_pod_config.resourceClaims")
    for claim in ours:
        _claim_name(where, claim.name, claim.source)
    for entry in used:
        if entry.get("name") not in where:
            raise InputError(
                f"The container uses claim {str(entry.get('name'))!r}, which the pod does not have.",
                code="claim-missing",
                path="extra_container_config.resources.claims",
                next_step="Ask your admin: it stands in the hub's configuration.",
            )


def _claim_name(where: dict[str, str], name: str, source: str) -> None:
    if name in where:
        raise InputError(
            f"Two claims of the pod are named {name!r}: one by {where[name]}, one by {source}.",
            code="claim-name-twice",
            path="spec.resourceClaims",
            next_step="Rename one of them.",
        )
    where[name] = source


def _plain(value: Any) -> dict[str, Any]:
    """A model's or dictionary's entry in the API's own words."""
    if isinstance(value, Mapping):
        return dict(value)
    return {
        key: getattr(value, name)
        for name, key in value.attribute_map.items()
        if getattr(value, name) is not None
    }
