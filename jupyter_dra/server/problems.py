"""Errors as ``application/problem+json`` (RFC 9457), in one place."""

from __future__ import annotations

from typing import Any

from ..errors import (
    BudgetExceeded,
    ClusterError,
    ConflictError,
    DRAError,
    InputError,
    NotFoundError,
    RefusedError,
    SessionEnded,
)

TYPE_PREFIX = "https://jupyter-dra.dev/problems/"
_STATUS: tuple[tuple[type[DRAError], int, str], ...] = (
    (InputError, 422, "This cannot be used as it is"),
    (RefusedError, 403, "Not allowed"),
    (ConflictError, 409, "Not possible now"),
    (NotFoundError, 404, "There is no such thing"),
    (ClusterError, 503, "The cluster cannot be used"),
    (BudgetExceeded, 503, "Too much to work out in time"),
    (SessionEnded, 409, "The session ended"),
)
_PLAIN = {
    400: ("bad-request", "The request cannot be read"),
    403: ("forbidden", "Not allowed"),
    404: ("not-found", "There is no such thing"),
    405: ("method-not-allowed", "This cannot be done here"),
    413: ("too-large", "Too much at once"),
    415: ("json-only", "JSON only"),
}


def problem_of(error: DRAError) -> dict[str, Any]:
    """The problem document of one of our errors; ``status`` is the HTTP status."""
    status, title = next(
        ((s, t) for kind, s, t in _STATUS if isinstance(error, kind)), (500, "Something went wrong")
    )
    return {
        "type": TYPE_PREFIX + error.code,
        "title": title,
        "status": status,
        "detail": error.message,
        "code": error.code,
        "object": error.object.as_dict() if error.object else None,
        "path": error.path,
        "next": error.next_step,
        "params": error.params,
        "message": error.message,
    }


def plain_problem(status: int, detail: str | None = None) -> dict[str, Any]:
    """The problem document of a bare HTTP status; never tells inner details of an unexpected failure."""
    code, title = _PLAIN.get(status, ("error", "Something went wrong"))
    text = detail or (title + ".")
    return {
        "type": TYPE_PREFIX + code,
        "title": title,
        "status": status,
        "detail": text,
        "code": code,
        "object": None,
        "path": None,
        "next": None,
        "params": {},
        "message": text,
    }
