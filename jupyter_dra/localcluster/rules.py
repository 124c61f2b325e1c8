"""Decoding, defaults and validation of one object, with problems raised as API errors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from jupyter_dra.localcluster.resources import Resource
from jupyter_dra.localcluster.status import APIError, about, bad_request, invalid
from jupyter_dra.validation import apply_defaults, decode, schemas, status_text, validate
from jupyter_dra.validation.decode import Decoded
from jupyter_dra.validation.fielderrors import FieldError
from jupyter_dra.validation.schemas import Kind

Object = dict[str, Any]
MODES = ("Ignore", "Strict", "Warn")


def field_validation(text: str) -> str:
    """The mode of a request, Warn by default; raises 400 for an unknown one."""
    if not text:
        return "Warn"
    if text not in MODES:
        raise bad_request(
            f'fieldValidation: Unsupported value: "{text}": supported values: "Ignore", "Strict", "Warn"'
        )
    return text


def _kind(resource: Resource) -> Kind:
    found = schemas.find_kind(resource.api_version, resource.kind)
    if found is None:
        raise KeyError(resource.kind)
    return found


def read_object(resource: Resource, document: Mapping[str, Any], mode: str) -> tuple[Object, list[str]]:
    """The document as this resource's value, and the warnings; raises 400 for what cannot be decoded."""
    _same_kind(resource, document)
    decoded = decode(document, kind=_kind(resource))
    message = decoded.message(strict=mode == "Strict")
    if message is not None:
        raise bad_request(message)
    return _read(resource, decoded, mode)


def read_patched(resource: Resource, document: Mapping[str, Any], mode: str) -> tuple[Object, list[str]]:
    """The same for the result of a patch, of which the server says that ``patch`` is invalid (422)."""
    _same_kind(resource, document)
    decoded = decode(document, kind=_kind(resource))
    reason = decoded.reason(strict=mode == "Strict")
    if reason is not None:
        shown = json.dumps(json.dumps(document, separators=(",", ":"), sort_keys=True, ensure_ascii=False))
        raise invalid("", "", "", [("FieldValueInvalid", "patch", f"Invalid value: {shown}: {reason}")])
    return _read(resource, decoded, mode)


def _read(resource: Resource, decoded: Decoded, mode: str) -> tuple[Object, list[str]]:
    value = decoded.value
    value["apiVersion"], value["kind"] = resource.api_version, resource.kind
    value["metadata"] = value.get("metadata") or {}
    return value, list(decoded.warnings) if mode == "Warn" else []


def _same_kind(resource: Resource, document: Mapping[str, Any]) -> None:
    kind, version = document.get("kind"), document.get("apiVersion")
    if kind and kind != resource.kind:
        target = f"{resource.api_version}, Kind={resource.kind}"
        raise bad_request(
            f"the object provided is unrecognized (must be of type {resource.kind}): "
            f'got kind "{kind}", expected {target}'
        )
    if version and version != resource.api_version:
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API version "
            f"({resource.api_version})"
        )


def with_defaults(value: Object, now: str) -> Object:
    """A copy with the defaults of its type, in the form the server gives back; ``now`` dates new taints."""
    return apply_defaults(value, now=now)


def check_new(resource: Resource, value: Object, namespace_labels: Mapping[str, str] | None) -> None:
    """Raise 422 with every problem of a new object."""
    _refuse(resource, value, validate(value, namespace_labels=namespace_labels))


def check_change(resource: Resource, value: Object, old: Object, subresource: str) -> None:
    """Raise 422 with every problem of an update, of the object or (``status``) of its status."""
    errors = validate(value, operation="update", old=old, subresource=subresource or None)
    _refuse(resource, value, errors)


def _refuse(resource: Resource, value: Object, errors: Sequence[FieldError]) -> None:
    if not errors:
        return
    name = value["metadata"].get("name", "")
    details = about(name, resource.group, resource.kind, causes=[error.cause() for error in errors])
    raise APIError(422, "Invalid", status_text(resource.kind, resource.group, name, errors), details=details)
