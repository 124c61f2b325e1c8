"""Field errors: the sentences of a 422, in the API server's order and spelling.

Follows ``k8s.io/apimachinery/pkg/util/validation/field``. Since 1.37 part of the rules run as declarative
validation after the others (``k8s.io/apiserver/pkg/registry/rest/validate.go``); ``declarative`` marks them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jupyter_dra.validation.gotime import quote
from jupyter_dra.validation.paths import Path
from jupyter_dra.validation.schemas import Kind, minor_of

REQUIRED = "Required value"
INVALID = "Invalid value"
DUPLICATE = "Duplicate value"
NOT_FOUND = "Not found"
NOT_SUPPORTED = "Unsupported value"
FORBIDDEN = "Forbidden"
TOO_LONG = "Too long"
TOO_MANY = "Too many"
INTERNAL = "Internal error"

CAUSES = {
    REQUIRED: "FieldValueRequired",
    INVALID: "FieldValueInvalid",
    DUPLICATE: "FieldValueDuplicate",
    NOT_FOUND: "FieldValueNotFound",
    NOT_SUPPORTED: "FieldValueNotSupported",
    FORBIDDEN: "FieldValueForbidden",
    TOO_LONG: "FieldValueTooLong",
    TOO_MANY: "FieldValueTooMany",
    INTERNAL: "InternalError",
}
_WITHOUT_VALUE = {REQUIRED, FORBIDDEN, TOO_LONG, INTERNAL}
IMMUTABLE = "field is immutable"


@dataclass(frozen=True, slots=True)
class FieldError:
    """One refused field.

    ``type`` is the server's words (``Invalid value``, ``Required value``, …); ``rule`` is our own short name of
    the broken rule where one text serves several, else None.
    """

    path: str
    type: str
    detail: str = ""
    bad_value: Any = None
    steps: tuple[str | int, ...] = ()
    declarative: bool = False
    rule: str | None = None

    def body(self) -> str:
        """The sentence without the path."""
        text = self.type
        if self.type not in _WITHOUT_VALUE:
            text += f": {show(self.bad_value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def text(self) -> str:
        """The sentence as it stands in the server's message."""
        return f"{self.path}: {self.body()}"

    def cause(self) -> dict[str, str]:
        """The entry of ``status.details.causes``."""
        return {"reason": CAUSES[self.type], "message": self.body(), "field": self.path}


def show(value: Any) -> str:
    """A bad value as Go prints it: texts quoted, everything else as JSON."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


@dataclass(slots=True)
class Report:
    """Collects field errors in the order they are found; ``target`` is the Kubernetes minor version."""

    target: str = "1.37"
    errors: list[FieldError] = field(default_factory=list)

    @property
    def minor(self) -> int:
        return minor_of(self.target)

    def add(self, path: Path, type: str, detail: str = "", value: Any = None, **more: Any) -> None:
        self.errors.append(FieldError(path.text, type, detail, value, path.steps, **more))

    def required(self, path: Path, detail: str = "", **more: Any) -> None:
        self.add(path, REQUIRED, detail, "", **more)

    def invalid(self, path: Path, value: Any, detail: str, **more: Any) -> None:
        self.add(path, INVALID, detail, value, **more)

    def forbidden(self, path: Path, detail: str, **more: Any) -> None:
        self.add(path, FORBIDDEN, detail, "", **more)

    def duplicate(self, path: Path, value: Any, **more: Any) -> None:
        self.add(path, DUPLICATE, "", value, **more)

    def not_found(self, path: Path, value: Any, detail: str = "", **more: Any) -> None:
        self.add(path, NOT_FOUND, detail, value, **more)

    def not_supported(self, path: Path, value: Any, supported: Sequence[str], **more: Any) -> None:
        detail = "supported values: " + ", ".join(quote(entry) for entry in supported) if supported else ""
        self.add(path, NOT_SUPPORTED, detail, value, **more)

    def too_long(self, path: Path, limit: int, **more: Any) -> None:
        unit = "byte" if limit == 1 else "bytes"
        self.add(path, TOO_LONG, f"may not be more than {limit} {unit}", "<value omitted>", **more)

    def too_many(self, path: Path, count: int, limit: int, **more: Any) -> None:
        unit = "item" if limit == 1 else "items"
        self.add(path, TOO_MANY, f"must have at most {limit} {unit}", count, **more)

    def problems(self, path: Path, value: Any, details: Iterable[str], **more: Any) -> None:
        """Several invalid-value sentences about one field."""
        for detail in details:
            self.invalid(path, value, detail, **more)

    def immutable(self, path: Path, new: Any, old: Any, **more: Any) -> None:
        """Refuse a changed field."""
        if new != old:
            self.invalid(path, new, IMMUTABLE, **more)

    def ordered(self) -> list[FieldError]:
        """All errors as the server lists them: since 1.37 the declarative ones follow the rest."""
        if self.minor < 37:
            return list(self.errors)
        return sorted(self.errors, key=lambda error: error.declarative)


def join(texts: Sequence[str]) -> str:
    """Several sentences as one, the way Go's aggregate error writes them: each once, in brackets if several."""
    unique = list(dict.fromkeys(texts))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"


def status_text(kind: str, group: str, name: str, errors: Sequence[FieldError]) -> str:
    """The message of a 422: ``ResourceClaim.resource.k8s.io "x" is invalid: …``."""
    qualified = f"{kind}.{group}" if group else kind
    return f"{qualified} {quote(name)} is invalid: {join([error.text() for error in errors])}"


def status(
    kind: Kind, name: str, errors: Sequence[FieldError], *, uid: str | None = None
) -> Mapping[str, Any]:
    """The whole Status object of a 422."""
    details: dict[str, Any] = {"name": name, "group": kind.group, "kind": kind.kind}
    if uid is not None:
        details["uid"] = uid
    if not kind.group:
        del details["group"]
    details["causes"] = [error.cause() for error in errors]
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": status_text(kind.kind, kind.group, name, errors),
        "reason": "Invalid",
        "details": details,
        "code": 422,
    }
