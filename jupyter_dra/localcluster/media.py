"""Content negotiation: what a client sends and what it wants back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from jupyter_dra.localcluster import protobuf
from jupyter_dra.localcluster.status import bad_request, not_implemented, unsupported_media_type
from jupyter_dra.validation import parse_json

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
OPENAPI_V2_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = ("application/apply-patch+yaml", "application/apply-patch+cbor")
PATCHES = (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH)

TABLE = "Table"
PARTIAL = "PartialObjectMetadata"
PARTIAL_LIST = "PartialObjectMetadataList"
DISCOVERY = "APIGroupDiscoveryList"


@dataclass(frozen=True, slots=True)
class Wanted:
    """The first media range of Accept that we can make; ``form`` is empty for the object itself."""

    form: str = ""


def read_accept(text: str) -> Wanted:
    """The wanted form; JSON is the answer to everything else, also where protobuf is asked for first."""
    for part in text.split(","):
        kind, *parameters = (piece.strip() for piece in part.split(";"))
        given = dict(piece.split("=", 1) for piece in parameters if "=" in piece)
        form = given.get("as", "")
        if kind not in (JSON, "*/*", "application/*", YAML):
            continue
        if form == TABLE and given.get("v") == "v1":
            return Wanted(TABLE)
        if form in (PARTIAL, PARTIAL_LIST) and given.get("v", "v1") == "v1":
            return Wanted(PARTIAL)
        if form == DISCOVERY and given.get("v") in ("v2", "v2beta1"):
            return Wanted(DISCOVERY)
        if not form:
            return Wanted()
    return Wanted()


def media_type(header: str) -> str:
    return header.partition(";")[0].strip().lower()


def read_body(body: bytes, content_type: str) -> dict[str, Any]:
    """The object in a request body; an empty body is an empty object. Raises 400 and 415."""
    if not body:
        return {}
    kind = media_type(content_type)
    if kind == PROTOBUF:
        return protobuf.read_object(body)
    if kind in (YAML, "application/x-yaml", "text/yaml"):
        value = _yaml(body)
    elif kind in (JSON, "", "application/octet-stream", "text/plain", "*/*"):
        value = _json(body)
    else:
        raise unsupported_media_type(kind, (JSON, YAML))
    if not isinstance(value, dict):
        raise bad_request("couldn't get version/kind; json parse error: the body must be an object")
    return value


def read_patch(body: bytes, content_type: str) -> tuple[str, Any]:
    """The kind of patch and its value; raises 400, 415, and 501 for server-side apply."""
    kind = media_type(content_type)
    if kind in APPLY_PATCH:
        raise not_implemented("server-side apply", "use kubectl apply without --server-side")
    if kind not in PATCHES:
        raise unsupported_media_type(kind, PATCHES)
    value = _json(body)
    if kind == JSON_PATCH:
        if not isinstance(value, list):
            raise bad_request("error decoding patch: a JSON patch must be a list")
    elif not isinstance(value, Mapping):
        raise bad_request("error decoding patch: a merge patch must be an object")
    return kind, value


def _json(body: bytes) -> Any:
    try:
        return parse_json(body)
    except (ValueError, RecursionError) as error:
        raise bad_request(f"couldn't get version/kind; json parse error: {error}") from None


class _Loader(yaml.SafeLoader):
    """YAML as Kubernetes reads it: what looks like a date stays text, and ``y`` and ``n`` are truth values."""

    bool_values = {**yaml.SafeLoader.bool_values, "y": True, "n": False}


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^[yYnN]$"), list("yYnN"))


def _yaml(body: bytes) -> Any:
    try:
        # The detour over JSON turns every key into text and refuses what JSON cannot hold.
        return parse_json(json.dumps(yaml.load(body, Loader=_Loader)))
    except (yaml.YAMLError, ValueError, TypeError) as error:
        raise bad_request(f"error converting YAML to JSON: {error}") from None
