"""What a check says: findings, each with its place, its reason and its way out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from jupyter_dra.errors import ObjectRef

ERROR, WARNING, HINT = "error", "warning", "hint"
SEVERITIES = (ERROR, WARNING, HINT)


@dataclass(frozen=True, slots=True)
class ServerText:
    """How the API server would say it: HTTP status and message."""

    status: int
    text: str

    def as_dict(self) -> dict[str, Any]:
        return {"status": self.status, "text": self.text}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, risky or worth knowing.

    ``document`` counts from 0, ``item`` is the place in a List or profile list, line and column count from 1.
    ``steps`` is the path as keys and indices. ``repair`` names the automatic repair, if there is one.
    """

    code: str
    severity: str
    message: str
    path: str = ""
    why: str | None = None
    fix: str | None = None
    server: ServerText | None = None
    file: str | None = None
    document: int = 0
    item: int | None = None
    object: ObjectRef | None = None
    line: int | None = None
    column: int | None = None
    steps: tuple[str | int, ...] = ()
    repair: Any = field(default=None, compare=False)

    def as_dict(self) -> dict[str, Any]:
        """The finding as the contract (2.2) has it."""
        return {
            "code": self.code,
            "severity": self.severity,
            "file": self.file,
            "document": self.document,
            "item": self.item,
            "object": self.object.as_dict() if self.object is not None else None,
            "path": self.path,
            "line": self.line,
            "column": self.column,
            "message": self.message,
            "why": self.why,
            "server": self.server.as_dict() if self.server is not None else None,
            "fix": self.fix,
        }


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """What a live API server said to a dry run of one document; the caller asks, the checker only compares."""

    document: int
    accepted: bool
    status: int
    text: str | None = None
    item: int | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "document": self.document,
            "item": self.item,
            "accepted": self.accepted,
            "status": self.status,
            "text": self.text,
        }


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The outcome of a check.

    ``fixed`` is the mended text, or a mapping from file to text; None when no repair was asked for. ``undecided`` are
    the findings a person must settle, ``repaired`` those of the given text that are gone in the mended one; then
    ``findings`` are what is left. ``target`` is the Kubernetes minor version judged for.
    """

    findings: tuple[Finding, ...]
    documents: int
    target: str
    devices_needed: int | None = 0
    fixed: str | Mapping[str, str] | None = None
    undecided: tuple[Finding, ...] = ()
    server_says: tuple[ServerAnswer, ...] | None = None
    repaired: tuple[Finding, ...] = ()

    @property
    def clean(self) -> bool:
        """No errors; after a repair: none in the mended text, and nothing left to decide."""
        if self.undecided:
            return False
        return not any(finding.severity == ERROR for finding in self.findings)

    @property
    def differs(self) -> bool | None:
        """Whether a live server judged any document differently; None when none was asked."""
        if self.server_says is None:
            return None
        # The server judged the text as it came, so what was mended counts too.
        judged = (*self.findings, *self.repaired)
        refused = {(f.document, f.item) for f in judged if f.server is not None}
        return any(
            answer.accepted == ((answer.document, answer.item) in refused) for answer in self.server_says
        )

    def count(self, severity: str) -> int:
        return sum(finding.severity == severity for finding in self.findings)

    def with_server(self, answers: Sequence[ServerAnswer]) -> CheckResult:
        """The same result beside what a live server said."""
        return replace(self, server_says=tuple(answers))

    def as_dict(self) -> dict[str, Any]:
        """The result as the contract (2.2) has it."""
        result: dict[str, Any] = {
            "kind": "CheckResult",
            "version": 1,
            "clean": self.clean,
            "target": self.target,
            "summary": {
                "documents": self.documents,
                "errors": self.count(ERROR),
                "warnings": self.count(WARNING),
                "hints": self.count(HINT),
                "devices_needed": self.devices_needed,
            },
            "findings": [finding.as_dict() for finding in self.findings],
            "fixed": dict(self.fixed) if isinstance(self.fixed, Mapping) else self.fixed,
            "undecided": [finding.as_dict() for finding in self.undecided],
            "repaired": [finding.as_dict() for finding in self.repaired],
        }
        if self.server_says is not None:
            result["server_says"] = [answer.as_dict() for answer in self.server_says]
            result["differs"] = self.differs
        return result
