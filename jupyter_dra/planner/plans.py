"""The plan: a verdict with its evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, Unpack

from jupyter_dra.cel.meter import Allowance
from jupyter_dra.errors import BudgetExceeded
from jupyter_dra.planner.asked_counts import count_refusal
from jupyter_dra.planner.findings import too_costly
from jupyter_dra.planner.holders import foremost, sum_holders
from jupyter_dra.planner.judge import Judgement, judge
from jupyter_dra.planner.permission import charges, refusal
from jupyter_dra.planner.placement import list_nodes
from jupyter_dra.planner.reasons import why_not
from jupyter_dra.planner.relaxations import relaxations
from jupyter_dra.planner.wish import Wanted, Wish, interpret

if TYPE_CHECKING:
    from jupyter_dra.planner.inventory import Inventory

__all__ = ["Detail", "Plan", "PlanOptions", "make_outlook", "make_plan", "plan"]

Json = Mapping[str, Any]
Detail = Literal["verdict", "full"]
_LAUNCH = {"fits": "yes", "unknown": "yes", "busy": "wait"}
# Nodes of expressions that one plan may evaluate: some tenths of a second, and more where more kinds of devices are.
_NODES, _NODES_PER_KIND = 2_000_000, 1_000
# Nodes that are listed, the best first.
_MOST_NODES = 50
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Plan:
    """What would happen, how sure that is, and why; the fields are those of the contract's Plan object."""

    verdict: str
    launch: dict[str, Any]
    certainty: dict[str, Any]
    requirement: dict[str, Any] | None
    claim: dict[str, Any] | None
    counts: dict[str, Any]
    nodes: list[dict[str, Any]] = field(default_factory=list)
    nodes_left_out: int = 0
    reasons: list[dict[str, Any]] = field(default_factory=list)
    holders: list[dict[str, Any]] = field(default_factory=list)
    holders_left_out: int = 0
    relaxations: list[dict[str, Any]] = field(default_factory=list)
    charges: dict[str, int] = field(default_factory=dict)
    findings: list[dict[str, Any]] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """The JSON form, without ``context``, which only the caller knows."""
        return {
            "kind": "Plan",
            "version": 1,
            "verdict": self.verdict,
            "launch": self.launch,
            "certainty": self.certainty,
            "requirement": self.requirement,
            "claim": self.claim,
            "counts": self.counts,
            "nodes": self.nodes,
            "nodes_left_out": self.nodes_left_out,
            "reasons": self.reasons,
            "holders": self.holders,
            "holders_left_out": self.holders_left_out,
            "relaxations": self.relaxations,
            "charges": self.charges,
            "findings": self.findings,
        }


@dataclass(frozen=True, slots=True)
class _Question:
    """How a wish is to be answered."""

    namespace: str
    full: bool
    budget_ms: float | None
    limits: Json | None
    all_nodes: bool
    tiers: Sequence[Json]


class PlanOptions(TypedDict, total=False):
    """The keyword arguments of :meth:`Inventory.plan`."""

    namespace: str
    detail: Detail
    budget_ms: float | None
    limits: Json | None
    all_nodes: bool
    tiers: Iterable[Json]


def plan(
    wanted: Wanted, inventory: Inventory | Iterable[Json] | Json, **options: Unpack[PlanOptions]
) -> Plan:
    """The plan for a requirement or a claim against an inventory, or against plain objects.

    Args:
        wanted: a Requirement, a requirement's or a claim's mapping, or a list of claims.
        inventory: an Inventory, or Kubernetes objects (Lists are flattened).
        **options: as for :meth:`Inventory.plan` (``namespace``, ``detail``, ``limits``…).

    >>> plan({"tier": "gpu"}, [{"kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}}]).verdict
    'impossible'
    """
    from jupyter_dra.planner.inventory import Inventory

    known = inventory if isinstance(inventory, Inventory) else Inventory.from_objects(inventory)
    return known.plan(wanted, **options)


def make_plan(
    inventory: Inventory,
    wanted: Wanted,
    namespace: str,
    detail: Detail,
    budget_ms: float | None,
    *,
    limits: Json | None,
    all_nodes: bool,
    tiers: Sequence[Json],
) -> Plan:
    """See :meth:`Inventory.plan`."""
    wish = interpret(inventory, wanted, namespace, tiers)
    if wish.requirement is not None and wish.requirement.namespace:
        namespace = wish.requirement.namespace

    question = _Question(namespace, detail == "full", budget_ms, limits, all_nodes, tiers)
    return _metered(inventory, wish, lambda asked: _answer(inventory, asked, question))


def make_outlook(inventory: Inventory, wanted: Wanted, namespace: str) -> dict[str, Any]:
    """See :meth:`Inventory.outlook`."""

    def answer(wish: Wish) -> dict[str, Any]:
        judgement = judge(inventory, wish, None, ())
        nodes, left_out = list_nodes(inventory, judgement, _MOST_NODES)
        return {
            "verdict": judgement.verdict,
            "sure": not judgement.doubts,
            "counts": _counts(inventory, judgement),
            "nodes": nodes,
            "nodes_left_out": left_out,
        }

    return _metered(inventory, interpret(inventory, wanted, namespace, ()), answer)


def _metered(inventory: Inventory, wish: Wish, answer: Callable[[Wish], T]) -> T:
    """Answer within the allowance for expressions; what is too costly is answered as such."""
    allowance = Allowance(_NODES + _NODES_PER_KIND * len(inventory.state.population))
    try:
        with inventory.state.selectors.within(allowance):
            return answer(wish)
    except BudgetExceeded:
        claim = wish.typed[0].name if wish.typed else None
        return answer(replace(wish, findings=(*wish.findings, too_costly(claim))))


def _answer(inventory: Inventory, wish: Wish, question: _Question) -> Plan:
    namespace, tiers, full = question.namespace, question.tiers, question.full
    judgement = judge(inventory, wish, question.budget_ms, tiers)
    reasons = why_not(inventory, judgement)
    nodes, left_out = list_nodes(inventory, judgement, None if question.all_nodes else _MOST_NODES)
    holders, unnamed = foremost(sum_holders(inventory, reasons.taken)) if full else ([], 0)
    changes = relaxations(inventory, wish, judgement, reasons.lines, namespace, tiers) if full else []
    charged = charges(wish.typed)
    launch: dict[str, Any] = {"can": _LAUNCH.get(judgement.verdict, "no"), "code": None, "params": {}}
    count = count_refusal(inventory, wish.requirement, tiers)
    forbidden = refusal(inventory, charged, namespace, question.limits, count)
    if forbidden is not None and judgement.verdict not in ("invalid", "impossible"):
        launch = forbidden
    return Plan(
        verdict=judgement.verdict,
        launch=launch,
        certainty={
            "sure": not judgement.doubts,
            "reasons": [doubt.as_dict() for doubt in judgement.doubts],
        },
        requirement=_requirement(wish),
        claim=dict(wish.claims[0]) if wish.claims else None,
        counts=_counts(inventory, judgement),
        nodes=nodes,
        nodes_left_out=left_out,
        reasons=reasons.reasons,
        holders=holders,
        holders_left_out=unnamed,
        relaxations=changes,
        charges=charged,
        findings=[finding.as_dict() for finding in (*wish.findings, *judgement.findings)],
    )


def _requirement(wish: Wish) -> dict[str, Any] | None:
    found = wish.requirement or wish.expressed
    return found.as_dict() if found is not None else None


def _counts(inventory: Inventory, judgement: Judgement) -> dict[str, Any]:
    if not inventory.visibility.slices:
        return dict.fromkeys(("devices", "nodes", "matching", "free", "free_at_most", "matching_nodes"))
    counts = judgement.counts
    return {
        "devices": inventory.state.published.total(),
        "nodes": sum(map(len, judgement.groups)),
        "matching": counts.matching,
        "free": counts.free if inventory.visibility.all_claims else None,
        "free_at_most": counts.free,
        "matching_nodes": counts.nodes,
    }
