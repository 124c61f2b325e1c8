"""Rules for ResourceClaim, ResourceClaimTemplate and DeviceClass specs.

Follows ``k8s.io/kubernetes/pkg/apis/resource/validation/validation.go`` and the declarative rules of
``pkg/apis/resource/v1/zz_generated.validations.go``. Objects are decoded, defaulted and in v1 shape.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jupyter_dra.model import limits
from jupyter_dra.model.names import dns_label_problems, dns_subdomain_problems, label_value_problems
from jupyter_dra.validation.dranames import check_driver_name, check_full_name
from jupyter_dra.validation.fielderrors import Report
from jupyter_dra.validation.metadata import validate_label_key
from jupyter_dra.validation.paths import Path
from jupyter_dra.validation.selectors import check_expression

Struct = Mapping[str, Any]
EFFECTS = ("NoExecute", "NoSchedule", "None")
NO_SUCH_REQUEST = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)
TWO_ATTRIBUTES = (
    'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
)


class RequestNames:
    """The request names constraints, config and results may refer to."""

    def __init__(self, requests: Sequence[Struct]) -> None:
        self._names = {
            request.get("name") or "": {
                entry.get("name") or "" for entry in request.get("firstAvailable") or ()
            }
            for request in requests
        }

    def __contains__(self, reference: str) -> bool:
        name, slash, alternative = reference.partition("/")
        if name not in self._names:
            return False
        return not slash or alternative in self._names[name]


def validate_claim_spec(report: Report, spec: Struct, path: Path) -> None:
    """Requests, constraints and config of a claim."""
    devices = spec.get("devices") or {}
    where = path.child("devices")
    requests = devices.get("requests") or []
    names = RequestNames(requests)
    check_set(
        report,
        requests,
        limits.REQUESTS_MAX,
        where.child("requests"),
        lambda entry, at: _validate_request(report, entry, at),
        key=lambda entry: entry.get("name") or "",
        bad_value=_duplicate_request,
    )
    check_list(
        report,
        devices.get("constraints") or [],
        limits.CONSTRAINTS_MAX,
        where.child("constraints"),
        lambda entry, at: _validate_constraint(report, entry, at, names),
    )
    check_list(
        report,
        devices.get("config") or [],
        limits.CLAIM_CONFIG_MAX,
        where.child("config"),
        lambda entry, at: validate_claim_config(report, entry, at, names),
    )


def _duplicate_request(report: Report, entry: Struct) -> Any:
    # 1.37 checks uniqueness declaratively and shows the whole entry, in the order of the Go struct.
    return go_ordered(entry) if report.minor >= 37 else entry.get("name") or ""


GO_ORDER = [
    "name",
    "exactly",
    "firstAvailable",
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
]


def go_ordered(value: Any) -> Any:
    """A request with its fields in the order of the Go struct, for dumps in messages."""
    if isinstance(value, Mapping):
        known = [name for name in GO_ORDER if name in value]
        rest = [name for name in value if name not in GO_ORDER]
        return {name: go_ordered(value[name]) for name in known + rest}
    return [go_ordered(entry) for entry in value] if isinstance(value, list) else value


def check_list(
    report: Report,
    entries: Sequence[Any],
    limit: int,
    path: Path,
    check: Callable[[Any, Path], None],
    *,
    declarative: bool = True,
) -> bool:
    """Check the length of a list, then each entry; a list that is too long is not looked into."""
    if len(entries) > limit:
        report.too_many(path, len(entries), limit, declarative=declarative)
        return False
    for index, entry in enumerate(entries):
        check(entry, path.index(index))
    return True


def check_set(
    report: Report,
    entries: Sequence[Any],
    limit: int,
    path: Path,
    check: Callable[[Any, Path], None],
    *,
    key: Callable[[Any], Any] = lambda entry: entry,
    bad_value: Callable[[Report, Any], Any] | None = None,
    declarative: bool = True,
) -> None:
    """Like check_list, and every entry's key may appear once."""
    # Declarative validation looks at uniqueness before it looks into the entries.
    first = declarative and report.minor >= 37 and len(entries) <= limit
    if first:
        _check_unique(report, entries, path, key, bad_value, declarative)
    if check_list(report, entries, limit, path, check, declarative=declarative) and not first:
        _check_unique(report, entries, path, key, bad_value, declarative)


def _check_unique(
    report: Report,
    entries: Sequence[Any],
    path: Path,
    key: Callable[[Any], Any],
    bad_value: Callable[[Report, Any], Any] | None,
    declarative: bool,
) -> None:
    seen: set[Any] = set()
    for index, entry in enumerate(entries):
        name = key(entry)
        if name in seen:
            value = name if bad_value is None else bad_value(report, entry)
            report.duplicate(path.index(index), value, declarative=declarative)
        seen.add(name)


def check_name(report: Report, name: str, path: Path, **more: Any) -> None:
    report.problems(path, name, dns_label_problems(name), **more)


def _validate_request(report: Report, request: Struct, path: Path) -> None:
    check_name(report, request.get("name") or "", path.child("name"))
    exactly, alternatives = request.get("exactly"), request.get("firstAvailable") or []
    if exactly is None and not alternatives:
        report.required(path, "exactly one of `exactly` or `firstAvailable` is required", rule="request-kind")
    elif exactly is not None and alternatives:
        text = "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set"
        report.invalid(path, None, text, rule="request-kind")
    elif exactly is not None:
        _validate_device_wish(report, exactly, path.child("exactly"))
    else:
        check_set(
            report,
            alternatives,
            limits.FIRST_AVAILABLE_MAX,
            path.child("firstAvailable"),
            lambda entry, at: _validate_alternative(report, entry, at),
            key=lambda entry: entry.get("name") or "",
            bad_value=_duplicate_request,
        )


def _validate_alternative(report: Report, entry: Struct, path: Path) -> None:
    check_name(report, entry.get("name") or "", path.child("name"))
    _validate_device_wish(report, entry, path, class_is_declarative=True)


def _validate_device_wish(
    report: Report, wish: Struct, path: Path, *, class_is_declarative: bool = False
) -> None:
    class_name = wish.get("deviceClassName") or ""
    where = path.child("deviceClassName")
    if not class_name:
        report.required(where, declarative=class_is_declarative)
    else:
        report.problems(
            where, class_name, dns_subdomain_problems(class_name), declarative=class_is_declarative
        )
    validate_selectors(report, wish.get("selectors") or [], path.child("selectors"))
    _validate_count(report, wish, path)
    # The documented limit of 16 tolerations is not enforced by any release up to 1.37.
    for index, entry in enumerate(wish.get("tolerations") or ()):
        validate_toleration(report, entry, path.child("tolerations").index(index))


def _validate_count(report: Report, wish: Struct, path: Path) -> None:
    mode, count = wish.get("allocationMode") or "", wish.get("count") or 0
    if mode == "All":
        if count:
            text = "must not be specified when allocationMode is 'All'"
            report.invalid(path.child("count"), count, text)
    elif mode == "ExactCount":
        if count <= 0:
            report.invalid(path.child("count"), count, "must be greater than zero")
    else:
        supported = ("All", "ExactCount")
        report.not_supported(path.child("allocationMode"), mode, supported, declarative=True)


def validate_selectors(report: Report, selectors: Sequence[Struct], path: Path) -> None:
    """CEL selectors of a class, request or alternative."""
    check_list(
        report, selectors, limits.CEL_SELECTORS_MAX, path, lambda entry, at: _selector(report, entry, at)
    )


def _selector(report: Report, selector: Struct, path: Path) -> None:
    cel = selector.get("cel")
    if cel is None:
        report.required(path.child("cel"))
    else:
        check_expression(report, cel.get("expression") or "", path.child("cel", "expression"))


def _validate_constraint(report: Report, constraint: Struct, path: Path, names: RequestNames) -> None:
    _validate_references(report, constraint.get("requests") or [], path.child("requests"), names)
    match, distinct = constraint.get("matchAttribute"), constraint.get("distinctAttribute")
    if match is not None:
        check_full_name(report, match, path.child("matchAttribute"))
    elif distinct is not None:
        check_full_name(report, distinct, path.child("distinctAttribute"))
    elif report.minor >= 36:
        report.required(path, TWO_ATTRIBUTES)
    else:
        report.required(path.child("matchAttribute"))


def _validate_references(report: Report, references: Sequence[str], path: Path, names: RequestNames) -> None:
    check_set(
        report,
        references,
        limits.REQUESTS_MAX,
        path,
        lambda reference, at: validate_reference(report, reference, at, names),
    )


def validate_reference(report: Report, reference: str, path: Path, names: RequestNames) -> None:
    """A request name, or ``request/alternative``."""
    segments = reference.split("/")
    if len(segments) > 2:
        report.invalid(path, reference, NO_SUCH_REQUEST, rule="request-reference")
        return
    for segment in segments:
        check_name(report, segment, path)
    if reference not in names:
        report.invalid(path, reference, NO_SUCH_REQUEST, rule="request-reference")


def validate_claim_config(report: Report, config: Struct, path: Path, names: RequestNames) -> None:
    """One entry of a claim's (or allocation's) config."""
    _validate_references(report, config.get("requests") or [], path.child("requests"), names)
    validate_config(report, config, path)


def validate_config(report: Report, config: Struct, path: Path) -> None:
    """The opaque driver configuration of a class or claim."""
    opaque = config.get("opaque")
    if opaque is None:
        report.required(path.child("opaque"))
        return
    where = path.child("opaque")
    check_driver_name(report, opaque.get("driver") or "", where.child("driver"), declarative=True)
    check_raw_object(
        report, opaque.get("parameters"), where.child("parameters"), limits.OPAQUE_PARAMETERS_MAX
    )


def check_raw_object(report: Report, value: Any, path: Path, limit: int) -> None:
    """Free-form data that must be a JSON object of limited size."""
    if value is None:
        report.required(path)
    elif len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()) > limit:
        report.too_long(path, limit)
    elif not isinstance(value, Mapping):
        report.invalid(path, "<value omitted>", "must be a valid JSON object")


def validate_toleration(report: Report, toleration: Struct, path: Path) -> None:
    """A toleration of device taints."""
    key, value = toleration.get("key") or "", toleration.get("value") or ""
    operator, effect = toleration.get("operator") or "", toleration.get("effect") or ""
    if key:
        validate_label_key(report, key, path.child("key"), declarative=True)
    if operator == "Exists":
        if value:
            report.invalid(path.child("value"), value, "must be empty for operator `Exists`")
    elif operator == "Equal":
        report.problems(path.child("value"), value, label_value_problems(value))
    elif not operator:
        report.required(path.child("operator"), declarative=True)
    else:
        report.not_supported(path.child("operator"), operator, ("Equal", "Exists"), declarative=True)
    if effect and effect not in EFFECTS:
        report.not_supported(path.child("effect"), effect, EFFECTS, declarative=True)


def validate_taint(report: Report, taint: Struct, path: Path) -> None:
    """A taint of a device or a DeviceTaintRule."""
    validate_label_key(report, taint.get("key") or "", path.child("key"))
    value, effect = taint.get("value") or "", taint.get("effect") or ""
    if value:
        report.problems(path.child("value"), value, label_value_problems(value))
    if not effect:
        report.required(path.child("effect"), declarative=True)
    elif effect not in EFFECTS:
        report.not_supported(path.child("effect"), effect, EFFECTS, declarative=True)
