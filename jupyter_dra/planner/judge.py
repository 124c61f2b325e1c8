"""The verdict: asked of the allocator with what is held now, then with everything free."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from jupyter_dra.allocator import Attempt, NodeGroup, NodeView, PoolView
from jupyter_dra.errors import AllocationError
from jupyter_dra.model import NodeSelector
from jupyter_dra.planner.certainty import Doubt, incomplete_pools, plugin_nodes, scales_from_zero
from jupyter_dra.planner.facts import matching_kinds
from jupyter_dra.planner.findings import SELECTORS_COSTLY, Finding
from jupyter_dra.planner.survey import Count, MatchTable, Survey, survey
from jupyter_dra.planner.wish import Json, Wish, allocation_of

if TYPE_CHECKING:
    from jupyter_dra.planner.inventory import Inventory

__all__ = ["Judgement", "Totals", "judge"]

# Search steps that one millisecond allows, on a slow machine.
_STEPS_PER_MS = 100


class Totals(NamedTuple):
    """Devices of the whole cluster that match the main request, each once, and nodes that have one."""

    matching: int = 0
    free: int = 0
    nodes: int = 0


@dataclass(slots=True)
class Judgement:
    """A verdict with all that was found out on the way.

    ``groups`` are all nodes, those that offer the same together; ``ready`` those that pods may go to.
    """

    verdict: str
    groups: list[NodeGroup]
    ready: list[NodeGroup]
    doubts: list[Doubt] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    now: Survey | None = None
    empty: Survey | None = None
    empty_attempt: Attempt | None = None
    matches: MatchTable | None = None
    counts: Totals = field(default_factory=Totals)
    # Matching and free devices of a node of each group, by the group's identity.
    of_group: dict[int, Count] = field(default_factory=dict)
    plugins: dict[str, dict[str, int]] = field(default_factory=dict)
    wanted: int = 1
    takes_all: bool = False
    held: tuple[Json, ...] = ()


def judge(inventory: Inventory, wish: Wish, budget_ms: float | None, tiers: Sequence[Json] = ()) -> Judgement:
    """Decide the verdict of a wish."""
    groups = inventory.groups()
    result = Judgement("unknown", groups, [group for group in groups if group.tag is None], held=wish.held)
    broken = wish.broken
    if broken is not None:
        result.verdict = broken.verdict
        if broken.code == SELECTORS_COSTLY:
            result.doubts.append(Doubt("search-budget", f"{broken.message} Launching tells.", {}))
        elif broken.verdict == "unknown":
            result.doubts += _missing_classes(())
        return result
    attempt = None
    if wish.typed:
        budget = None if budget_ms is None else max(1, int(budget_ms * _STEPS_PER_MS))
        attempt = inventory.state.attempt(wish.typed, budget=budget)
        result.empty_attempt = inventory.state.attempt(wish.typed, budget=budget, empty=True)
    if wish.held or (attempt is not None and attempt.tokens.by_device):
        _one_by_one(result)
    if wish.held:
        result.ready = [group for group in result.ready if all(_allows(c, group.sample) for c in wish.held)]
    if attempt is None:
        result.verdict = "fits" if result.ready else "impossible"
        return result
    result.now = survey(attempt, result.ready)
    result.matches = MatchTable(attempt)
    result.wanted = _wanted(attempt)
    result.takes_all = all(attempt.claims.bodies[index].all for index in result.matches.bodies)
    result.counts = _totals(result)
    result.verdict = _verdict(inventory, wish, result, tiers)
    _say_how_sure(inventory, wish, result)
    return result


def _one_by_one(result: Judgement) -> None:
    """Tell all nodes apart: a unique attribute (or a claim's node) makes equal nodes differ."""
    result.groups = [NodeGroup(view) for group in result.groups for view in group]
    result.groups.sort(key=lambda group: group.sample.order)
    result.ready = [group for group in result.groups if group.tag is None]


def _verdict(inventory: Inventory, wish: Wish, result: Judgement, tiers: Sequence[Json]) -> str:
    now, matches = result.now, result.matches
    assert now is not None and matches is not None
    if not inventory.visibility.slices:
        return "unknown"
    fatal: tuple[AllocationError, NodeView | None] | None = now.fatal()
    if fatal is None and not result.ready:
        fatal = _missing_class(inventory, wish)
    if fatal is not None:
        return "busy" if _passes(fatal[0], result) else _fatal(inventory, wish, result, *fatal)
    if now.fits:
        fitting = [group for _, groups in now.fitting for group in groups]
        result.plugins = plugin_nodes(inventory, fitting)
        sure = not result.plugins or any(v.name not in result.plugins for group in fitting for v in group)
        return "fits" if sure and inventory.visibility.all_claims else "unknown"
    if now.exhausted:
        result.doubts.append(_budget_doubt())
        return "unknown"
    pools = incomplete_pools(result.ready, matches)
    if pools:
        result.doubts.append(_pools_doubt(pools))
        return "unknown"
    assert result.empty_attempt is not None
    result.empty = survey(result.empty_attempt, result.ready)
    later = result.empty.fatal()
    if later is not None:
        # Freed devices can end the whole attempt, as when All takes one that breaks a constraint: waiting is no help.
        verdict = _fatal(inventory, wish, result, *later)
        return "impossible" if verdict == "invalid" else verdict
    if result.empty.fits:
        return "busy"
    if result.empty.exhausted:
        result.doubts.append(_budget_doubt())
        return "unknown"
    if result.counts.matching == 0:
        zero = scales_from_zero(inventory, _classes(wish), tiers)
        if zero:
            result.doubts.append(_zero_doubt(zero))
            return "unknown"
        result.findings += _nothing_published(inventory, wish)
    return "impossible"


def _passes(error: AllocationError, result: Judgement) -> bool:
    """Whether an error that ends every attempt now is over once devices are free.

    All takes devices that do not match the ones before it, because those that would match are taken.
    """
    if error.kind != "all-constraint":
        return False
    assert result.empty_attempt is not None
    free = survey(result.empty_attempt, result.ready)
    if free.fatal() is not None or not free.fits:
        return False
    result.empty = free
    return True


def _nothing_published(inventory: Inventory, wish: Wish) -> list[Finding]:
    """Tell apart: no device of the class anywhere, and a driver that is there but publishes none."""
    found = []
    for name in _classes(wish):
        if name not in inventory.classes or matching_kinds(
            inventory, inventory.state.classes[name].selectors
        ):
            continue
        message = f"No node publishes a device of class {name}."
        silent = [
            slice for slice in inventory.state.current() if not slice.devices and not slice.counter_sets
        ]
        if silent:
            first = silent[0]
            where = first.scope.node_name or first.pool
            message += f" The driver {first.driver} publishes for {where}, but 0 devices."
        found.append(
            Finding(
                "no-devices",
                message,
                fix="Your admin can look at the driver on the node; waiting does not help.",
                severity="warning",
                verdict="impossible",
            )
        )
    return found


def _fatal(
    inventory: Inventory, wish: Wish, result: Judgement, error: AllocationError, node: NodeView | None
) -> str:
    if error.kind == "class-missing":
        missing = [name for name in _classes(wish) if name not in inventory.classes]
        if not inventory.classes or not inventory.visibility.classes:
            result.doubts += _missing_classes(missing)
            return "unknown"
        for name in missing:
            result.findings.append(
                Finding(
                    "class-missing",
                    f"The tier {name} does not exist; there are: {', '.join(sorted(inventory.classes)) or 'none'}.",
                    fix="Choose one of them, or ask your admin for this one.",
                    verdict="impossible",
                )
            )
        return "impossible"
    params: dict[str, Any] = dict(error.params)
    device = params.get("device")
    where = f" on {device.device} of {node.name}" if device is not None and node is not None else ""
    if error.kind in ("cel-runtime", "cel-compile"):
        message = (
            f"Your condition stops with an error{where}: {error.message.partition('error: ')[2] or error.message}."
            " The cluster would refuse the whole request."
        )
        result.findings.append(
            Finding(error.kind, message, fix="Guard what a device may lack: has(…) && …, or .?x.orValue(…).")
        )
        return "invalid"
    if error.kind == "all-incomplete-pool":
        # Before Kubernetes 1.38 one such pool keeps the pod from every node, for as long as it is incomplete.
        result.doubts.append(_pools_doubt([(str(params.get("driver")), str(params.get("pool")))]))
        return "unknown"
    result.findings.append(Finding(error.kind, error.message, verdict="impossible"))
    return "impossible"


def _wanted(attempt: Attempt) -> int:
    """The least number of devices the main request takes."""
    claims = attempt.claims.claims
    group = claims[0].requests[0] if claims and claims[0].requests else ()
    return min((1 if body.all else body.count for body in group), default=1)


def _missing_class(inventory: Inventory, wish: Wish) -> tuple[AllocationError, None] | None:
    """Without any node nobody asks the allocator; a missing class is told all the same."""
    for name in _classes(wish):
        if name not in inventory.classes:
            return AllocationError(f"could not retrieve device class {name}", kind="class-missing"), None
    return None


def _say_how_sure(inventory: Inventory, wish: Wish, result: Judgement) -> None:
    rights = inventory.visibility
    doubts = result.doubts
    if not rights.slices:
        doubts.append(Doubt("slices-not-visible", "You may not see the devices. Launching tells.", {}))
        return
    if result.verdict == "unknown" and result.now is not None and result.now.fits and not rights.all_claims:
        doubts.append(
            Doubt(
                "claims-not-visible",
                f"At most {result.counts.free} free: you may not see other namespaces. Launching tells.",
                {"free_at_most": result.counts.free, "matching": result.counts.matching},
            )
        )
    if result.plugins and (result.verdict == "unknown" or _likely_has_plugin(result)):
        node, resources = next(iter(result.plugins.items()))
        amount = sum(resources.values())
        doubts.append(
            Doubt(
                "device-plugin",
                f"{node} also gives its cards out another way; {amount} may be in use.",
                {"nodes": sorted(result.plugins), "node": node, "resources": resources, "devices": amount},
            )
        )
    if not rights.quota and result.verdict in ("fits", "busy", "unknown"):
        doubts.append(Doubt("quota-unknown", "You may not see the quota; the launch may be refused.", {}))
    if not rights.version:
        assumed = inventory.state.features.version
        text = f"The cluster does not tell its version; this is what Kubernetes {assumed} would do."
        doubts.append(Doubt("version-unknown", text, {"assumed": assumed}))


def _likely_has_plugin(result: Judgement) -> bool:
    assert result.now is not None
    return any(group.sample.name in result.plugins for _, groups in result.now.fitting for group in groups)


def _budget_doubt() -> Doubt:
    return Doubt("search-budget", "Too many combinations to try in time. Launching tells.", {})


def _pools_doubt(pools: Sequence[tuple[str, str]]) -> Doubt:
    return Doubt(
        "incomplete-pools",
        f"{len(pools)} pools publish an incomplete list right now; usually over in a minute.",
        {"pools": [{"driver": driver, "pool": pool} for driver, pool in pools]},
    )


def _zero_doubt(classes: Sequence[str]) -> Doubt:
    return Doubt(
        "scales-from-zero",
        "No such node runs now. One is started for you; allow some minutes.",
        {"classes": list(classes)},
    )


def _missing_classes(names: Sequence[str]) -> list[Doubt]:
    return [
        Doubt(
            "classes-not-given",
            "The device classes are not known here, so nothing can be matched.",
            {"classes": list(names)},
        )
    ]


def _classes(wish: Wish) -> list[str]:
    return list(
        dict.fromkeys(
            body.device_class_name
            for claim in wish.typed
            for request in claim.spec.requests
            for _, body in request.bodies()
        )
    )


def _allows(claim: Json, view: NodeView) -> bool:
    selector = NodeSelector.optional(allocation_of(claim).get("nodeSelector"))
    return selector is None or selector.matches(view.labels, view.name)


def _totals(result: Judgement) -> Totals:
    matches = result.matches
    assert matches is not None
    matching = free = nodes = 0
    devices: dict[Any, bool] = {}
    network: dict[Any, tuple[PoolView, NodeView]] = {}
    for group in result.groups:
        view = group.sample
        count = result.of_group[id(group)] = matches.count(view)
        if group.tag is not None or not count.matching:
            continue
        times = len(group)
        nodes += times
        for pool in view.pools:
            if not pool.local:
                network[id(pool), view.name if pool.per_device else None] = pool, view
                count = count.less(matches.count_pool(pool, view))
        matching += count.matching * times
        free += count.free * times
    for pool, view in network.values():
        for index, device in enumerate(pool.devices) if not pool.broken else ():
            if matches.on_node(pool, device, view) and matches.matches(device):
                devices[device.id] = matches.is_free(pool, index)
    return Totals(matching + len(devices), free + sum(devices.values()), nodes)
