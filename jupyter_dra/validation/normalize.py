"""The form in which an object comes back from the server: zero values dropped or written as Go's encoder does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jupyter_dra.model.quantity import Quantity
from jupyter_dra.validation import schemas
from jupyter_dra.validation.schemas import Field, Shape


def normalize(obj: Mapping[str, Any]) -> dict[str, Any]:
    """A decoded object as a Go client would read it back; unknown kinds are returned as they are.

    Empty optional values vanish, structs that Go always writes appear as ``{}``, quantities get their canonical text.
    """
    kind = schemas.find_kind(obj.get("apiVersion"), obj.get("kind"))
    return dict(obj) if kind is None else normalize_struct(obj, schemas.shape(kind.type))


def normalize_struct(value: Mapping[str, Any], shape: Shape) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, entry in value.items():
        field = shape.fields.get(name)
        if field is None:
            result[name] = entry
        elif entry is not None:
            decoded = _value(entry, schemas.shape(field.type))
            if field.pointer or field.keep or not _is_zero(decoded):
                result[name] = decoded
    for field in shape.fields.values():
        if field.keep and field.name not in result:
            result[field.name] = _zero(field)
    return result


def _value(value: Any, shape: Shape) -> Any:
    if shape.kind == "struct" and isinstance(value, Mapping):
        return normalize_struct(value, shape)
    if shape.kind == "list" and isinstance(value, list) and shape.elem is not None:
        element = schemas.shape(shape.elem)
        return [_value(entry, element) for entry in value]
    if shape.kind == "map" and isinstance(value, Mapping) and shape.elem is not None:
        element = schemas.shape(shape.elem)
        return {key: _value(entry, element) for key, entry in value.items()}
    if shape.kind == "quantity":
        return Quantity.parse(value.strip(" ") if isinstance(value, str) else value).canonical()
    return value


def _is_zero(value: Any) -> bool:
    return value in ("", 0, False) if isinstance(value, (str, int, float)) else not value


def _zero(field: Field) -> Any:
    shape = schemas.shape(field.type)
    if field.pointer:
        return None
    if shape.kind == "struct":
        return normalize_struct({}, shape)
    return {"string": "", "bool": False, "quantity": "0", "intstr": 0, "int32": 0, "int64": 0}.get(shape.kind)
