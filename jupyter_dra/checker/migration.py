"""From older manifests to resource.k8s.io/v1: beta shapes, and device plugin resources."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jupyter_dra.cel import string_literal
from jupyter_dra.checker.draft import Draft
from jupyter_dra.checker.editing import CannotEdit
from jupyter_dra.checker.subjects import GROUP, Subject, dig
from jupyter_dra.checker.world import World
from jupyter_dra.validation.conversion import EXACT_FIELDS

# The class a driver's chart installs for a plugin's resource, where no class of the cluster names it.
CLASSES: Mapping[str, tuple[str, str]] = {
    "nvidia.com/gpu": ("gpu.nvidia.com", "gpu"),
    "amd.com/gpu": ("gpu.amd.com", "gpu"),
    "google.com/tpu": ("tpu.google.com", "tpu"),
    "gpu.intel.com/i915": ("gpu.intel.com", "gpu"),
    "gpu.intel.com/xe": ("gpu.intel.com", "gpu"),
    "habana.ai/gaudi": ("gaudi.intel.com", "gaudi"),
}
_MIG = re.compile(r"nvidia\.com/mig-(\d+g\.\d+gb(?:\.\w+)?)")


@dataclass(frozen=True, slots=True)
class ClaimPlan:
    """The pod's name for a claim, and the template it is made from."""

    name: str
    template: Mapping[str, Any]


def claim_for(subject: Subject, resource: str, amount: Any, world: World) -> ClaimPlan:
    """The claim template that asks for what a plugin's resource asked for; CannotEdit where that is not known."""
    count = int(str(amount)) if str(amount).isdigit() else 0
    if count < 1:
        raise CannotEdit("the amount is no count")
    request: dict[str, Any]
    mig = _MIG.fullmatch(resource)
    if mig is not None:
        profile = string_literal(mig.group(1))
        text = f'device.attributes["gpu.nvidia.com"].?profile.orValue("") == {profile}'
        request = {"deviceClassName": "mig.nvidia.com", "selectors": [{"cel": {"expression": text}}]}
        name = "mig"
    else:
        named = [
            class_name
            for class_name, entry in world.classes.items()
            if dig(entry, ("spec",)).get("extendedResourceName") == resource
        ]
        if not named and resource not in CLASSES:
            raise CannotEdit(f"which class stands for {resource} is not known")
        class_name, name = (named[0], "gpu") if named else CLASSES[resource]
        request = {"deviceClassName": class_name}
    if count > 1:
        request["count"] = count
    metadata: dict[str, Any] = {"name": template_name(subject, name, count)}
    if subject.namespace is not None:
        metadata["namespace"] = subject.namespace
    template = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": metadata,
        "spec": {"spec": {"devices": {"requests": [{"name": name, "exactly": request}]}}},
    }
    return ClaimPlan(name, template)


def template_name(subject: Subject, name: str, count: int) -> str:
    """A name after the workload: ``train-gpu``, ``train-4-gpu``."""
    owner = (subject.name or subject.kind.lower()).rstrip("-.")[:200]
    return f"{owner}-{name}" if count == 1 else f"{owner}-{count}-{name}"


def free_name(wanted: str, taken: list[str]) -> str:
    """The name, with a number where it is taken."""
    if wanted not in taken:
        return wanted
    number = 2
    while f"{wanted}-{number}" in taken:
        number += 1
    return f"{wanted}-{number}"


def migrate(draft: Draft, subject: Subject) -> None:
    """Turn a v1beta1 or v1beta2 object into v1: shape first, then the version."""
    base = subject.base
    if subject.version == "v1beta1":
        if subject.is_claim:
            _nest_requests(draft, (*base, *subject.devices_steps, "requests"))
        elif subject.kind == "ResourceSlice":
            _unwrap_devices(draft, (*base, "spec", "devices"))
    draft.set((*base, "apiVersion"), f"{GROUP}/v1")


def _nest_requests(draft: Draft, where: tuple[str | int, ...]) -> None:
    for index, request in enumerate(draft.at(where) or ()):
        if not isinstance(request, Mapping):
            raise CannotEdit("a request that is no mapping")
        names = [name for name in request if name in EXACT_FIELDS]
        if names and not request.get("firstAvailable"):
            draft.nest((*where, index), names, "exactly")


def _unwrap_devices(draft: Draft, where: tuple[str | int, ...]) -> None:
    for index, device in enumerate(draft.at(where) or ()):
        if isinstance(device, Mapping) and isinstance(device.get("basic"), Mapping):
            if device["basic"]:
                draft.unwrap((*where, index, "basic"))
            else:
                draft.remove((*where, index, "basic"))
