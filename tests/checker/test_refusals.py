"""What a real API server refuses, and in which words; what it accepts and breaks later."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from jupyter_dra.checker import check

from .conftest import DATA, found, only

ENTRIES: list[dict[str, Any]] = yaml.safe_load((DATA / "refused.yaml").read_text())
REFUSED = [entry for entry in ENTRIES if "server" in entry]
ACCEPTED = [entry for entry in ENTRIES if entry.get("accepted")]
SOUND = sorted((DATA / "sound").glob("*.yaml"))


@pytest.mark.parametrize("entry", REFUSED, ids=[entry["name"] for entry in REFUSED])
def test_a_refusal_carries_the_servers_status_and_text(entry: dict[str, Any]) -> None:
    result = check(entry["manifest"])
    assert not result.clean
    refusals = [finding for finding in result.findings if finding.server is not None]
    assert refusals
    for finding in refusals:
        assert finding.server is not None
        assert finding.server.status == entry["status"]
        assert finding.server.text == entry["server"]
        assert finding.severity == "error"
        assert finding.line is not None
        assert finding.line > 1


@pytest.mark.parametrize("entry", REFUSED, ids=[entry["name"] for entry in REFUSED])
def test_every_path_the_server_names_is_a_finding(entry: dict[str, Any]) -> None:
    paths = {finding.path for finding in check(entry["manifest"]).findings if finding.server is not None}
    for path in paths:
        assert path in entry["server"] or entry["status"] == 400


@pytest.mark.parametrize("entry", ACCEPTED, ids=[entry["name"] for entry in ACCEPTED])
def test_what_the_server_accepts_and_the_scheduler_cannot_use_is_told(entry: dict[str, Any]) -> None:
    result = check(entry["manifest"])
    assert all(finding.server is None for finding in result.findings)
    assert found(result, entry["code"])


@pytest.mark.parametrize("path", SOUND, ids=[path.stem for path in SOUND])
def test_sound_manifests_have_no_errors(path: Any) -> None:
    result = check(path.read_text())
    assert [finding.as_dict() for finding in result.findings if finding.severity == "error"] == []


def test_the_published_example_is_refused_twice_with_the_servers_words() -> None:
    result = check((DATA / "as-published.yaml").read_text())
    assert result.documents == 3
    compile_error = only(result, "cel-compile")
    assert (compile_error.document, compile_error.path) == (0, "spec.selectors[0].cel.expression")
    assert compile_error.server is not None
    assert "found no matching overload for 'isGreaterThan'" in compile_error.server.text
    moved = found(result, "field-moved")
    assert {(finding.document, finding.path) for finding in moved} == {
        (1, "spec.devices.requests[0].deviceClassName"),
        (1, "spec.devices.requests[0].count"),
    }
    assert moved[0].server is not None
    assert 'unknown field "spec.devices.requests[0].deviceClassName"' in moved[0].server.text
    assert result.devices_needed == 1


def test_findings_have_the_shape_of_the_contract() -> None:
    result = check((DATA / "as-published.yaml").read_text(), file="as-published.yaml").as_dict()
    assert list(result)[:5] == ["kind", "version", "clean", "target", "summary"]
    assert (result["kind"], result["version"], result["target"]) == ("CheckResult", 1, "1.37")
    finding = next(one for one in result["findings"] if one["code"] == "field-moved")
    assert set(finding) == {
        "code",
        "severity",
        "file",
        "document",
        "item",
        "object",
        "path",
        "line",
        "column",
        "message",
        "why",
        "server",
        "fix",
    }
    assert finding["object"] == {
        "api_version": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "namespace": None,
        "name": "vllm-gpu-claim",
    }
    assert finding["message"] == "In resource.k8s.io/v1 deviceClassName stands under exactly."
    assert finding["fix"] == "Put deviceClassName and count under exactly."
    assert result["fixed"] is None
    assert result["undecided"] == []


def test_line_and_column_point_to_the_field_and_into_the_expression() -> None:
    text = (DATA / "as-published.yaml").read_text()
    lines = text.split("\n")
    for finding in check(text).findings:
        assert finding.line is not None
        assert finding.column is not None
        rest = lines[finding.line - 1][finding.column - 1 :]
        assert rest.startswith((finding.path.rpartition(".")[2], ".isGreaterThan", "isGreaterThan", "("))


def test_a_folded_expression_is_pointed_into_too() -> None:
    text = (
        "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: c}\nspec:\n  selectors:\n  - cel:\n"
        '      expression: >-\n        device.driver == "gpu.example.com" &&\n        device.name == "gpu-0"\n'
    )
    finding = only(check(text), "cel-compile")
    assert (finding.line, finding.column) == (9, 15)


def test_items_of_a_list_are_told_apart() -> None:
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c"},
        "spec": {"devices": {"requests": [{"name": "gpu", "count": 1}]}},
    }
    result = check(
        {"apiVersion": "v1", "kind": "List", "items": [claim, {**claim, "metadata": {"name": "d"}}]}
    )
    assert [(finding.document, finding.item) for finding in found(result, "field-moved")] == [(0, 0), (0, 1)]


def test_plain_documents_are_checked_like_their_text() -> None:
    documents = list(yaml.safe_load_all((DATA / "as-published.yaml").read_text()))
    assert [finding.path for finding in check(documents).findings] == [
        "spec.selectors[0].cel.expression",
        "spec.devices.requests[0].deviceClassName",
        "spec.devices.requests[0].count",
    ]


def test_what_a_live_server_says_is_set_beside_the_verdict() -> None:
    from jupyter_dra.checker import ServerAnswer

    text = REFUSED[1]["manifest"]
    agrees = check(text, server=[ServerAnswer(0, False, 400, "strict decoding error")]).as_dict()
    assert agrees["server_says"] == [
        {"document": 0, "item": None, "accepted": False, "status": 400, "text": "strict decoding error"}
    ]
    assert agrees["differs"] is False
    assert check(text, server=[ServerAnswer(0, True, 201)]).as_dict()["differs"] is True
    assert "differs" not in check(text).as_dict()
