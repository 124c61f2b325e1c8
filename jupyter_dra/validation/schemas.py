"""What Kubernetes knows about its kinds: fields, types, list types, merge keys, plurals and scopes.

The facts stand in ``data/schemas.json``, generated from Kubernetes 1.37.2 (see tests/validation/generator).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any


def minor_of(version: str) -> int:
    """The minor number of ``1.37``, ``v1.37.2`` and the like."""
    return int(version.lstrip("v").split(".")[1])


@dataclass(frozen=True, slots=True)
class Field:
    """One JSON field of a Kubernetes struct.

    ``list_type`` is map, set, atomic or None; ``keys`` are the keys of a list map; ``strategy`` and ``merge_key``
    are those of a strategic merge patch (``merge``, ``replace``, ``merge,retainKeys``, ``retainKeys``). ``via`` is
    the embedded Go struct the field comes from. ``keep`` says that Go writes the field even at the zero value.
    ``since`` and ``until`` are the first and last minor version that know the field, or None.
    """

    name: str
    type: str
    required: bool = False
    pointer: bool = False
    keep: bool = False
    via: str | None = None
    list_type: str | None = None
    keys: tuple[str, ...] = ()
    strategy: str | None = None
    merge_key: str | None = None
    since: str | None = None
    until: str | None = None

    def known_to(self, target: str) -> bool:
        """Whether the API server of a minor version (``1.36``) decodes this field."""
        minor = minor_of(target)
        if self.since is not None and minor < minor_of(self.since):
            return False
        return self.until is None or minor <= minor_of(self.until)

    @property
    def merges(self) -> bool:
        """Whether a strategic merge patch merges this field's list or map by ``merge_key`` or element."""
        return self.strategy is not None and "merge" in self.strategy.split(",")

    @property
    def retains_keys(self) -> bool:
        return self.strategy is not None and "retainKeys" in self.strategy.split(",")


@dataclass(frozen=True, slots=True)
class Shape:
    """A Go type as JSON sees it.

    ``kind`` is struct, list, map, string, bool, int32, int64, float64, bytes, quantity, time, microtime,
    duration, intstr or raw; ``go`` is the type's Go spelling, which error texts use; ``elem`` the element type of
    lists and maps.
    """

    name: str
    kind: str
    go: str
    elem: str | None = None
    fields: Mapping[str, Field] = field(default_factory=dict)

    @property
    def struct_name(self) -> str:
        return self.go.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class Kind:
    """A served kind: where it lives in the API and which shape it has."""

    group: str
    version: str
    kind: str
    type: str
    plural: str
    singular: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified_kind(self) -> str:
        """``ResourceClaim.resource.k8s.io``, the form of refusals; plain ``Pod`` in the core group."""
        return f"{self.kind}.{self.group}" if self.group else self.kind

    @property
    def qualified_resource(self) -> str:
        """``resourceclaims.resource.k8s.io``; plain ``pods`` in the core group."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def has_status(self) -> bool:
        return "status" in self.subresources


@dataclass(frozen=True, slots=True)
class _Catalog:
    kubernetes: str
    kinds: tuple[Kind, ...]
    raw_types: Mapping[str, Any]
    by_kind: Mapping[tuple[str, str], Kind]
    by_resource: Mapping[tuple[str, str, str], Kind]


@cache
def _catalog() -> _Catalog:
    data = json.loads(files("jupyter_dra.validation").joinpath("data/schemas.json").read_text("utf-8"))
    kinds = tuple(
        Kind(
            group=entry["group"],
            version=entry["version"],
            kind=entry["kind"],
            type=entry["type"],
            plural=entry["plural"],
            singular=entry["singular"],
            namespaced=entry["namespaced"],
            short_names=tuple(entry["short_names"]),
            categories=tuple(entry["categories"]),
            verbs=tuple(entry["verbs"]),
            subresources=tuple(entry["subresources"]),
        )
        for entry in data["kinds"]
    )
    return _Catalog(
        kubernetes=data["kubernetes"],
        kinds=kinds,
        raw_types=data["types"],
        by_kind={(kind.api_version, kind.kind): kind for kind in kinds},
        by_resource={(kind.group, kind.version, kind.plural): kind for kind in kinds},
    )


def kubernetes_version() -> str:
    """The Kubernetes release the schemas were generated from."""
    return _catalog().kubernetes


def kinds() -> tuple[Kind, ...]:
    """Every kind the schemas describe, all versions."""
    return _catalog().kinds


def find_kind(api_version: object, kind: object) -> Kind | None:
    """The kind of an object's ``apiVersion`` and ``kind``, or None when we do not know it."""
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return None
    return _catalog().by_kind.get((api_version, kind))


def find_resource(group: str, version: str, plural: str) -> Kind | None:
    """The kind behind a URL's group (empty for core), version and plural."""
    return _catalog().by_resource.get((group, version, plural))


def other_versions(group: str, kind: str) -> tuple[str, ...]:
    """The versions of a kind that we know, newest knowledge first as listed in the schemas."""
    return tuple(entry.version for entry in kinds() if entry.group == group and entry.kind == kind)


@cache
def shape(name: str) -> Shape:
    """The shape of a type by name (``resource/v1.DeviceRequest``, ``[]string``); KeyError when unknown."""
    raw = _catalog().raw_types[name]
    fields = {key: _field(key, value) for key, value in raw.get("fields", {}).items()}
    return Shape(name=name, kind=raw["kind"], go=raw["go"], elem=raw.get("elem"), fields=fields)


def _field(name: str, raw: Mapping[str, Any]) -> Field:
    return Field(
        name=name,
        type=raw["type"],
        required=raw.get("required", False),
        pointer=raw.get("ptr", False),
        keep=raw.get("keep", False),
        via=raw.get("via"),
        list_type=raw.get("list"),
        keys=tuple(raw.get("keys", ())),
        strategy=raw.get("strategy"),
        merge_key=raw.get("key"),
        since=raw.get("since"),
        until=raw.get("until"),
    )


def field_at(kind: Kind, path: tuple[str | int, ...]) -> Field | None:
    """The field a path of keys and indices leads to, or None; map keys lead to no field of their own."""
    current = shape(kind.type)
    found: Field | None = None
    for step in path:
        if current.kind == "struct" and isinstance(step, str):
            found = current.fields.get(step)
            if found is None:
                return None
            current = shape(found.type)
        elif current.kind in {"list", "map"} and current.elem is not None:
            found = None
            current = shape(current.elem)
        else:
            return None
    return found
