"""The requirement: what a person wants, in one vocabulary on every face (design.md §3)."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, Unpack, cast

from ..errors import RequirementError
from .comparisons import parse_conditions
from .manifest import claim_manifest
from .sizes import Size, parse_duration, parse_size
from .vocabulary import DEVICE_FIELDS, WISH_FIELDS, RequirementFields

ALIGN_SHORT = {"pcieRoot": "resource.kubernetes.io/pcieRoot", "numaNode": "resource.kubernetes.io/numaNode"}
MAX_ALTERNATIVES = 8
_STRATEGIES = ("time-slicing", "mps")
_QUALIFIED = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?/[A-Za-z_][A-Za-z0-9_]{0,31}\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """What a person wants from the cluster; every field may be left out, or None.

    A field that holds several values also takes a single one: a name, a mapping, another requirement. A text among
    ``near`` and ``or_else`` stands for the tier of that name. The attributes hold one form: tuples and texts.

    Attributes:
        tier: DeviceClass name; None means any GPU.
        vram, max_vram: device memory at least / at most, e.g. ``80GB`` (as on the card) or ``80Gi`` (literal).
        count: devices of this kind, or ``"all"`` of a node; 1 where it is left open, unless the tier settles another.
        count_given: whether ``count`` was asked for. A single device asked for is equal to one left open, but it is
            written out, and a tier that offers only eight refuses it instead of giving eight.
        product, architecture: names, matched as whole words without regard to case.
        compute_capability, driver_version: conditions such as ``>=8.0`` or ``>=550,<600``.
        where: further CEL selectors, all of which must hold.
        near: companions, at most 8, that must share ``align`` with the device.
        align: ``pcieRoot``, ``numaNode`` or a qualified attribute that all devices must share.
        spread: ``pcieRoot``, ``numaNode`` or a qualified attribute that must differ between the devices.
        or_else: ordered alternatives (at most 7), each overriding fields of this requirement.
        share: ``{"strategy": "time-slicing"|"mps", …}``, ``{"profile": "1g.10gb"}`` or ``{"memory": "10G"}``.
        tolerate: device taints to accept.
        claim: an existing claim's name, ``template/NAME`` or a manifest, instead of all the above.
        kernel, image, cpu, host_memory, env, namespace, lease, idle_timeout, name, volumes: the session around it.

    Raises:
        RequirementError: a value that cannot be used; ``path`` names the field.

    >>> Requirement(vram="80 GB", architecture="Hopper").as_dict()
    {'vram': '80GB', 'architecture': ['Hopper']}
    """

    tier: str | None = None
    vram: str | None = None
    max_vram: str | None = None
    count: int | Literal["all"] = cast(int, None)  # a single device, once it is known that none was asked for
    product: tuple[str, ...] = ()
    architecture: tuple[str, ...] = ()
    compute_capability: str | None = None
    driver_version: str | None = None
    where: tuple[str, ...] = ()
    near: tuple[Requirement, ...] = ()
    align: str | None = None
    spread: str | None = None
    or_else: tuple[Mapping[str, Any], ...] = ()
    share: Mapping[str, Any] | None = None
    tolerate: tuple[Mapping[str, Any], ...] = ()
    claim: str | Mapping[str, Any] | None = None
    kernel: str | None = None
    image: str | None = None
    cpu: str | None = None
    host_memory: str | None = None
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    namespace: str | None = None
    lease: str | None = None
    idle_timeout: str | None = None
    name: str | None = None
    volumes: tuple[str, ...] = ()
    count_given: bool = field(default=False, init=False, compare=False, repr=False)

    if TYPE_CHECKING:
        # The generated constructor admits only what the attributes hold; `__post_init__` takes more.
        def __init__(self, **fields: Unpack[RequirementFields]) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "count_given", self.count is not None)
        for name, normalize in _NORMALIZERS.items():
            value = getattr(self, name)
            object.__setattr__(self, name, _DEFAULTS[name] if value is None else normalize(value, name))
        self._check_combination()

    def _check_combination(self) -> None:
        low, high = self.vram_size, self.max_vram_size
        if low and high and low.bytes > high.bytes:
            raise RequirementError(
                f"vram {low.label} is more than max_vram {high.label}.",
                code="empty-range",
                path="max_vram",
                next_step="Swap the two, or leave one out.",
            )
        if self.claim is not None:
            given = [name for name in WISH_FIELDS if getattr(self, name) != _DEFAULTS[name]]
            if given:
                raise RequirementError(
                    f"claim stands alone: {', '.join(given)} would be ignored.",
                    code="claim-stands-alone",
                    path=given[0],
                    next_step="Leave out either claim or the other fields.",
                )
        if len(self.or_else) > MAX_ALTERNATIVES - 1:
            raise RequirementError(
                f"or_else has {len(self.or_else)} entries; at most {MAX_ALTERNATIVES - 1} fit into one claim.",
                code="too-many-alternatives",
                path="or_else",
                next_step="Keep the ones you would really accept.",
            )
        for index in range(len(self.or_else)):
            self.alternative(index)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Requirement:
        """Read the JSON form.

        Raises:
            RequirementError: unknown field (with the nearest known one), or a value that cannot be used.
        """
        if not isinstance(values, Mapping):
            raise RequirementError(
                "A requirement is an object with named fields.",
                code="requirement",
                path="",
                next_step='Write it as {"tier": "high-memory-gpu", "vram": "80GB"}.',
            )
        for name in values:
            if name not in _DEFAULTS:
                raise _unknown_field(str(name))
        return cls(**values)

    def as_dict(self) -> dict[str, Any]:
        """The JSON form: only the fields that were asked for, in the order of the vocabulary."""
        result: dict[str, Any] = {}
        for name, default in _DEFAULTS.items():
            value = self._asked(name)
            if value is None or (value == default and name != "count"):
                continue
            if name == "near":
                value = [one.as_dict() for one in value]
            elif isinstance(value, tuple):
                value = [dict(one) if isinstance(one, Mapping) else one for one in value]
            elif isinstance(value, Mapping):
                value = dict(value)
            result[name] = value
        return result

    def changed(self, **values: Unpack[RequirementFields]) -> Requirement:
        """A copy with some fields replaced; ``None`` takes a field back to its default."""
        return Requirement(**{**{name: self._asked(name) for name in _DEFAULTS}, **values})

    def _asked(self, name: str) -> Any:
        """A field as it was asked for: None for a number of devices that was left open."""
        return None if name == "count" and not self.count_given else getattr(self, name)

    def alternative(self, index: int) -> Requirement:
        """The *index*-th entry of ``or_else`` over this requirement, without session fields and companions.

        Raises:
            RequirementError: the entry names a field that applies to all alternatives.
        """
        entry = self.or_else[index]
        for name in entry:
            if name not in DEVICE_FIELDS:
                known = name in _DEFAULTS
                raise RequirementError(
                    f"or_else[{index}].{name}: "
                    + ("applies to all alternatives." if known else "there is no such field."),
                    code="alternative-field",
                    path=f"or_else[{index}].{name}",
                    next_step=f"Alternatives may name: {', '.join(DEVICE_FIELDS)}.",
                )
        base = {name: self._asked(name) for name in DEVICE_FIELDS}
        try:
            return Requirement(**{**base, **entry})
        except RequirementError as error:
            error.path = f"or_else[{index}].{error.path or ''}"
            raise

    @property
    def vram_size(self) -> Size | None:
        return parse_size(self.vram, "vram") if self.vram is not None else None

    @property
    def max_vram_size(self) -> Size | None:
        return parse_size(self.max_vram, "max_vram") if self.max_vram is not None else None

    @property
    def align_attribute(self) -> str | None:
        """The fully qualified attribute behind ``align``."""
        return ALIGN_SHORT.get(self.align, self.align) if self.align else None

    @property
    def spread_attribute(self) -> str | None:
        """The fully qualified attribute behind ``spread``."""
        return ALIGN_SHORT.get(self.spread, self.spread) if self.spread else None

    @property
    def lease_seconds(self) -> int | None:
        return parse_duration(self.lease, "lease") if self.lease else None

    @property
    def idle_seconds(self) -> int | None:
        return parse_duration(self.idle_timeout, "idle_timeout") if self.idle_timeout else None


def _unknown_field(name: str) -> RequirementError:
    if name == "memory":
        return RequirementError(
            "memory: vram or host_memory?",
            code="ambiguous-memory",
            path="memory",
            next_step="vram is the device's memory, host_memory the memory of the node given to the kernel.",
        )
    near = difflib.get_close_matches(name, list(_DEFAULTS), n=1)
    return RequirementError(
        f"A requirement has no field {name[:40]!r}.",
        code="unknown-field",
        path=name[:40],
        next_step=f"Did you mean {near[0]}?" if near else f"Fields: {', '.join(_DEFAULTS)}.",
    )


def _wrong(path: str, value: object, expected: str) -> RequirementError:
    return RequirementError(
        f"{path}: {str(value)[:40]!r} is not {expected}.",
        code="wrong-type",
        path=path,
        next_step=f"Give {expected}.",
    )


def _text(value: Any, path: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _wrong(path, value, "a text")
    return value.strip()


def _names(value: Any, path: str) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, Sequence) or len(listed) > 32:
        raise _wrong(path, value, "a name or a list of at most 32 names")
    names = tuple(_text(one, path) for one in listed)
    return tuple(dict.fromkeys(names))


def _size(value: Any, path: str) -> str:
    size = parse_size(value, path)
    if size.bytes <= 0:
        raise _wrong(path, value, "more than nothing")
    unit = re.sub(r"([kMGT]i?)\Z", r"\1B", size.text)
    return unit if not size.binary else size.text


def _count(value: Any, path: str) -> int | str:
    if isinstance(value, str) and value.strip().lower() == "all":
        return "all"
    if isinstance(value, str) and value.strip().isdigit():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 32:
        raise _wrong(path, value, 'a number from 1 to 32, or "all"')
    return value


def _conditions(value: Any, path: str) -> str:
    text = _text(value, path)
    parse_conditions(text, path)
    return ",".join(part.strip() for part in text.split(","))


def _selectors(value: Any, path: str) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, Sequence) or len(listed) > 24:
        raise _wrong(path, value, "a CEL expression or a list of at most 24")
    return tuple(_text(one, path) for one in listed)


def _companions(value: Any, path: str) -> tuple[Requirement, ...]:
    listed = [value] if isinstance(value, (str, Mapping, Requirement)) else value
    if not isinstance(listed, Sequence) or len(listed) > 8:
        raise _wrong(path, value, "a list of at most 8 requirements")
    companions = []
    for index, one in enumerate(listed):
        if isinstance(one, str):
            one = {"tier": one}
        try:
            companion = one if isinstance(one, Requirement) else Requirement.from_dict(one)
        except RequirementError as error:
            error.path = f"{path}[{index}].{error.path or ''}"
            raise
        extra = [name for name in companion.as_dict() if name not in DEVICE_FIELDS]
        if extra:
            raise _wrong(f"{path}[{index}].{extra[0]}", extra[0], "a field of a companion device")
        companions.append(companion)
    return tuple(companions)


def _attribute(value: Any, path: str) -> str:
    text = _text(value, path)
    full = ALIGN_SHORT.get(text, text)
    if not _QUALIFIED.fullmatch(full):
        raise RequirementError(
            f"{path}: {text[:60]!r} is not a qualified attribute name.",
            code="unqualified-attribute",
            path=path,
            next_step="Write pcieRoot, numaNode, or domain/name such as dra.net/numaNode.",
        )
    return text


def _share(value: Any, path: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _wrong(path, value, "an object with strategy, profile or memory")
    ways = [name for name in ("strategy", "profile", "memory") if name in value]
    if len(ways) != 1:
        raise RequirementError(
            "share names exactly one of strategy, profile, memory.",
            code="share-one-way",
            path=path,
            next_step="A part (profile), an amount (memory), or a way to take turns (strategy).",
        )
    share = dict(value)
    way = ways[0]
    allowed = {
        "strategy": {"strategy", "interval", "thread_percentage", "memory_limit"},
        "profile": {"profile"},
        "memory": {"memory"},
    }[way]
    for name in share:
        if name not in allowed:
            raise _wrong(f"{path}.{name}", name, f"one of {', '.join(sorted(allowed))}")
    if way == "strategy" and share["strategy"] not in _STRATEGIES:
        raise _wrong(f"{path}.strategy", share["strategy"], " or ".join(_STRATEGIES))
    if "thread_percentage" in share:
        percent = str(share["thread_percentage"])
        if not re.fullmatch(r"[1-9][0-9]?|100", percent):
            raise _wrong(f"{path}.thread_percentage", percent, "a whole number from 1 to 100")
        share["thread_percentage"] = int(percent)
    if "memory_limit" in share:
        share["memory_limit"] = _size(share["memory_limit"], f"{path}.memory_limit")
    if way == "profile":
        share["profile"] = _text(share["profile"], f"{path}.profile")
    if way == "memory":
        share["memory"] = _size(share["memory"], f"{path}.memory")
    return share


_TOLERATION = re.compile(r"(?P<key>[^=:]+)(=(?P<value>[^:]*))?(:(?P<effect>NoSchedule|NoExecute))?\Z")


def _tolerations(value: Any, path: str) -> tuple[Mapping[str, Any], ...]:
    listed = [value] if isinstance(value, (str, Mapping)) else value
    if not isinstance(listed, Sequence) or len(listed) > 16:
        raise _wrong(path, value, "a list of at most 16 tolerations")
    tolerations: list[Mapping[str, Any]] = []
    for one in listed:
        if isinstance(one, Mapping):
            tolerations.append(dict(one))
            continue
        match = _TOLERATION.match(_text(one, path))
        if match is None:
            raise _wrong(path, one, "key, key=value or key=value:NoSchedule")
        toleration: dict[str, Any] = {
            "key": match["key"],
            "operator": "Exists" if match["value"] is None else "Equal",
        }
        if match["value"] is not None:
            toleration["value"] = match["value"]
        if match["effect"]:
            toleration["effect"] = match["effect"]
        tolerations.append(toleration)
    return tuple(tolerations)


def _alternatives(value: Any, path: str) -> tuple[Mapping[str, Any], ...]:
    listed = [value] if isinstance(value, (str, Mapping)) else value
    if not isinstance(listed, Sequence):
        raise _wrong(path, value, "a list of alternatives")
    entries = []
    for index, one in enumerate(listed):
        if isinstance(one, str):
            one = {"tier": one}
        if not isinstance(one, Mapping):
            raise _wrong(f"{path}[{index}]", one, "an object of fields to override")
        entries.append(dict(one))
    return tuple(entries)


def _claim(value: Any, path: str) -> str | Mapping[str, Any]:
    if isinstance(value, Mapping):
        return claim_manifest(value, path)
    text = _text(value, path)
    if not re.fullmatch(r"(template/)?[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", text):
        raise _wrong(path, value, "a claim's name, template/NAME, or a manifest")
    return text


def _cpu(value: Any, path: str) -> str:
    text = str(value).strip()
    if isinstance(value, bool) or not re.fullmatch(r"[0-9]+(\.[0-9]{1,3})?|[0-9]+m", text):
        raise _wrong(path, value, "a number of CPUs such as 4 or 500m")
    return text


def _env(value: Any, path: str) -> Mapping[str, str]:
    if not isinstance(value, Mapping) or len(value) > 256:
        raise _wrong(path, value, "an object of at most 256 names and texts")
    for name, text in value.items():
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,127}", name):
            raise _wrong(f"{path}.{str(name)[:40]}", name, "a name of letters, digits and _")
        if not isinstance(text, str):
            raise _wrong(f"{path}.{name}", "***", "a text")
    return dict(value)


def _duration(value: Any, path: str) -> str:
    seconds = parse_duration(value, path)
    return str(value).strip() if isinstance(value, str) and not value.strip().isdigit() else f"{seconds}s"


_NORMALIZERS: Mapping[str, Any] = {
    "tier": _text,
    "vram": _size,
    "max_vram": _size,
    "count": _count,
    "product": _names,
    "architecture": _names,
    "compute_capability": _conditions,
    "driver_version": _conditions,
    "where": _selectors,
    "near": _companions,
    "align": _attribute,
    "spread": _attribute,
    "or_else": _alternatives,
    "share": _share,
    "tolerate": _tolerations,
    "claim": _claim,
    "kernel": _text,
    "image": _text,
    "cpu": _cpu,
    "host_memory": _size,
    "env": _env,
    "namespace": _text,
    "lease": _duration,
    "idle_timeout": _duration,
    "name": _text,
    "volumes": _names,
}

_DEFAULTS: Mapping[str, Any] = {
    one.name: one.default_factory() if callable(one.default_factory) else one.default
    for one in fields(Requirement)
    if one.init
} | {"count": 1}
