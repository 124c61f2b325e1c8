"""The product's times against its bars: ``python -m tests.perf.bench_product [PART…]`` (under six minutes).

Parts: ``starts``, ``messages``, ``launches``, ``reattach``, ``clicks``. Each figure stands beside the same of something
bare (an interpreter, a plain local kernel, a server without us) measured in turns with it. The bars hold on a quiet
machine with two cores: what is judged is processor time where the name says so, else the time divided by how much
slower than alone a busy thread ran meanwhile. The last lines are the table.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from jupyter_dra.kernels.folders import PrivateFolder

from . import launches, messages, reattach, starts
from .measuring import Table
from .places import start_cluster

PARTS = ("starts", "messages", "launches", "reattach", "clicks")


def main(words: list[str]) -> int:
    """Measure the named parts, by default all; the exit status is 1 where a bar is missed."""
    parts = words or list(PARTS)
    if unknown := set(parts) - set(PARTS):
        print(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
        return 2
    began, table = time.monotonic(), Table()
    _say_load()
    with PrivateFolder(tempfile.gettempdir()) as name:
        folder = Path(name)
        if "starts" in parts:
            starts.measure(table, folder / "starts")
        if {"messages", "launches", "reattach"} & set(parts):
            cluster = start_cluster(folder)
            try:
                if "messages" in parts:
                    messages.measure(table, cluster, folder)
                if "launches" in parts:
                    launches.measure(table, cluster, folder)
                if "reattach" in parts:
                    reattach.measure(table, cluster, folder / "reattach")
            finally:
                cluster.stop()
        if "clicks" in parts:
            launches.by_click(table)
    _say_load()
    print(f"{time.monotonic() - began:.0f} s in all")
    return 1 if table.show() else 0


def _say_load() -> None:
    runnable = os.getloadavg()[0]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    print(f"load {runnable:.1f} on {cores} cores", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
