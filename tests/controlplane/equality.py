"""``python -m tests.controlplane.equality``: the tables that compare us with Kubernetes itself.

Each part runs in a control plane of its own, with a fixed seed and with a fresh one, which is printed.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from random import Random

from . import building, judging, planning
from .build import VERSION, CannotBuild, program
from .manifests import damaged, recorded
from .plane import ControlPlane

FIXED = 20261130
PARTS = ("checker", "builder", "planner")


def main(arguments: list[str] | None = None) -> int:
    """Print the tables; the exit status is 1 where something differs."""
    parser = argparse.ArgumentParser(prog="equality", description=__doc__)
    parser.add_argument("parts", nargs="*", default=PARTS, help=f"of {', '.join(PARTS)}")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6), help="instead of a fresh one")
    parser.add_argument("--mutations", type=int, default=300)
    parser.add_argument("--requirements", type=int, default=500)
    parser.add_argument("--cells", type=int, default=300, help="small clusters per seed")
    options = parser.parse_args(arguments)
    try:
        program()
    except CannotBuild as reason:
        print(reason, file=sys.stderr)
        return 1
    print(f"Kubernetes {VERSION}; seeds {FIXED} (fixed) and {options.seed} (fresh).", flush=True)
    differences = 0
    for part in options.parts:
        for seed in (FIXED, options.seed):
            began = time.monotonic()
            differences += _PARTS[part](seed, options)
            print(f"  {time.monotonic() - began:.0f} s\n", flush=True)
    print("No differences." if not differences else f"{differences} differences.")
    return 1 if differences else 0


def _checker(seed: int, options: argparse.Namespace) -> int:
    count = 0
    with ControlPlane() as plane:
        judging.prepare(plane)
        for name, samples in (
            ("recorded manifests", recorded()),
            (f"damaged manifests (seed {seed})", list(damaged(Random(seed), options.mutations))),
        ):
            outcome = judging.compare(plane, samples)
            print(f"Checker and a strict dry run: {len(samples)} {name}\n{outcome}")
            for one in outcome.differences:
                print(f"  - {one.what}: {one.origin}\n      check : {one.ours}\n      server: {one.server}")
            count += len(outcome.differences)
    return count


def _builder(seed: int, options: argparse.Namespace) -> int:
    with ControlPlane() as plane:
        outcome = building.compare(plane, Random(seed), options.requirements)
    print(f"Requirement builder (seed {seed})\n{outcome}")
    for problem in outcome.problems:
        print(f"  - {problem}")
    return len(outcome.problems)


def _planner(seed: int, options: argparse.Namespace) -> int:
    outcome = planning.run(seed, options.cells)
    print(f"Planner and kube-scheduler (seed {seed})\n{outcome}")
    for difference in outcome.differences:
        print(f"  - {difference}")
    return len(outcome.differences)


_PARTS = {"checker": _checker, "builder": _builder, "planner": _planner}

if __name__ == "__main__":
    sys.exit(main())
