"""Nodes and node selectors (``k8s.io/component-helpers/scheduling/corev1/nodeaffinity``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jupyter_dra.model.base import APIObject, Part, meta_of, spec_of
from jupyter_dra.model.reading import Json, items, mapping, text, text_map, texts

__all__ = ["Node", "NodeSelector", "NodeSelectorRequirement", "NodeSelectorTerm", "Taint"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSelectorRequirement(Part):
    """One expression: ``operator`` is In, NotIn, Exists, DoesNotExist, Gt or Lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    @staticmethod
    def from_dict(raw: Json) -> NodeSelectorRequirement:
        return NodeSelectorRequirement(
            raw=raw,
            key=text(raw.get("key")),
            operator=text(raw.get("operator")),
            values=texts(raw.get("values")),
        )

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Tell whether a set of labels meets this expression; Gt and Lt compare whole numbers."""
        value = labels.get(self.key)
        if self.operator == "In":
            return value is not None and value in self.values
        if self.operator == "NotIn":
            return value is None or value not in self.values
        if self.operator == "Exists":
            return value is not None
        if self.operator == "DoesNotExist":
            return value is None
        return self._compares(value)

    def _compares(self, value: str | None) -> bool:
        if value is None or self.operator not in ("Gt", "Lt") or len(self.values) != 1:
            return False
        left, right = _whole_number(value), _whole_number(self.values[0])
        if left is None or right is None:
            return False
        return left > right if self.operator == "Gt" else left < right


def _whole_number(value: str) -> int | None:
    digits = value[1:] if value[:1] in ("+", "-") else value
    if not digits.isascii() or not digits.isdigit() or len(digits) > 19:
        return None
    number = int(value)
    return number if -(2**63) <= number < 2**63 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSelectorTerm(Part):
    """Expressions that must all hold; a term without any matches no node."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()

    @staticmethod
    def from_dict(raw: Json) -> NodeSelectorTerm:
        return NodeSelectorTerm(
            raw=raw,
            match_expressions=tuple(
                map(NodeSelectorRequirement.from_dict, items(raw.get("matchExpressions")))
            ),
            match_fields=tuple(map(NodeSelectorRequirement.from_dict, items(raw.get("matchFields")))),
        )

    def matches(self, labels: Mapping[str, str], name: str) -> bool:
        """Tell whether a node meets every expression; the only field is metadata.name."""
        if not self.match_expressions and not self.match_fields:
            return False
        return all(part.matches(labels) for part in self.match_expressions) and all(
            part.matches({"metadata.name": name}) for part in self.match_fields
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSelector(Part):
    """Terms of which one must match."""

    terms: tuple[NodeSelectorTerm, ...] = ()

    @staticmethod
    def from_dict(raw: Json) -> NodeSelector:
        return NodeSelector(
            raw=raw, terms=tuple(map(NodeSelectorTerm.from_dict, items(raw.get("nodeSelectorTerms"))))
        )

    @staticmethod
    def optional(value: object) -> NodeSelector | None:
        """The selector, or None where the field is absent."""
        return NodeSelector.from_dict(value) if isinstance(value, Mapping) else None

    def matches(self, labels: Mapping[str, str], name: str = "") -> bool:
        """Tell whether a node with these labels and this name is selected."""
        return any(term.matches(labels, name) for term in self.terms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Taint(Part):
    """A node's taint."""

    key: str
    value: str = ""
    effect: str = ""

    @staticmethod
    def from_dict(raw: Json) -> Taint:
        return Taint(
            raw=raw, key=text(raw.get("key")), value=text(raw.get("value")), effect=text(raw.get("effect"))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Node(APIObject):
    """The parts of a Node that planning reads."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    capacity: Mapping[str, str] = field(default_factory=dict)
    allocatable: Mapping[str, str] = field(default_factory=dict)
    conditions: tuple[Json, ...] = ()

    @staticmethod
    def from_dict(raw: Json) -> Node:
        spec, status = spec_of(raw), mapping(raw.get("status"))
        return Node(
            raw=raw,
            metadata=meta_of(raw),
            unschedulable=spec.get("unschedulable") is True,
            taints=tuple(map(Taint.from_dict, items(spec.get("taints")))),
            capacity={key: str(value) for key, value in mapping(status.get("capacity")).items()},
            allocatable={key: str(value) for key, value in mapping(status.get("allocatable")).items()},
            conditions=tuple(items(status.get("conditions"))),
        )

    @property
    def labels(self) -> Mapping[str, str]:
        return text_map(self.metadata.labels)

    @property
    def ready(self) -> bool | None:
        """The Ready condition; None where the node reports none."""
        for condition in self.conditions:
            if condition.get("type") == "Ready":
                return condition.get("status") == "True"
        return None
