"""What a user may ask for: the administrator's policy, checked before anything is created."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..claims import Requirement
from ..errors import RefusedError
from .images import image_allowed
from .policy import SessionPolicy
from .record import SessionRecord

ALL_DEVICES = 32
"""What ``count: all`` is charged, as the quota of Kubernetes does."""


def check_policy(requirement: Requirement, policy: SessionPolicy, image: str) -> None:
    """Raise RefusedError ``policy`` or ``limit`` for what the administrator does not allow."""
    if requirement.image is not None and requirement.image != policy.image:
        patterns = policy.images
        if not image_allowed(requirement.image, patterns):
            allowed = ", ".join(patterns or ()) or (policy.image or "the default")
            raise _refused("image", f"The image {requirement.image} is not allowed.", f"Allowed: {allowed}.")
    if requirement.claim is not None and not policy.allow_claims:
        raise _refused("claim", "Existing claims, templates and manifests are not allowed here.", None)
    if requirement.where and not policy.allow_where:
        raise _refused("where", "Own CEL conditions are not allowed here.", None)
    if requirement.tolerate and not policy.allow_tolerate:
        raise _refused("tolerate", "Accepting device taints is not allowed here.", None)
    if isinstance(requirement.claim, Mapping):
        _check_manifest(requirement.claim, policy)
    for name in requirement.volumes:
        if name not in policy.volumes:
            known = ", ".join(sorted(policy.volumes)) or "none"
            raise _refused("volumes", f"There is no volume {name!r} on offer.", f"Offered: {known}.")
    lease = requirement.lease_seconds
    if lease is not None and lease > policy.longest_lease:
        raise RefusedError(
            f"A lease of {lease} s is longer than the longest allowed, {policy.longest_lease} s.",
            code="limit",
            path="lease",
            next_step="Ask for less.",
            params={"limit": "longest-lease", "longest_seconds": policy.longest_lease},
        )


def _check_manifest(claim: Mapping[str, Any], policy: SessionPolicy) -> None:
    """adminAccess is created from no face; configuration, tolerations and CEL follow the policy (threat T25)."""
    devices = ((claim.get("spec") or {}).get("devices")) or {}
    for index, request in enumerate(devices.get("requests") or []):
        if not isinstance(request, Mapping):
            continue
        path = f"claim.spec.devices.requests[{index}]"
        parts = [request.get("exactly"), *(request.get("firstAvailable") or [])]
        for part in (one for one in [request, *parts] if isinstance(one, Mapping)):
            if part.get("adminAccess"):
                raise _refused(f"{path}.adminAccess", "adminAccess is never used for a session.", None)
            if part.get("tolerations") and not policy.allow_tolerate:
                raise _refused(f"{path}.tolerations", "Accepting device taints is not allowed here.", None)
            if part.get("selectors") and not policy.allow_where:
                raise _refused(f"{path}.selectors", "Own CEL conditions are not allowed here.", None)
    if devices.get("config") and not policy.allow_config:
        raise _refused("claim.spec.devices.config", "Driver configuration is not allowed here.", None)


def check_limits(requirement: Requirement, policy: SessionPolicy, others: Iterable[SessionRecord]) -> None:
    """Raise RefusedError ``limit`` when this session would be one too many; ``others`` hold devices or start."""
    held = [one for one in others if one.state != "ended"]
    if len(held) >= policy.max_sessions:
        raise _over("sessions", policy.max_sessions, len(held), held)
    if policy.max_devices is not None:
        used = sum(charge_of(one.requirement) for one in held)
        asked = charge_of(requirement.as_dict())
        if used + asked > policy.max_devices:
            raise _over("devices", policy.max_devices, used, held)


def charge_of(requirement: Mapping[str, Any]) -> int:
    """How many devices a requirement is charged: the most any of its alternatives asks for, and its companions."""
    counts = [
        requirement.get("count", 1),
        *(entry.get("count", 1) for entry in requirement.get("or_else") or []),
    ]
    most = max(ALL_DEVICES if count == "all" else int(count) for count in counts)
    return most + sum(charge_of(one) for one in requirement.get("near") or [])


def _refused(path: str, text: str, next_step: str | None) -> RefusedError:
    return RefusedError(text, code="policy", path=path, next_step=next_step or "Ask the administrator.")


def _over(what: str, limit: int, used: int, held: list[SessionRecord]) -> RefusedError:
    names = [one.id for one in held]
    return RefusedError(
        f"{used} of {limit} {what} in use: {', '.join(names[:5])}.",
        code="limit",
        next_step="Stop a session first.",
        params={"limit": what, "most": limit, "used": used, "sessions": names},
    )
