"""The allocator's answer for one node, on plain dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from jupyter_dra.allocator.features import Features
from jupyter_dra.allocator.state import ClusterState

__all__ = ["allocate"]

Json = Mapping[str, Any]


def allocate(
    node: Json,
    claims: Sequence[Json],
    *,
    slices: Iterable[Json],
    classes: Iterable[Json],
    allocated: Iterable[Json] = (),
    features: Json | Features | None = None,
    share_id: Callable[[], str] | None = None,
    budget: int | None = None,
) -> list[dict[str, Any]] | None:
    """What the scheduler's allocator would give these claims of one pod on one node.

    Args:
        node: ``{"name", "labels"}``, or a Node object.
        claims: the pod's claims that are not allocated, in the pod's order.
        slices: every ResourceSlice of the cluster, also those of other nodes.
        classes: every DeviceClass.
        allocated: claims with ``status.allocation``.
        features: ``{"version": "1.37", "<gate>": bool, "repairs": {…}}``; see :class:`Features`.
        share_id: makes the ids of shares; by default they count ``share-1``, ``share-2``….
        budget: search steps before giving up; None means a default of some hundred thousand.

    Returns:
        One ``status.allocation`` per claim, or None where they do not fit together.

    Raises:
        AllocationError: upstream's error outcome; ``node_only`` where only this node is rejected.
        BudgetExceeded: the search gave up; the answer is open.
    """
    state = ClusterState(features)
    for device_class in classes:
        state.set_class(device_class)
    for slice in slices:
        state.set_slice(slice)
    for claim in allocated:
        state.set_claim(claim)
    metadata = node.get("metadata") or node
    view = state.foreign_node(metadata.get("name", ""), metadata.get("labels") or {})
    return state.attempt(claims, budget=budget).allocations(view, share_id)
