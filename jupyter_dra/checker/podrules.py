"""Pods and their claims: what is declared and not used, missing in the namespace, asked for twice or in vain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jupyter_dra.checker.findings import ERROR, HINT, WARNING, Finding
from jupyter_dra.checker.subjects import Subject, dig, listed
from jupyter_dra.checker.tree import Steps
from jupyter_dra.checker.world import World
from jupyter_dra.validation import to_v1

DEVICE_PREFIXES = ("nvidia.com/", "amd.com/", "google.com/", "intel.com/", "habana.ai/", "gpu.intel.com/")
IMPLICIT = "deviceclass.resource.kubernetes.io/"


def containers(subject: Subject) -> Iterator[tuple[Steps, Mapping[str, Any]]]:
    """Init and other containers of a pod or pod template."""
    for name in ("initContainers", "containers"):
        where = (*subject.pod_spec_steps, name)
        for index, container in enumerate(listed(subject.plain, where)):
            yield (*where, index), container


def claim_source(entry: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Claim name and template name of an entry of resourceClaims."""
    claim, template = entry.get("resourceClaimName"), entry.get("resourceClaimTemplateName")
    return (str(claim) if claim else None, str(template) if template else None)


def check_pod(subject: Subject, world: World, target: str) -> Iterator[Finding]:
    """A pod or the pod template of a workload."""
    where = (*subject.pod_spec_steps, "resourceClaims")
    entries = listed(subject.plain, where)
    used = used_claims(subject)
    declared = {str(entry.get("name")) for entry in entries}
    for index, entry in enumerate(entries):
        name = str(entry.get("name") or "")
        if name and name not in used:
            # A container that names a claim nobody declares may mean this one: then a person must say so.
            yield _unused(subject, (*where, index), name, sure=set(used) <= declared)
        yield from _source(subject, (*where, index), entry, world)
    yield from _requests(subject, entries, world)
    yield from _tolerations(subject, entries, world)
    yield from _device_resources(subject, bool(entries), world, target)
    yield from _users(subject, entries, world)


def used_claims(subject: Subject) -> dict[str, list[Steps]]:
    """Pod-local claim names with the containers that use them."""
    found: dict[str, list[Steps]] = {}
    for steps, container in containers(subject):
        for entry in listed(container, ("resources", "claims")):
            if entry.get("name"):
                found.setdefault(str(entry["name"]), []).append(steps)
    return found


def _unused(subject: Subject, steps: Steps, name: str, *, sure: bool) -> Finding:
    regular = [entry for entry in containers(subject) if entry[0][-2] == "containers"]
    target = regular[0] if regular else None
    label = str(target[1].get("name")) if target else "a container"
    return subject.finding(
        "claim-unused",
        ERROR,
        f"Claim {name} is declared for the pod, but no container uses it.",
        steps,
        why="A device would be allocated and held, and the program would see none.",
        fix=f"Add resources.claims: [{{name: {name}}}] to container {label}.",
        repair=("use-claim", target[0], name) if target is not None and sure else None,
    )


def _source(subject: Subject, steps: Steps, entry: Mapping[str, Any], world: World) -> Iterator[Finding]:
    claim, template = claim_source(entry)
    for kind, name, table in (
        ("ResourceClaim", claim, world.claims),
        ("ResourceClaimTemplate", template, world.templates),
    ):
        if name is None:
            continue
        if (subject.home, name) in table:
            if subject.tree.find((*steps, "source")) is not None:
                text = f"{kind} {name} is there, in namespace {subject.home}."
                yield subject.finding("claim-found", HINT, text, steps)
            continue
        elsewhere = sorted(namespace for namespace, other in table if other == name)
        field = "resourceClaimName" if kind == "ResourceClaim" else "resourceClaimTemplateName"
        code = "claim-missing" if kind == "ResourceClaim" else "template-missing"
        if elsewhere:
            yield subject.finding(
                code,
                ERROR if world.complete else WARNING,
                f"{kind} {name} is in namespace {elsewhere[0]}, not in {subject.home}.",
                (*steps, field),
                why="A pod finds claims and templates in its own namespace only; it would wait without an event.",
                fix=f"Create it in {subject.home}, or run the pod in {elsewhere[0]}.",
            )
        elif world.complete:
            yield subject.finding(
                code,
                WARNING,
                f"{kind} {name} does not exist in namespace {subject.home}.",
                (*steps, field),
                why="The pod would wait for it, without an event or a condition.",
                fix=f"Create it first, or use another {kind}.",
            )


def spec_of(subject: Subject, entry: Mapping[str, Any], world: World) -> Mapping[str, Any] | None:
    """The claim spec an entry stands for, or None where it is not known."""
    claim, template = claim_source(entry)
    if claim is not None:
        found = world.claims.get((subject.home, claim))
        return None if found is None else dig(to_v1(found), ("spec",))
    if template is not None:
        found = world.templates.get((subject.home, template))
        return None if found is None else dig(to_v1(found), ("spec", "spec"))
    return None


def _requests(subject: Subject, entries: list[Mapping[str, Any]], world: World) -> Iterator[Finding]:
    """Requests that containers name must be requests of the claim."""
    specs = {str(entry.get("name")): spec_of(subject, entry, world) for entry in entries}
    for steps, container in containers(subject):
        for index, use in enumerate(listed(container, ("resources", "claims"))):
            spec, request = specs.get(str(use.get("name"))), use.get("request")
            if spec is None or not request:
                continue
            names = [str(one.get("name")) for one in listed(spec, ("devices", "requests"))]
            if str(request) not in names:
                yield subject.finding(
                    "request-missing",
                    ERROR,
                    f"The claim has no request {request}.",
                    (*steps, "resources", "claims", index, "request"),
                    why="The kubelet would refuse to start the container.",
                    fix=f"Use one of {', '.join(names)}, or leave request out to get all devices."
                    if names
                    else None,
                )


def _tolerations(subject: Subject, entries: list[Mapping[str, Any]], world: World) -> Iterator[Finding]:
    """Tolerations of pods that only make sense for device taints."""
    if not entries:
        return
    taints: set[str] = set()
    for sample in world.samples:
        taints |= {str(taint.get("key")) for taint in sample.device.get("taints") or ()}
    where = (*subject.pod_spec_steps, "tolerations")
    for index, entry in enumerate(listed(subject.plain, where)):
        key = str(entry.get("key") or "")
        device_like = key in taints or key.startswith(
            ("gpu.nvidia.com/", "gpu.amd.com/", "gpu.intel.com/", "dra.net/")
        )
        if device_like:
            yield subject.finding(
                "pod-toleration",
                WARNING,
                f"The pod tolerates {key}, but device taints are tolerated by the claim.",
                (*where, index),
                why="Tolerations of pods apply to taints of nodes only.",
                fix="Put it under exactly.tolerations of the claim's request.",
            )


def device_limits(container: Mapping[str, Any]) -> dict[str, Any]:
    """Resources of device plugins a container asks for."""
    found: dict[str, Any] = {}
    for part in ("requests", "limits"):
        for name, amount in dig(container, ("resources", part)).items():
            if str(name).startswith(DEVICE_PREFIXES):
                found[str(name)] = amount
    return found


def _device_resources(subject: Subject, has_claims: bool, world: World, target: str) -> Iterator[Finding]:
    named = {
        str(dig(entry, ("spec",)).get("extendedResourceName")): name
        for name, entry in world.classes.items()
        if dig(entry, ("spec",)).get("extendedResourceName")
    }
    for steps, container in containers(subject):
        for resource, amount in device_limits(container).items():
            where = (*steps, "resources", "limits", resource)
            if subject.written(where) is None:
                where = (*steps, "resources", "requests", resource)
            if has_claims:
                yield subject.finding(
                    "plugin-beside-claim",
                    WARNING,
                    f"{resource} stands beside a claim: the pod would get two kinds of devices.",
                    where,
                    why="Plugin and driver do not know of each other; on one node they may give out the same card.",
                    fix=f"Remove {resource}, the claim brings the device.",
                    repair=("drop-resource", steps, resource),
                )
            else:
                yield _extended(subject, Asked(resource, amount, steps, where), named, world, target)


@dataclass(frozen=True, slots=True)
class Asked:
    """A plugin's resource a container asks for, and where it stands."""

    resource: str
    amount: Any
    container: Steps
    where: Steps


def _extended(subject: Subject, asked: Asked, named: Mapping[str, str], world: World, target: str) -> Finding:
    resource, amount, where = asked.resource, asked.amount, asked.where
    plugin = any(resource in resources for resources in world.plugins.values())
    repair = ("to-claim", asked.container, resource)
    if resource in named and int(target.split(".")[1]) >= 36:
        return subject.finding(
            "extended-resource",
            HINT,
            f"The scheduler makes a claim of class {named[resource]} for {resource}: {amount}.",
            where,
            why="The class has this extendedResourceName, and the feature is on by default since 1.36.",
        )
    if resource in named and not plugin:
        return subject.finding(
            "extended-resource-off",
            WARNING,
            f"{resource} is served by a device plugin only on Kubernetes {target}, and none is known here.",
            where,
            why=f"extendedResourceName of class {named[resource]} has no effect below 1.36 by default.",
            fix="Ask for the device with a claim.",
            repair=repair,
        )
    return subject.finding(
        "extended-resource",
        WARNING,
        f"{resource}: {amount} asks a device plugin for a device; it cannot say which kind.",
        where,
        why="With DRA a claim says product, memory and sharing, and the scheduler knows what is free.",
        fix="Ask for the device with a claim; --fix writes it.",
        repair=repair,
    )


def _users(subject: Subject, entries: list[Mapping[str, Any]], world: World) -> Iterator[Finding]:
    """Containers that share a device through MPS must run as one user."""
    used = used_claims(subject)
    general = dig(subject.pod_spec, ("securityContext",)).get("runAsUser")
    for index, entry in enumerate(entries):
        spec = spec_of(subject, entry, world)
        sharers = used.get(str(entry.get("name")), [])
        if spec is None or len(sharers) < 2 or not _uses_mps(spec):
            continue
        users = {}
        for steps in sharers:
            container = dig(subject.plain, steps)
            users[str(container.get("name"))] = dig(container, ("securityContext",)).get("runAsUser", general)
        if len(set(users.values())) > 1:
            shown = " and ".join("the image's user" if user is None else str(user) for user in users.values())
            yield subject.finding(
                "mps-users",
                WARNING,
                f"Containers that share claim {entry.get('name')} through MPS run as users {shown}.",
                (*subject.pod_spec_steps, "resourceClaims", index),
                why="CUDA does not come up for one of them unless the driver's multi-user option is set.",
                fix="Give them the same runAsUser, set that option in the driver, or share by time slicing.",
            )


def _uses_mps(spec: Mapping[str, Any]) -> bool:
    for config in listed(spec, ("devices", "config")):
        strategy = dig(config, ("opaque", "parameters", "sharing")).get("strategy")
        if str(strategy or "").upper() == "MPS":
            return True
    return False
