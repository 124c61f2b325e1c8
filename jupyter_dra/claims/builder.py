"""Requirement → ResourceClaim, ResourceClaimTemplate and the pod's part (resource.k8s.io/v1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import RequirementError
from . import expressions, labels
from .classes import ClassFacts, facts_of
from .comparisons import parse_conditions
from .manifest import API_VERSION
from .requirement import MAX_ALTERNATIVES, Requirement
from .sizes import parse_size

NVIDIA = "gpu.nvidia.com"
POD_CLAIM_NAME = "device"


@dataclass(frozen=True, slots=True)
class Resolution:
    """A requirement with its tiers settled: at most eight alternatives in order, and what was left out and why."""

    alternatives: tuple[Requirement, ...]
    left_out: tuple[tuple[str, str], ...] = ()


def resolve(
    requirement: Requirement, classes: Iterable[Mapping[str, Any] | ClassFacts] | None = None
) -> Resolution:
    """Settle which tiers a requirement means: the one it names, else every visible GPU tier that can meet it.

    Tiers are ordered by their smallest memory; at most eight, because ``firstAvailable`` holds no more.
    Tiers that quota or group refuse are left out, since quota charges every alternative.

    Raises:
        RequirementError: ``tier-needed`` when no tier is named and none can be chosen.
    """
    facts = facts_of(classes or ())
    alternatives: list[Requirement] = []
    left_out: list[tuple[str, str]] = []
    for wish in (requirement, *(requirement.alternative(index) for index in range(len(requirement.or_else)))):
        if wish.tier is not None:
            alternatives.append(wish)
            continue
        chosen, dropped = _gpu_tiers(wish, facts)
        left_out.extend(dropped)
        if not chosen:
            raise _tier_needed(wish, facts, dropped)
        alternatives.extend(wish.changed(tier=one.name) for one in chosen)
    left_out.extend(
        (one.tier or "", "more than eight alternatives") for one in alternatives[MAX_ALTERNATIVES:]
    )
    return Resolution(tuple(alternatives[:MAX_ALTERNATIVES]), tuple(left_out))


def _gpu_tiers(
    wish: Requirement, facts: tuple[ClassFacts, ...]
) -> tuple[list[ClassFacts], list[tuple[str, str]]]:
    kind = "part" if wish.share and "profile" in wish.share else "gpu"
    offered = [one for one in facts if one.device_kind == kind and not one.hidden]
    if any(one.display_name for one in offered):
        offered = [one for one in offered if one.display_name]
    low, high = wish.vram_size, wish.max_vram_size
    chosen: list[ClassFacts] = []
    dropped: list[tuple[str, str]] = []
    for one in sorted(offered, key=lambda f: (f.min_bytes or 0, f.max_bytes or 0, f.name)):
        if one.refused:
            dropped.append((one.name, one.refused))
        elif low and one.max_bytes is not None and one.max_bytes < low.bytes:
            dropped.append((one.name, "too small"))
        elif high and one.min_bytes is not None and one.min_bytes > high.bytes:
            dropped.append((one.name, "too large"))
        else:
            chosen.append(one)
    return chosen, dropped


def _tier_needed(
    wish: Requirement, facts: tuple[ClassFacts, ...], dropped: list[tuple[str, str]]
) -> RequirementError:
    names = [one.name for one in facts if not one.hidden]
    if dropped:
        detail = "; ".join(f"{name}: {why}" for name, why in dropped)
        message, step = f"No tier can meet this ({detail}).", "Ask for another size, or name a tier."
    else:
        message = "No tier is named, and no GPU tier is known to choose from."
        step = f"Name a tier: {', '.join(names[:12])}." if names else "Name a tier (a DeviceClass)."
    return RequirementError(
        message,
        code="tier-needed",
        path="tier",
        next_step=step,
        params={"tiers": names, "left_out": dropped},
    )


def build_claim(
    requirement: Requirement | Mapping[str, Any],
    *,
    name: str | None = None,
    namespace: str | None = None,
    classes: Iterable[Mapping[str, Any] | ClassFacts] | None = None,
    extra_labels: Mapping[str, str] | None = None,
    extra_annotations: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The ResourceClaim of a requirement.

    Args:
        requirement: a `Requirement` or its JSON form.
        name: object name; defaults to the requirement's ``name``, then to ``claim``.
        namespace: left out of the manifest when None.
        classes: DeviceClass dicts or `ClassFacts`; needed when no tier is named, and makes the CEL exact.
        extra_labels, extra_annotations: added to the metadata.

    Raises:
        RequirementError: ``tier-needed`` without a tier and without ``classes``; ``claim-given`` when the requirement
            points to an existing claim or template.

    >>> claim = build_claim(Requirement(tier="high-memory-gpu", vram="80GB"), name="training")
    >>> claim["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"]
    'high-memory-gpu'
    """
    wanted = requirement if isinstance(requirement, Requirement) else Requirement.from_dict(requirement)
    metadata: dict[str, Any] = {"name": name or wanted.name or "claim"}
    namespace = namespace or wanted.namespace
    if namespace:
        metadata["namespace"] = namespace
    if extra_labels:
        metadata["labels"] = dict(extra_labels)
    if extra_annotations:
        metadata["annotations"] = dict(extra_annotations)
    if isinstance(wanted.claim, Mapping):
        given = dict(wanted.claim)
        given["metadata"] = (
            {**(given.get("metadata") or {}), **metadata} if name else given.get("metadata") or metadata
        )
        return given
    if wanted.claim is not None:
        raise RequirementError(
            f"{wanted.claim} exists already; there is no claim to build.",
            code="claim-given",
            path="claim",
            next_step="Leave claim out to build a new one.",
        )
    return {
        "apiVersion": API_VERSION,
        "kind": "ResourceClaim",
        "metadata": metadata,
        "spec": build_spec(wanted, classes),
    }


def build_template(
    requirement: Requirement | Mapping[str, Any],
    *,
    name: str,
    namespace: str | None = None,
    classes: Iterable[Mapping[str, Any] | ClassFacts] | None = None,
    claim_labels: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """A ResourceClaimTemplate: every pod that refers to it gets a claim of its own."""
    claim = build_claim(requirement, name=name, namespace=namespace, classes=classes)
    spec: dict[str, Any] = {"spec": claim["spec"]}
    if claim_labels:
        spec = {"metadata": {"labels": dict(claim_labels)}, **spec}
    return {
        "apiVersion": API_VERSION,
        "kind": "ResourceClaimTemplate",
        "metadata": claim["metadata"],
        "spec": spec,
    }


def build_spec(
    requirement: Requirement, classes: Iterable[Mapping[str, Any] | ClassFacts] | None = None
) -> dict[str, Any]:
    """``spec`` of the claim; see `build_claim`."""
    facts = {one.name: one for one in facts_of(classes or ())}
    alternatives = resolve(requirement, facts.values()).alternatives
    name = _request_name(alternatives, facts)
    requests = [_request(name, alternatives, facts)]
    companions: list[str] = []
    for index, companion in enumerate(requirement.near, start=1):
        settled = resolve(companion, facts.values()).alternatives
        requests.append(_request(f"near-{index}", settled, facts))
        companions.append(f"near-{index}")
    devices: dict[str, Any] = {"requests": requests}
    constraints = _constraints(requirement, name, companions)
    if constraints:
        devices["constraints"] = constraints
    config = _sharing_config(requirement, name, alternatives, facts)
    if config:
        devices["config"] = [config]
    return {"devices": devices}


def _known(alternatives: tuple[Requirement, ...], facts: Mapping[str, ClassFacts]) -> list[ClassFacts]:
    return [facts[one.tier] for one in alternatives if one.tier and one.tier in facts]


def _request_name(alternatives: tuple[Requirement, ...], facts: Mapping[str, ClassFacts]) -> str:
    kinds = {known.device_kind for known in _known(alternatives, facts)}
    return "device" if kinds and not kinds & {"gpu", "part"} else "gpu"


def _request(
    name: str, alternatives: tuple[Requirement, ...], facts: Mapping[str, ClassFacts]
) -> dict[str, Any]:
    if len(alternatives) == 1:
        return {"name": name, "exactly": _device_request(alternatives[0], facts)}
    numbered = [
        {"name": str(n), **_device_request(one, facts)} for n, one in enumerate(alternatives, start=1)
    ]
    return {"name": name, "firstAvailable": numbered}


def _device_request(wish: Requirement, facts: Mapping[str, ClassFacts]) -> dict[str, Any]:
    known = facts.get(wish.tier or "")
    request: dict[str, Any] = {"deviceClassName": wish.tier}
    selectors = _selectors(wish, known.driver if known else None)
    if selectors:
        request["selectors"] = [{"cel": {"expression": expression}} for expression in selectors]
    if wish.count == "all":
        request["allocationMode"] = "All"
    elif wish.count_given:
        request["count"] = wish.count
    if wish.tolerate:
        request["tolerations"] = [dict(one) for one in wish.tolerate]
    if wish.share and "memory" in wish.share:
        key = known.memory_key if known else "memory"
        request["capacity"] = {"requests": {key: parse_size(wish.share["memory"], "share.memory").text}}
    return request


def _selectors(wish: Requirement, driver: str | None) -> list[str]:
    where = expressions.domain(driver)
    selectors: list[str] = []
    if wish.vram_size:
        selectors.append(expressions.memory_at_least(where, wish.vram_size.text))
    if wish.max_vram_size:
        selectors.append(expressions.memory_at_most(where, wish.max_vram_size.text))
    if wish.product:
        selectors.append(expressions.product(where, wish.product))
    if wish.architecture:
        selectors.append(expressions.architecture(where, wish.architecture))
    for field in ("compute_capability", "driver_version"):
        text = getattr(wish, field)
        if text:
            selectors.append(expressions.version(where, field, parse_conditions(text, field)))
    if wish.share and "profile" in wish.share:
        selectors.append(expressions.profile(where, wish.share["profile"]))
    if wish.share and "memory" in wish.share:
        selectors.append(expressions.SHAREABLE)
    return [*selectors, *wish.where]


def _constraints(requirement: Requirement, name: str, companions: list[str]) -> list[dict[str, Any]]:
    constraints: list[dict[str, Any]] = []
    if requirement.align_attribute:
        constraints.append({"requests": [name, *companions], "matchAttribute": requirement.align_attribute})
    if requirement.spread_attribute:
        constraints.append({"requests": [name], "distinctAttribute": requirement.spread_attribute})
    return constraints


def _sharing_config(
    requirement: Requirement,
    name: str,
    alternatives: tuple[Requirement, ...],
    facts: Mapping[str, ClassFacts],
) -> dict[str, Any] | None:
    share = requirement.share or {}
    if "strategy" not in share:
        return None
    drivers = {known.driver for known in _known(alternatives, facts)}
    if drivers - {NVIDIA, None}:
        other = sorted(driver for driver in drivers if driver and driver != NVIDIA)[0]
        raise RequirementError(
            f"share.strategy: {other} has no time slices or MPS to configure.",
            code="strategy-unknown-driver",
            path="share.strategy",
            next_step="Leave share out, or choose a tier of NVIDIA GPUs.",
        )
    part = any(known.device_kind == "part" for known in _known(alternatives, facts))
    parameters = {
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "MigDeviceConfig" if part else "GpuConfig",
        "sharing": _nvidia_sharing(share),
    }
    return {"requests": [name], "opaque": {"driver": NVIDIA, "parameters": parameters}}


def _nvidia_sharing(share: Mapping[str, Any]) -> dict[str, Any]:
    """NVIDIA's ``resource.nvidia.com/v1beta1`` sharing block (dra.md f.2)."""
    if share["strategy"] == "time-slicing":
        interval = str(share.get("interval", "default")).capitalize()
        if interval not in ("Default", "Short", "Medium", "Long"):
            raise RequirementError(
                f"share.interval: {interval[:40]!r} is unknown.",
                code="wrong-type",
                path="share.interval",
                next_step="Use default, short, medium or long.",
            )
        return {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": interval}}
    mps: dict[str, Any] = {}
    if "thread_percentage" in share:
        mps["defaultActiveThreadPercentage"] = share["thread_percentage"]
    if "memory_limit" in share:
        mps["defaultPinnedDeviceMemoryLimit"] = parse_size(share["memory_limit"], "share.memory_limit").text
    return {"strategy": "MPS", **({"mpsConfig": mps} if mps else {})}


def pod_claims(
    claim: Mapping[str, Any] | str, *, template: bool = False, pod_claim: str = POD_CLAIM_NAME
) -> dict[str, Any]:
    """The two places a pod needs: ``resourceClaims`` of its spec and ``claims`` of a container's resources.

    Args:
        claim: a claim's manifest or name, or a template's name with ``template``.
        pod_claim: the pod-local name.

    >>> pod_claims("bert-train-9d4fk")["resourceClaims"]
    [{'name': 'device', 'resourceClaimName': 'bert-train-9d4fk'}]
    """
    name = claim if isinstance(claim, str) else claim["metadata"]["name"]
    reference = "resourceClaimTemplateName" if template else "resourceClaimName"
    return {"resourceClaims": [{"name": pod_claim, reference: name}], "claims": [{"name": pod_claim}]}


def session_labels(session: str, user: str, server: str) -> dict[str, str]:
    """Labels every object of a session carries; *user* and *server* are hashed slugs already."""
    return {
        labels.MANAGED_BY: labels.MANAGED_BY_VALUE,
        labels.SESSION: session,
        labels.USER: user,
        labels.SERVER: server,
    }
