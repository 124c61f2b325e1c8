"""Decoding, defaults and validation of one object, with problems raised as API errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jupyter_dra.localcluster.resources import Resource
from jupyter_dra.localcluster.status import bad_request, invalid
from jupyter_dra.validation import decode, schemas
from jupyter_dra.validation.schemas import Kind

try:
    from jupyter_dra.validation import apply_defaults, validate
except ImportError:
    apply_defaults = lambda value: value
    validate = lambda *args, **options: []

Object = dict[str, Any]
MODES = ("Ignore", "Strict", "Warn")


def field_validation(text: str) -> str:
    """The mode of a request, Warn by default; raises 400 for an unknown one."""
    if not text:
        return "Warn"
    if text not in MODES:
        raise bad_request(f'fieldValidation: Unsupported value: "{text}": supported values: "Ignore", "Strict", "Warn"')
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
    value = decoded.value
    value["apiVersion"], value["kind"] = resource.api_version, resource.kind
    value["metadata"] = value.get("metadata") or {}
    return value, list(decoded.warnings) if mode == "Warn" else []


def _same_kind(resource: Resource, document: Mapping[str, Any]) -> None:
    kind, version = document.get("kind"), document.get("apiVersion")
    if kind and kind != resource.kind:
        target = f"{resource.api_version}, Kind={resource.kind}"
        raise bad_request(f'the object provided is unrecognized (must be of type {resource.kind}): got kind "{kind}", expected {target}')
    if version and version != resource.api_version:
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API version ({resource.api_version})"
        )


def with_defaults(value: Object) -> Object:
    return dict(apply_defaults(value))


def check(
    resource: Resource,
    value: Object,
    old: Object | None = None,
    namespace_labels: Mapping[str, str] | None = None,
) -> None:
    """Raise 422 with every problem of a new object, or of an update of ``old``."""
    operation = "create" if old is None else "update"
    errors = validate(value, operation=operation, old=old, namespace_labels=namespace_labels)
    if errors:
        causes = [(error.type, error.path, _without_path(error.text(), error.path)) for error in errors]
        raise invalid(resource.group, resource.kind, value["metadata"].get("name", ""), causes)


def _without_path(text: str, path: str) -> str:
    return text.removeprefix(f"{path}: ")
