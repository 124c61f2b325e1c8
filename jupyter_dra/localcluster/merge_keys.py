"""Which lists of a kind merge in a strategic patch, and by which key, read from the schemas."""

from __future__ import annotations

from functools import cache

from jupyter_dra.localcluster.resources import Resource
from jupyter_dra.localcluster.strategic import ListRule, Path, Rules
from jupyter_dra.validation import schemas


def rules_for(resource: Resource) -> Rules:
    """The list rules of one resource; lists without a merge strategy are replaced whole."""
    return lambda path: _rule(resource.api_version, resource.kind, path)


@cache
def _rule(api_version: str, kind: str, path: Path) -> ListRule | None:
    known = schemas.find_kind(api_version, kind)
    if known is None:
        return None
    current = schemas.shape(known.type)
    found: schemas.Field | None = None
    for step in path:
        while current.kind == "list" and current.elem is not None:
            current = schemas.shape(current.elem)
        if current.kind == "map" and current.elem is not None:
            found, current = None, schemas.shape(current.elem)
            continue
        found = current.fields.get(step)
        if found is None:
            return None
        current = schemas.shape(found.type)
    if found is None or not found.merges:
        return None
    return ListRule(found.merge_key, found.retains_keys)
