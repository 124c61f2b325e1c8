"""What a user may ask for: the administrator's policy, checked before anything is created."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..claims import Requirement
from ..errors import RefusedError
from ..model import ClaimSpec
from ..model.reading import mapping
from .images import image_allowed
from .policy import SessionPolicy
from .record import Lease
from .terms import TierTerms, lease_of, with_defaults


def admitted(
    wish: Requirement, policy: SessionPolicy, terms: TierTerms, *, now: float
) -> tuple[Requirement, Lease]:
    """The requirement with the tier's defaults, and the lease it begins with.

    Raises:
        RefusedError: ``policy`` or ``limit``: what the administrator does not allow.
    """
    wish = with_defaults(wish, terms)
    lease = lease_of(wish, policy, terms, now=now)
    check_policy(wish, policy)
    return wish, lease


def check_policy(requirement: Requirement, policy: SessionPolicy) -> None:
    """Raise RefusedError ``policy`` for what the administrator does not allow.

    Named claims and templates are judged by `check_claim` once they were read. ``params["what"]`` of the error names
    what is refused: image, claim, volume, where, tolerate, config, admin-access.
    """
    if requirement.image is not None and requirement.image != policy.image:
        _check_image(requirement.image, policy)
    if requirement.claim is not None and not policy.allow_claims:
        text = "Existing claims, templates and manifests are not allowed here."
        raise _refused("claim", "claim", text)
    for path, part in _parts(requirement):
        if part.get("where") and not policy.allow_where:
            raise _refused("where", f"{path}where", _WHERE)
        if part.get("tolerate") and not policy.allow_tolerate:
            raise _refused("tolerate", f"{path}tolerate", _TOLERATE)
        if "strategy" in mapping(part.get("share")) and not policy.allow_config:
            raise _refused("config", f"{path}share.strategy", _CONFIG)
    if isinstance(requirement.claim, Mapping):
        check_claim(requirement.claim, policy)
    for name in requirement.volumes:
        if name not in policy.volumes:
            offered = sorted(policy.volumes)
            raise _refused(
                "volume",
                "volumes",
                f"There is no volume {name!r} on offer.",
                f"Offered: {', '.join(offered) or 'none'}.",
                name=name,
                allowed=offered,
            )


def _check_image(image: str, policy: SessionPolicy) -> None:
    if not image_allowed(image, policy.images):
        allowed = list(policy.images or ()) or [policy.image or "the default"]
        text = f"The image {image} is not allowed."
        raise _refused("image", "image", text, f"Allowed: {', '.join(allowed)}.", name=image, allowed=allowed)


def _parts(requirement: Requirement, path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The requirement and everything inside it that asks for devices, each with its path."""
    yield path, {name: getattr(requirement, name) for name in ("where", "tolerate", "share")}
    for index, entry in enumerate(requirement.or_else):
        yield f"{path}or_else[{index}].", entry
    for index, companion in enumerate(requirement.near):
        yield from _parts(companion, f"{path}near[{index}].")


def check_claim(claim: Mapping[str, Any], policy: SessionPolicy, path: str = "claim") -> None:
    """Judge a manifest, an existing claim or a template: adminAccess is used from no face (threat T25).

    Configuration, tolerations and CEL follow the policy.
    """
    inner = "spec.spec" if claim.get("kind") == "ResourceClaimTemplate" else "spec"
    raw = mapping(claim.get("spec"))
    spec = ClaimSpec.from_dict(mapping(raw.get("spec")) if inner == "spec.spec" else raw)
    for index, request in enumerate(spec.requests):
        # Older versions of the API had the fields in the request itself.
        bodies = [("", request.raw), ("exactly.", mapping(request.raw.get("exactly")))]
        bodies += [(f"firstAvailable[{i}].", body.raw) for i, body in enumerate(request.first_available)]
        for part, body in bodies:
            where = f"{path}.{inner}.devices.requests[{index}].{part}"
            if body.get("adminAccess"):
                text = "adminAccess is never used for a session."
                raise _refused("admin-access", f"{where}adminAccess", text)
            if body.get("tolerations") and not policy.allow_tolerate:
                raise _refused("tolerate", f"{where}tolerations", _TOLERATE)
            if body.get("selectors") and not policy.allow_where:
                raise _refused("where", f"{where}selectors", _WHERE)
    if spec.config and not policy.allow_config:
        raise _refused("config", f"{path}.{inner}.devices.config", _CONFIG)


_WHERE = "Own CEL conditions are not allowed here."
_TOLERATE = "Accepting device taints is not allowed here."
_CONFIG = "Driver configuration is not allowed here."


def check_limits(asked: int, policy: SessionPolicy, held: Mapping[str, int]) -> None:
    """Raise RefusedError ``limit`` when this session would be one too many.

    Args:
        asked: what `charging.charge_of` says of it.
        held: the user's sessions that hold devices or start, with their charge.
    """
    if len(held) >= policy.max_sessions:
        raise _over("sessions", policy.max_sessions, len(held), held)
    if policy.max_devices is not None and sum(held.values()) + asked > policy.max_devices:
        raise _over("devices", policy.max_devices, sum(held.values()), held)


def _refused(
    what: str, path: str, text: str, next_step: str = "Ask the administrator.", **params: Any
) -> RefusedError:
    return RefusedError(text, code="policy", path=path, next_step=next_step, params={"what": what, **params})


def _over(what: str, limit: int, used: int, held: Mapping[str, int]) -> RefusedError:
    names = list(held)
    return RefusedError(
        f"{used} of {limit} {what} in use: {', '.join(names[:5])}.",
        code="limit",
        next_step="Stop a session first.",
        params={"limit": what, "most": limit, "used": used, "sessions": names},
    )
