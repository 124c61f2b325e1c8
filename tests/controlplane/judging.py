"""Compare ``check`` with a strict dry run on the real API server: accepted or refused, and at which fields."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from jupyter_dra.checker import check

from .manifests import Object, Sample
from .plane import ControlPlane

PLURALS = {
    "ResourceClaim": "resourceclaims",
    "ResourceClaimTemplate": "resourceclaimtemplates",
    "ResourceSlice": "resourceslices",
    "DeviceClass": "deviceclasses",
    "DeviceTaintRule": "devicetaintrules",
    "Pod": "pods",
    "Node": "nodes",
    "Namespace": "namespaces",
    "LimitRange": "limitranges",
    "ResourceQuota": "resourcequotas",
    "Secret": "secrets",
}
_CLUSTER_SCOPED = {"ResourceSlice", "DeviceClass", "DeviceTaintRule", "Node", "Namespace"}
_QUOTED_FIELD = re.compile(r'(?:unknown|duplicate) field "([^"]*)"')


def url(
    kind: str, api_version: str = "resource.k8s.io/v1", namespace: str = "default", name: str = ""
) -> str:
    """The path of a kind's collection, or of one object."""
    base = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    scope = "" if kind in _CLUSTER_SCOPED else f"/namespaces/{namespace}"
    return f"{base}{scope}/{PLURALS[kind]}" + (f"/{name}" if name else "")


@dataclass(frozen=True, slots=True)
class Judgment:
    """Accepted (status 201), or refused with fields; ``text`` is the server's message."""

    status: int
    fields: frozenset[str] = frozenset()
    text: str = ""

    @property
    def accepted(self) -> bool:
        return self.status < 300


@dataclass(frozen=True, slots=True)
class Difference:
    """One sample judged differently."""

    origin: str
    what: str
    ours: str
    server: str


@dataclass
class Comparison:
    """The confusion table and every difference; ``worded`` are refusals in other words."""

    table: Counter[tuple[bool, bool]] = field(default_factory=Counter)
    same_fields: int = 0
    same_words: int = 0
    differences: list[Difference] = field(default_factory=list)
    worded: list[Difference] = field(default_factory=list)

    def __str__(self) -> str:
        cell = self.table
        both = cell[False, False]
        return (
            "                  server accepts  server refuses\n"
            f"  check accepts   {cell[True, True]:14d}  {cell[True, False]:14d}\n"
            f"  check refuses   {cell[False, True]:14d}  {both:14d}\n"
            f"  refused by both: same fields {self.same_fields} of {both}, same words {self.same_words} of {both}"
        )


def compare(plane: ControlPlane, samples: Iterable[Sample]) -> Comparison:
    """Judge every sample both ways."""
    outcome = Comparison()
    for sample in samples:
        server, ours = ask(plane, sample), judge(sample)
        outcome.table[ours.accepted, server.accepted] += 1
        if ours.accepted != server.accepted:
            what = "accept/refuse"
        elif server.accepted:
            continue
        else:
            outcome.same_words += ours.text == server.text
            if ours.text != server.text:
                outcome.worded.append(Difference(sample.origin, "words", ours.text, server.text))
            if ours.fields == server.fields and ours.status == server.status:
                outcome.same_fields += 1
                continue
            what = "fields"
        outcome.differences.append(Difference(sample.origin, what, _words(ours), _words(server)))
    return outcome


def _words(judgment: Judgment) -> str:
    return f"{judgment.status} {sorted(judgment.fields)} {judgment.text[:600]}"


def ask(plane: ControlPlane, sample: Sample) -> Judgment:
    """A strict dry run."""
    value = in_order(sample.object)
    path = url(value["kind"], value["apiVersion"], sample.namespace)
    status, answer = plane.call("POST", f"{path}?dryRun=All&fieldValidation=Strict", value)
    if status < 300:
        return Judgment(status)
    if status == 409 and answer.get("reason") == "AlreadyExists":
        return Judgment(201)  # accepted in all else: the store, which knows the names in use, is asked last
    text = str(answer.get("message", ""))
    if status == 422:
        causes = (answer.get("details") or {}).get("causes") or []
        return Judgment(status, frozenset(cause.get("field", "") for cause in causes), text)
    return Judgment(status, frozenset(_QUOTED_FIELD.findall(text)), text)


def in_order(value: Any) -> Any:
    """Fields in the order in which kubectl sends them; the server tells unknown ones in that order."""
    if isinstance(value, dict):
        return {key: in_order(value[key]) for key in sorted(value)}
    return [in_order(entry) for entry in value] if isinstance(value, list) else value


def judge(sample: Sample) -> Judgment:
    """The same question to the checker, which would go on where the server stops."""
    namespace: Object = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": sample.namespace, "labels": sample.labels},
    }
    value = sample.object
    if isinstance(value.get("metadata"), dict) and value["kind"] not in _CLUSTER_SCOPED:
        value = {**value, "metadata": {**value["metadata"], "namespace": sample.namespace}}
    found: list[Any] = [
        finding for finding in check([namespace, value]).findings if finding.document == 1 and finding.server
    ]
    if not found:
        return Judgment(201)
    first = min(finding.server.status for finding in found)
    at_once = [finding for finding in found if finding.server.status == first]
    texts = [finding.server.text for finding in at_once]
    # The server stops at a value it cannot read and does not tell the unknown fields beside it.
    text = next((text for text in texts if "strict decoding error" not in text), texts[0])
    if first == 400:
        return Judgment(first, frozenset(_QUOTED_FIELD.findall(text)), text)
    return Judgment(first, frozenset(finding.path for finding in at_once), text)


def prepare(plane: ControlPlane) -> None:
    """Make the namespace whose label allows admin access, and wait for its service account."""
    label = {"resource.kubernetes.io/admin-access": "true"}
    namespace = {"metadata": {"name": "privileged", "labels": label}}
    status, answer = plane.call("POST", url("Namespace", "v1"), namespace)
    assert status in (201, 409), answer
    account = "/api/v1/namespaces/privileged/serviceaccounts/default"
    plane.wait("the account", lambda: plane.get(account)["kind"] == "ServiceAccount")
