"""Label and field selectors as they stand in queries.

Grammar and texts follow k8s.io/apimachinery ``pkg/labels/selector.go`` and ``pkg/fields/selector.go``; which
fields each kind offers follows ``pkg/apis/core/v1/conversion.go`` and the registries' ``GetAttrs``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from jupyter_dra.localcluster.resources import Resource
from jupyter_dra.localcluster.status import APIError, bad_request

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Term:
    """One requirement; ``operator`` is in, notin, exists, absent, gt or lt."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "in":
                return value in self.values
            case "notin":
                return value not in self.values
            case "exists":
                return value is not None
            case "absent":
                return value is None
            case _:
                return self._compares(value)

    def _compares(self, value: str | None) -> bool:
        try:
            number, limit = int(value or ""), int(next(iter(self.values)))
        except ValueError:
            return False
        return number > limit if self.operator == "gt" else number < limit


_KEY = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_./-]*[A-Za-z0-9])?")
_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?)?")
_SET = re.compile(r"\s*(?P<key>[^\s!=<>,()]+)\s+(?P<op>in|notin)\s*\((?P<values>[^()]*)\)\s*(?:,|$)")
_SIMPLE = re.compile(
    r"\s*(?P<absent>!)?\s*(?P<key>[^\s!=<>,()]+)\s*(?:(?P<op>==|!=|=|>|<)\s*(?P<value>[^\s,()]*))?\s*(?:,|$)"
)
_OPERATORS = {"=": "in", "==": "in", "!=": "notin", ">": "gt", "<": "lt"}


def parse_labels(text: str) -> tuple[Term, ...]:
    """The terms of a label selector; raises 400 for text the grammar does not know."""
    terms: list[Term] = []
    position = 0
    while position < len(text):
        found = _SET.match(text, position)
        if found:
            values = frozenset(part.strip() for part in found["values"].split(","))
            term = Term(found["key"], found["op"], values)
        else:
            found = _SIMPLE.match(text, position)
            if found is None:
                raise _unparsable(text)
            term = _simple_term(found, text)
        _check(term, text)
        terms.append(term)
        position = found.end()
    return tuple(terms)


def _simple_term(found: re.Match[str], text: str) -> Term:
    if found["op"] is None:
        return Term(found["key"], "absent" if found["absent"] else "exists")
    if found["absent"]:
        raise _unparsable(text)
    return Term(found["key"], _OPERATORS[found["op"]], frozenset((found["value"],)))


def _check(term: Term, text: str) -> None:
    if not _KEY.fullmatch(term.key) or any(not _VALUE.fullmatch(value) for value in term.values):
        raise _unparsable(text)


def _unparsable(text: str) -> APIError:
    return bad_request(f"unable to parse requirement: found '{text}', expected a label selector")


def _path(*names: str) -> Callable[[Object], str]:
    def read(value: Object) -> str:
        found: Any = value
        for name in names:
            if not isinstance(found, Mapping):
                return ""
            found = found.get(name)
        if isinstance(found, bool):
            return "true" if found else "false"
        return "" if found is None else str(found)

    return read


def _flag(*names: str) -> Callable[[Object], str]:
    read = _path(*names)
    return lambda value: read(value) or "false"


def _host_network(value: Object) -> str:
    return "true" if (value.get("spec") or {}).get("hostNetwork") else "false"


def _event_source(value: Object) -> str:
    return str((value.get("source") or {}).get("component") or value.get("reportingComponent") or "")


_COMMON = {"metadata.name": _path("metadata", "name")}
_NAMESPACED = {**_COMMON, "metadata.namespace": _path("metadata", "namespace")}

_POD_FIELDS = {
    name: _path(*name.split("."))
    for name in (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    )
}
_EVENT_FIELDS = {
    name: _path(*name.split("."))
    for name in (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "type",
    )
}
_FIELDS: dict[str, dict[str, Callable[[Object], str]]] = {
    "pods": {**_POD_FIELDS, "spec.hostNetwork": _host_network},
    "events": {**_EVENT_FIELDS, "source": _event_source},
    "secrets": {"type": _path("type")},
    "namespaces": {"status.phase": _path("status", "phase"), "name": _path("metadata", "name")},
    "nodes": {"spec.unschedulable": _flag("spec", "unschedulable")},
    "resourceslices": {"spec.nodeName": _path("spec", "nodeName"), "spec.driver": _path("spec", "driver")},
    "services": {"spec.clusterIP": _path("spec", "clusterIP"), "spec.type": _path("spec", "type")},
}


@dataclass(frozen=True, slots=True)
class FieldTerm:
    """One field requirement, ``field=value`` or ``field!=value``."""

    field: str
    value: str
    equal: bool
    read: Callable[[Object], str]

    def matches(self, value: Object) -> bool:
        return (self.read(value) == self.value) == self.equal


_ESCAPED = re.compile(r"\\([\\,=])")


def parse_fields(text: str, resource: Resource, labels: str = "") -> tuple[FieldTerm, ...]:
    """The terms of a field selector; raises 400 for a field this resource does not offer."""
    known = {**(_NAMESPACED if resource.namespaced else _COMMON), **_FIELDS.get(resource.plural, {})}
    terms: list[FieldTerm] = []
    for part in re.split(r"(?<!\\),", text):
        if not part.strip():
            continue
        found = re.fullmatch(r"\s*([^=!]+?)\s*(==|!=|=)(.*)", part, re.DOTALL)
        if found is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        name, operator, value = found.groups()
        read = known.get(name)
        if read is None:
            target = f"{resource.group}/{resource.version}, Resource={resource.plural}"
            raise bad_request(
                f'Unable to find "{target}" that match label selector "{labels}", '
                f'field selector "{text}": field label not supported: {name}'
            )
        terms.append(FieldTerm(name, _ESCAPED.sub(r"\1", value.strip()), operator != "!=", read))
    return tuple(terms)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects a list or a watch wants; ``namespace`` None means all."""

    namespace: str | None = None
    labels: tuple[Term, ...] = ()
    fields: tuple[FieldTerm, ...] = ()

    @property
    def everything(self) -> bool:
        return not self.labels and not self.fields

    @property
    def single_name(self) -> str | None:
        """The name, where the selector asks for exactly one."""
        for term in self.fields:
            if term.field == "metadata.name" and term.equal:
                return term.value
        return None

    def matches(self, value: Object) -> bool:
        metadata = value["metadata"]
        if self.namespace is not None and metadata.get("namespace", "") != self.namespace:
            return False
        if self.labels:
            labels = metadata.get("labels") or {}
            if not all(term.matches(labels) for term in self.labels):
                return False
        return all(term.matches(value) for term in self.fields)
