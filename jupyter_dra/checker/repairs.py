"""The repairs by name: what each does to a document. They raise CannotEdit where the text is not theirs to change."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from jupyter_dra.checker import migration, writing
from jupyter_dra.checker.draft import Draft
from jupyter_dra.checker.editing import CannotEdit, Edit
from jupyter_dra.checker.findings import Finding
from jupyter_dra.checker.subjects import Subject, dig
from jupyter_dra.checker.tree import Steps
from jupyter_dra.checker.world import World
from jupyter_dra.validation.conversion import EXACT_FIELDS

Documents = list[Mapping[str, Any]]
Repair = Callable[[Draft, Subject | None, tuple[Any, ...], World], Documents]


def repair(draft: Draft, subject: Subject | None, finding: Finding, world: World) -> Documents:
    """Carry out a finding's repair; returns documents to add before this one."""
    request = finding.repair if isinstance(finding.repair, tuple) else (finding.repair,)
    return REPAIRS[request[0]](draft, subject, request[1:], world)


def full(draft: Draft, subject: Subject | None, steps: Steps) -> Steps:
    """A path of the object's v1 view as a path of the document as it is written now."""
    base = subject.base if subject is not None else ()
    current = draft.tree.find(base)
    written: list[str | int] = []
    for step in steps:
        found = current.real().child(step) if current is not None else None
        if found is None and step == "exactly":
            continue
        if found is None and current is not None and (basic := current.real().child("basic")) is not None:
            written.append("basic")
            found = basic.real().child(step)
        written.append(step)
        current = found
    return (*base, *written)


def _nest(draft: Draft, subject: Subject | None, args: tuple[Any, ...], world: World) -> Documents:
    steps = full(draft, subject, args[0])
    holder = draft.at(steps)
    names = [name for name in holder if name in EXACT_FIELDS]
    if "exactly" in holder or not names:
        raise CannotEdit("exactly is there already")
    draft.nest(steps, names, "exactly")
    return []


def _unwrap(draft: Draft, subject: Subject | None, args: tuple[Any, ...], world: World) -> Documents:
    base = subject.base if subject is not None else ()
    draft.unwrap((*base, *args[0]))
    return []


def _rename(draft: Draft, subject: Subject | None, args: tuple[Any, ...], world: World) -> Documents:
    draft.rename(full(draft, subject, args[0]), args[1])
    return []


def _set(draft: Draft, subject: Subject | None, args: tuple[Any, ...], world: World) -> Documents:
    draft.set(full(draft, subject, args[0]), args[1])
    return []


def _quote(draft: Draft, subject: Subject | None, args: tuple[Any, ...], world: World) -> Documents:
    draft.quote(full(draft, subject, args[0]))
    return []


def _gather(draft: Draft, subject: Subject | None, args: tuple[Any, ...], world: World) -> Documents:
    """Request fields that stand in the spec become one request under devices."""
    steps = full(draft, subject, args[0])
    spec = draft.at(steps)
    if "devices" in spec:
        raise CannotEdit("there are requests already; which one is meant is not known")
    renames = {"resourceClassName": "deviceClassName"}
    fields = {
        renames.get(name, name): value
        for name, value in spec.items()
        if renames.get(name, name) in EXACT_FIELDS
    }
    names = [name for name in spec if renames.get(name, name) in EXACT_FIELDS]
    if not fields.get("deviceClassName"):
        raise CannotEdit("no class is named")
    draft.nest(steps, names, "exactly", renames)
    draft.nest(steps, ["exactly"], "requests")
    draft.nest(steps, ["requests"], "devices")
    # A mapping cannot become a list by moving lines alone: write the request anew from its values.
    inner = draft.at((*steps, "devices", "requests", "exactly"))
    draft.replace((*steps, "devices"), {"requests": [{"name": "gpu", "exactly": copy.deepcopy(inner)}]})
    return []


def _nest_spec(draft: Draft, subject: Subject | None, args: tuple[Any, ...], world: World) -> Documents:
    draft.nest(full(draft, subject, args[0]), ["devices"], "spec")
    return []


def _nest_devices(draft: Draft, subject: Subject | None, args: tuple[Any, ...], world: World) -> Documents:
    steps = full(draft, subject, args[0])
    names = [name for name in draft.at(steps) if name in {"requests", "constraints", "config"}]
    draft.nest(steps, names, "devices")
    return []


def _use_claim(draft: Draft, subject: Subject | None, args: tuple[Any, ...], world: World) -> Documents:
    """Let a container use a claim of its pod."""
    container, name = full(draft, subject, args[0]), args[1]
    use_claim(draft, container, name)
    return []


def use_claim(draft: Draft, container: Steps, name: str) -> None:
    """Add ``resources.claims`` to a container, beside what is there."""
    resources = draft.at((*container, "resources"))
    if not resources:
        if resources is None and "resources" not in draft.at(container):
            draft.add(container, "resources", {"claims": [{"name": name}]}, last=True)
        else:
            draft.replace((*container, "resources"), {"claims": [{"name": name}]})
    elif not resources.get("claims"):
        if "claims" in resources:
            draft.replace((*container, "resources", "claims"), [{"name": name}])
        else:
            draft.add((*container, "resources"), "claims", [{"name": name}])
    else:
        draft.append((*container, "resources", "claims"), {"name": name})


def drop_resource(draft: Draft, container: Steps, resource: str) -> None:
    """Take a resource out of a container's limits and requests; parts that become empty go too."""
    for part in ("limits", "requests"):
        amounts = draft.at((*container, "resources", part))
        if not isinstance(amounts, Mapping) or resource not in amounts:
            continue
        if len(amounts) > 1:
            draft.remove((*container, "resources", part, resource))
        elif len(draft.at((*container, "resources"))) > 1:
            draft.remove((*container, "resources", part))
        else:
            draft.remove((*container, "resources"))


def _drop_resource(draft: Draft, subject: Subject | None, args: tuple[Any, ...], world: World) -> Documents:
    drop_resource(draft, full(draft, subject, args[0]), args[1])
    return []


def _to_claim(draft: Draft, subject: Subject | None, args: tuple[Any, ...], world: World) -> Documents:
    """A device plugin's resource becomes a claim template, an entry of the pod and of the container."""
    if subject is None or draft.json:
        raise CannotEdit("no object, or a JSON text, which holds one object only")
    container, resource = full(draft, subject, args[0]), args[1]
    pod = (*subject.base, *subject.pod_spec_steps)
    limits = dig(draft.at(container), ("resources", "limits"))
    amount = limits.get(resource, dig(draft.at(container), ("resources", "requests")).get(resource))
    plan = migration.claim_for(subject, resource, amount, world)
    entries = draft.at((*pod, "resourceClaims")) or []
    name = migration.free_name(plan.name, [str(entry.get("name")) for entry in entries])
    entry = {"name": name, "resourceClaimTemplateName": plan.template["metadata"]["name"]}
    drop_resource(draft, container, resource)
    use_claim(draft, container, name)
    if entries:
        draft.append((*pod, "resourceClaims"), entry)
    else:
        draft.add(pod, "resourceClaims", [entry])
    key = (subject.home, plan.template["metadata"]["name"])
    if key in world.templates:
        return []
    world.templates[key] = plan.template
    return [plan.template]


def _split_slice(draft: Draft, subject: Subject | None, args: tuple[Any, ...], world: World) -> Documents:
    """Counters and devices of one slice become two slices of the same pool."""
    if subject is None or subject.base or draft.json:
        raise CannotEdit("a slice inside a List or a JSON text")
    value = draft.value
    spec = value["spec"]
    pool = spec["pool"]
    others = sum(1 for name in ("resourceSliceCount",) if pool.get(name) not in (1, None))
    if others:
        raise CannotEdit("the pool has more slices; their number is not known here")
    counters = {
        **{name: entry for name, entry in value.items() if name not in {"metadata", "spec"}},
        "metadata": {**value["metadata"], "name": f"{value['metadata']['name']}-counters"},
        "spec": {
            **{name: entry for name, entry in spec.items() if name not in {"devices", "sharedCounters"}},
            "pool": {**pool, "resourceSliceCount": 2},
            "sharedCounters": spec["sharedCounters"],
        },
    }
    draft.remove(("spec", "sharedCounters"))
    node = draft.node(("spec", "pool", "resourceSliceCount"))

    def change(root: Any) -> None:
        root["spec"]["pool"]["resourceSliceCount"] = 2

    draft.commit([Edit(node.start.at, node.end.at, "2")], change)
    return [_plain(counters)]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, list) else value


def _migrate(draft: Draft, subject: Subject | None, args: tuple[Any, ...], world: World) -> Documents:
    if subject is None:
        raise CannotEdit("no object")
    migration.migrate(draft, subject)
    return []


REPAIRS: Mapping[str, Repair] = {
    "nest": _nest,
    "unwrap": _unwrap,
    "rename": _rename,
    "set": _set,
    "quote": _quote,
    "gather": _gather,
    "nest-spec": _nest_spec,
    "nest-devices": _nest_devices,
    "use-claim": _use_claim,
    "drop-resource": _drop_resource,
    "to-claim": _to_claim,
    "split-slice": _split_slice,
    "migrate": _migrate,
}


def with_documents(chunk: str, added: Documents, *, first: bool) -> str:
    """The chunk with new documents before it."""
    if not added:
        return chunk
    lead = "" if first else "\n"
    texts = [writing.dump(document) for document in added]
    body = chunk if first else chunk.removeprefix("\n")
    return lead + "---\n".join([*texts, body])
