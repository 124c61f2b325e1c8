"""The protobuf bodies of kubectl, written by a small encoder of our own."""

from __future__ import annotations

import pytest

from jupyter_dra.localcluster.protobuf import MAGIC, read_object
from jupyter_dra.localcluster.status import APIError


def varint(number: int) -> bytes:
    out = bytearray()
    while True:
        byte, number = number & 0x7F, number >> 7
        out.append(byte | (0x80 if number else 0))
        if not number:
            return bytes(out)


def field(number: int, value: bytes | str | int) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def message(version: str, kind: str, raw: bytes) -> bytes:
    types = field(1, version) + field(2, kind)
    return MAGIC + field(1, types) + field(2, raw) + field(3, "") + field(4, "")


def test_a_secret_arrives_with_its_labels_and_base64_data() -> None:
    metadata = field(1, "s") + field(3, "") + field(11, field(1, "app") + field(2, "x"))
    raw = field(1, metadata) + field(2, field(1, "key") + field(2, b"\x00\xff")) + field(3, "Opaque")
    assert read_object(message("v1", "Secret", raw)) == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "labels": {"app": "x"}},
        "data": {"key": "AP8="},
        "type": "Opaque",
    }


def test_a_quota_keeps_its_quantities_as_text() -> None:
    spec = field(1, field(1, "pods") + field(2, field(1, "3"))) + field(2, "BestEffort")
    value = read_object(message("v1", "ResourceQuota", field(1, field(1, "q")) + field(2, spec)))
    assert value["spec"] == {"hard": {"pods": "3"}, "scopes": ["BestEffort"]}


def test_an_access_review_is_read_with_all_its_attributes() -> None:
    attributes = (
        field(1, "ns") + field(2, "create") + field(3, "resource.k8s.io") + field(5, "resourceclaims")
    )
    raw = field(1, b"") + field(2, field(1, attributes))
    value = read_object(message("authorization.k8s.io/v1", "SelfSubjectAccessReview", raw))
    assert value["spec"]["resourceAttributes"] == {
        "namespace": "ns",
        "verb": "create",
        "group": "resource.k8s.io",
        "resource": "resourceclaims",
    }


def test_fields_nobody_told_us_about_are_skipped() -> None:
    raw = field(1, field(1, "n")) + field(99, 7) + varint(100 << 3 | 1) + b"12345678" + field(98, "x")
    assert read_object(message("v1", "Namespace", raw))["metadata"] == {"name": "n"}


def test_a_kind_outside_the_eight_is_an_unsupported_media_type() -> None:
    with pytest.raises(APIError) as caught:
        read_object(message("v1", "Pod", b""))
    assert caught.value.http_status == 415
    assert "Pod" in caught.value.message


@pytest.mark.parametrize(
    "body", [b"{}", MAGIC + b"\xff", MAGIC + field(2, b"\x0a\x7f"), MAGIC + b"\xff" * 20]
)
def test_broken_bytes_are_a_client_error(body: bytes) -> None:
    with pytest.raises(APIError) as caught:
        read_object(body)
    assert caught.value.http_status in (400, 415)
