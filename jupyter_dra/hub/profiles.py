"""KubeSpawner's profile list with devices: ``dra`` keys of profiles and choices, former names, contradictions."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..claims import Requirement, slug
from ..errors import InputError, RequirementError
from .options import check_text

DEVICE_KEY = "dra"
FORMER_KEY = "former"
#: Pod-local name of the claim of a profile or of the form; choices of options give theirs the option's name.
MAIN_CLAIM = "device"
_UNLISTED = "--unlisted-choice"


@dataclass(frozen=True, slots=True)
class DeviceWish:
    """One claim of a pod: its pod-local name, the requirement's fields, and where they are written."""

    name: str
    fields: Mapping[str, Any]
    source: str


@dataclass(frozen=True, slots=True)
class Selection:
    """A chosen profile: its device wishes, and the keys of ``user_options`` that belong to it."""

    wishes: tuple[DeviceWish, ...] = ()
    keys: frozenset[str] = frozenset()


def current_name(profiles: Sequence[Mapping[str, Any]], given: object) -> object:
    """The profile's slug of today for a former one; anything else as it is."""
    if given in [profile["slug"] for profile in profiles]:
        return given
    return next((one["slug"] for one in profiles if given in (one.get(FORMER_KEY) or ())), given)


def select(profiles: Sequence[Mapping[str, Any]], options: Mapping[str, Any]) -> Selection:
    """What the options choose of a profile list that KubeSpawner has initialized.

    KubeSpawner leaves unknown choices and the ends of free text unchecked; here they are refused.

    Raises:
        RequirementError: a profile, option value or free text that is not offered; ``path`` names it.
    """
    wanted = options.get("profile")
    if not profiles:
        return Selection()
    profile = next((one for one in profiles if one["slug"] == wanted), None) if wanted else None
    if wanted and profile is None:
        raise RequirementError(
            f"profile: {str(wanted)[:60]!r} is not offered.",
            code="not-offered",
            path="profile",
            next_step=f"Offered: {', '.join(one['slug'] for one in profiles)}.",
        )
    if profile is None:
        profile = next(one for one in profiles if one.get("default"))
    wishes = []
    if profile.get(DEVICE_KEY):
        wishes.append(DeviceWish(MAIN_CLAIM, profile[DEVICE_KEY], f"profile {profile['slug']}"))
    keys = {"profile"}
    for name, option in (profile.get("profile_options") or {}).items():
        keys |= {name, name + _UNLISTED}
        choice = _choice(name, option, options)
        if choice and choice.get(DEVICE_KEY):
            source = f"option {name} of profile {profile['slug']}"
            wishes.append(DeviceWish(slug(name), choice[DEVICE_KEY], source))
    return Selection(tuple(wishes), frozenset(keys))


def _choice(name: str, option: Mapping[str, Any], options: Mapping[str, Any]) -> Mapping[str, Any] | None:
    choices: Mapping[str, Any] = option.get("choices") or {}
    free = options.get(name + _UNLISTED)
    if free:
        _check_free_text(name + _UNLISTED, option.get("unlisted_choice") or {}, free)
        return None
    picked = options.get(name)
    if picked:
        if not isinstance(picked, str) or picked not in choices:
            raise RequirementError(
                f"{name}: {str(picked)[:60]!r} is not offered.",
                code="not-offered",
                path=name,
                next_step=f"Offered: {', '.join(choices)}.",
            )
        found: Mapping[str, Any] = choices[picked]
        return found
    return next((one for one in choices.values() if one.get("default")), None)


def _check_free_text(name: str, rule: Mapping[str, Any], text: object) -> None:
    check_text(name, text)
    pattern = rule.get("validation_regex")
    allowed = bool(rule.get("enabled")) and isinstance(text, str)
    # KubeSpawner's own check leaves the end of the text open.
    if not allowed or (pattern and not re.fullmatch(pattern, str(text))):
        raise RequirementError(
            f"{name}: {str(text)[:60]!r} is not accepted.",
            code="not-offered",
            path=name,
            next_step=str(rule.get("validation_message") or "Choose one of the list."),
        )


def check_profiles(profiles: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a profile list that contradicts itself; called in ``jupyterhub_config.py``, the hub says so at its start.

    Two options of one profile may be chosen together. What both set differently KubeSpawner would settle by order.

    Raises:
        InputError: every contradiction, and every ``dra`` key that is no requirement, with the places named.

    >>> check_profiles([{"display_name": "GPU", "dra": {"tier": "small-gpu"}}])
    """
    problems = [problem for profile in profiles for problem in _problems(profile)]
    if problems:
        raise InputError(
            "profile_list: " + " ".join(problems),
            code="profile-conflict",
            path="profile_list",
            next_step="Set each thing in one place, or give devices by a dra key: those are put side by side.",
        )


def _problems(profile: Mapping[str, Any]) -> Iterator[str]:
    title = str(profile.get("slug") or profile.get("display_name"))
    yield from _not_a_requirement(profile, f"profile {title}")
    options = profile.get("profile_options") or {}
    for name, option in options.items():
        for key, choice in (option.get("choices") or {}).items():
            yield from _not_a_requirement(choice, f"{title}/{name}/{key}")
    for (first, one), (second, other) in itertools.combinations(options.items(), 2):
        told = set()
        for a, b in itertools.product(_overrides(one), _overrides(other)):
            for path in _contradictions(a[1], b[1]):
                if path not in told:
                    told.add(path)
                    yield f"{path} is set by {title}/{first}/{a[0]} and by {title}/{second}/{b[0]}."


def _not_a_requirement(place: Mapping[str, Any], where: str) -> Iterator[str]:
    if place.get(DEVICE_KEY):
        try:
            Requirement.from_dict(place[DEVICE_KEY])
        except RequirementError as error:
            yield f"{where}: {error}"


def _overrides(option: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    return [
        (key, choice.get("kubespawner_override") or {})
        for key, choice in (option.get("choices") or {}).items()
    ]


def _contradictions(one: Mapping[str, Any], other: Mapping[str, Any], path: str = "") -> Iterator[str]:
    for key in one.keys() & other.keys():
        a, b = one[key], other[key]
        where = f"{path}{key}"
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            yield from _contradictions(a, b, f"{where}.")
        elif a != b:
            yield where
