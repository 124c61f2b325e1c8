"""Request policies of consumable capacity. Follows ``pkg/apis/resource/validation/validation.go``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jupyter_dra.model import limits
from jupyter_dra.model.quantity import Quantity
from jupyter_dra.validation.draclaim import check_set
from jupyter_dra.validation.fielderrors import Report
from jupyter_dra.validation.paths import Path

Struct = Mapping[str, Any]
INT64_MAX = 2**63 - 1


def validate_capacity(report: Report, capacity: Struct, path: Path, *, shared: bool) -> None:
    """One capacity entry of a device; policies are for devices that several claims may share."""
    policy = capacity.get("requestPolicy")
    if policy is None:
        return
    where = path.child("requestPolicy")
    if not shared:
        report.forbidden(where, "allowMultipleAllocations must be true")
        return
    total = Quantity.parse(capacity.get("value") or "0")
    values, span = policy.get("validValues") or [], policy.get("validRange")
    if values and span is not None:
        text = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
        report.forbidden(where, text)
    elif values or span is not None:
        kind = "validValues" if values else "validRange"
        if policy.get("default") is None:
            report.required(where.child("default"), f"required when {kind} is defined")
            return
        default = Quantity.parse(policy["default"])
        if values:
            _validate_values(report, default, total, [Quantity.parse(v) for v in values], where.child(kind))
        else:
            _validate_range(report, default, total, span or {}, where.child(kind))


def _validate_values(
    report: Report, default: Quantity, total: Quantity, values: Sequence[Quantity], path: Path
) -> None:
    for index in range(1, len(values)):
        if values[index - 1] > values[index]:
            text = "values must be sorted in ascending order"
            report.invalid(path.index(index), values[index].canonical(), text)

    def check(value: Quantity, at: Path) -> None:
        if value > total:
            text = f"option is larger than capacity value: {total.canonical()}"
            report.invalid(at, value.canonical(), text)

    check_set(
        report,
        values,
        limits.CAPACITY_VALID_VALUES_MAX,
        path,
        check,
        key=lambda value: -(-value.nanos // 10**9),
        bad_value=lambda _, value: str(-(-value.nanos // 10**9)),
        declarative=False,
    )
    # A list that is too long is not looked into, so its default counts as not found.
    if len(values) > limits.CAPACITY_VALID_VALUES_MAX or default not in values:
        text = "default value is not valid according to the requestPolicy"
        report.invalid(path, default.canonical(), text)


def _validate_range(report: Report, default: Quantity, total: Quantity, span: Struct, path: Path) -> None:
    if span.get("min") is None:
        report.required(path.child("min"), "required when validRange is defined")
        return
    low = Quantity.parse(span["min"])
    high = Quantity.parse(span["max"]) if span.get("max") is not None else None
    step = Quantity.parse(span["step"]) if span.get("step") is not None else None

    def refuse(name: str, value: Quantity, text: str) -> None:
        report.invalid(path.child(name), value.canonical(), text)

    if low > total:
        refuse("min", low, f"min is larger than capacity value: {total.canonical()}")
    if default < low:
        refuse("default", default, f"default is less than min: {low.canonical()}")
    if high is not None:
        if low > high:
            refuse("max", low, f"min is larger than max: {high.canonical()}")
        if high > total:
            refuse("max", high, f"max is larger than capacity value: {total.canonical()}")
        if default > high:
            refuse("default", default, f"default is more than max: {high.canonical()}")
    named = {"default": default, "min": low, "max": high, "step": step}
    _validate_step(report, named, total, path)


def _validate_step(report: Report, named: Mapping[str, Quantity | None], total: Quantity, path: Path) -> None:
    """The step must lead from the minimum to the default and the maximum."""
    given = {name: value for name, value in named.items() if value is not None}
    step = given.get("step")
    if step is None:
        return
    if step.nanos <= 0:
        report.invalid(path.child("step"), step.canonical(), "must be greater than zero")
        return
    low = given["min"]
    if low.nanos + step.nanos > total.nanos:
        text = f"one step {(low + step).canonical()} is larger than capacity value: {total.canonical()}"
        report.invalid(path.child("step"), step.canonical(), text)
    if not _fit_int64(report, given, path):
        return
    # Whole units, rounded up: fractions need the gate DRAFractionalCapacityRange, off by default up to 1.37
    # (it asks for a minimum compatibility version of 1.37).
    for name in ("default", "max"):
        value = given.get(name)
        if value is not None and (value.bytes - low.bytes) % step.bytes:
            text = f"value is not a multiple of a given step ({step.canonical()}) from ({low.canonical()})"
            report.invalid(path.child("step"), value.canonical(), text)


def _fit_int64(report: Report, given: Mapping[str, Quantity], path: Path) -> bool:
    fine = True
    for name, value in given.items():
        if value.nanos < 0:
            text = "must be greater than or equal to 0"
        elif value.nanos > INT64_MAX * 10**9:
            text = f"must not be larger than {INT64_MAX}"
        else:
            continue
        report.invalid(path.child(name), value.canonical(), text)
        fine = False
    return fine
