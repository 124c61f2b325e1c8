"""Findings of a plan: what is wrong with the request, and what this inventory makes a trap of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jupyter_dra.claims import Requirement, parse_size, sold_as_but_less
from jupyter_dra.model.limits import CEL_QUESTION_MAX

if TYPE_CHECKING:
    from jupyter_dra.planner.inventory import Inventory

__all__ = ["SELECTORS_COSTLY", "Finding", "advice", "too_costly", "too_much_text"]

SELECTORS_COSTLY = "selectors-costly"


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem of what was asked, in the contract's form; ``verdict`` is what it makes of the plan."""

    code: str
    message: str
    path: str | None = None
    fix: str | None = None
    severity: str = "error"
    verdict: str = "invalid"
    claim: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "severity": self.severity,
            "file": None,
            "document": 0,
            "item": None,
            "object": {
                "api_version": "resource.k8s.io/v1",
                "kind": "ResourceClaim",
                "namespace": None,
                "name": self.claim,
            },
            "path": self.path,
            "line": None,
            "column": None,
            "message": self.message,
            "why": None,
            "server": None,
            "fix": self.fix,
        }


def too_much_text(claim: str | None) -> Finding:
    """More different selectors than are looked at."""
    most = CEL_QUESTION_MAX // 1024
    return Finding(
        SELECTORS_COSTLY,
        f"The selectors are longer than {most} KiB together; they were not looked at.",
        path="spec.devices.requests",
        fix="Say the same with fewer selectors. The API server and the scheduler may still take them.",
        verdict="unknown",
        claim=claim,
    )


def too_costly(claim: str | None) -> Finding:
    """Selectors that would have to be tried for longer than a plan may take."""
    return Finding(
        SELECTORS_COSTLY,
        "The selectors take too long to be tried on every device; nested loops in them are the usual reason.",
        path="spec.devices.requests",
        fix="Ask for attributes by name instead of looping over all of them.",
        verdict="unknown",
        claim=claim,
    )


def _decimal_limit(requirement: Requirement, reported: set[int]) -> Iterator[Finding]:
    """A decimal upper bound leaves out the cards sold under that very number: they report more than it says."""
    most = requirement.max_vram_size
    if most is None or most.binary or not most.text.endswith("G"):
        return
    literal = parse_size(f"{most.text}i", "max_vram")
    left_out = [amount for amount in reported if most.bytes < amount <= literal.bytes]
    if left_out:
        yield Finding(
            "decimal-limit",
            f"At most {most.label} leaves out cards sold as {most.label}, which report {max(left_out) / 1e9:.1f} GB.",
            path="max_vram",
            fix=f"Write {literal.text} to take them in.",
            severity="warning",
        )


def advice(inventory: Inventory, requirement: Requirement) -> Iterator[Finding]:
    """Warnings that only the devices here can tell: a literal size that shuts cards out, a missing attribute."""
    kinds = [
        inventory.state.kinds.kinds[number]
        for number, count in inventory.state.published.items()
        if count > 0
    ]
    amounts = (inventory.facts.of(kind).memory_bytes for kind in kinds)
    reported = {amount for amount in amounts if amount}
    yield from _decimal_limit(requirement, reported)
    size = requirement.vram_size
    if size is not None and size.binary:
        shut_out = sold_as_but_less(size, reported)
        if shut_out is not None:
            decimal = size.text.removesuffix("i") + "B"
            yield Finding(
                "literal-size",
                f"{size.label} shuts out cards sold as {decimal}, which report {shut_out / 2**30:.2f} GiB.",
                path="vram",
                fix=f"Write {decimal} to mean what is on the card.",
                severity="warning",
            )
    attribute = requirement.align_attribute
    if attribute is not None:
        samples = inventory.state.samples
        lacking = {
            kind.driver
            for kind in kinds
            if inventory.facts.of(kind).device_kind in ("gpu", "part")
            and samples[kind.number].attribute(attribute) is None
        }
        stating = {kind.driver for kind in kinds if samples[kind.number].attribute(attribute) is not None}
        for driver in sorted(lacking - stating):
            yield Finding(
                "attribute-missing",
                f"The devices of {driver} do not state {attribute}; none of them can be aligned.",
                path="align",
                fix="Choose another attribute, or leave align out.",
                severity="warning",
            )
