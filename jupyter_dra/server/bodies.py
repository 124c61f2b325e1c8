"""Request bodies and parameters, validated by the schemas of ``openapi.yaml``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from ..errors import InputError

MAX_BODY = 2 << 20
_MAX_DEPTH = 40
_SEE_SCHEMA = "The forms are in openapi.yaml."


@cache
def document() -> dict[str, Any]:
    """The parsed ``openapi.yaml``."""
    import yaml

    text = (files(__package__) / "openapi.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return loaded


@cache
def _validator(name: str) -> Any:
    from jsonschema import Draft202012Validator

    schema = {"$ref": f"#/components/schemas/{name}", "components": document()["components"]}
    return Draft202012Validator(schema)


def validated(raw: bytes, schema: str) -> dict[str, Any]:
    """The body as a dictionary that satisfies *schema* (a name of ``components/schemas``).

    Raises:
        InputError: not JSON, too deep or large, or against the schema; ``path`` names the field.
    """
    if len(raw) > MAX_BODY:
        raise InputError(
            "The body is larger than 2 MiB.", code="too-large", path="", next_step="Send less at once."
        )
    try:
        body = json.loads(raw) if raw.strip() else {}
    except (ValueError, RecursionError) as error:
        raise InputError(
            "The body is not JSON.", code="not-json", path="", next_step="Send a JSON object."
        ) from error
    if not isinstance(body, dict) or _depth_exceeds(body, _MAX_DEPTH):
        raise InputError(
            "The body is not a JSON object of reasonable depth.",
            code="not-json",
            path="",
            next_step="Send a JSON object.",
        )
    errors = sorted(
        _validator(schema).iter_errors(body), key=lambda one: [str(part) for part in one.absolute_path]
    )
    if errors:
        raise _schema_error(errors[0], errors)
    return body


def _schema_error(first: Any, errors: list[Any]) -> InputError:
    path = ".".join(str(part) for part in first.absolute_path)
    if first.validator == "additionalProperties" and isinstance(first.instance, Mapping):
        known = first.schema.get("properties", {})
        extra = next((name for name in first.instance if name not in known), "")
        return InputError(
            f"There is no field {str(extra)[:60]!r} here.",
            code="unknown-field",
            path=".".join(part for part in (path, str(extra)[:60]) if part),
            next_step=f"Fields: {', '.join(known)}.",
        )
    if first.validator in ("oneOf", "anyOf"):
        choices = [
            " and ".join(one.get("required", ())) for one in first.validator_value if "required" in one
        ]
        text = f"exactly one of {', '.join(choices)}" if choices else "one of the known forms"
        return InputError(
            f"{path or 'The body'} needs {text}.", code="schema", path=path, next_step=_SEE_SCHEMA
        )
    return InputError(
        f"{path or 'The body'} does not have the expected form ({first.validator}: {_short(first.validator_value)}).",
        code="schema",
        path=path,
        next_step=_SEE_SCHEMA,
        params={"errors": len(errors)},
    )


def _short(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 80 else text[:77] + "..."


def _depth_exceeds(value: Any, limit: int) -> bool:
    if limit < 0:
        return True
    if isinstance(value, dict):
        return any(_depth_exceeds(one, limit - 1) for one in value.values())
    if isinstance(value, list):
        return any(_depth_exceeds(one, limit - 1) for one in value)
    return False
