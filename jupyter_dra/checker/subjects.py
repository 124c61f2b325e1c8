"""The objects a text holds, Lists flattened, each with its tree, its place and its v1 view."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from jupyter_dra.checker.findings import Finding, ServerText
from jupyter_dra.checker.tree import Document, Spot, Steps, Tree
from jupyter_dra.errors import ObjectRef
from jupyter_dra.validation import decode, schemas, to_v1

GROUP = "resource.k8s.io"
CLAIM_KINDS = {"ResourceClaim", "ResourceClaimTemplate"}
POD_TEMPLATES: Mapping[str, Steps] = {
    "Deployment": ("spec", "template"),
    "StatefulSet": ("spec", "template"),
    "DaemonSet": ("spec", "template"),
    "ReplicaSet": ("spec", "template"),
    "ReplicationController": ("spec", "template"),
    "Job": ("spec", "template"),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
    "PodTemplate": ("template",),
}


def write_path(steps: Steps) -> str:
    """A path as the server writes it: ``spec.devices.requests[0].name``."""
    text = ""
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


@dataclass(frozen=True, slots=True)
class Subject:
    """One object of the text.

    ``base`` is the path from the document to the object (inside a List). ``value`` is what kubectl would send,
    ``plain`` the same without anything of a wrong type, and ``view`` that in v1 shape: older versions converted, flat
    v1 requests nested, so that rules see what was meant.
    """

    document: Document
    value: Mapping[str, Any]
    base: Steps = ()
    item: int | None = None
    view: Mapping[str, Any] = field(default_factory=dict)
    plain: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return str(self.value.get("kind") or "")

    @property
    def api_version(self) -> str:
        return str(self.value.get("apiVersion") or "")

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        return self.api_version.rpartition("/")[2]

    @property
    def is_dra(self) -> bool:
        return self.group == GROUP

    @property
    def is_claim(self) -> bool:
        return self.is_dra and self.kind in CLAIM_KINDS

    @property
    def metadata(self) -> Mapping[str, Any]:
        meta = self.value.get("metadata")
        return meta if isinstance(meta, Mapping) else {}

    @property
    def name(self) -> str | None:
        name = self.metadata.get("name") or self.metadata.get("generateName")
        return str(name) if name is not None else None

    @property
    def namespace(self) -> str | None:
        """The namespace written down; None where none is, or where the kind has none."""
        known = schemas.find_kind(self.value.get("apiVersion"), self.value.get("kind"))
        if known is not None and not known.namespaced:
            return None
        written = self.metadata.get("namespace")
        return str(written) if written is not None else None

    @property
    def home(self) -> str:
        """The namespace the object lands in when none is written down."""
        return self.namespace or "default"

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef(self.kind or "?", self.name, self.namespace, self.api_version or None)

    @property
    def tree(self) -> Tree:
        found = self.document.tree.find(self.base)
        return found.real() if found is not None else self.document.tree

    def spot(self, steps: Steps) -> Spot:
        return self.document.tree.spot((*self.base, *_as_written(self.tree, steps)))

    def written(self, steps: Steps) -> Tree | None:
        """The node a path of the v1 view leads to in the text as it is written."""
        return self.tree.find(_as_written(self.tree, steps))

    @property
    def spec_steps(self) -> Steps:
        """Where the claim spec stands in a claim or template."""
        return ("spec", "spec") if self.kind == "ResourceClaimTemplate" else ("spec",)

    @property
    def claim_spec(self) -> Mapping[str, Any]:
        return dig(self.view, self.spec_steps)

    @property
    def devices_steps(self) -> Steps:
        return (*self.spec_steps, "devices")

    def requests(self) -> Iterator[tuple[Steps, Mapping[str, Any]]]:
        """The requests of a claim with their paths."""
        where = (*self.devices_steps, "requests")
        for index, request in enumerate(listed(self.view, where)):
            yield (*where, index), request

    def wishes(self) -> Iterator[tuple[Steps, Mapping[str, Any]]]:
        """Every place that asks for devices: ``exactly`` or an alternative, with its path."""
        for steps, request in self.requests():
            exactly = request.get("exactly")
            if isinstance(exactly, Mapping):
                yield (*steps, "exactly"), exactly
            alternatives = request.get("firstAvailable")
            if isinstance(alternatives, list):
                for index, entry in enumerate(alternatives):
                    if isinstance(entry, Mapping):
                        yield (*steps, "firstAvailable", index), entry

    @property
    def pod_steps(self) -> Steps | None:
        """Where a pod spec's parent stands (empty for a Pod), or None."""
        if self.kind == "Pod" and self.group == "":
            return ()
        return POD_TEMPLATES.get(self.kind)

    @property
    def pod_spec_steps(self) -> Steps:
        return (*(self.pod_steps or ()), "spec")

    @property
    def pod_spec(self) -> Mapping[str, Any]:
        return dig(self.plain, self.pod_spec_steps) if self.pod_steps is not None else {}

    def finding(
        self,
        code: str,
        severity: str,
        message: str,
        steps: Steps = (),
        *,
        path: str | None = None,
        why: str | None = None,
        fix: str | None = None,
        server: ServerText | None = None,
        repair: Any = None,
        spot: Spot | None = None,
    ) -> Finding:
        """A finding about this object at a path of its own."""
        place = spot or self.spot(steps)
        return Finding(
            code,
            severity,
            message,
            path=path if path is not None else write_path(steps),
            why=why,
            fix=fix,
            server=server,
            document=self.document.index,
            item=self.item,
            object=self.ref,
            line=place.line,
            column=place.column,
            steps=steps,
            repair=repair,
        )


def _as_written(tree: Tree, steps: Steps) -> Steps:
    """Translate a path of the v1 view to the text, where ``exactly`` may be missing and ``basic`` in the way."""
    written: list[str | int] = []
    current: Tree | None = tree.real()
    for step in steps:
        found = current.child(step) if current is not None else None
        if found is None and current is not None and isinstance(step, str):
            if step == "exactly":
                continue
            basic = current.child("basic")
            if basic is not None and basic.real().child(step) is not None:
                written.append("basic")
                found = basic.real().child(step)
        written.append(step)
        current = found.real() if found is not None else None
    return tuple(written)


def dig(value: Any, steps: Steps) -> Mapping[str, Any]:
    """The mapping at a path; empty where there is none."""
    for step in steps:
        if isinstance(value, Mapping) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return {}
    return value if isinstance(value, Mapping) else {}


def listed(value: Any, steps: Steps) -> list[Mapping[str, Any]]:
    """The list of mappings at a path; what is no mapping counts as an empty one."""
    parent = dig(value, steps[:-1])
    found = parent.get(str(steps[-1]))
    if not isinstance(found, list):
        return []
    return [entry if isinstance(entry, Mapping) else {} for entry in found]


def read_subjects(
    document: Document, value: Any, base: Steps = (), item: int | None = None
) -> Iterator[Subject]:
    """The objects of a document; a List yields its items."""
    if not isinstance(value, Mapping):
        return
    kind = value.get("kind")
    items = value.get("items")
    if isinstance(kind, str) and kind.endswith("List") and isinstance(items, list):
        for index, entry in enumerate(items):
            if isinstance(entry, Mapping):
                full = _with_item_type(entry, value)
                yield from read_subjects(document, full, (*base, "items", index), index)
        return
    view, flat = meant(value), without_wrappers(value)
    plain = sound(flat)
    yield Subject(document, value, base, item, plain if view == flat else sound(view), plain)


def sound(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """An object of a known kind without unknown fields and values of wrong types; others as they are."""
    return decode(value).value


def without_wrappers(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """The object with the old wrapper ``source`` of pod claims taken off, so that rules see what was meant."""
    steps = (*POD_TEMPLATES.get(str(value.get("kind")), ()), "spec")
    claims = dig(value, steps).get("resourceClaims")
    if not isinstance(claims, list) or not any(
        isinstance(entry, Mapping) and "source" in entry for entry in claims
    ):
        return value
    flat = []
    for entry in claims:
        source = entry.get("source") if isinstance(entry, Mapping) else None
        if isinstance(source, Mapping):
            entry = {**{name: one for name, one in entry.items() if name != "source"}, **source}
        flat.append(entry)
    return _with(value, (*steps, "resourceClaims"), flat)


def _with(value: Mapping[str, Any], steps: Steps, new: Any) -> Mapping[str, Any]:
    """A copy of nested mappings with one value replaced."""
    if not steps:
        return cast(Mapping[str, Any], new)
    name = str(steps[0])
    return {**value, name: _with(value[name], steps[1:], new) if len(steps) > 1 else new}


def _with_item_type(entry: Mapping[str, Any], parent: Mapping[str, Any]) -> Mapping[str, Any]:
    """Items of a typed list (PodList) may leave out what the list says."""
    kind = str(parent.get("kind"))
    if kind == "List" or entry.get("kind"):
        return entry
    return {"apiVersion": parent.get("apiVersion"), "kind": kind.removesuffix("List"), **entry}


def meant(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """The v1 view of an object: shapes of older versions turned, also where the version says v1 already."""
    version = str(value.get("apiVersion") or "")
    if not version.startswith(f"{GROUP}/"):
        return value
    flat = {**value, "apiVersion": f"{GROUP}/v1beta1"}
    try:
        return to_v1(flat)
    except (TypeError, AttributeError):
        return value
