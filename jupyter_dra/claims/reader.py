"""ResourceClaim → requirement: our own claims exactly, hand-written ones as far as they can be expressed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import RequirementError
from ..model.reading import items, mapping, text, texts
from . import expressions
from .requirement import ALIGN_SHORT, Requirement

_SHORT_ALIGN = {full: short for short, full in ALIGN_SHORT.items()}


def requirement_from_claim(claim: Mapping[str, Any]) -> Requirement:
    """The requirement behind a claim; selectors we did not write are kept word for word in ``where``.

    Raises:
        RequirementError: ``not-expressible``: several main requests, admin access, foreign config or
        constraints that the
            vocabulary has no word for. Such a claim is used as it stands (``claim``).
    """
    spec = mapping(claim.get("spec"))
    if "spec" in spec:
        spec = mapping(spec["spec"])
    devices = mapping(spec.get("devices"))
    requests: Sequence[Mapping[str, Any]] = items(devices.get("requests"))
    mains = [one for one in requests if not text(one.get("name")).startswith("near-")]
    if len(mains) != 1:
        raise _no_word("spec.devices.requests", f"{len(mains)} requests that are no companions")
    main = mains[0]
    values = _request_values(main)
    near = [_single(one) for one in requests if one is not main]
    if near:
        values["near"] = near
    names = [text(one.get("name")) for one in (main, *(one for one in requests if one is not main))]
    for index, constraint in enumerate(items(devices.get("constraints"))):
        _read_constraint(values, constraint, names, f"spec.devices.constraints[{index}]")
    for index, config in enumerate(items(devices.get("config"))):
        _read_config(values, config, f"spec.devices.config[{index}]")
    return Requirement.from_dict(values)


def _no_word(path: str, what: str) -> RequirementError:
    return RequirementError(
        f"{path}: {what} cannot be said as a requirement.",
        code="not-expressible",
        path=path,
        next_step="Use the claim as it is (claim=…).",
    )


def _single(request: Mapping[str, Any]) -> dict[str, Any]:
    if "exactly" not in request:
        raise _no_word(f"spec.devices.requests[{request.get('name')}]", "alternatives of a companion")
    return _device_values(mapping(request["exactly"]))


def _request_values(request: Mapping[str, Any]) -> dict[str, Any]:
    if "exactly" in request:
        return _device_values(mapping(request["exactly"]))
    alternatives = [_device_values(one) for one in items(request.get("firstAvailable"))]
    if not alternatives:
        raise _no_word("spec.devices.requests[0]", "a request without a kind")
    first, *others = alternatives
    return {**first, "or_else": [_difference(first, one) for one in others]}


def _difference(first: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    changed = {name: value for name, value in other.items() if first.get(name) != value}
    return {**changed, **{name: None for name in first if name not in other}}


def _device_values(request: Mapping[str, Any]) -> dict[str, Any]:
    if request.get("adminAccess"):
        raise _no_word("adminAccess", "admin access")
    values: dict[str, Any] = {"tier": request.get("deviceClassName")}
    if request.get("allocationMode") == "All":
        values["count"] = "all"
    elif request.get("count", 1) != 1:
        values["count"] = request["count"]
    where: list[str] = []
    for selector in items(request.get("selectors")):
        _read_selector(values, where, text(mapping(selector.get("cel")).get("expression")))
    capacity = mapping(mapping(request.get("capacity")).get("requests"))
    if capacity:
        if len(capacity) != 1 or not next(iter(capacity)).endswith("memory"):
            raise _no_word("capacity.requests", "an amount of something else than memory")
        values["share"] = {"memory": str(next(iter(capacity.values())))}
    elif values.pop("_shareable", False):
        where.append(expressions.SHAREABLE)
    values.pop("_shareable", None)
    if where:
        values["where"] = where
    if request.get("tolerations"):
        values["tolerate"] = [dict(one) for one in items(request["tolerations"])]
    return values


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


def _read_constraint(
    values: dict[str, Any], constraint: Mapping[str, Any], names: list[str], path: str
) -> None:
    scope = list(texts(constraint.get("requests"))) or names
    match, distinct = text(constraint.get("matchAttribute")), text(constraint.get("distinctAttribute"))
    if match and set(scope) == set(names) and "align" not in values:
        values["align"] = _SHORT_ALIGN.get(match, match)
    elif distinct and scope == names[:1] and "spread" not in values:
        values["spread"] = _SHORT_ALIGN.get(distinct, distinct)
    else:
        raise _no_word(path, "this constraint")


def _read_config(values: dict[str, Any], config: Mapping[str, Any], path: str) -> None:
    sharing = mapping(mapping(mapping(config.get("opaque")).get("parameters")).get("sharing"))
    strategy = {"TimeSlicing": "time-slicing", "MPS": "mps"}.get(text(sharing.get("strategy")))
    if strategy is None or "share" in values:
        raise _no_word(path, "this driver configuration")
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
