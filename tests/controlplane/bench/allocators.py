"""Which nodes fit: the planner beside the allocator of kube-scheduler, on the same clusters, in turns."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jupyter_dra.claims import build_claim
from jupyter_dra.planner import Inventory
from jupyter_dra.planner.survey import survey
from tests.controlplane.build import program
from tests.controlplane.planning import FEATURES
from tests.perf.bench_planner import cluster, fresh, held
from tests.perf.measuring import Table

SIZES = (500, 2_000, 5_000)
TURNS = 3
NEAR = {"near": [{"tier": "nic"}], "align": "pcieRoot"}

Object = dict[str, Any]


class Oracle:
    """Kubernetes' allocator as a process that answers one question a line."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [str(program("oracle"))], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def survey(self, question: Object) -> tuple[int, float]:
        """How many nodes fit, and the milliseconds of one attempt over all of them, decoding not counted."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert "error" not in answer, answer
        return int(answer.get("fitting", 0)), min(answer["milliseconds"])

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(20)
        self._process.stdout.close()


@contextmanager
def oracle() -> Iterator[Oracle]:
    running = Oracle()
    try:
        yield running
    finally:
        running.close()


def measure(table: Table) -> None:
    """Rows per size: regular and irregular nodes, one GPU and GPU + NIC, and all nodes busy but the last."""
    with oracle() as theirs:
        for nodes in SIZES:
            for irregular in (False, True):
                objects = list(cluster(nodes, irregular))
                word = f"{nodes} x 8, {'irregular' if irregular else 'regular'}"
                _compare(table, theirs, f"one GPU, {word}", objects, {})
                _compare(table, theirs, f"GPU + NIC, {word}", objects, NEAR)
            busy = [held(f"c-{n}", f"node-{n:05}", list(range(8))) for n in range(nodes - 1)]
            objects = [*cluster(nodes, False, nics=False), *busy]
            _compare(table, theirs, f"all but the last busy, {nodes} x 8", objects, {})


def _compare(table: Table, theirs: Oracle, name: str, objects: list[Object], wish: Object) -> None:
    inventory = Inventory.from_objects(objects, features=FEATURES)
    groups = inventory.groups()
    inventory.plan(fresh(**wish))
    kinds: dict[str, list[Object]] = {"DeviceClass": [], "ResourceSlice": [], "ResourceClaim": []}
    for item in objects:
        kinds[item["kind"]].append(item)
    ours_took, theirs_took = [], []
    for _ in range(TURNS):
        table.sample()
        claim = build_claim(fresh(**wish), classes=inventory.class_facts())
        began = time.perf_counter()
        found = survey(inventory.state.attempt([claim]), groups)
        ours_took.append(1000 * (time.perf_counter() - began))
        question = {
            "nodes": sorted(view.name for group in groups for view in group),
            "times": 1,
            "slices": kinds["ResourceSlice"],
            "classes": kinds["DeviceClass"],
            "allocated": kinds["ResourceClaim"],
            "claims": [_defaulted(claim)],
        }
        fitting, took = theirs.survey(question)
        theirs_took.append(took)
        ours = sum(len(group) for _, fit in found.fitting for group in fit)
        assert ours == fitting, f"{name}: {ours} nodes fit here, {fitting} there"
    table.add(f"{name}: {fitting} fit", ours_took, "ms", beside=theirs_took)


def _defaulted(claim: Object) -> Object:
    """What the API server fills in."""
    made: Object = json.loads(json.dumps(claim))
    for request in made["spec"]["devices"]["requests"]:
        for body in request.get("firstAvailable") or [request["exactly"]]:
            body.setdefault("allocationMode", "ExactCount")
            body.setdefault("count", 1)
    return made
