"""``python -m tests.controlplane.fuzzing``: random cases against Kubernetes' own code (the oracle), seeds printed.

Selectors are compared as the API server compiles them (accepted or refused, estimated cost) and as the scheduler
evaluates them; allocations node by node, with devices and errors.
"""

from __future__ import annotations

import argparse
import json
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from jupyter_dra.allocator import allocate
from jupyter_dra.cel import compile_selector
from jupyter_dra.cel.cost import estimate
from jupyter_dra.errors import AllocationError, CELCompileError, CELRuntimeError
from tests.allocator import clusters

from .build import CannotBuild, program
from .equality import FIXED
from .expressions import DEVICES, expression
from .planning import FEATURES

Object = dict[str, Any]
NEW = "1.35"  # what is written anew has no list attributes: their gate is off


@dataclass
class Score:
    """How many cases were compared and agreed; ``differences`` in a line each."""

    what: str
    cases: int = 0
    differences: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.what}: {self.cases - len(self.differences)} of {self.cases} equal"

    def note(self, equal: bool, text: str) -> None:
        self.cases += 1
        if not equal:
            self.differences.append(text)


def ask(questions: Iterable[Object]) -> list[Object]:
    """The oracle's answers."""
    text = "\n".join(json.dumps(one) for one in questions) + "\n"
    done = subprocess.run([str(program("oracle"))], input=text, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def compare_compilation(rnd: Random, count: int) -> Score:
    """Accepted or refused as something newly written, and at which cost."""
    score = Score("selectors compiled (verdict and cost)")
    texts = [expression(rnd) for _ in range(count)]
    for text, theirs in zip(texts, ask({"expression": one} for one in texts), strict=True):
        cost = -1
        try:
            compile_selector(text, NEW)
            cost = estimate(text, (1, 35))
        except CELCompileError:
            pass
        expected = -1 if "error" in theirs else theirs.get("cost", 0)
        score.note(
            cost == expected, f"{text}: {cost}, Kubernetes says {expected} {theirs.get('error', '')[:200]}"
        )
    return score


def compare_evaluation(rnd: Random, count: int) -> Score:
    """Yes, no or an error on a random device, as the scheduler evaluates what is stored."""
    score = Score("selectors evaluated")
    asked: list[Object] = [
        {"expression": expression(rnd), "device": rnd.choice(DEVICES)} for _ in range(count)
    ]
    for question, theirs in zip(asked, ask(asked), strict=True):
        text, device = question["expression"], question["device"]
        try:
            ours = "yes" if compile_selector(text).evaluate(device) else "no"
        except CELCompileError:
            ours = "refused"
        except CELRuntimeError:
            ours = "raises"
        expected = theirs.get("answer") or "refused"
        score.note(
            ours == expected, f"{text} on {device['driver']}: {ours}, Kubernetes says {expected} {theirs}"
        )
    return score


def compare_allocation(rnd: Random, count: int) -> Score:
    """Devices, or why there are none, for random claims on one node of a random cluster."""
    score = Score("allocations")
    cases = []
    for _ in range(count):
        made = clusters.cluster(rnd, 2)
        node = {"metadata": {"name": rnd.choice(made["nodes"])}}
        keys = {"slices": made["slices"], "classes": made["classes"], "allocated": made["held"]}
        cases.append({"node": node, "claims": [_defaulted(one) for one in clusters.wanted(rnd)], **keys})
    for case, theirs in zip(cases, ask(cases), strict=True):
        expected = _answer(theirs)
        ours = _ours(case)
        score.note(ours == expected, f"{json.dumps(case)}\n    ours {ours}\n    theirs {expected}")
    return score


Compare = Callable[[Random, int], Score]
KINDS: tuple[Compare, ...] = (compare_compilation, compare_evaluation, compare_allocation)


def _defaulted(claim: Object) -> Object:
    """What the API server fills in before a scheduler sees a claim."""
    for request in claim["spec"]["devices"]["requests"]:
        for body in request.get("firstAvailable", [request.get("exactly")]):
            if body.setdefault("allocationMode", "ExactCount") == "ExactCount":
                body.setdefault("count", 1)
    return claim


def _answer(theirs: Object) -> object:
    if "error" in theirs:
        return ("error", bool(theirs.get("nodeOnly")))
    results = theirs.get("results")
    return None if not results else [[_device(one) for one in claim or ()] for claim in results]


def _ours(case: Object) -> object:
    try:
        found = allocate(
            case["node"],
            case["claims"],
            slices=case["slices"],
            classes=case["classes"],
            allocated=case["allocated"],
            features={"version": "1.37", **FEATURES},
        )
    except AllocationError as error:
        return ("error", error.node_only)
    if found is None or any(one is None for one in found):
        return None
    return [[_device(result) for result in one["devices"].get("results") or ()] for one in found if one]


def _device(result: Object) -> tuple[Any, ...]:
    consumed = tuple(sorted((result.get("consumedCapacity") or {}).items()))
    return (result["request"], result["driver"], result["pool"], result["device"], consumed)


def main(arguments: list[str] | None = None) -> int:
    """Run the cases of a fixed and of a fresh seed; the exit status is 1 where something differs."""
    parser = argparse.ArgumentParser(prog="fuzzing", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, help="of each kind and seed (make nightly: 20000)")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6), help="instead of a fresh one")
    options = parser.parse_args(arguments)
    try:
        program("oracle")
    except CannotBuild as reason:
        print(reason, file=sys.stderr)
        return 1
    differences = 0
    for seed in (FIXED, options.seed):
        print(f"Seed {seed}", flush=True)
        for compare in KINDS:
            score = compare(Random(seed), options.cases)
            print(f"  {score}", flush=True)
            for one in score.differences[:20]:
                print(f"  - {one[:3000]}")
            differences += len(score.differences)
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
