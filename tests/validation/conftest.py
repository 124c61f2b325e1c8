"""What every test of the API server's rules needs: one object through decoding, defaults and rules."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from jupyter_dra.validation import apply_defaults, decode, status_text, validate

DATA = Path(__file__).parent / "data"


def answer(
    obj: Mapping[str, Any],
    *,
    old: Mapping[str, Any] | None = None,
    labels: Mapping[str, str] | None = None,
    sub: str | None = None,
    target: str = "1.37",
) -> str | None:
    """The server's message for a write of an object, or None when it is accepted."""
    decoded = decode(obj, target=target)
    if (message := decoded.message()) is not None:
        return message
    kind = decoded.kind
    assert kind is not None
    new = apply_defaults(decoded.value)
    meta = new["metadata"]
    if kind.namespaced:
        meta.setdefault("namespace", "default")
    if meta.get("generateName") and not meta.get("name"):
        meta["name"] = meta["generateName"] + "abcde"
    if old is None:
        errors = validate(new, namespace_labels=labels or {}, target=target)
    else:
        before = apply_defaults(decode(old, target=target).value)
        for entry in (new, before):
            entry["metadata"]["resourceVersion"] = "1"
            entry["metadata"]["namespace"] = meta.get("namespace")
        errors = validate(new, operation="update", old=before, subresource=sub, target=target)
    return status_text(kind.kind, kind.group, meta.get("name", ""), errors) if errors else None


@pytest.fixture
def server_says() -> Callable[..., str | None]:
    """A function that gives the message an API server would send for an object."""
    return answer


@pytest.fixture(scope="session")
def recorded() -> list[tuple[dict[str, Any], str | None]]:
    """Objects and what the API server's own code (1.37.2) said about them; see generator/README.md."""
    objects = [json.loads(line) for line in (DATA / "objects.jsonl").read_text().splitlines()]
    answers = [json.loads(line) for line in (DATA / "recorded.jsonl").read_text().splitlines()]
    assert [entry["id"] for entry in objects] == [entry["id"] for entry in answers]
    return [(entry, reply["text"]) for entry, reply in zip(objects, answers, strict=True)]
