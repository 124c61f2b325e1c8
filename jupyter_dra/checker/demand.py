"""How many devices the objects of a text need together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jupyter_dra.checker.podrules import claim_source, containers, device_limits, spec_of
from jupyter_dra.checker.subjects import Subject, dig, listed
from jupyter_dra.checker.world import World
from jupyter_dra.validation import to_v1


def devices_needed(subjects: Iterable[Subject], world: World) -> int | None:
    """Devices all pods of the text hold at once; None where one asks for all devices of a node.

    A shared claim counts once, a template once per pod entry. Claims that no pod uses count too: they are meant to be.
    """
    total = 0
    counted: set[tuple[str, str]] = set()
    for subject in subjects:
        if subject.pod_steps is None:
            continue
        replicas = _replicas(subject)
        for entry in listed(subject.plain, (*subject.pod_spec_steps, "resourceClaims")):
            claim, template = claim_source(entry)
            spec = spec_of(subject, entry, world)
            if claim is not None:
                key = (subject.home, claim)
                if key in counted:
                    continue
                counted.add(key)
            count = _of_spec(spec) if spec is not None else 1
            if count is None:
                return None
            total += count * (replicas if template is not None else 1)
        for _, container in containers(subject):
            # A plugin's resource is a device too, whoever hands it out.
            for amount in device_limits(container).values():
                total += replicas * (int(str(amount)) if str(amount).isdigit() else 0)
    for subject in subjects:
        key = (subject.home, subject.name or "")
        if subject.is_dra and subject.kind == "ResourceClaim" and key not in counted:
            count = _of_spec(dig(to_v1(subject.view), ("spec",)))
            if count is None:
                return None
            total += count
    return total


def _replicas(subject: Subject) -> int:
    if subject.kind in {"Job", "CronJob"}:
        spec = dig(subject.plain, subject.pod_spec_steps[:-2])
        found = spec.get("parallelism", 1)
    else:
        found = dig(subject.plain, ("spec",)).get("replicas", 1)
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else 1


def _of_spec(spec: Mapping[str, Any]) -> int | None:
    total = 0
    for request in listed(spec, ("devices", "requests")):
        exactly = request.get("exactly")
        wishes = [exactly] if isinstance(exactly, Mapping) else listed(request, ("firstAvailable",))
        counts = [_of_wish(wish) for wish in wishes]
        if any(count is None for count in counts):
            return None
        total += max((count for count in counts if count is not None), default=0)
    return total


def _of_wish(wish: Mapping[str, Any]) -> int | None:
    if wish.get("allocationMode") == "All":
        return None
    count = wish.get("count", 1)
    return count if isinstance(count, int) and not isinstance(count, bool) and count > 0 else 1
