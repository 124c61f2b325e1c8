"""What the doctor reports: findings, each with its fix and who can do it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

Severity = Literal["error", "warning", "hint"]
_ORDER = {"error": 0, "warning": 1, "hint": 2}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong or could be better; ``who`` can mend it: you or admin."""

    code: str
    severity: Severity
    area: str
    message: str
    fix: str
    who: Literal["you", "admin"] = "admin"

    def as_dict(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "severity": self.severity,
            "area": self.area,
            "message": self.message,
            "fix": self.fix,
            "who": self.who,
        }


@dataclass(frozen=True, slots=True)
class Report:
    """The doctor's answer.

    Attributes:
        missing: what the DRA part of Kubernetes AI Conformance asks for and this cluster lacks.
    """

    findings: tuple[Finding, ...]
    missing: tuple[str, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def good(self) -> bool:
        """No error and no warning; hints do not count."""
        return all(finding.severity == "hint" for finding in self.findings)

    def as_dict(self) -> dict[str, Any]:
        return {
            "kind": "DoctorReport",
            "version": 1,
            "good": self.good,
            "findings": [finding.as_dict() for finding in self.findings],
            "conformance": {"met": not self.missing, "missing": list(self.missing)},
            "facts": dict(self.facts),
        }


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Errors first; the order of the checks otherwise."""
    return tuple(sorted(findings, key=lambda finding: _ORDER[finding.severity]))
