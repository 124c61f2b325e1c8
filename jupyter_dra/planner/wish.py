"""What was asked for, as claims the allocator can try: a requirement, a claim, or the claims of one pod."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from jupyter_dra.cel import compile_selector
from jupyter_dra.claims import ClassFacts, Requirement, build_claim, requirement_from_claim
from jupyter_dra.errors import CELCompileError, InputError, RequirementError
from jupyter_dra.model import ResourceClaim, qualified_name_problems
from jupyter_dra.model.limits import CEL_QUESTION_MAX
from jupyter_dra.model.reading import items, mapping, text
from jupyter_dra.planner.admin_tiers import apply_admin_tier
from jupyter_dra.planner.asked_counts import with_usual_counts
from jupyter_dra.planner.findings import Finding, advice, too_much_text
from jupyter_dra.planner.offered_counts import is_offered, list_counts
from jupyter_dra.planner.tiers import tier_counts

if TYPE_CHECKING:
    from jupyter_dra.planner.inventory import Inventory

__all__ = ["Wanted", "Wish", "allocation_of", "in_cluster_words", "interpret"]

Json = Mapping[str, Any]
Wanted = Requirement | Json | Sequence[Json]
"""A requirement or its mapping, a claim, or the claims of one pod."""


@dataclass(frozen=True, slots=True)
class Wish:
    """``claims`` are manifests to create or to allocate; ``held`` are visible claims that are allocated already."""

    requirement: Requirement | None
    claims: tuple[Json, ...]
    typed: tuple[ResourceClaim, ...] = ()
    held: tuple[Json, ...] = ()
    findings: tuple[Finding, ...] = ()
    expressed: Requirement | None = None

    @property
    def broken(self) -> Finding | None:
        """The first finding that settles the verdict."""
        return next((finding for finding in self.findings if finding.severity == "error"), None)


def interpret(inventory: Inventory, wanted: Wanted, namespace: str, tiers: Sequence[Json]) -> Wish:
    """Read what was asked. Raises RequirementError for a mapping that is neither claim nor requirement."""
    if isinstance(wanted, Requirement):
        return _from_requirement(inventory, wanted, namespace, tiers)
    if isinstance(wanted, Mapping):
        if "spec" in wanted or "apiVersion" in wanted:
            return _from_claims(inventory, [wanted], namespace)
        return _from_requirement(inventory, Requirement.from_dict(wanted), namespace, tiers)
    if isinstance(wanted, Sequence) and not isinstance(wanted, str):
        return _from_claims(inventory, list(wanted), namespace)
    raise RequirementError(
        "Give a requirement, a claim, or a list of claims.",
        code="requirement",
        path="",
        next_step="Requirements and claims are mappings; see `Requirement`.",
    )


def in_cluster_words(inventory: Inventory, requirement: Requirement, tiers: Sequence[Json]) -> Requirement:
    """The requirement a claim is built from: usual numbers filled in, the admin's own tiers as their classes."""
    return apply_admin_tier(with_usual_counts(inventory, requirement, tiers), tiers)


def _from_requirement(
    inventory: Inventory, requirement: Requirement, namespace: str, tiers: Sequence[Json]
) -> Wish:
    namespace = requirement.namespace or namespace
    if isinstance(requirement.claim, str):
        return _existing(inventory, requirement, requirement.claim, namespace)
    if isinstance(requirement.claim, Mapping):
        found = _from_claims(inventory, [requirement.claim], namespace)
        return replace(found, requirement=requirement)
    meant = in_cluster_words(inventory, requirement, tiers)
    classes = _offered(inventory, inventory.class_facts(namespace), meant)
    findings: tuple[Finding, ...] = ()
    try:
        claim = build_claim(meant, name=meant.name, namespace=namespace, classes=classes)
    except RequirementError as error:
        if error.code != "tier-needed":
            raise
        settled = _any_gpu_regardless(meant, classes)
        given = bool(classes) or bool(inventory.classes)
        finding = Finding(
            "tier-needed",
            error.message,
            path="tier",
            fix=error.next_step,
            severity="warning" if settled is not None else "error",
            verdict="impossible" if given else "unknown",
        )
        if settled is None:
            return Wish(requirement, (), findings=(finding,))
        findings = (finding,)
        claim = build_claim(settled, name=meant.name, namespace=namespace, classes=classes)
    wish = _from_claims(inventory, [claim], namespace, built=True)
    findings += tuple(advice(inventory, meant))
    return replace(wish, requirement=requirement, expressed=meant, findings=findings + wish.findings)


def _offered(
    inventory: Inventory, classes: Sequence[ClassFacts], meant: Requirement
) -> tuple[ClassFacts, ...]:
    """The classes; to a wish that leaves the tier open, those that are not offered in its number say so."""
    if meant.tier is not None:
        return tuple(classes)
    found = []
    for one in classes:
        counts = tier_counts(inventory, one.name, ())
        if counts is not None and one.refused is None and not is_offered(meant.count, counts):
            one = replace(one, refused=f"only {list_counts(counts)} at a time")
        found.append(one)
    return tuple(found)


def _any_gpu_regardless(requirement: Requirement, classes: Sequence[ClassFacts]) -> Requirement | None:
    """The requirement over GPU tiers although none can meet it, so that each device can be told its reason."""
    kind = "part" if requirement.share and "profile" in requirement.share else "gpu"
    names = [one.name for one in classes if one.device_kind == kind and not one.hidden and not one.refused]
    if not names:
        return None
    first, *rest = names[:8]
    return requirement.changed(tier=first, or_else=[{"tier": name} for name in rest])


def _existing(inventory: Inventory, requirement: Requirement, name: str, namespace: str) -> Wish:
    template = name.startswith("template/")
    name = name.removeprefix("template/")
    objects = inventory.templates if template else inventory.claims
    found = objects.get((namespace, name))
    if found is None:
        kind = "ResourceClaimTemplate" if template else "ResourceClaim"
        finding = Finding(
            "claim-not-found",
            f"There is no {kind} {name} in {namespace}, or you may not see it.",
            path="claim",
            fix="Check its name and namespace.",
            verdict="impossible" if inventory.visibility.claims != "none" else "unknown",
            claim=name,
        )
        return Wish(requirement, (), findings=(finding,))
    if template:
        metadata = {"name": name, "namespace": namespace}
        found = {**_as_claim(found), "metadata": metadata}
    return replace(_from_claims(inventory, [found], namespace), requirement=requirement)


def _from_claims(inventory: Inventory, claims: Sequence[Json], namespace: str, built: bool = False) -> Wish:
    findings: list[Finding] = []
    typed: list[ResourceClaim] = []
    held: list[Json] = []
    selectors: set[str] = set()
    for claim in map(_as_claim, claims):
        given = mapping(claim.get("metadata"))
        metadata = {
            **given,
            "name": text(given.get("name")) or "claim",
            "namespace": text(given.get("namespace")) or namespace,
        }
        whole = {**claim, "metadata": metadata}
        if allocation_of(claim):
            held.append(whole)
            findings += _going(whole)
            continue
        try:
            one = ResourceClaim.from_dict(whole)
        except InputError as error:
            findings.append(Finding(error.code, error.message, claim=metadata["name"], fix=error.next_step))
            continue
        typed.append(one)
        selectors.update(_selectors(one))
        if sum(map(len, selectors)) > CEL_QUESTION_MAX:
            findings.append(too_much_text(one.name))
            break
        findings += _problems(inventory, one, claim)
    expressed = None
    if not built and len(claims) == 1 and not findings:
        try:
            expressed = requirement_from_claim(claims[0])
        except InputError:
            expressed = None
    return Wish(None, tuple(claims), tuple(typed), tuple(held), tuple(findings), expressed)


def _selectors(claim: ResourceClaim) -> Iterator[str]:
    for request in claim.spec.requests:
        for _, body in request.bodies():
            yield from body.selectors


def _as_claim(claim: Json) -> Json:
    """A template stands for a claim made from it."""
    if claim.get("kind") != "ResourceClaimTemplate":
        return claim
    return {**claim, "kind": "ResourceClaim", "spec": mapping(mapping(claim.get("spec")).get("spec"))}


def allocation_of(claim: Json) -> Json:
    """The allocation in a claim's status; empty where there is none."""
    return mapping(mapping(claim.get("status")).get("allocation"))


def _going(claim: Json) -> list[Finding]:
    """A claim that is being deleted keeps its devices until it is gone, and takes no new pod."""
    metadata = claim["metadata"]
    since = metadata.get("deletionTimestamp")
    if not since:
        return []
    devices = [
        f"{text(result.get('pool'))}/{text(result.get('device'))}"
        for result in items(mapping(allocation_of(claim).get("devices")).get("results"))
    ]
    users = [text(user.get("name")) for user in items(mapping(claim.get("status")).get("reservedFor"))]
    look = f"at {', '.join(users)}, which still reserves it, and " if users else ""
    return [
        Finding(
            "claim-deleting",
            f"{metadata['name']} is being deleted since {since} and still holds {', '.join(devices) or 'devices'}; "
            "no new pod can use it.",
            fix=f"If that takes more than 5 minutes, look {look}at the driver on the node. Leave its finalizer "
            "alone: without it the device can be lost to everybody.",
            verdict="impossible",
            claim=metadata["name"],
        )
    ]


def _problems(inventory: Inventory, claim: ResourceClaim, raw: Json) -> list[Finding]:
    """What the server would refuse in any case; the checker knows the rest of its rules."""
    found: list[Finding] = []

    def add(code: str, path: str, message: str, fix: str | None = None) -> None:
        found.append(Finding(code, message, path, fix, claim=claim.name))

    if raw.get("kind") not in (None, "ResourceClaim"):
        add("kind", "kind", f"A {raw.get('kind')} is no claim.", "Give a ResourceClaim.")
        return found
    if not claim.spec.requests:
        add("required", "spec.devices.requests", "The claim asks for nothing.", "Add a request.")
    names = set()
    for number, request in enumerate(claim.spec.requests):
        path = f"spec.devices.requests[{number}]"
        names.add(request.name)
        if (request.exactly is None) == (not request.first_available):
            add(
                "one-of",
                path,
                "A request has exactly one of exactly and firstAvailable.",
                "In resource.k8s.io/v1 deviceClassName, count and selectors stand under exactly.",
            )
        bodies = [(f"{path}.exactly", request.exactly)] if request.exactly else []
        bodies += [(f"{path}.firstAvailable[{i}]", body) for i, body in enumerate(request.first_available)]
        for where, body in bodies:
            if body is None:
                continue
            names.add(f"{request.name}/{body.name}")
            if not body.device_class_name:
                add("required", f"{where}.deviceClassName", "A request names a device class.")
            if body.allocation_mode not in ("ExactCount", "All"):
                add("enum", f"{where}.allocationMode", f"{body.allocation_mode} is no allocation mode.")
            elif body.allocation_mode == "ExactCount" and body.count <= 0:
                add("minimum", f"{where}.count", "count is at least 1.")
            for i, expression in enumerate(body.selectors):
                try:
                    compile_selector(expression, inventory.state.features.version)
                except CELCompileError as error:
                    add("cel-compile", f"{where}.selectors[{i}].cel.expression", error.message, error.hint)
    for number, constraint in enumerate(claim.spec.constraints):
        path = f"spec.devices.constraints[{number}]"
        attribute = constraint.match_attribute or constraint.distinct_attribute
        if not attribute:
            add("one-of", path, "A constraint has exactly one of matchAttribute and distinctAttribute.")
        else:
            for problem in qualified_name_problems(attribute, True):
                field = "matchAttribute" if constraint.match_attribute else "distinctAttribute"
                add("attribute-name", f"{path}.{field}", problem, "Write DOMAIN/NAME.")
        for name in constraint.requests:
            if name not in names:
                add("unknown-request", f"{path}.requests", f"There is no request {name}.")
    return found
