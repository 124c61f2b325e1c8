"""Every code that crosses a face, with its meaning; the front end's list and the tests are generated from this file.

Codes are kebab-case, stable, and only ever added (contract §2). The English text explains a code to programmers and
admins; what a person reads is composed where the facts are known.
"""

from __future__ import annotations

from collections.abc import Mapping

STEPS: Mapping[str, str] = {
    "checked": "the request was checked against rights, limits and the inventory",
    "claim-created": "the ResourceClaim exists",
    "allocated": "the scheduler reserved the device",
    "scheduled": "the pod has its node",
    "image-pulled": "the container image is on the node",
    "kernel-starting": "podside runs and starts the kernel",
    "connected": "the kernel answers",
}

STATES: Mapping[str, str] = {
    "waiting": "no device yet",
    "starting": "a device is reserved, the kernel is on its way",
    "running": "the kernel runs on the device",
    "releasing": "the device is being given back",
    "ended": "nothing is held",
}

WHY: Mapping[str, str] = {
    "condition-error": "a condition stops with an error on this device: the cluster would refuse the whole attempt",
    "inventory": "the pool's list is incomplete or invalid right now",
    "kind": "another kind of device: no class or driver of the request covers it",
    "memory": "less or more memory than asked, or memory not stated",
    "condition": "another condition does not hold",
    "out-of-service": "a taint keeps the device out of use",
    "node": "the pod may not run on this node",
    "part": "the card has no room left for this part",
    "share": "the device has too little left to share",
    "partner": "no companion that shares the asked attribute",
    "one-node": "free, but too few on one node",
    "taken": "held by a claim",
}

RELAXATIONS: Mapping[str, str] = {
    "join-session": "join a session of one's own",
    "drop-near": "do without the companion",
    "drop-spread": "do without spreading over different values",
    "less-memory": "the next smaller memory that exists",
    "more-kinds": "accept another product or architecture",
    "fewer-devices": "fewer devices",
    "part": "a part of a card",
    "other-tier": "another tier",
    "tolerate": "accept devices that carry a taint",
}

CERTAINTY: Mapping[str, str] = {
    "claims-not-visible": "no right to see the claims of other namespaces",
    "slices-not-visible": "no right to see ResourceSlices",
    "quota-unknown": "no right to see ResourceQuotas",
    "device-plugin": "nodes also give their devices out through a device plugin",
    "search-budget": "too many combinations to try in time",
    "incomplete-pools": "pools publish an incomplete list right now",
    "scales-from-zero": "nodes of this tier are started on demand",
    "classes-not-given": "DeviceClasses were not among the given objects",
    "version-unknown": "the cluster's version, and so its features, are not known",
}

ENDS: Mapping[str, str] = {
    "stopped": "its user stopped it",
    "cancelled": "its user cancelled the launch",
    "stopped-by-admin": "somebody with admin rights stopped it",
    "idle": "not used for the idle limit",
    "lease-over": "its time was over",
    "out-of-memory": "the kernel used more than its memory of the node",
    "evicted": "the node ran low on something and ended the pod",
    "preempted": "it made room for a pod of higher priority",
    "node-drained": "the node was taken out of work",
    "node-lost": "the node has not answered for a while",
    "device-unhealthy": "the device was marked broken",
    "pod-deleted": "somebody deleted the pod",
    "claim-deleted": "somebody deleted the claim",
    "crashed": "the kernel crashed in native code",
    "exited": "the kernel ended by itself",
    "image": "the image cannot be had",
    "quota": "a quota refused it",
    "limit-range": "the namespace's limits refused it",
    "class-missing": "the DeviceClass does not exist",
    "impossible": "no node can ever meet it",
    "prepare-failed": "the driver could not prepare the device",
    "wait-over": "no device became free in the time to wait",
    "launch-timeout": "the launch took longer than allowed",
    "server-stopped": "the Jupyter server stopped",
}

REFUSALS: Mapping[str, str] = {
    "limit": "the user's own limit of devices is reached",
    "quota": "the namespace's quota is used up",
    "policy": "the admin does not allow it",
}

DEVICE_KINDS = ("gpu", "part", "tpu", "nic", "cpu", "other")
DEVICE_STATES = (
    "free",
    "yours",
    "taken",
    "shared",
    "releasing",
    "out-of-service",
    "hidden",
    "unknown",
    "incomplete",
)
VERDICTS = ("fits", "busy", "impossible", "invalid", "unknown")
STATUS_STATES = ("ready", "loading", "no-cluster", "unreachable", "forbidden", "too-old", "no-devices")

GROUPS: Mapping[str, Mapping[str, str]] = {
    "steps": STEPS,
    "states": STATES,
    "why": WHY,
    "relaxations": RELAXATIONS,
    "certainty": CERTAINTY,
    "ends": ENDS,
    "refusals": REFUSALS,
}
