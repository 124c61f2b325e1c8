"""Rules for node selectors. Follows ``k8s.io/kubernetes/pkg/apis/core/validation/validation.go``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jupyter_dra.model.names import dns_subdomain_problems, label_value_problems
from jupyter_dra.validation.fielderrors import Report
from jupyter_dra.validation.metadata import validate_label_key
from jupyter_dra.validation.paths import Path

Struct = Mapping[str, Any]
NO_OPERATOR = "not a valid selector operator"


def validate_node_selector(report: Report, selector: Struct, path: Path) -> None:
    """``nodeSelectorTerms`` with their expressions and fields."""
    terms = selector.get("nodeSelectorTerms") or []
    where = path.child("nodeSelectorTerms")
    if not terms:
        report.required(where, "must have at least one node selector term")
    for index, term in enumerate(terms):
        validate_node_term(report, term, where.index(index))


def validate_node_term(report: Report, term: Struct, path: Path) -> None:
    for index, entry in enumerate(term.get("matchExpressions") or ()):
        _validate_expression(report, entry, path.child("matchExpressions").index(index))
    for index, entry in enumerate(term.get("matchFields") or ()):
        _validate_field(report, entry, path.child("matchFields").index(index))


def _validate_expression(report: Report, entry: Struct, path: Path) -> None:
    operator, values = entry.get("operator") or "", entry.get("values") or []
    where = path.child("values")
    if operator in {"In", "NotIn"}:
        if not values:
            report.required(where, "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in {"Exists", "DoesNotExist"}:
        if values:
            report.forbidden(where, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif operator in {"Gt", "Lt"}:
        if len(values) != 1:
            report.required(where, "must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        report.invalid(path.child("operator"), operator, NO_OPERATOR)
    validate_label_key(report, entry.get("key") or "", path.child("key"))
    for index, value in enumerate(values):
        report.problems(where.index(index), value, label_value_problems(value))


def _validate_field(report: Report, entry: Struct, path: Path) -> None:
    operator, values = entry.get("operator") or "", entry.get("values") or []
    if operator in {"In", "NotIn"}:
        if len(values) != 1:
            text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            report.required(path.child("values"), text)
    else:
        report.invalid(path.child("operator"), operator, NO_OPERATOR)
    if entry.get("key") != "metadata.name":
        report.invalid(path.child("key"), entry.get("key") or "", "not a valid field selector key")
        return
    for index, value in enumerate(values):
        report.problems(path.child("values").index(index), value, dns_subdomain_problems(value))
