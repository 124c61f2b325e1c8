"""The eight protobuf bodies that kubectl insists on, read into plain objects.

``kubectl create namespace|secret|configmap|serviceaccount|quota`` and ``kubectl auth`` send them. Field
numbers follow ``generated.proto`` of k8s.io/api ``core/v1``, ``authorization/v1``, ``authentication/v1``;
the envelope follows k8s.io/apimachinery ``pkg/runtime/generated.proto``. Answers are always JSON.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jupyter_dra.localcluster.clock import stamp
from jupyter_dra.localcluster.status import APIError, bad_request

MAGIC = b"k8s\x00"

Value = int | bytes


@dataclass(frozen=True, slots=True)
class Part:
    """One field; ``kind`` is text, bytes, number, flag, time, a message, or ``map:`` and one of these."""

    name: str
    kind: str = "text"
    repeated: bool = False


def _many(name: str, kind: str = "text") -> Part:
    return Part(name, kind, True)


MESSAGES: dict[str, dict[int, Part]] = {
    "Unknown": {1: Part("typeMeta", "TypeMeta"), 2: Part("raw", "bytes"), 4: Part("contentType")},
    "TypeMeta": {1: Part("apiVersion"), 2: Part("kind")},
    "Quantity": {1: Part("string")},
    "ObjectMeta": {
        1: Part("name"),
        2: Part("generateName"),
        3: Part("namespace"),
        5: Part("uid"),
        6: Part("resourceVersion"),
        7: Part("generation", "number"),
        8: Part("creationTimestamp", "time"),
        9: Part("deletionTimestamp", "time"),
        10: Part("deletionGracePeriodSeconds", "number"),
        11: Part("labels", "map:text"),
        12: Part("annotations", "map:text"),
        13: _many("ownerReferences", "OwnerReference"),
        14: _many("finalizers"),
    },
    "OwnerReference": {
        1: Part("kind"),
        3: Part("name"),
        4: Part("uid"),
        5: Part("apiVersion"),
        6: Part("controller", "flag"),
        7: Part("blockOwnerDeletion", "flag"),
    },
    "ObjectReference": {
        1: Part("kind"),
        2: Part("namespace"),
        3: Part("name"),
        4: Part("uid"),
        5: Part("apiVersion"),
        6: Part("resourceVersion"),
        7: Part("fieldPath"),
    },
    "LocalObjectReference": {1: Part("name")},
    "Namespace": {1: Part("metadata", "ObjectMeta"), 2: Part("spec", "NamespaceSpec")},
    "NamespaceSpec": {1: _many("finalizers")},
    "Secret": {
        1: Part("metadata", "ObjectMeta"),
        2: Part("data", "map:bytes"),
        3: Part("type"),
        4: Part("stringData", "map:text"),
        5: Part("immutable", "flag"),
    },
    "ConfigMap": {
        1: Part("metadata", "ObjectMeta"),
        2: Part("data", "map:text"),
        3: Part("binaryData", "map:bytes"),
        4: Part("immutable", "flag"),
    },
    "ServiceAccount": {
        1: Part("metadata", "ObjectMeta"),
        2: _many("secrets", "ObjectReference"),
        3: _many("imagePullSecrets", "LocalObjectReference"),
        4: Part("automountServiceAccountToken", "flag"),
    },
    "ResourceQuota": {1: Part("metadata", "ObjectMeta"), 2: Part("spec", "ResourceQuotaSpec")},
    "ResourceQuotaSpec": {
        1: Part("hard", "map:Quantity"),
        2: _many("scopes"),
        3: Part("scopeSelector", "ScopeSelector"),
    },
    "ScopeSelector": {1: _many("matchExpressions", "ScopeRequirement")},
    "ScopeRequirement": {1: Part("scopeName"), 2: Part("operator"), 3: _many("values")},
    "SelfSubjectAccessReview": {1: Part("metadata", "ObjectMeta"), 2: Part("spec", "AccessSpec")},
    "AccessSpec": {
        1: Part("resourceAttributes", "ResourceAttributes"),
        2: Part("nonResourceAttributes", "NonResourceAttributes"),
    },
    "ResourceAttributes": {
        1: Part("namespace"),
        2: Part("verb"),
        3: Part("group"),
        4: Part("version"),
        5: Part("resource"),
        6: Part("subresource"),
        7: Part("name"),
    },
    "NonResourceAttributes": {1: Part("path"), 2: Part("verb")},
    "SelfSubjectRulesReview": {1: Part("metadata", "ObjectMeta"), 2: Part("spec", "RulesSpec")},
    "RulesSpec": {1: Part("namespace")},
    "SelfSubjectReview": {1: Part("metadata", "ObjectMeta")},
}

READABLE = {
    ("v1", "Namespace"),
    ("v1", "Secret"),
    ("v1", "ConfigMap"),
    ("v1", "ServiceAccount"),
    ("v1", "ResourceQuota"),
    ("authorization.k8s.io/v1", "SelfSubjectAccessReview"),
    ("authorization.k8s.io/v1", "SelfSubjectRulesReview"),
    ("authentication.k8s.io/v1", "SelfSubjectReview"),
}


def read_object(body: bytes) -> dict[str, Any]:
    """The object in a protobuf body; raises 415 for a kind not among the eight, 400 for broken bytes."""
    if not body.startswith(MAGIC):
        raise bad_request("provided data does not appear to be a protobuf message, expected prefix k8s\\x00")
    try:
        unknown = _message("Unknown", body[len(MAGIC) :])
        types = unknown.get("typeMeta", {})
        version, kind = types.get("apiVersion", ""), types.get("kind", "")
        if (version, kind) not in READABLE:
            raise _left_out(kind)
        value = _message(kind, base64.b64decode(unknown.get("raw", "")))
    except (IndexError, UnicodeDecodeError, ValueError) as error:
        raise bad_request(f"error decoding protobuf: {error}") from None
    return {"apiVersion": version, "kind": kind, **value}


def _left_out(kind: str) -> APIError:
    text = f"the local cluster reads protobuf for a few kinds only, not for {kind or 'this one'}"
    hint = "send JSON or YAML (kubectl create … --dry-run=client -o yaml | kubectl create -f -)"
    return APIError(415, "UnsupportedMediaType", f"{text}; {hint}")


def _fields(data: bytes) -> Iterator[tuple[int, Value]]:
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, position = _varint(data, position)
            yield number, value
        elif wire == 2:
            length, position = _varint(data, position)
            if position + length > len(data):
                raise ValueError("unexpected end of message")
            yield number, data[position : position + length]
            position += length
        elif wire in (1, 5):
            position += 8 if wire == 1 else 4
        else:
            raise ValueError(f"wire type {wire} is not used by Kubernetes")


def _varint(data: bytes, position: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        byte = data[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, position
        shift += 7
        if shift > 63:
            raise ValueError("varint is too long")


def _message(name: str, data: bytes) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for number, raw in _fields(data):
        part = MESSAGES[name].get(number)
        if part is None:
            continue
        if part.kind.startswith("map:"):
            key, value = _entry(part.kind.removeprefix("map:"), _bytes(raw))
            result.setdefault(part.name, {})[key] = value
            continue
        decoded = _value(part.kind, raw)
        if part.repeated:
            result.setdefault(part.name, []).append(decoded)
        elif decoded not in ("", None):
            # proto2 of Kubernetes writes empty text for what was never set.
            result[part.name] = decoded
    return result


def _bytes(raw: Value) -> bytes:
    if not isinstance(raw, bytes):
        raise ValueError("a number stands where a message was expected")
    return raw


def _entry(kind: str, data: bytes) -> tuple[str, Any]:
    key, value = "", _value(kind, b"")
    for number, raw in _fields(data):
        if number == 1:
            key = _bytes(raw).decode()
        elif number == 2:
            value = _value(kind, raw)
    return key, value


def _value(kind: str, raw: Value) -> Any:
    match kind:
        case "text":
            return _bytes(raw).decode()
        case "bytes":
            return base64.b64encode(_bytes(raw)).decode()
        case "number":
            return raw
        case "flag":
            return bool(raw)
        case "time":
            return _time(_bytes(raw))
        case "Quantity":
            return _message("Quantity", _bytes(raw)).get("string", "0")
    return _message(kind, _bytes(raw))


def _time(data: bytes) -> str | None:
    """metav1.Time; the zero time (far below 1970) reads as absent."""
    for number, raw in _fields(data):
        if number == 1 and isinstance(raw, int) and 0 < raw < 1 << 40:
            return stamp(raw)
    return None
