"""Tiers of the admin's own setting: a class name with a requirement, limits and words on top."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jupyter_dra.claims import Requirement
from jupyter_dra.errors import RequirementError

__all__ = ["admin_tier", "apply_admin_tier", "tier_class"]

Json = Mapping[str, Any]


def admin_tier(name: str | None, tiers: Sequence[Json]) -> Json | None:
    """The admin's entry of that name; names share one space with the classes."""
    return next((tier for tier in tiers if tier.get("name") == name), None) if name else None


def tier_class(tier: Json) -> str:
    """The DeviceClass an entry stands on."""
    return str(tier.get("device_class") or tier.get("class") or tier.get("name") or "")


def apply_admin_tier(requirement: Requirement, tiers: Sequence[Json]) -> Requirement:
    """The requirement with admin tiers replaced by their class and what they add.

    Fields the user sets win; selectors of both hold.
    """
    if not tiers:
        return requirement
    changed = _applied(requirement, tiers)
    if requirement.or_else:
        changed = changed.changed(or_else=[_entry(entry, tiers) for entry in requirement.or_else])
    if requirement.near:
        changed = changed.changed(near=[_applied(one, tiers) for one in requirement.near])
    return changed


def _applied(requirement: Requirement, tiers: Sequence[Json]) -> Requirement:
    tier = admin_tier(requirement.tier, tiers)
    if tier is None:
        return requirement
    added: dict[str, Any] = dict(tier.get("requirement") or {})
    where = [*added.pop("where", ()), *requirement.where]
    given = requirement.as_dict()
    fields = {**added, **given, "tier": tier_class(tier)}
    if where:
        fields["where"] = where
    try:
        return Requirement.from_dict(fields)
    except RequirementError as error:
        error.path = f"tiers.{tier.get('name')}.{error.path or ''}"
        raise


def _entry(entry: Json, tiers: Sequence[Json]) -> dict[str, Any]:
    tier = admin_tier(entry.get("tier"), tiers)
    if tier is None:
        return dict(entry)
    added = dict(tier.get("requirement") or {})
    where = [*added.pop("where", ()), *_listed(entry.get("where"))]
    return {**added, **entry, "tier": tier_class(tier), **({"where": where} if where else {})}


def _listed(value: object) -> Sequence[Any]:
    """Selectors of an entry, which may be a single text."""
    if isinstance(value, str):
        return (value,)
    return value if isinstance(value, Sequence) else ()
