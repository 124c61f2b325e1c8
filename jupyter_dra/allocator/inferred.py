"""Nodes nobody gave us, read off the slices: enough to plan on a file that has slices only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from jupyter_dra.allocator.kinds import NodeScope
from jupyter_dra.allocator.slices import SliceEntry
from jupyter_dra.model import NodeSelectorTerm

__all__ = ["inferred_nodes"]

_SOME_NODE = "some-node"


def inferred_nodes(named: Iterable[str], unbound: Iterable[SliceEntry]) -> dict[str, Mapping[str, str]]:
    """Names and labels: nodes that slices name, and one for each selector that none of those meets."""
    found: dict[str, Mapping[str, str]] = {name: {} for name in named}
    scopes: list[NodeScope] = []
    for slice in unbound:
        scopes += [device.kind.scope for device in slice.devices] if slice.per_device else [slice.scope]
    for scope in scopes:
        if scope.node_name is not None:
            found.setdefault(scope.node_name, {})
    for scope in scopes:
        selector = scope.selector
        if (
            selector is None
            or not selector.terms
            or any(selector.matches(found[name], name) for name in found)
        ):
            continue
        name, labels = _node_for(selector.terms[0], len(found))
        if selector.matches(labels, name):
            found[name] = labels
    if not found and any(scope.all_nodes for scope in scopes):
        found[_SOME_NODE] = {}
    return found


def _node_for(term: NodeSelectorTerm, number: int) -> tuple[str, dict[str, str]]:
    """A name and labels that meet a term, where they can be read off it."""
    labels: dict[str, str] = {}
    for part in term.match_expressions:
        value = part.values[0] if part.values else ""
        if part.operator == "In":
            labels[part.key] = value
        elif part.operator == "Exists":
            labels.setdefault(part.key, "true")
        elif part.operator in ("Gt", "Lt") and value.lstrip("+-").isdigit():
            labels[part.key] = str(int(value) + (1 if part.operator == "Gt" else -1))
    names = [part.values[0] for part in term.match_fields if part.operator == "In" and part.values]
    return names[0] if names else f"{_SOME_NODE}-{number}", labels
