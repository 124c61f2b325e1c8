"""OpenAPI v3 documents: an index, and per group version the paths and schemas that kubectl reads.

kubectl validates on its own side unless POST and PATCH list the parameter ``fieldValidation``. For a ``kind: List`` it
always does, with the version 2 document; what that does not describe is left to the server.
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any

from jupyter_dra.localcluster.media import PATCHES
from jupyter_dra.localcluster.resources import RESOURCES, Resource, group_versions
from jupyter_dra.localcluster.store import encode
from jupyter_dra.validation import schemas
from jupyter_dra.validation.schemas import Shape

Object = dict[str, Any]

_WRITE_PARAMETERS = ("dryRun", "fieldManager", "fieldValidation", "pretty")
_SCALARS: dict[str, Object] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "float64": {"type": "number", "format": "double"},
    "bytes": {"type": "string", "format": "byte"},
    "time": {"type": "string", "format": "date-time"},
    "microtime": {"type": "string", "format": "date-time"},
    "duration": {"type": "string"},
    "quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
    "intstr": {"oneOf": [{"type": "integer"}, {"type": "string"}]},
    "raw": {"type": "object"},
}


def _path(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


@cache
def index() -> Object:
    """The list of documents, each with a hash of its content, so that clients may keep them."""
    paths = {}
    for group, version in group_versions():
        name = _path(group, version)
        digest = hashlib.sha256(document_bytes(group, version)).hexdigest()[:32].upper()
        paths[name] = {"serverRelativeURL": f"/openapi/v3/{name}?hash={digest}"}
    return {"paths": paths}


@cache
def document_bytes(group: str, version: str) -> bytes:
    return encode(_document(group, version))


def legacy_bytes(*, protobuf: bool) -> bytes:
    """The version 2 document: valid, and without definitions."""
    title, release = "Kubernetes", schemas.kubernetes_version()
    if not protobuf:
        return encode({"swagger": "2.0", "info": {"title": title, "version": release}, "paths": {}})
    # openapi_v2.Document of gnostic-models: swagger = 1, info = 2 {title = 1, version = 2}, paths = 8.
    info = _text(1, title) + _text(2, release)
    return _text(1, "2.0") + _text(2, info) + _text(8, b"")


def _text(number: int, value: str | bytes) -> bytes:
    """One length-delimited protobuf field, shorter than 128 bytes."""
    content = value.encode() if isinstance(value, str) else value
    return bytes((number << 3 | 2, len(content))) + content


def _document(group: str, version: str) -> Object:
    components: Object = {}
    paths: Object = {}
    for resource in RESOURCES:
        if (resource.group, resource.version) == (group, version):
            known = schemas.find_kind(resource.api_version, resource.kind)
            if known is None:
                continue
            name = _component(known.type, components)
            components[name]["x-kubernetes-group-version-kind"] = [_kind(resource)]
            paths.update(_paths(resource, name))
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v" + schemas.kubernetes_version()},
        "paths": paths,
        "components": {"schemas": components},
    }


def _kind(resource: Resource) -> Object:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _paths(resource: Resource, component: str) -> Object:
    base = f"/{_path(resource.group, resource.version)}"
    if resource.namespaced:
        base += "/namespaces/{namespace}"
    collection, single = f"{base}/{resource.plural}", f"{base}/{resource.plural}/{{name}}"
    found: Object = {
        collection: {
            "get": _operation(resource, "list", component),
            "post": _operation(resource, "post", component),
        },
        single: {
            "get": _operation(resource, "get", component),
            "put": _operation(resource, "put", component),
            "patch": _operation(resource, "patch", component),
            "delete": _operation(resource, "delete", component),
        },
    }
    if resource.has_status:
        found[f"{single}/status"] = {
            "get": _operation(resource, "get", component),
            "put": _operation(resource, "put", component),
            "patch": _operation(resource, "patch", component),
        }
    return found


def _operation(resource: Resource, action: str, component: str) -> Object:
    operation: Object = {
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": _kind(resource),
        "responses": {"200": {"description": "OK"}},
    }
    if action in ("post", "put", "patch"):
        operation["parameters"] = [
            {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
            for name in _WRITE_PARAMETERS
        ]
    if action in ("post", "put"):
        schema = {"$ref": f"#/components/schemas/{component}"}
        operation["requestBody"] = {"content": {"*/*": {"schema": schema}}}
    elif action == "patch":
        operation["requestBody"] = {"content": {kind: {"schema": {"type": "object"}} for kind in PATCHES}}
    return operation


def _component(name: str, components: Object) -> str:
    """Add a struct and all it needs; the answer is its name among the components."""
    known = name.replace("/", ".")
    if known in components:
        return known
    shape = schemas.shape(name)
    schema: Object = {"type": "object", "description": f"{shape.struct_name} of Kubernetes."}
    components[known] = schema
    properties: Object = {}
    for field in shape.fields.values():
        found = _schema(schemas.shape(field.type), components)
        if field.list_type:
            found["x-kubernetes-list-type"] = field.list_type
            if field.keys:
                found["x-kubernetes-list-map-keys"] = list(field.keys)
        if field.strategy:
            found["x-kubernetes-patch-strategy"] = field.strategy
        if field.merge_key:
            found["x-kubernetes-patch-merge-key"] = field.merge_key
        properties[field.name] = found
    schema["properties"] = properties
    required = [field.name for field in shape.fields.values() if field.required]
    if required:
        schema["required"] = required
    return known


def _schema(shape: Shape, components: Object) -> Object:
    if shape.kind == "struct":
        return {
            "allOf": [{"$ref": f"#/components/schemas/{_component(shape.name, components)}"}],
            "default": {},
        }
    if shape.kind == "list":
        return {"type": "array", "items": _schema(schemas.shape(shape.elem or "string"), components)}
    if shape.kind == "map":
        return {
            "type": "object",
            "additionalProperties": _schema(schemas.shape(shape.elem or "string"), components),
        }
    return dict(_SCALARS.get(shape.kind, {"type": "object"}))
