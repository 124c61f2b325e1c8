"""What a person may choose when a server starts: one closed form for page, API, profiles and remembered choices."""

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
_ENTRY_KEYS = (
    "name",
    "device_class",
    "display_name",
    "description",
    "requirement",
    "counts",
    "former",
    "fields",
    "groups",
    "price_per_hour",
    "hidden",
)


@dataclass(frozen=True, slots=True)
class TierOffer:
    """One tier on the form.

    Attributes:
        name: what the form sends; for an un-named tier the DeviceClass name.
        requirement: fields the admin fixes; the user can only choose what is left.
        counts: allowed numbers; None leaves it to the limit, ``"all"`` takes every device of a node.
        former: old names of this tier, still accepted.
        fields: more fields the user may set with this tier.
        groups: hub groups that may have it; empty means everybody.
        defaults: fields that hold unless the user says otherwise.
        facts: the planner's element of this tier, for the form; empty where the class is unknown.
        entry: the admin's entry as the planner reads it; None for a plain class.
    """

    name: str
    display_name: str | None = None
    description: str | None = None
    requirement: Mapping[str, Any] = field(default_factory=dict)
    counts: tuple[int, ...] | str | None = None
    former: tuple[str, ...] = ()
    fields: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    entry: Mapping[str, Any] | None = None

    @property
    def device_class(self) -> str | None:
        """The DeviceClass this tier stands on; None for a given claim, or for any GPU."""
        found = self.requirement.get("tier")
        return str(found) if found else None

    @classmethod
    def from_config(cls, entry: str | Mapping[str, Any]) -> TierOffer:
        """Read an entry of ``c.DRASpawner.tiers``: a DeviceClass name, or an object.

        Raises:
            RequirementError: an unknown key, or a requirement that cannot be used.
        """
        if isinstance(entry, str):
            entry = {"name": entry}
        unknown = sorted(set(map(str, entry)) - set(_ENTRY_KEYS))
        if unknown or not isinstance(entry.get("name"), str):
            raise RequirementError(
                f"tiers: {unknown[0]!r} is unknown." if unknown else "tiers: an entry has no name.",
                code="tier-entry",
                path="DRASpawner.tiers",
                next_step=f"Keys: {', '.join(_ENTRY_KEYS)}.",
            )
        fixed = dict(entry.get("requirement") or {})
        if "claim" not in fixed:
            fixed = {"tier": entry.get("device_class", entry["name"]), **fixed}
        Requirement.from_dict(fixed)
        kept = ("name", "display_name", "description", "price_per_hour", "groups", "hidden")
        planner_entry = {key: entry[key] for key in kept if entry.get(key)}
        added = {name: value for name, value in fixed.items() if name != "tier"}
        return cls(
            name=entry["name"],
            display_name=entry.get("display_name"),
            description=entry.get("description"),
            requirement=fixed,
            counts=_counts(entry.get("counts")),
            former=tuple(entry.get("former") or ()),
            fields=frozenset(entry.get("fields") or ()),
            groups=frozenset(entry.get("groups") or ()),
            entry=None
            if "claim" in fixed
            else {**planner_entry, "device_class": fixed["tier"], "requirement": added},
        )


def _counts(value: Any) -> tuple[int, ...] | str | None:
    if value is None or value == "all":
        return "all" if value else None
    if isinstance(value, Mapping):
        return tuple(range(int(value.get("min", 1)), int(value["max"]) + 1))
    if isinstance(value, int):
        return (value,)
    return tuple(int(one) for one in value)


def offers(
    tiers: Iterable[TierOffer] | None, elements: Iterable[Mapping[str, Any]], groups: Iterable[str]
) -> tuple[TierOffer, ...]:
    """What this person is offered: the admin's tiers, or every class that is not hidden, with the cluster's facts.

    Args:
        tiers: the admin's setting; None offers the classes.
        elements: the planner's tiers, by which counts, groups and defaults written on a class come in.
        groups: the person's hub groups.
    """
    by_name = {element["name"]: element for element in elements}
    if tiers is None:
        tiers = [
            TierOffer(name, display_name=element["display_name"], requirement={"tier": name})
            for name, element in by_name.items()
            if not element["hidden"]
        ]
    mine = set(groups)
    found = []
    for one in tiers:
        facts = by_name.get(one.name) or {}
        limits = facts.get("limits") or {}
        offer = TierOffer(
            name=one.name,
            display_name=one.display_name or facts.get("display_name"),
            description=one.description or facts.get("description"),
            requirement=one.requirement,
            counts=one.counts if one.counts is not None else _counts(limits.get("counts")),
            former=one.former,
            fields=one.fields,
            groups=one.groups or frozenset(facts.get("groups") or ()),
            defaults={
                name: value
                for name, value in (facts.get("defaults") or {}).items()
                if name in DEVICE_FIELDS and name != "tier"
            },
            facts=facts,
            entry=one.entry,
        )
        if not offer.groups or offer.groups & mine:
            found.append(offer)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Rules:
    """What may be chosen: the offered tiers, user fields, whether none is fine, images (empty: the hub's own)."""

    tiers: tuple[TierOffer, ...] = ()
    user_fields: frozenset[str] = USER_FIELDS
    allow_none: bool = True
    images: tuple[str, ...] = ()

    def find(self, name: str) -> TierOffer | None:
        """The tier of this name, also by a former one."""
        exact = next((one for one in self.tiers if one.name == name), None)
        return exact or next((one for one in self.tiers if name in one.former), None)


def options_from_form(form: Mapping[str, Iterable[Any]]) -> dict[str, Any]:
    """The device part of a posted form: ``dra-tier``, ``dra-vram``, … become ``tier``, ``vram``, …; empty ones vanish.

    The page has one number field per tier, ``dra-count--TIER``; only that of the chosen tier counts. With no device
    the memory field, which stays on the page, says nothing.
    """
    given: dict[str, str] = {}
    for name, values in form.items():
        if name.startswith(FORM_PREFIX):
            value = next(iter(values), "")
            text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
            if text:
                given[name[len(FORM_PREFIX) :]] = text
    tier = given.get("tier")
    count = given.get(f"count--{tier}")
    options: dict[str, Any] = {
        name.replace("-", "_"): value for name, value in given.items() if not name.startswith("count--")
    }
    if tier == NO_DEVICE:
        options.pop("vram", None)
    elif count:
        options.setdefault("count", count)
    return options


def read_image(options: Mapping[str, Any], images: Iterable[str]) -> tuple[str | None, dict[str, Any]]:
    """The chosen image, and the options without it; without offered images the key is one like any other.

    Raises:
        RequirementError: an image that is not offered.
    """
    offered = tuple(images)
    if not offered or "image" not in options:
        return None, dict(options)
    rest = {name: value for name, value in options.items() if name != "image"}
    image = options["image"]
    if image not in offered:
        raise RequirementError(
            f"image: {str(image)[:80]!r} is not offered.",
            code="not-offered",
            path="image",
            next_step=f"Offered: {', '.join(offered)}.",
        )
    return str(image), rest


def split_options(options: Mapping[str, Any], profile_keys: Iterable[str]) -> dict[str, Any]:
    """The device part of ``user_options``.

    Args:
        profile_keys: the keys KubeSpawner reads with the chosen profile.

    Raises:
        RequirementError: a key that is neither a device field nor one of the profile's, or text that no field holds.
    """
    ignored = set(profile_keys)
    device: dict[str, Any] = {}
    for name, value in options.items():
        if name not in ignored and name not in DEVICE_FIELDS:
            raise RequirementError(
                f"There is no option {str(name)[:40]!r}.",
                code="unknown-option",
                path=str(name)[:40],
                next_step=f"Options: {', '.join(sorted(USER_FIELDS))}.",
            )
        check_text(str(name), value)
        if name not in ignored:
            device[name] = value
    return device


def check_text(name: str, value: Any) -> None:
    """Refuse control characters and braces in user text: KubeSpawner would format the latter (threat T46).

    Raises:
        RequirementError: naming the option.
    """
    texts = value if isinstance(value, list) else [value]
    for text in texts:
        if isinstance(text, str) and (not text.isprintable() or "{" in text or "}" in text):
            raise RequirementError(
                f"{name}: {text[:40]!r} holds a control character or a brace.",
                code="option-text",
                path=name,
                next_step="Write plain text.",
            )


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
    given = {name: value for name, value in options.items() if value is not None and value != ""}
    base = dict(fixed or {})
    tier = given.pop("tier", None)
    offer: TierOffer | None = None
    settled = base.get("tier") or ("its own device" if "claim" in base or tier == NO_DEVICE else None)
    if tier is not None and base and settled and tier != settled:
        raise RefusedError(
            f"tier: the profile settles it ({settled}).",
            code="policy",
            path="tier",
            next_step="Leave tier out.",
        )
    if tier is not None and tier != NO_DEVICE and not settled:
        offer = rules.find(tier) if isinstance(tier, str) else None
        if offer is None:
            names = ", ".join(one.name for one in rules.tiers) or "none"
            raise RequirementError(
                f"tier: {str(tier)[:60]!r} is not offered.",
                code="not-offered",
                path="tier",
                next_step=f"Offered: {names}.",
            )
        base = {**offer.requirement, **base}
    if not base:
        if given or not rules.allow_none:
            raise RequirementError(
                f"{next(iter(given))}: no device was chosen." if given else "tier: a device is needed.",
                code="no-device",
                path=next(iter(given), "tier"),
                next_step="Choose a tier.",
            )
        return None
    _check_fields(given, base, rules.user_fields | (offer.fields if offer else frozenset()))
    defaults = offer.defaults if offer is not None else {}
    requirement = Requirement.from_dict({**defaults, **given, **base})
    return _with_count(requirement, offer, "count" in given)


def _check_fields(given: Mapping[str, Any], base: Mapping[str, Any], allowed: frozenset[str]) -> None:
    for name, value in given.items():
        if name not in allowed:
            raise RefusedError(
                f"{name} is for the admin to set.",
                code="policy",
                path=name,
                next_step=f"You may set: {', '.join(sorted(allowed))}.",
            )
        if "claim" in base or (name in base and base[name] != value):
            raise RefusedError(
                f"{name}: the tier settles it ({base.get(name, 'a claim of its own')}).",
                code="policy",
                path=name,
                next_step=f"Leave {name} out.",
            )


def _with_count(requirement: Requirement, offer: TierOffer | None, given: bool) -> Requirement:
    """Hold the number of devices to what the tier offers; a tier that starts at more than one starts there."""
    if offer is None or offer.counts is None or "count" in offer.requirement:
        return requirement
    counts = offer.counts
    if counts == "all" and not given:
        return requirement.changed(count="all")
    if requirement.count in counts and counts != "all":
        return requirement
    if not given and not isinstance(counts, str):
        return requirement.changed(count=min(counts))
    shown = "all of a node" if counts == "all" else ", ".join(str(one) for one in counts)
    raise RefusedError(
        f"count: {offer.name} comes in {shown}.",
        code="policy",
        path="count",
        next_step=f"Choose one of: {shown}.",
    )
