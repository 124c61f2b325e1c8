"""The examinations: each reads the chart and tells what it finds. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ..claims import Requirement, labels, parse_duration
from ..errors import DRAError, QuantityError
from ..model import Quantity
from ..planner import Inventory
from ..planner.offered_counts import read_counts
from ..planner.tiers import read_price
from .chart import Chart
from .findings import Finding
from .leftovers import left_behind

CONFORMANCE_KINDS = ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice")
"""Kubernetes AI Conformance asks that all resource.k8s.io/v1 resources are enabled (its requirement dra_support)."""

_NEEDED = {
    "create_claims": "make claims",
    "delete_claims": "delete claims",
    "read_claims": "see claims",
    "create_pods": "make pods",
    "delete_pods": "delete pods",
    "watch_pods": "follow pods",
    "create_secrets": "make the Secret of a kernel pod",
}
_USEFUL = {
    "read_logs": ("read the log of kernels", "warning"),
    "read_events": ("say why a session waits", "warning"),
    "read_quota": ("say what the quota leaves", "hint"),
    "read_nodes": ("know which nodes are out of service", "hint"),
}
_FEATURES = {
    "spec.devices.requests[0].exactly.tolerations": ("DRADeviceTaints", "accepting marked devices"),
    "spec.devices.requests[0].exactly.capacity": ("DRAConsumableCapacity", "an amount of a shared device"),
    "spec.devices.requests[1].firstAvailable": ("DRAPrioritizedList", "ordered alternatives"),
}
_DEFAULT_AMOUNTS = {"cpu": "4", "memory": "16Gi"}


def api(chart: Chart) -> Iterator[Finding]:
    """Whether the API we write is served, and which of its features are off."""
    version = chart.version
    if not version.has_v1:
        served = ", ".join(version.dra_versions) or "nothing of the group"
        yield Finding(
            "no-v1",
            "error",
            "api",
            f"Kubernetes {version.git or '?'} serves {served}, not resource.k8s.io/v1.",
            "Upgrade to Kubernetes 1.34 or newer; v1 is on by default there.",
        )
        return
    for path in chart.dropped or ():
        gate, what = next((v for k, v in _FEATURES.items() if path.startswith(k)), ("?", path))
        text = f"The feature {gate} is off: {what} is dropped silently from claims."
        yield Finding("feature-off", "hint", "api", text, f"Turn the feature gate {gate} on if you need it.")
    if chart.probe_error is not None:
        yield Finding(
            "claims-refused",
            "error",
            "api",
            f"A trial claim (dry run) was refused: {chart.probe_error}",
            "Look for an admission webhook or policy that refuses resource claims.",
        )


def devices(chart: Chart) -> Iterator[Finding]:
    """Drivers, pools and tiers."""
    if chart.slices is None:
        return
    if not chart.slices:
        yield Finding(
            "no-slices",
            "error",
            "devices",
            "No driver publishes devices: there is not one ResourceSlice.",
            "Install the DRA driver of your devices, e.g. the NVIDIA DRA driver, and look at its pods' logs.",
        )
    yield from _incomplete_pools(chart)
    if chart.classes is None:
        return
    if not chart.classes:
        yield Finding(
            "no-classes",
            "error",
            "devices",
            "There is no DeviceClass, so there is no tier to choose.",
            "Create a DeviceClass; the examples of this project hold some.",
        )
        return
    inventory = Inventory.from_objects([*chart.slices, *chart.classes])
    for tier in inventory.tiers():
        if not tier["devices"] and not tier["scales_from_zero"] and not tier["hidden"]:
            yield Finding(
                "tier-without-devices",
                "hint",
                "tiers",
                f"No device matches the tier {tier['name']}.",
                "Check its selectors with `jupyter dra check`, hide it, or annotate scales-from-zero.",
            )
    for name, why in inventory.unreadable.items():
        yield Finding(
            "slice-unreadable",
            "warning",
            "devices",
            f"The ResourceSlice {name} cannot be read: {why}",
            "Update the driver that publishes it.",
        )


def _incomplete_pools(chart: Chart) -> Iterator[Finding]:
    pools: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for entry in chart.slices or []:
        spec = entry.get("spec") or {}
        pool = spec.get("pool") or {}
        pools.setdefault((str(spec.get("driver")), str(pool.get("name"))), []).append(pool)
    for (driver, name), members in pools.items():
        newest = max(int(pool.get("generation") or 0) for pool in members)
        current = [pool for pool in members if int(pool.get("generation") or 0) == newest]
        expected = int(current[0].get("resourceSliceCount") or 0)
        if len(current) < expected:
            yield Finding(
                "pool-incomplete",
                "warning",
                "devices",
                f"The pool {name} of {driver} has {len(current)} of {expected} slices; its devices may be missing.",
                f"Look at the driver {driver} on that node; it should publish the rest.",
            )


def rights(chart: Chart) -> Iterator[Finding]:
    """What the person may do, against what the product uses."""
    fix = "Apply what `jupyter dra rbac user` prints."
    if not chart.rights.get("read_slices") or not chart.rights.get("read_classes"):
        text = "You may not read ResourceSlices and DeviceClasses, so tiers and devices stay unknown."
        yield Finding(
            "right-missing", "error", "rights", text, "Apply what `jupyter dra rbac viewer` prints."
        )
    for name, what in _NEEDED.items():
        if not chart.rights.get(name):
            text = f"You may not {what} in {chart.namespace}."
            yield Finding("right-missing", "error", "rights", text, fix)
    for name, (what, severity) in _USEFUL.items():
        if not chart.rights.get(name):
            text = f"Without a further right we cannot {what}."
            level: Any = severity
            yield Finding("right-useful", level, "rights", text, fix)
    if not chart.rights.get("port_forward"):
        severity = "hint" if chart.in_cluster else "error"
        level = severity
        text = "You may not port-forward to pods, the only way to kernels from outside the pod network."
        yield Finding("right-missing", level, "network", text, fix)
    if not chart.rights.get("read_all_claims"):
        yield Finding(
            "occupancy-unknown",
            "hint",
            "rights",
            "You see only your namespace's claims: free counts are 'at most', and verdicts may be unknown.",
            "`jupyter dra rbac occupancy` prints the right, and says what it shows.",
        )


def quota(chart: Chart) -> Iterator[Finding]:
    """Quota and limit ranges of the namespace."""
    if chart.quotas is not None:
        keys = [key for q in chart.quotas for key in (q.get("spec") or {}).get("hard") or {}]
        if not chart.local and not any(
            key.endswith("resource.k8s.io") or "deviceclass" in key for key in keys
        ):
            yield Finding(
                "no-quota",
                "hint",
                "quota",
                f"No ResourceQuota of {chart.namespace} limits claims or devices; only our own limits do.",
                "Create one on count/resourceclaims.resource.k8s.io or <class>.deviceclass.resource.k8s.io/devices.",
            )
        for entry in chart.quotas:
            yield from _used_up(entry)
    for entry in chart.ranges or []:
        yield from _too_narrow(entry)


def _used_up(entry: Mapping[str, Any]) -> Iterator[Finding]:
    status = entry.get("status") or {}
    hard, used = status.get("hard") or {}, status.get("used") or {}
    for key, limit in hard.items():
        interesting = key in ("pods", "secrets", "count/pods") or "resource.k8s.io" in key
        if interesting and _amount(used.get(key, "0")) >= _amount(limit):
            yield Finding(
                "quota-used-up",
                "warning",
                "quota",
                f"The quota {entry['metadata']['name']} leaves nothing of {key} ({used.get(key, 0)} of {limit}).",
                "Stop sessions you do not need, or ask for a larger quota.",
                "you",
            )


def _too_narrow(entry: Mapping[str, Any]) -> Iterator[Finding]:
    for limit in (entry.get("spec") or {}).get("limits") or []:
        if limit.get("type") not in ("Container", "Pod"):
            continue
        for resource, most in (limit.get("max") or {}).items():
            asked = _DEFAULT_AMOUNTS.get(resource)
            if asked is not None and _amount(asked) > _amount(most):
                yield Finding(
                    "limit-range",
                    "warning",
                    "quota",
                    f"The LimitRange {entry['metadata']['name']} allows {most} {resource}; sessions ask for {asked}.",
                    "Set smaller defaults for cpu and host memory in the server's settings.",
                )


def _amount(text: Any) -> int:
    try:
        return Quantity.parse(str(text)).nanos
    except QuantityError:
        return 0


def tier_annotations(chart: Chart) -> Iterator[Finding]:
    """Annotations on DeviceClasses that we cannot read."""
    for entry in chart.classes or []:
        name = entry["metadata"]["name"]
        for key, value in (entry["metadata"].get("annotations") or {}).items():
            why = _unreadable(key, str(value)) if key.startswith(labels.PREFIX) else None
            if why is not None:
                yield Finding(
                    "annotation-unreadable",
                    "warning",
                    "tiers",
                    f"The annotation {key} of the DeviceClass {name} is ignored: {why}",
                    f"Correct it, or remove it: kubectl annotate deviceclass {name} {key}-",
                )


def _unreadable(key: str, value: str) -> str | None:
    if key not in labels.TIER_ANNOTATIONS:
        return "there is no such annotation."
    if key == labels.PRICE_PER_HOUR and read_price(value) is None:
        return "it should read like '2.90 EUR'."
    if key in (labels.HIDDEN, labels.SCALES_FROM_ZERO) and value not in ("true", "false"):
        return "it should be true or false."
    if key in (labels.DEFAULTS, labels.LIMITS):
        return _unreadable_json(key, value)
    return None


def _unreadable_json(key: str, value: str) -> str | None:
    try:
        content = json.loads(value)
    except (ValueError, RecursionError):
        return "it is no JSON."
    if not isinstance(content, dict):
        return "it should be a JSON object."
    try:
        if key == labels.DEFAULTS:
            Requirement.from_dict(content)
            return None
        for name in content:
            if name not in ("lease", "idle", "counts"):
                return f"{name} is no limit; there are lease, idle and counts."
        for name in ("lease", "idle"):
            if content.get(name) is not None:
                parse_duration(content[name], name)
    except DRAError as error:
        return error.message
    counts = content.get("counts")
    if counts is not None and read_counts(counts) is None:
        return "counts should be a list of numbers, a smallest and largest number, or all."
    return None


def sessions(chart: Chart) -> Iterator[Finding]:
    """The namespace as a wall, and images that did not come."""
    users = {
        (pod["metadata"].get("labels") or {}).get(labels.USER)
        for pod in chart.pods or []
        if (pod["metadata"].get("labels") or {}).get(labels.COMPONENT) == labels.COMPONENT_KERNEL
    } - {None}
    if len(users) > 1:
        yield Finding(
            "shared-namespace",
            "warning",
            "sessions",
            f"{len(users)} people have kernels in {chart.namespace}: whoever may make pods there can read all Secrets.",
            "Give each user a namespace, or leave pod and secret rights to the hub only.",
        )
    seen: set[str] = set()
    for event in chart.events or []:
        about = event.get("involvedObject") or {}
        text = str(event.get("message") or "")
        failed = event.get("reason") == "Failed" and "pull" in text.lower()
        if about.get("kind") == "Pod" and failed and text not in seen and len(seen) < 3:
            seen.add(text)
            yield Finding(
                "image-pull",
                "warning",
                "image",
                f"An image could not be pulled lately: {text[:300]}",
                "Check its name and the pull secret; see image_pull_secrets in the server's settings.",
            )


def conformance(chart: Chart) -> tuple[str, ...]:
    """What the DRA part of Kubernetes AI Conformance misses here."""
    if not chart.version.has_v1:
        return ("resource.k8s.io/v1",)
    return tuple(kind for kind in CONFORMANCE_KINDS if kind not in chart.kinds)


ALL = (api, devices, rights, quota, tier_annotations, sessions, left_behind)
