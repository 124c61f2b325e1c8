"""What a person may choose when a server starts: one closed form for the page, the API, profiles and remembered choices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..claims import DEVICE_FIELDS, Requirement
from ..errors import RefusedError, RequirementError

#: Fields an ordinary person may set unless the admin says otherwise: no CEL, no tolerations, no driver configuration.
USER_FIELDS = frozenset({"tier", "vram", "max_vram", "count"})
FORM_PREFIX = "dra-"
NO_DEVICE = "none"


@dataclass(frozen=True, slots=True)
class TierOffer:
    """One tier on the form.

    Attributes:
        name: what the form sends; for an un-named tier the DeviceClass name.
        requirement: fields the admin fixes; the user can only choose what is left.
        counts: allowed numbers; None leaves it to the quota, ``"all"`` takes every device of a node.
        former: old names of this tier, still accepted.
        fields: more fields the user may set with this tier.
    """

    name: str
    display_name: str | None = None
    description: str | None = None
    requirement: Mapping[str, Any] = field(default_factory=dict)
    counts: tuple[int, ...] | str | None = None
    former: tuple[str, ...] = ()
    fields: frozenset[str] = frozenset()

    @classmethod
    def from_config(cls, entry: str | Mapping[str, Any]) -> TierOffer:
        """Read an entry of ``c.DRASpawner.tiers``: a DeviceClass name, or an object.

        Raises:
            RequirementError: an unknown key, or a requirement that cannot be used.
        """
        if isinstance(entry, str):
            return cls(name=entry, requirement={"tier": entry})
        known = {
            "name",
            "device_class",
            "display_name",
            "description",
            "requirement",
            "counts",
            "former",
            "fields",
        }
        unknown = sorted(set(entry) - known)
        if unknown or "name" not in entry:
            raise RequirementError(
                f"tiers: {unknown[0]!r} is unknown." if unknown else "tiers: an entry has no name.",
                code="tier-entry",
                path="DRASpawner.tiers",
                next_step=f"Keys: {', '.join(sorted(known))}.",
            )
        fixed = {"tier": entry.get("device_class", entry["name"]), **(entry.get("requirement") or {})}
        Requirement.from_dict(fixed)
        return cls(
            name=entry["name"],
            display_name=entry.get("display_name"),
            description=entry.get("description"),
            requirement=fixed,
            counts=_counts(entry.get("counts")),
            former=tuple(entry.get("former") or ()),
            fields=frozenset(entry.get("fields") or ()),
        )


def _counts(value: Any) -> tuple[int, ...] | str | None:
    if value is None or value == "all":
        return value
    if isinstance(value, Mapping):
        return tuple(range(int(value.get("min", 1)), int(value["max"]) + 1))
    return tuple(int(one) for one in value)


@dataclass(frozen=True, slots=True)
class Rules:
    """What may be chosen: the offered tiers (None: every class by its own name), user fields, whether none is fine."""

    tiers: tuple[TierOffer, ...] | None = None
    user_fields: frozenset[str] = USER_FIELDS
    allow_none: bool = True

    def find(self, name: str) -> TierOffer | None:
        """The tier of this name, also by a former one."""
        if self.tiers is None:
            return TierOffer.from_config(name)
        return next((one for one in self.tiers if one.name == name or name in one.former), None)


def options_from_form(form: Mapping[str, Iterable[Any]]) -> dict[str, Any]:
    """The device part of a posted form: fields ``dra-tier``, ``dra-vram``, … become ``tier``, ``vram``, …; empty ones vanish."""
    options: dict[str, Any] = {}
    for name, values in form.items():
        if not name.startswith(FORM_PREFIX):
            continue
        value = next(iter(values), "")
        text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
        if text.strip():
            options[name[len(FORM_PREFIX) :].replace("-", "_")] = text.strip()
    return options


def split_options(options: Mapping[str, Any], profile_keys: Iterable[str]) -> dict[str, Any]:
    """The device part of ``user_options``.

    Raises:
        RequirementError: a key that is neither a device field nor one of KubeSpawner's profile keys.
    """
    ignored = {"profile", *profile_keys}
    device: dict[str, Any] = {}
    for name, value in options.items():
        if name in ignored:
            continue
        if name not in DEVICE_FIELDS:
            raise RequirementError(
                f"There is no option {str(name)[:40]!r}.",
                code="unknown-option",
                path=str(name)[:40],
                next_step=f"Options: {', '.join(sorted(USER_FIELDS))}.",
            )
        device[name] = value
    return device


def read_choice(
    options: Mapping[str, Any], rules: Rules, *, fixed: Mapping[str, Any] | None = None
) -> Requirement | None:
    """The requirement behind a choice, or None for a server without a device.

    Args:
        options: the device part of ``user_options``.
        fixed: what a profile or the admin's settings already say; a person can add what is left, never change it.

    Raises:
        RequirementError: a field or value that is not offered; ``path`` names it.
        RefusedError: ``policy``: a field this person may not set.
    """
    given = {name: value for name, value in options.items() if value not in (None, "")}
    base = dict(fixed or {})
    tier = given.pop("tier", None)
    offer: TierOffer | None = None
    if tier is not None and "tier" in base and tier != base["tier"]:
        raise RefusedError(
            f"tier: the profile settles it ({base['tier']}).",
            code="policy",
            path="tier",
            next_step="Leave tier out.",
        )
    if tier is not None and tier != NO_DEVICE and "tier" not in base:
        offer = rules.find(str(tier))
        if offer is None:
            names = ", ".join(one.name for one in rules.tiers or ())
            raise RequirementError(
                f"tier: {str(tier)[:60]!r} is not offered.",
                code="not-offered",
                path="tier",
                next_step=f"Offered: {names}.",
            )
        base.update(offer.requirement)
    if tier == NO_DEVICE or not (base or given):
        if given or not rules.allow_none:
            raise RequirementError(
                "A device is needed." if not given else f"{next(iter(given))}: no device was chosen.",
                code="no-device",
                path=next(iter(given), "tier"),
                next_step="Choose a tier.",
            )
        return None
    _check_fields(given, base, rules.user_fields | (offer.fields if offer else frozenset()))
    requirement = Requirement.from_dict({**given, **base})
    _check_count(requirement, offer, "count" in given)
    if offer is not None and offer.counts == "all":
        return requirement.changed(count="all")
    return requirement


def _check_fields(given: Mapping[str, Any], base: Mapping[str, Any], allowed: frozenset[str]) -> None:
    for name, value in given.items():
        if name not in allowed:
            raise RefusedError(
                f"{name} is for the admin to set.",
                code="policy",
                path=name,
                next_step=f"You may set: {', '.join(sorted(allowed))}.",
            )
        if name in base and base[name] != value:
            raise RefusedError(
                f"{name}: the tier settles it ({base[name]}).",
                code="policy",
                path=name,
                next_step=f"Leave {name} out.",
            )


def _check_count(requirement: Requirement, offer: TierOffer | None, given: bool) -> None:
    if offer is None or not given or offer.counts is None:
        return
    counts = offer.counts
    if counts == "all" or requirement.count not in counts:
        shown = "all of a node" if counts == "all" else ", ".join(str(one) for one in counts)
        raise RefusedError(
            f"count: {offer.name} comes in {shown}.",
            code="policy",
            path="count",
            next_step=f"Choose one of: {shown}.",
        )
