"""Claims and templates: classes, capacity keys, constraints, modes and driver parameters that mislead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jupyter_dra.checker.findings import ERROR, HINT, WARNING, Finding
from jupyter_dra.checker.subjects import Subject, dig, listed
from jupyter_dra.checker.tree import Steps
from jupyter_dra.checker.world import Sample, World
from jupyter_dra.claims.catalog import SPECIMENS

NVIDIA_CONFIG = "resource.nvidia.com/v1beta1"
NVIDIA_VALUES: Mapping[Steps, tuple[str, ...]] = {
    ("sharing", "strategy"): ("TimeSlicing", "MPS"),
    ("sharing", "timeSlicingConfig", "interval"): ("Default", "Short", "Medium", "Long"),
}
NVIDIA_KINDS = (
    "GpuConfig",
    "MigDeviceConfig",
    "VfioDeviceConfig",
    "ComputeDomainChannelConfig",
    "ComputeDomainDaemonConfig",
)


def check_claim(subject: Subject, world: World) -> Iterator[Finding]:
    """A claim or a template."""
    if not list(subject.requests()):
        yield _empty(subject)
    for steps, wish in subject.wishes():
        yield from _check_class(subject, steps, wish, world)
        yield from _check_capacity(subject, steps, wish, world)
        yield from _check_mode(subject, steps, wish, world)
    yield from _check_constraints(subject, world)
    yield from check_config(subject, (*subject.devices_steps, "config"))


def _empty(subject: Subject) -> Finding:
    return subject.finding(
        "claim-empty",
        WARNING,
        "The claim asks for nothing: without requests no device is allocated.",
        subject.spec_steps,
        why="Such a claim is accepted and satisfied at once, and the program starts without a device.",
        fix="Add spec.devices.requests.",
    )


def _check_class(subject: Subject, steps: Steps, wish: Mapping[str, Any], world: World) -> Iterator[Finding]:
    name = str(wish.get("deviceClassName") or "")
    if not name or name in world.classes or not world.classes:
        return
    known = ", ".join(sorted(world.classes)[:12])
    vendor = ".".join(name.split(".")[-2:])
    kin = [other for other in world.classes if other.endswith(vendor)]
    why = f"Known are: {known}."
    if kin:
        why += f" Those of {vendor} offer other things; the driver's part for this class is not switched on."
    yield subject.finding(
        "class-unknown",
        ERROR if world.complete else WARNING,
        f"DeviceClass {name} does not exist {'on this cluster' if world.complete else 'among the given classes'}.",
        (*steps, "deviceClassName"),
        why=why,
        fix="This is for the admin: install or switch on the driver. Or use one of the classes that exist."
        if kin
        else "Use one of the classes that exist, or ask the admin for this one.",
    )


def _devices(subject: Subject, wish: Mapping[str, Any], world: World) -> list[Sample]:
    """The devices a request can mean: those of its class, or of the driver the class is named after."""
    name = str(wish.get("deviceClassName") or "")
    covered = world.in_class(name)
    return world.named_after(name) if covered is None else covered


def _check_capacity(
    subject: Subject, steps: Steps, wish: Mapping[str, Any], world: World
) -> Iterator[Finding]:
    wanted = dig(wish, ("capacity", "requests"))
    devices = _devices(subject, wish, world)
    for key in wanted:
        where = (*steps, "capacity", "requests", str(key))
        keys = {name for sample in devices for name in sample.device.get("capacity") or ()}
        short = str(key).rpartition("/")[2]
        near = [name for name in sorted(keys) if name.rpartition("/")[2] == short]
        # The catalog does not know every capacity; there only the wrong spelling of a known one counts.
        if devices and keys and key not in keys and (near or world.real):
            yield subject.finding(
                "capacity-key",
                ERROR,
                f"No device has the capacity {key}; the driver publishes {', '.join(near or sorted(keys))}.",
                where,
                why="Keys of capacity requests are compared literally, unlike in CEL, where the domain is a must.",
                fix=f"Write {near[0]}." if near else None,
                repair=("rename", where, near[0]) if near else None,
            )
    shared = [sample for sample in devices if sample.device.get("allowMultipleAllocations") is True]
    if world.real and shared and len(shared) == len(devices):
        if not wanted and not any(_has_default(sample) for sample in shared):
            yield _taken_whole(subject, steps, wish, world, shared)
        elif wanted:
            yield subject.finding(
                "share-accounting",
                HINT,
                "The amount is accounted for by the scheduler; only some drivers enforce it.",
                (*steps, "capacity"),
            )


def _taken_whole(
    subject: Subject, steps: Steps, wish: Mapping[str, Any], world: World, shared: list[Sample]
) -> Finding:
    name, count = str(wish.get("deviceClassName")), wish.get("count")
    before = world.taken_whole[name]
    world.taken_whole[name] += count if isinstance(count, int) else 1
    known = sum(sample.count for sample in shared)
    amounts = {_amounts(sample) for sample in shared}
    what = f"all of one ({amounts.pop()})" if len(amounts) == 1 else "a whole one"
    why = "Without a request and without a driver default, all of the capacity is consumed."
    if before and world.taken_whole[name] > known:
        devices = "1 device" if known == 1 else f"{known} devices"
        why += f" There is {devices} of this kind; the claims before this one leave nothing of it, so it has to wait."
    return subject.finding(
        "share-whole",
        HINT,
        f"The devices can be shared, but no amount is asked for: the claim takes {what}.",
        steps,
        why=why,
        fix="Say how much: capacity.requests.memory. It is an accounting figure unless the driver enforces it.",
    )


def _amounts(sample: Sample) -> str:
    """What a device has to share, in the driver's words: ``24Gi memory``."""
    capacity = sample.device.get("capacity") or {}
    return ", ".join(
        f"{dig(entry, ()).get('value')} {str(key).rpartition('/')[2]}"
        for key, entry in sorted(capacity.items())
    )


def _has_default(sample: Sample) -> bool:
    for entry in (sample.device.get("capacity") or {}).values():
        if dig(entry, ("requestPolicy",)).get("default") is not None:
            return True
    return False


def _check_mode(subject: Subject, steps: Steps, wish: Mapping[str, Any], world: World) -> Iterator[Finding]:
    if wish.get("allocationMode") == "All":
        quota = subject.home in world.quotas
        yield subject.finding(
            "all-devices",
            WARNING if quota else HINT,
            "All takes every matching device of a node, and every one of them must be free.",
            (*steps, "allocationMode"),
            why="A ResourceQuota counts it as the most a claim can hold (32), and one incomplete pool on the node, of "
            "any driver, stops it.",
            fix="Ask for a count if you know it.",
        )
    if wish.get("adminAccess") is True and steps[-1] == "exactly":
        yield subject.finding(
            "admin-access",
            WARNING,
            "Admin access ignores other people's allocations; it is meant for monitoring.",
            (*steps, "adminAccess"),
        )


def _check_constraints(subject: Subject, world: World) -> Iterator[Finding]:
    if not world.real:
        return
    requests = [request for _, request in subject.requests()]
    for index, constraint in enumerate(listed(subject.view, (*subject.devices_steps, "constraints"))):
        for field in ("matchAttribute", "distinctAttribute"):
            name = constraint.get(field)
            if not isinstance(name, str) or "/" not in name:
                continue
            devices = _constrained(subject, requests, world)
            lacking = [sample for sample in devices if name not in sample.keys("attributes")]
            if devices and len(lacking) == len(devices):
                message = f"No device of this inventory publishes {name}; the constraint can never hold."
            elif lacking:
                count = sum(max(sample.count, 1) for sample in lacking)
                which = (
                    f"{lacking[0].name} does"
                    if count == 1
                    else f"{count} devices ({lacking[0].name} first) do"
                )
                message = (
                    f"{which} not publish {name}; the constraint rules {'it' if count == 1 else 'them'} out."
                )
            else:
                continue
            yield subject.finding(
                "constraint-attribute",
                WARNING,
                message,
                (*subject.devices_steps, "constraints", index, field),
                why="A device without the attribute can never satisfy a constraint on it.",
            )


def _constrained(subject: Subject, requests: list[Mapping[str, Any]], world: World) -> list[Sample]:
    found: list[Sample] = []
    for request in requests:
        exactly = request.get("exactly")
        if isinstance(exactly, Mapping):
            found += [sample for sample in _devices(subject, exactly, world) if sample not in found]
    return found


def check_config(subject: Subject, where: Steps) -> Iterator[Finding]:
    """Opaque parameters of drivers whose values are known; all others are left alone."""
    drivers = [specimen.driver for specimen in SPECIMENS]
    for index, config in enumerate(listed(subject.view, where)):
        opaque = dig(config, ("opaque",))
        parameters = dig(opaque, ("parameters",))
        if parameters.get("apiVersion") != NVIDIA_CONFIG or opaque.get("driver") not in drivers:
            continue
        base = (*where, index, "opaque", "parameters")
        kind = parameters.get("kind")
        if kind not in NVIDIA_KINDS:
            text = f"{kind} is no kind of {NVIDIA_CONFIG}."
            yield subject.finding(
                "config-value", ERROR, text, (*base, "kind"), fix=f"One of {', '.join(NVIDIA_KINDS)}."
            )
        for steps, allowed in NVIDIA_VALUES.items():
            value = dig(parameters, steps[:-1]).get(str(steps[-1]))
            if value is None or value in allowed:
                continue
            right = next(
                (name for name in allowed if name.lower() == str(value).lower().replace("-", "")), None
            )
            yield subject.finding(
                "config-value",
                ERROR,
                f"{steps[-1]} {value} is not one of {', '.join(allowed)}; the case counts.",
                (*base, *steps),
                why="The API server does not look into driver parameters; the driver refuses them when the pod starts.",
                fix=f"Write {right}." if right else None,
                repair=("set", (*base, *steps), right) if right else None,
            )
