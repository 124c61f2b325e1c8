"""API errors as exceptions that carry a ``Status`` object.

Reasons and texts follow k8s.io/apimachinery ``pkg/api/errors/errors.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jupyter_dra.errors import DRAError


class APIError(DRAError):
    """An answer other than success; ``http_status`` and ``body`` are what goes over the wire."""

    code = "api"

    def __init__(
        self,
        http_status: int,
        reason: str,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message, params={"status": http_status, "reason": reason})
        self.http_status = http_status
        self.reason = reason
        self.details = dict(details or {})
        self.headers = dict(headers or {})

    @property
    def body(self) -> dict[str, Any]:
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
        }
        if self.details:
            status["details"] = self.details
        status["code"] = self.http_status
        return status


def success(details: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": dict(details),
    }


def about(name: str, group: str, plural: str, **more: Any) -> dict[str, Any]:
    """The ``details`` of a Status: for most reasons ``kind`` holds the plural."""
    details = {"name": name, "group": group, "kind": plural, **more}
    return {key: value for key, value in details.items() if value not in ("", None)}


def qualified(group: str, plural: str) -> str:
    return f"{plural}.{group}" if group else plural


def not_found(group: str, plural: str, name: str) -> APIError:
    text = f'{qualified(group, plural)} "{name}" not found'
    return APIError(404, "NotFound", text, details=about(name, group, plural))


def page_not_found() -> APIError:
    """The answer for a path that is not served at all."""
    return APIError(404, "NotFound", "the server could not find the requested resource")


def already_exists(group: str, plural: str, name: str) -> APIError:
    text = f'{qualified(group, plural)} "{name}" already exists'
    return APIError(409, "AlreadyExists", text, details=about(name, group, plural))


def conflict(group: str, plural: str, name: str, why: str) -> APIError:
    text = f'Operation cannot be fulfilled on {qualified(group, plural)} "{name}": {why}'
    return APIError(409, "Conflict", text, details=about(name, group, plural))


STALE = "the object has been modified; please apply your changes to the latest version and try again"


def bad_request(message: str) -> APIError:
    return APIError(400, "BadRequest", message)


def forbidden(
    group: str, plural: str, name: str, why: str, causes: Iterable[Mapping[str, Any]] = ()
) -> APIError:
    target = f'{qualified(group, plural)} "{name}"' if name else qualified(group, plural)
    text = f"{target} is forbidden: {why}" if plural else f"forbidden: {why}"
    details = about(name, group, plural)
    listed = [dict(cause) for cause in causes]
    if listed:
        details["causes"] = listed
    return APIError(403, "Forbidden", text, details=details)


def unauthorized() -> APIError:
    return APIError(401, "Unauthorized", "Unauthorized")


def expired(message: str) -> APIError:
    return APIError(410, "Expired", message)


def invalid(group: str, kind: str, name: str, causes: Sequence[tuple[str, str, str]]) -> APIError:
    """422 with one cause for each ``(reason, path, text)``; ``text`` is the message without the path."""
    listed = [{"reason": reason, "message": text, "field": path} for reason, path, text in causes]
    texts = [f"{path}: {text}" for _, path, text in causes]
    joined = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
    target = f"{kind}.{group}" if group else kind
    return APIError(
        422,
        "Invalid",
        f'{target} "{name}" is invalid: {joined}',
        details={**about(name, group, kind), "causes": listed},
    )


def method_not_allowed(method: str) -> APIError:
    return APIError(
        405, "MethodNotAllowed", f"the server does not allow this method on the requested resource ({method})"
    )


def unsupported_media_type(given: str, supported: Iterable[str]) -> APIError:
    wanted = ", ".join(supported)
    text = f"the body of the request was in an unknown format - accepted media types include: {wanted}"
    return APIError(415, "UnsupportedMediaType", f"{text} (got {given})" if given else text)


def not_implemented(what: str, instead: str = "") -> APIError:
    """What a complete server does and this one leaves out on purpose (apimachinery has no reason for 501)."""
    text = f"the local cluster does not implement {what}"
    return APIError(501, "NotImplemented", f"{text}; {instead}" if instead else text)


def too_many_requests(message: str, retry_seconds: int = 1) -> APIError:
    return APIError(
        429,
        "TooManyRequests",
        message,
        details={"retryAfterSeconds": retry_seconds},
        headers={"Retry-After": str(retry_seconds)},
    )


def internal(message: str) -> APIError:
    return APIError(
        500,
        "InternalError",
        f"Internal error occurred: {message}",
        details={"causes": [{"message": message}]},
    )


def too_large_resource_version(asked: int, current: int) -> APIError:
    return APIError(
        504,
        "Timeout",
        f"Too large resource version: {asked}, current: {current}",
        details={
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1,
        },
    )
