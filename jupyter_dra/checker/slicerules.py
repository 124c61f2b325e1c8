"""Slices: counters apart from devices, pools that add up, names that repeat."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jupyter_dra.checker.findings import ERROR, HINT, WARNING, Finding
from jupyter_dra.checker.subjects import Subject, dig, listed
from jupyter_dra.checker.world import World

Pool = tuple[str, str]


def check_pools(subjects: Iterable[Subject], target: str) -> Iterator[Finding]:
    """All slices of the text, pool by pool, at the newest generation."""
    pools: dict[Pool, list[Subject]] = {}
    for subject in subjects:
        if subject.is_dra and subject.kind == "ResourceSlice":
            spec = dig(subject.view, ("spec",))
            key = (str(spec.get("driver")), str(dig(spec, ("pool",)).get("name")))
            pools.setdefault(key, []).append(subject)
    for members in pools.values():
        newest = max(_generation(member) for member in members)
        current = [member for member in members if _generation(member) == newest]
        yield from _check_count(current)
        yield from _check_names(current)
        yield from _check_counters(current)
    if int(target.split(".")[1]) < 35:
        yield from _mixed(pools)


def _generation(subject: Subject) -> int:
    found = dig(subject.view, ("spec", "pool")).get("generation")
    return found if isinstance(found, int) else 0


def _check_count(members: list[Subject]) -> Iterator[Finding]:
    for member in members:
        wanted = dig(member.view, ("spec", "pool")).get("resourceSliceCount")
        if isinstance(wanted, int) and wanted > 0 and wanted != len(members):
            yield member.finding(
                "pool-incomplete",
                WARNING,
                f"The pool says it has {wanted} slices; the text has {len(members)}.",
                ("spec", "pool", "resourceSliceCount"),
                why="The scheduler skips an incomplete pool, and a request for all devices fails beside it.",
                fix="Set resourceSliceCount to the number of slices of this generation, in all of them.",
            )


def _check_names(members: list[Subject]) -> Iterator[Finding]:
    seen: dict[str, Subject] = {}
    for member in members:
        for index, device in enumerate(listed(member.view, ("spec", "devices"))):
            name = str(device.get("name") or "")
            if name in seen and seen[name] is not member:
                yield member.finding(
                    "device-duplicate",
                    ERROR,
                    f"Device {name} is in two slices of the pool; the whole pool is invalid.",
                    ("spec", "devices", index, "name"),
                    why="Names are unique within a pool; the scheduler does not use a pool that breaks this.",
                )
            seen.setdefault(name, member)


def _check_counters(members: list[Subject]) -> Iterator[Finding]:
    sets: dict[str, Mapping[str, Any]] = {}
    for member in members:
        for entry in listed(member.view, ("spec", "sharedCounters")):
            sets[str(entry.get("name"))] = dig(entry, ("counters",))
    for member in members:
        for index, device in enumerate(listed(member.view, ("spec", "devices"))):
            for number, use in enumerate(listed(device, ("consumesCounters",))):
                where = ("spec", "devices", index, "consumesCounters", number)
                name = str(use.get("counterSet"))
                unknown = [key for key in dig(use, ("counters",)) if key not in sets.get(name, {})]
                if name not in sets or unknown:
                    what = (
                        f"counter set {name}" if name not in sets else f"counter {unknown[0]} in set {name}"
                    )
                    yield member.finding(
                        "counter-unknown",
                        ERROR,
                        f"The pool has no {what}; the whole pool is invalid.",
                        (*where, "counterSet") if name not in sets else (*where, "counters"),
                        fix="Publish it under sharedCounters in a slice of the same pool and generation.",
                    )


def _mixed(pools: Mapping[Pool, list[Subject]]) -> Iterator[Finding]:
    for members in pools.values():
        for member in members:
            spec = dig(member.view, ("spec",))
            if spec.get("sharedCounters") and spec.get("devices"):
                text = "Counters and devices share a slice; Kubernetes 1.35 and later refuse that."
                yield member.finding("counters-apart", HINT, text, ("spec", "sharedCounters"))


def check_nodes(subjects: Iterable[Subject], world: World) -> Iterator[Finding]:
    """Nodes that publish devices through a plugin and through DRA."""
    published: dict[str, int] = {}
    for subject in subjects:
        if subject.is_dra and subject.kind == "ResourceSlice":
            node = dig(subject.view, ("spec",)).get("nodeName")
            published[str(node)] = published.get(str(node), 0) + len(
                listed(subject.view, ("spec", "devices"))
            )
    for subject in subjects:
        if subject.kind != "Node" or subject.group:
            continue
        name = subject.name or ""
        for resource, amount in world.plugins.get(name, {}).items():
            if published.get(name) and resource.startswith(
                ("nvidia.com/", "amd.com/", "intel.com/", "google.com/")
            ):
                yield subject.finding(
                    "plugin-and-dra",
                    WARNING,
                    f"Node {name} publishes {published[name]} devices through DRA and {amount} through {resource}; "
                    "they may be the same cards.",
                    ("status", "allocatable", resource),
                    why="The scheduler cannot see the plugin's use when it allocates claims.",
                    fix="Run one of the two on a node.",
                )
