"""ResourceClaim → requirement: our own claims exactly, hand-written ones as far as they can be expressed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import RequirementError
from ..model.reading import items, mapping, text, texts
from . import expressions
from .requirement import ALIGN_SHORT, Requirement

_SHORT_ALIGN = {full: short for short, full in ALIGN_SHORT.items()}


@dataclass(frozen=True, slots=True)
class Kept:
    """A part of a claim that the vocabulary has no word for."""

    path: str
    code: str
    what: str

    @property
    def message(self) -> str:
        return f"{self.path}: {self.what} cannot be said as a requirement."


@dataclass(frozen=True, slots=True)
class Reading:
    """A claim in our vocabulary.

    Attributes:
        requirement: what can be said; None where not even a kind of device can.
        kept: what the claim says beyond it; empty where the requirement says all.
    """

    requirement: Requirement | None
    kept: tuple[Kept, ...] = ()


def requirement_from_claim(claim: Mapping[str, Any]) -> Requirement:
    """The requirement behind a claim; selectors we did not write are kept word for word in ``where``.

    Raises:
        RequirementError: ``not-expressible``: several main requests, admin access, foreign config or
        constraints that the
            vocabulary has no word for. Such a claim is used as it stands (``claim``).
    """
    reading = read_claim(claim)
    if reading.requirement is None or reading.kept:
        first = reading.kept[0]
        raise RequirementError(
            first.message,
            code="not-expressible",
            path=first.path,
            next_step="Use the claim as it is (claim=…).",
        )
    return reading.requirement


def read_claim(claim: Mapping[str, Any]) -> Reading:
    """As much of a claim as the vocabulary can say, and each part it cannot.

    Raises:
        RequirementError: a value is of a type that no claim has.
    """
    reader = _Reader()
    values = reader.values_of(claim)
    requirement = None if values is None else Requirement.from_dict(values)
    return Reading(requirement, tuple(reader.kept))


class _Reader:
    """Reads one claim; what has no word is collected."""

    def __init__(self) -> None:
        self.kept: list[Kept] = []

    def values_of(self, claim: Mapping[str, Any]) -> dict[str, Any] | None:
        spec = mapping(claim.get("spec"))
        if "spec" in spec:
            spec = mapping(spec["spec"])
        devices = mapping(spec.get("devices"))
        requests: Sequence[Mapping[str, Any]] = items(devices.get("requests"))
        mains = [one for one in requests if not text(one.get("name")).startswith("near-")]
        if len(mains) != 1:
            self._keep("spec.devices.requests", "requests", f"{len(mains)} requests that are no companions")
            return None
        main = mains[0]
        values = self._request_values(main)
        if values is None:
            return None
        others = [one for one in requests if one is not main]
        near = [found for one in others if (found := self._companion(one)) is not None]
        if near:
            values["near"] = near
        names = [text(one.get("name")) for one in (main, *others)]
        for index, constraint in enumerate(items(devices.get("constraints"))):
            self._read_constraint(values, constraint, names, f"spec.devices.constraints[{index}]")
        for index, config in enumerate(items(devices.get("config"))):
            self._read_config(values, config, f"spec.devices.config[{index}]")
        return values

    def _keep(self, path: str, code: str, what: str) -> None:
        self.kept.append(Kept(path, code, what))

    def _companion(self, request: Mapping[str, Any]) -> dict[str, Any] | None:
        if "exactly" not in request:
            self._keep(
                f"spec.devices.requests[{request.get('name')}]", "alternatives", "alternatives of a companion"
            )
            return None
        return self._device_values(mapping(request["exactly"]))

    def _request_values(self, request: Mapping[str, Any]) -> dict[str, Any] | None:
        if "exactly" in request:
            return self._device_values(mapping(request["exactly"]))
        alternatives = [self._device_values(one) for one in items(request.get("firstAvailable"))]
        if not alternatives:
            self._keep("spec.devices.requests[0]", "no-kind", "a request without a kind")
            return None
        first, *others = alternatives
        return {**first, "or_else": [_difference(first, one) for one in others]}

    def _device_values(self, request: Mapping[str, Any]) -> dict[str, Any]:
        if request.get("adminAccess"):
            self._keep("adminAccess", "admin-access", "admin access")
        values: dict[str, Any] = {"tier": request.get("deviceClassName")}
        if request.get("allocationMode") == "All":
            values["count"] = "all"
        elif request.get("count") is not None:
            values["count"] = request["count"]
        where: list[str] = []
        for selector in items(request.get("selectors")):
            _read_selector(values, where, text(mapping(selector.get("cel")).get("expression")))
        self._read_capacity(values, where, mapping(mapping(request.get("capacity")).get("requests")))
        if where:
            values["where"] = where
        if request.get("tolerations"):
            values["tolerate"] = [dict(one) for one in items(request["tolerations"])]
        return values

    def _read_capacity(self, values: dict[str, Any], where: list[str], asked: Mapping[str, Any]) -> None:
        shareable = values.pop("_shareable", False)
        if len(asked) == 1 and next(iter(asked)).endswith("memory"):
            values["share"] = {"memory": str(next(iter(asked.values())))}
            return
        if asked:
            self._keep("capacity.requests", "capacity", "an amount of something else than memory")
        if shareable:
            where.append(expressions.SHAREABLE)

    def _read_constraint(
        self, values: dict[str, Any], constraint: Mapping[str, Any], names: list[str], path: str
    ) -> None:
        scope = list(texts(constraint.get("requests"))) or names
        match, distinct = text(constraint.get("matchAttribute")), text(constraint.get("distinctAttribute"))
        if match and set(scope) == set(names) and "align" not in values:
            values["align"] = _SHORT_ALIGN.get(match, match)
        elif distinct and scope == names[:1] and "spread" not in values:
            values["spread"] = _SHORT_ALIGN.get(distinct, distinct)
        else:
            self._keep(path, "constraint", "this constraint")

    def _read_config(self, values: dict[str, Any], config: Mapping[str, Any], path: str) -> None:
        sharing = mapping(mapping(mapping(config.get("opaque")).get("parameters")).get("sharing"))
        strategy = {"TimeSlicing": "time-slicing", "MPS": "mps"}.get(text(sharing.get("strategy")))
        if strategy is None or "share" in values:
            self._keep(path, "config", "this driver configuration")
            return
        share: dict[str, Any] = {"strategy": strategy}
        interval = text(mapping(sharing.get("timeSlicingConfig")).get("interval"))
        if interval not in ("", "Default"):
            share["interval"] = interval.lower()
        mps = mapping(sharing.get("mpsConfig"))
        for ours, theirs in (
            ("thread_percentage", "defaultActiveThreadPercentage"),
            ("memory_limit", "defaultPinnedDeviceMemoryLimit"),
        ):
            if theirs in mps:
                share[ours] = mps[theirs]
        values["share"] = share


def _difference(first: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    changed = {name: value for name, value in other.items() if first.get(name) != value}
    return {**changed, **{name: None for name in first if name not in other}}


def _read_selector(values: dict[str, Any], where: list[str], expression: str) -> None:
    found = expressions.read(expression)
    field, value = found if found else ("", None)
    if field == "shareable" and "_shareable" not in values:
        values["_shareable"] = True
    elif field == "profile" and "share" not in values:
        values["share"] = {"profile": value}
    elif field in ("", "shareable", "profile") or field in values:
        where.append(expression)
    else:
        values[field] = value
