"""Strict decoding: what is unknown, doubled or of the wrong type."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_dra.validation import ParsedObject, decode, parse_json


def claim(**request: Any) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c"},
        "spec": {"devices": {"requests": [{"name": "gpu", **request}]}},
    }


def test_a_sound_claim_decodes_without_a_problem() -> None:
    decoded = decode(claim(exactly={"deviceClassName": "gpu.nvidia.com", "count": 2}))
    assert decoded.ok
    assert decoded.message() is None
    assert decoded.value["spec"]["devices"]["requests"][0]["exactly"]["count"] == 2


def test_unknown_fields_are_named_with_their_whole_path_and_dropped() -> None:
    decoded = decode(claim(deviceClassName="x", count=1))
    assert [problem.path for problem in decoded.problems] == [
        "spec.devices.requests[0].deviceClassName",
        "spec.devices.requests[0].count",
    ]
    assert decoded.value["spec"]["devices"]["requests"] == [{"name": "gpu"}]


def test_lenient_field_validation_turns_unknown_fields_into_warnings() -> None:
    decoded = decode(claim(count=1))
    assert decoded.message(strict=False) is None
    assert decoded.warnings == ('unknown field "spec.devices.requests[0].count"',)


def test_a_doubled_key_in_json_is_reported_and_the_last_value_counts() -> None:
    decoded = decode(parse_json('{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","name":"b"}}'))
    assert 'duplicate field "metadata.name"' in (decoded.message() or "")
    assert decoded.value["metadata"]["name"] == "b"


def test_a_wrong_type_wins_over_unknown_fields() -> None:
    message = decode(claim(count=1, exactly="gpu")).message()
    assert message == (
        'ResourceClaim in version "v1" cannot be handled as a ResourceClaim: json: cannot unmarshal string into Go '
        "struct field DeviceRequest.spec.devices.requests.exactly of type v1.ExactDeviceRequest"
    )


def test_a_quantity_that_is_none_ends_decoding_with_its_own_text() -> None:
    message = decode(claim(exactly={"capacity": {"requests": {"memory": "40GB"}}})).message()
    assert message is not None
    assert message.endswith("'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")


def test_numbers_are_taken_for_quantities() -> None:
    decoded = decode(claim(exactly={"capacity": {"requests": {"memory": 5}}}))
    assert decoded.ok
    assert decoded.value["spec"]["devices"]["requests"][0]["exactly"]["capacity"]["requests"] == {
        "memory": "5"
    }


def test_null_means_absent() -> None:
    decoded = decode(claim(exactly=None))
    assert decoded.ok
    assert "exactly" not in decoded.value["spec"]["devices"]["requests"][0]


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"kind": "Pod"}, "Object 'apiVersion' is missing"),
        ({"apiVersion": "v1"}, "Object 'Kind' is missing"),
        ({"apiVersion": "v1", "kind": "Pot"}, 'no kind "Pot" is registered for version "v1"'),
    ],
)
def test_an_object_nobody_knows_is_refused(document: dict[str, Any], text: str) -> None:
    assert decode(document).message() == text


def test_fields_newer_than_the_target_are_unknown_to_it() -> None:
    document = claim(exactly={"deviceClassName": "x", "derivedAttributes": []})
    assert decode(document, target="1.37").ok
    assert not decode(document, target="1.36").ok


def test_fields_a_newer_release_dropped_are_known_to_the_old_one_only() -> None:
    device = {"name": "a", "nodeAllocatableResourceMappings": {}}
    document = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {"driver": "d", "pool": {"name": "p"}, "devices": [device]},
    }
    assert decode(document, target="1.36").ok
    assert not decode(document, target="1.37").ok


def test_at_most_a_hundred_problems_are_kept() -> None:
    document = claim(**{f"wrong{number}": 1 for number in range(300)})
    assert len(decode(document).problems) == 100


def test_parsed_objects_are_plain_mappings_with_a_memory() -> None:
    value = parse_json('{"a": 1, "a": 2, "b": {"c": 1}}')
    assert value == {"a": 2, "b": {"c": 1}}
    assert isinstance(value, ParsedObject)
    assert value.duplicates == ("a",)
