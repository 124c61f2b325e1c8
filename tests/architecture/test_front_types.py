"""What the page believes of the server's documents is what ``openapi.yaml`` says of them: no field is invented."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jupyter_dra.server.bodies import document

API = Path(__file__).parents[2] / "labextension" / "src" / "api"
TYPES = (API / "types.ts", API / "sessions.ts")
# The page's name of a document, and the description's.
NAMES = {"AnyGPU": "Counts", "Column": "Columns", "LaunchRequest": "SessionCreate", "ProblemBody": "Problem"}


def interfaces() -> dict[str, set[str]]:
    """The fields of every exported interface; those of nested object types are not among them."""
    found = {}
    text = "\n".join(file.read_text(encoding="utf-8") for file in TYPES)
    source = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    for name, body in re.findall(r"export interface (\w+)[^{]*\{(.*?)\n\}", source, flags=re.DOTALL):
        found[name] = set(re.findall(r"^  (?:readonly )?(\w+)\??:", body, flags=re.MULTILINE))
    return found


def described(schema: str) -> set[str]:
    """The properties of a schema, or of what a map's values are."""
    body = document()["components"]["schemas"][schema]
    values = body.get("additionalProperties")
    if "properties" not in body and isinstance(values, dict):
        body = values
    return set(body.get("properties", ()))


def pairs() -> list[tuple[str, str]]:
    schemas = document()["components"]["schemas"]
    named = [(name, NAMES.get(name, name)) for name in interfaces()]
    return [(name, schema) for name, schema in named if schema in schemas and described(schema)]


def test_the_documents_of_the_page_are_described() -> None:
    assert {
        "Status",
        "TierList",
        "Tier",
        "Plan",
        "Session",
        "DeviceList",
        "CompactDeviceList",
        "WaitingList",
    } <= {name for name, _ in pairs()}


@pytest.mark.parametrize(("name", "schema"), pairs())
def test_the_page_reads_no_field_that_the_description_lacks(name: str, schema: str) -> None:
    assert interfaces()[name] - described(schema) == set()
