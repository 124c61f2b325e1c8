"""API server answers as our errors, with the server's own text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..errors import ClusterError, ConflictError, DRAError, InputError, NotFoundError, ObjectRef, RefusedError

RETRY_STATUS = frozenset({429, 500, 502, 503, 504})
_TEXT_LIMIT = 4096


def parse_status(body: bytes, status: int) -> dict[str, Any]:
    """The Status object in ``body``; a made-up one when a proxy or something else answered."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict) and value.get("kind") == "Status":
        return value
    text = body[:_TEXT_LIMIT].decode("utf-8", "replace").strip()
    return {"kind": "Status", "code": status, "reason": "", "message": text or f"HTTP status {status}"}


def error_from_status(status: Mapping[str, Any], code: int, *, what: str = "") -> DRAError:
    """The error of our tree for a failed request.

    ``code`` of the result is one of not-found, exists, conflict, expired, quota, limit-range, forbidden,
    unauthorized, namespace-ending, invalid, unsupported, too-many-requests, unreachable; ``params`` hold
    ``status``, ``reason`` and ``causes``.
    """
    text = str(status.get("message") or f"HTTP status {code}")[:_TEXT_LIMIT]
    reason = str(status.get("reason") or "")
    details = status.get("details")
    details = details if isinstance(details, Mapping) else {}
    causes = details.get("causes")
    params = {
        "status": code,
        "reason": reason,
        "causes": causes if isinstance(causes, list) else [],
        "what": what,
    }
    common: dict[str, Any] = {"object": _object(details), "params": params}
    if code == 401:
        return ClusterError(
            f"The cluster does not accept these credentials: {text}",
            code="unauthorized",
            next_step="Log in to the cluster again.",
            **common,
        )
    if code == 403:
        return _forbidden(text, params, common)
    if code == 404:
        return NotFoundError(text, **common)
    if code == 405 or code == 415 or code == 501:
        return ClusterError(text, code="unsupported", **common)
    if code == 409:
        return ConflictError(text, code="exists" if reason == "AlreadyExists" else "conflict", **common)
    if code == 410:
        return ConflictError(text, code="expired", **common)
    if code == 429:
        return ClusterError(f"The cluster asks to slow down: {text}", code="too-many-requests", **common)
    if 400 <= code < 500:
        return InputError(text, code="invalid", path=_first_path(causes), **common)
    return ClusterError(f"The cluster could not do it: {text}", code="unreachable", **common)


def _forbidden(text: str, params: Mapping[str, Any], common: dict[str, Any]) -> DRAError:
    if "exceeded quota" in text or "failed quota" in text:
        return RefusedError(
            text, code="quota", next_step="Stop a session, or ask for a larger quota.", **common
        )
    # LimitRanger's texts: plugin/pkg/admission/limitranger in kubernetes/kubernetes.
    if "usage per" in text or "limit to request ratio" in text:
        return RefusedError(text, code="limit-range", next_step="Ask for less cpu or host memory.", **common)
    if "violates PodSecurity" in text:
        return RefusedError(text, code="policy", next_step="Show this text to the administrator.", **common)
    if any(isinstance(c, Mapping) and c.get("reason") == "NamespaceTerminating" for c in params["causes"]):
        return ClusterError(text, code="namespace-ending", **common)
    return ClusterError(
        text,
        code="forbidden",
        next_step="Ask the administrator for the right; `jupyter dra rbac user` prints it.",
        **common,
    )


def _object(details: Mapping[str, Any]) -> ObjectRef | None:
    kind, name = details.get("kind"), details.get("name")
    if not isinstance(kind, str) or not kind:
        return None
    return ObjectRef(kind=kind, name=name if isinstance(name, str) else None)


def _first_path(causes: Any) -> str | None:
    for cause in causes if isinstance(causes, list) else []:
        if isinstance(cause, Mapping) and isinstance(cause.get("field"), str):
            return str(cause["field"])
    return None


def status_code(error: BaseException) -> int | None:
    """The HTTP status an error came from; None for errors of another origin."""
    if isinstance(error, DRAError):
        value = error.params.get("status")
        return value if isinstance(value, int) else None
    return None
