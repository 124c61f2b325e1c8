"""``python -m tests.chaos [--sessions 200] [--seed N]``: the storm with a fixed and a fresh seed, or with yours."""

from __future__ import annotations

import argparse
import secrets
import sys

from .storm import run

FIXED = 20261130


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--sessions", type=int, default=200, help="in all, shared between the seeds")
    parser.add_argument("--seed", type=int, help="repeat this one only")
    arguments = parser.parse_args()
    seeds = [FIXED, secrets.randbelow(10**8)] if arguments.seed is None else [arguments.seed]
    clean = True
    for seed in seeds:
        print(f"seed {seed} (repeat with SEED={seed})", flush=True)
        report = run(arguments.sessions // len(seeds), seed)
        print(report, flush=True)
        clean = clean and report.clean
    return 0 if clean else 1


if __name__ == "__main__":
    sys.exit(main())
