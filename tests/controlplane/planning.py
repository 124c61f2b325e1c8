"""Compare plans with what the real kube-scheduler does: verdict, devices on the chosen node, and what waiting gives."""

from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import dataclass, field
from random import Random

from jupyter_dra.allocator.repairs import FIRST_RELEASE
from jupyter_dra.planner import Inventory, Plan

from .build import VERSION
from .cells import NAMESPACE, Cell, Object, cell, device_classes, ready
from .judging import url
from .plane import CONTROLLERS, ControlPlane, many


def _release(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


# Nodes here are objects without a kubelet: nobody renews their leases.
WITHOUT_NODES = tuple(
    name for name in CONTROLLERS if name not in ("node-lifecycle-controller", "taint-eviction-controller")
)
_DECIDED_SECONDS = 150
# What this release's scheduler does not have yet, and what it has beyond our defaults.
FEATURES = {
    "repairs": {
        "all-means-full-shares": True,
        **{name: False for name, first in FIRST_RELEASE.items() if _release(first) > _release(VERSION)},
    }
}
_CANNOT = re.compile(r"(\d+) cannot allocate all claims")


@dataclass
class Agreement:
    """Counts of equal and unequal answers; ``differences`` says each unequal one in a line."""

    cells: int = 0
    refused: int = 0
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    devices: Counter[bool] = field(default_factory=Counter)
    later: Counter[tuple[str, str]] = field(default_factory=Counter)
    reasons: Counter[bool] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        def rows(table: Counter[tuple[str, str]]) -> str:
            return "\n".join(
                f"    {ours:11s} {theirs:12s} {n:4d}" for (ours, theirs), n in sorted(table.items())
            )

        same, all_devices = self.devices[True], self.devices.total()
        return (
            f"  {self.cells} small clusters ({self.refused} claims the server refused)\n"
            f"  plan        scheduler\n{rows(self.verdicts)}\n"
            f"  devices as predicted on the chosen node: {same} of {all_devices}\n"
            f"  after freeing all devices\n{rows(self.later)}\n"
            f"  reasons consistent with the scheduler's: {self.reasons[True]} of {self.reasons.total()}"
        )


def compare(plane: ControlPlane, rnd: Random, count: int) -> Agreement:
    """Make ``count`` random cells, plan each, let the scheduler decide, free what is held, let it decide again."""
    outcome = Agreement()
    cells = [likely(rnd, number) for number in range(count)]
    _set_up(plane, cells)
    plans: dict[str, Plan] = {}
    inventories: dict[str, Inventory] = {}
    for one in list(cells):
        answers = [
            plane.call("POST", url("ResourceClaim", namespace=NAMESPACE), claim) for claim in one.claims
        ]
        if any(status != 201 for status, _ in answers):
            outcome.refused += 1
            cells.remove(one)
            continue
        one.claims = [answer for _, answer in answers]
        inventories[one.name] = _inventory(one)
        plans[one.name] = inventories[one.name].plan(one.claims, NAMESPACE, all_nodes=True)
    outcome.cells = len(cells)
    pods = _decide(plane, cells)
    pending = []
    for one in cells:
        if _judge(plane, one, plans[one.name], pods[one.name], outcome):
            pending.append(one)
    _free(plane, pending)
    pods = _decide(plane, pending)
    for one in pending:
        said = "scheduled" if pods[one.name]["spec"].get("nodeName") else "pending"
        verdict = plans[one.name].verdict
        outcome.later[verdict, said] += 1
        if (verdict, said) in (("busy", "pending"), ("impossible", "scheduled")):
            outcome.differences.append(
                f"{one.name}: {verdict}, but {said} when all is free: {_message(pods[one.name])}"
            )
    return outcome


def likely(rnd: Random, number: int) -> Cell:
    """A random cell whose claims were drawn until a plan says what chance wished for: all answers occur."""
    wish = rnd.choices(("fits", "busy", "impossible", "invalid", None), (45, 25, 15, 5, 10))[0]
    one = cell(rnd, number)
    for _ in range(12):
        if wish is None or _inventory(one).plan(one.claims, NAMESPACE).verdict == wish:
            break
        one.ask(rnd)
    return one


def _set_up(plane: ControlPlane, cells: list[Cell]) -> None:
    label = {"resource.kubernetes.io/admin-access": "true"}
    made = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": label}}]
    many(lambda one: _create(plane, one), made + device_classes(), 1)
    account = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default"
    plane.wait("the account", lambda: plane.get(account)["kind"] == "ServiceAccount")

    def node(one: Object) -> None:
        made = ready(_create(plane, one))
        status, answer = plane.call("PUT", url("Node", "v1", name=one["metadata"]["name"]), made)
        assert status == 200, answer
        answer["status"] = made["status"]
        status, answer = plane.call(
            "PUT", url("Node", "v1", name=one["metadata"]["name"]) + "/status", answer
        )
        assert status == 200, answer

    def held(one: Object) -> Object:
        answer = _create(plane, one)
        answer["status"] = one["status"]
        path = url("ResourceClaim", namespace=NAMESPACE, name=one["metadata"]["name"]) + "/status"
        status, answer = plane.call("PUT", path, answer)
        assert status == 200, answer
        return dict(answer)

    many(node, [node for one in cells for node in one.nodes])
    for one in cells:
        one.slices = many(lambda item: _create(plane, item), one.slices)
        one.held = many(held, one.held)


def _create(plane: ControlPlane, item: Object) -> Object:
    namespace = item["metadata"].get("namespace", "default")
    status, answer = plane.call("POST", url(item["kind"], item["apiVersion"], namespace), item)
    assert status == 201, (item, answer)
    return dict(answer)


def _inventory(one: Cell) -> Inventory:
    seen = [*device_classes(), *map(ready, one.nodes), *one.slices, *one.held]
    return Inventory.from_objects(seen, features=FEATURES)


def _decide(plane: ControlPlane, cells: list[Cell]) -> dict[str, Object]:
    """Create the pods and wait until the scheduler has said something about each."""
    many(lambda one: _create(plane, one.pod), cells)
    wanted = {one.name for one in cells}
    deadline = time.monotonic() + _DECIDED_SECONDS
    while True:
        pods = {pod["metadata"]["name"]: pod for pod in plane.get(url("Pod", "v1", NAMESPACE))["items"]}
        open_ones = [name for name in wanted if not _decided(pods[name])]
        if not open_ones:
            return pods
        assert time.monotonic() < deadline, f"the scheduler said nothing about {open_ones[:5]}"
        time.sleep(0.5)


def _decided(pod: Object) -> bool:
    return bool(pod["spec"].get("nodeName") or _message(pod))


def _message(pod: Object) -> str:
    conditions = (pod.get("status") or {}).get("conditions") or []
    return next((one.get("message", "") for one in conditions if one["type"] == "PodScheduled"), "")


def _judge(plane: ControlPlane, one: Cell, plan: Plan, pod: Object, outcome: Agreement) -> bool:
    """Compare one first answer; true where the pod is pending."""
    node = pod["spec"].get("nodeName")
    outcome.verdicts[plan.verdict, "scheduled" if node else "pending"] += 1
    if plan.verdict != "unknown" and (plan.verdict == "fits") != bool(node):
        outcome.differences.append(f"{one.name}: {plan.verdict}, but {node or 'pending'}: {_message(pod)}")
    if not node:
        outcome.reasons[_consistent(one, plan, _message(pod))] += 1
        if not _consistent(one, plan, _message(pod)):
            outcome.differences.append(
                f"{one.name}: {[r['message'] for r in plan.reasons]} but {_message(pod)}"
            )
        return True
    predicted: list[Object] = next((entry["devices"] for entry in plan.nodes if entry["name"] == node), [])
    ours = sorted((d["claim"], d["request"], d["driver"], d["pool"], d["device"]) for d in predicted)
    theirs = []
    for index, claim in enumerate(one.claims):
        path = url("ResourceClaim", namespace=NAMESPACE, name=claim["metadata"]["name"])
        for result in plane.get(path)["status"]["allocation"]["devices"].get("results") or ():
            theirs.append((index, result["request"], result["driver"], result["pool"], result["device"]))
    outcome.devices[ours == sorted(theirs)] += 1
    if ours != sorted(theirs):
        outcome.differences.append(f"{one.name} on {node}: predicted {ours}, got {sorted(theirs)}")
    return False


def _consistent(one: Cell, plan: Plan, message: str) -> bool:
    """Where the scheduler counts nodes, they are the cell's; where it stops at an error, we know the cause too."""
    if message.startswith("running"):
        causes = [entry["message"] for entry in (*plan.findings, *plan.reasons, *plan.certainty["reasons"])]
        return plan.verdict in ("invalid", "unknown", "busy", "impossible") and bool(causes)
    counted = sum(int(found) for found in _CANNOT.findall(message))
    return counted == len(one.nodes) and bool(plan.reasons or plan.findings)


def _free(plane: ControlPlane, cells: list[Cell]) -> None:
    def delete(path: str) -> None:
        plane.call("DELETE", path, {"gracePeriodSeconds": 0})

    many(delete, [url("Pod", "v1", NAMESPACE, one.name) for one in cells])
    paths = [
        url("ResourceClaim", namespace=NAMESPACE, name=h["metadata"]["name"])
        for one in cells
        for h in one.held
    ]
    many(delete, paths)
    gone = {one.name for one in cells}
    plane.wait(
        "the end of the pods",
        lambda: (
            not gone & {pod["metadata"]["name"] for pod in plane.get(url("Pod", "v1", NAMESPACE))["items"]}
        ),
    )


def run(seed: int, count: int) -> Agreement:
    """One run in a control plane of its own."""
    with ControlPlane(controllers=WITHOUT_NODES) as plane:
        return compare(plane, Random(seed), count)
