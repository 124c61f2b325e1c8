"""What ``openapi.yaml`` says of answers, and whether an answer keeps to it."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from jupyter_dra.server.bodies import document

Json = dict[str, Any]


def assert_conforms(value: Any, schema: str) -> None:
    """The value keeps to a schema of ``components/schemas``."""
    _assert_valid(value, {"$ref": f"#/components/schemas/{schema}"})


def assert_answer_conforms(method: str, path: str, status: int, value: Any) -> None:
    """The JSON of an answer is what the description says of this route and status; other routes are not judged."""
    described = _responses(method.lower(), path)
    if described is not None:
        response: Json = described.get(str(status)) or described["default"]
        _assert_valid(value, _json_schema(response))


@cache
def _patterns() -> list[tuple[re.Pattern[str], Json]]:
    """Named paths before those with parts that stand for any name."""
    paths = sorted(document()["paths"].items(), key=lambda item: item[0].count("{"))
    return [(re.compile(re.sub(r"\{\w+\}", "[^/]+", path.lstrip("/"))), item) for path, item in paths]


def _responses(method: str, path: str) -> Json | None:
    found = (item for pattern, item in _patterns() if pattern.fullmatch(path))
    responses: Json | None = next(found, {}).get(method, {}).get("responses")
    return responses


def _json_schema(response: Json) -> Json:
    if "$ref" in response:
        response = document()["components"]["responses"][response["$ref"].rpartition("/")[2]]
    (content,) = response["content"].values()
    schema: Json = content["schema"]
    return schema


def _assert_valid(value: Any, schema: Json) -> None:
    validator = Draft202012Validator({**schema, "components": document()["components"]})
    errors = [f"{list(one.absolute_path)}: {one.message}" for one in validator.iter_errors(value)]
    assert not errors, errors
