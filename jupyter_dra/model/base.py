"""What every typed object shares: it keeps the mapping it was read from, so nothing is lost on the way back."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jupyter_dra.model.reading import EMPTY, Json, mapping, optional_text, text, text_map

__all__ = ["APIObject", "ObjectMeta", "Part"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A piece of an object; ``raw`` is the mapping it was read from, unknown fields included."""

    raw: Json = field(default_factory=dict, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """A copy of what was read, unknown fields included; the caller may change it."""
        return copy.deepcopy(dict(self.raw))


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectMeta(Part):
    """The metadata we read; times stay texts as on the wire."""

    name: str = ""
    namespace: str | None = None
    generate_name: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    owner_references: tuple[Json, ...] = ()
    finalizers: tuple[str, ...] = ()
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None

    @staticmethod
    def from_dict(raw: Json) -> ObjectMeta:
        owners = raw.get("ownerReferences")
        finalizers = raw.get("finalizers")
        return ObjectMeta(
            raw=raw,
            name=text(raw.get("name")),
            namespace=optional_text(raw.get("namespace")),
            generate_name=optional_text(raw.get("generateName")),
            uid=optional_text(raw.get("uid")),
            resource_version=optional_text(raw.get("resourceVersion")),
            labels=text_map(raw.get("labels")),
            annotations=text_map(raw.get("annotations")),
            owner_references=tuple(owners) if isinstance(owners, list) else (),
            finalizers=tuple(finalizers) if isinstance(finalizers, list) else (),
            creation_timestamp=optional_text(raw.get("creationTimestamp")),
            deletion_timestamp=optional_text(raw.get("deletionTimestamp")),
        )


_NO_META = ObjectMeta()


@dataclass(frozen=True, slots=True, kw_only=True)
class APIObject(Part):
    """A whole object with ``metadata``; ``name``, ``namespace``, ``uid`` are short ways to it."""

    metadata: ObjectMeta = _NO_META

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str | None:
        return self.metadata.namespace

    @property
    def uid(self) -> str | None:
        return self.metadata.uid

    @property
    def key(self) -> str:
        """``namespace/name``, or the name alone for cluster-scoped objects."""
        return (
            f"{self.metadata.namespace}/{self.metadata.name}"
            if self.metadata.namespace
            else self.metadata.name
        )


def meta_of(raw: Json) -> ObjectMeta:
    """The metadata of a whole object."""
    return ObjectMeta.from_dict(mapping(raw.get("metadata")))


def spec_of(raw: Json) -> Json:
    """The spec of a whole object, empty where there is none."""
    return mapping(raw.get("spec", EMPTY))
