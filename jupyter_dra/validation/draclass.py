"""Rules for DeviceClass and DeviceTaintRule. Follows ``pkg/apis/resource/validation/validation.go``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from jupyter_dra.model import limits
from jupyter_dra.model.names import dns_label_problems, label_key_problems
from jupyter_dra.validation.draclaim import check_list, validate_config, validate_selectors, validate_taint
from jupyter_dra.validation.dranames import check_driver_name, check_pool_name
from jupyter_dra.validation.fielderrors import Report
from jupyter_dra.validation.paths import Path, root

Struct = Mapping[str, Any]
_NATIVE = re.compile(r"(^[^/]*$)|(^|.*\.)kubernetes\.io/")


def is_extended_resource(name: str) -> bool:
    """Whether a name is an extended resource: qualified, outside kubernetes.io, usable in quotas."""
    if _NATIVE.search(name.partition("/")[0] + "/" if "/" in name else name) or name.startswith("requests."):
        return False
    return not label_key_problems(f"requests.{name}")


def validate_class(report: Report, obj: Struct, old: Struct | None = None) -> None:
    """The spec of a DeviceClass; unchanged selectors are not compiled again."""
    spec, path = obj.get("spec") or {}, root("spec")
    before = (old or {}).get("spec") or {}
    selectors = spec.get("selectors") or []
    if old is None or selectors != (before.get("selectors") or []):
        validate_selectors(report, selectors, path.child("selectors"))
    check_list(
        report,
        spec.get("config") or [],
        limits.CLASS_CONFIG_MAX,
        path.child("config"),
        lambda entry, at: validate_config(report, entry, at),
    )
    name = spec.get("extendedResourceName")
    if name is not None and not is_extended_resource(name):
        where = path.child("extendedResourceName")
        if report.minor >= 37:
            _extended_resource_errors(report, name, where)
        else:
            report.invalid(where, name, "must be a valid extended resource name")


def _extended_resource_errors(report: Report, name: str, path: Path) -> None:
    """The declarative form of the rule (``k8s-extended-resource-name``) says which part is wrong."""
    details: list[str] = []
    if "/" not in name:
        details.append("a name must be a domain-prefixed path, such as 'example.com/my-prop'")
    elif name.startswith("requests."):
        details.append('must not have "requests." prefix')
    elif name.partition("/")[0] == "kubernetes.io" or name.partition("/")[0].endswith(".kubernetes.io"):
        details.append('must not have "kubernetes.io/" domain')
    if name:
        details += label_key_problems(name)
    else:
        details += label_key_problems(name)[1:]  # the declarative rule skips the remark about emptiness
    report.problems(path, name, details, declarative=True)


def validate_taint_rule(report: Report, obj: Struct) -> None:
    """Selector and taint of a DeviceTaintRule."""
    spec, path = obj.get("spec") or {}, root("spec")
    selector = spec.get("deviceSelector")
    if selector is not None:
        where = path.child("deviceSelector")
        if selector.get("driver") is not None:
            check_driver_name(report, selector["driver"], where.child("driver"))
        if selector.get("pool") is not None:
            check_pool_name(report, selector["pool"], where.child("pool"))
        if selector.get("device") is not None:
            report.problems(where.child("device"), selector["device"], dns_label_problems(selector["device"]))
    validate_taint(report, spec.get("taint") or {}, path.child("taint"))
