"""Names in resource.k8s.io: drivers, pools, attribute and capacity keys, with the server's error types.

Follows ``k8s.io/kubernetes/pkg/apis/resource/validation/validation.go``.
"""

from __future__ import annotations

from typing import Any

from jupyter_dra.model import limits
from jupyter_dra.model.names import c_identifier_problems, dns_subdomain_problems
from jupyter_dra.validation.fielderrors import TOO_LONG, Report
from jupyter_dra.validation.paths import Path

_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
CASELESS = (
    "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an "
    f"alphanumeric character (e.g. 'Example.com', regex used for validation is '{_SUBDOMAIN}')"
)


def check_driver_name(report: Report, name: str, path: Path, **more: Any) -> None:
    """A driver name, or the domain of a qualified name.

    Where 1.37 checks it declaratively, the same rule has other words.
    """
    if not name:
        report.required(path, **more)
        return
    if more.get("declarative") and report.minor >= 37:
        if len(name.encode()) > limits.DRIVER_NAME_MAX:
            text = f"may not be more than {limits.DRIVER_NAME_MAX} characters"
            report.add(path, TOO_LONG, text, "<value omitted>", **more)
        if dns_subdomain_problems(name.lower()):
            report.invalid(path, name, CASELESS, **more)
        return
    if len(name.encode()) > limits.DRIVER_NAME_MAX:
        report.too_long(path, limits.DRIVER_NAME_MAX, **more)
    report.problems(path, name, dns_subdomain_problems(name.lower()), **more)


def check_pool_name(report: Report, name: str, path: Path, **more: Any) -> None:
    if not name:
        report.required(path, **more)
        return
    if len(name.encode()) > limits.POOL_NAME_MAX:
        report.too_long(path, limits.POOL_NAME_MAX, **more)
    for part in name.split("/"):
        report.problems(path, part, dns_subdomain_problems(part), **more)


def check_qualified_name(report: Report, name: str, path: Path, **more: Any) -> None:
    """``[domain/]id``. Like the server, a name with two slashes passes unseen."""
    parts = name.split("/")
    if len(parts) == 1:
        _check_identifier(report, parts[0], path, **more)
    elif len(parts) == 2:
        domain, identifier = parts
        if domain:
            check_driver_name(report, domain, path, **more)
        else:
            report.invalid(path, "", "the domain must not be empty", **more)
        if identifier:
            _check_identifier(report, identifier, path, **more)
        else:
            report.invalid(path, "", "the name must not be empty", **more)


def check_full_name(report: Report, name: str, path: Path) -> None:
    """``domain/id``, as constraints want it."""
    if report.minor >= 37 and name.count("/") == 1:
        domain, _, identifier = name.partition("/")
        _check_parts(report, domain, identifier, path)
        return
    check_qualified_name(report, name, path, declarative=True)
    if "/" not in name:
        text = "a fully qualified name must be a domain and a name separated by a slash"
        report.invalid(path, name, text, declarative=True)


def _check_parts(report: Report, domain: str, identifier: str, path: Path) -> None:
    """The declarative form of the rule, which does not lower the domain's case."""
    if not domain:
        report.invalid(path, "", "prefix must not be empty", declarative=True)
    else:
        if len(domain.encode()) > limits.QUALIFIED_DOMAIN_MAX:
            report.too_long(path, limits.QUALIFIED_DOMAIN_MAX, declarative=True)
        details = [f"prefix: {problem}" for problem in dns_subdomain_problems(domain)]
        report.problems(path, domain, details, declarative=True)
    if not identifier:
        report.invalid(path, "", "name must not be empty", declarative=True)
    else:
        _check_identifier(report, identifier, path, declarative=True)


def _check_identifier(report: Report, identifier: str, path: Path, **more: Any) -> None:
    if len(identifier.encode()) > limits.QUALIFIED_ID_MAX:
        report.too_long(path, limits.QUALIFIED_ID_MAX, **more)
    report.problems(
        path, identifier, c_identifier_problems(identifier, max_length=len(identifier.encode())), **more
    )
