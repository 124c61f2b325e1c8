"""Upstream's repairs of its own allocator, by name, each with the first release that has it.

All are on by default: a plan should be right, not historically faithful. A cluster that still has a fault can be
mirrored with ``features={"repairs": {"counters-returned": False}}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

__all__ = ["FIRST_RELEASE", "PULL_REQUEST", "Repairs"]

FIRST_RELEASE: Mapping[str, str] = {
    "counters-returned": "1.37.0",
    "counters-by-driver": "1.37.0",
    "distinct-compares-all": "1.37.0",
    "all-rejects-node-only": "1.38.0",
}

PULL_REQUEST: Mapping[str, str] = {
    "counters-returned": "kubernetes/kubernetes#140431",
    "counters-by-driver": "kubernetes/kubernetes#140435",
    "distinct-compares-all": "kubernetes/kubernetes#140600",
    "all-rejects-node-only": "kubernetes/kubernetes#141898",
}


@dataclass(frozen=True, slots=True)
class Repairs:
    """Which repairs the mirrored scheduler has; every one by default.

    ``counters_returned``: counters and constraints of rejected or undone devices are taken back.
    ``counters_by_driver``: counters are kept by driver and pool, not by the pool's name alone.
    ``distinct_compares_all``: distinctAttribute compares with every earlier pick of a request.
    ``all_rejects_node_only``: All over a broken pool rejects the node instead of ending the attempt.
    ``fractions_kept``: an amount of capacity asked for with a fraction stays what it is while devices are tried.
        Upstream adds up such amounts in place (``CmpRequestOverCapacity``); no repair is known, so this one is off.
    ``all_means_full_shares``: All means a shared device without room too, and then fails, as 1.37.2 has it; before,
        such a device was left out. Off, because the recorded cases say otherwise.
    """

    counters_returned: bool = True
    counters_by_driver: bool = True
    distinct_compares_all: bool = True
    all_rejects_node_only: bool = True
    fractions_kept: bool = False
    all_means_full_shares: bool = False

    @staticmethod
    def from_dict(switches: Mapping[str, bool]) -> Repairs:
        """Read switches by their kebab-case names; those not named are on. Raises KeyError for an unknown one."""
        known = {field.name.replace("_", "-"): field.name for field in fields(Repairs)}
        return Repairs(**{known[name]: bool(on) for name, on in switches.items()})

    @staticmethod
    def none() -> Repairs:
        """The allocator as it was recorded, faults included."""
        return Repairs(False, False, False, False)

    @property
    def complete(self) -> bool:
        """True when picks leave nothing behind, which the search's shortcuts rely on."""
        return self.counters_returned and self.counters_by_driver and self.distinct_compares_all
