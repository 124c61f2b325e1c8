"""What a pod that does not fit is told. Follows pkg/scheduler/framework/types.go, FitError."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

NO_NODES = "no nodes available to schedule pods"
CANNOT_ALLOCATE = "cannot allocate all claims"
AFFINITY = "node(s) didn't match Pod's node affinity/selector"
TAINTS = "node(s) had untolerated taint(s)"
UNSCHEDULABLE = "node(s) were unschedulable"
TOO_MANY_PODS = "Too many pods"
CLAIM_ELSEWHERE = "resourceclaim not available on the node"
TIMED_OUT = "timed out trying to allocate devices"


def insufficient(resource: str) -> str:
    return f"Insufficient {resource}"


def unschedulable(reasons: Mapping[str, list[str]], *, before: str = "") -> str:
    """Return the message of an unschedulable pod.

    Args:
        reasons: node → why not, for every node of the cluster.
        before: the reason when the pod was turned down before any node was looked at.
    """
    if not reasons:
        return NO_NODES
    total = len(reasons)
    if before:
        why = before
    else:
        histogram = Counter(text for texts in reasons.values() for text in texts)
        why = ", ".join(sorted(f"{count} {text}" for text, count in histogram.items()))
    preemption = f"0/{total} nodes are available: {total} Preemption is not helpful for scheduling."
    return f"0/{total} nodes are available: {why}. preemption: {preemption}"
