"""Watching the memory of containers, and the made-up figures of simulated devices."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable

from jupyter_dra.errors import QuantityError
from jupyter_dra.localcluster.agent import tree
from jupyter_dra.localcluster.agent.container import Container
from jupyter_dra.localcluster.agent.figures import write_figures
from jupyter_dra.localcluster.agent.process import reap_orphans
from jupyter_dra.localcluster.agent.worker import PodWorker
from jupyter_dra.localcluster.drivers import PreparedDevice, container_devices
from jupyter_dra.model.quantity import Quantity

_USAGE_SECONDS = 5.0
_LARGEST_SHARE_OF_TIME = 20

Workers = Callable[[], Iterable[PodWorker]]


def memory_limit(container: Container) -> int | None:
    """Return the container's memory limit in bytes, or None."""
    text = ((container.spec.get("resources") or {}).get("limits") or {}).get("memory")
    if text is None:
        return None
    try:
        return Quantity.parse(text).bytes
    except QuantityError:
        return None


async def watch_memory(workers: Workers, interval: float) -> None:
    """End containers that hold more memory than their limit; note the growth of logs on the way.

    Looks every ``interval`` seconds, more rarely when looking takes more than a twentieth of the time.
    """
    while True:
        began = time.monotonic()
        for worker in list(workers()):
            for container in worker.all_containers:
                if container.running:
                    _look(container)
        reap_orphans({c.process.pid for w in workers() for c in w.all_containers if c.process is not None})
        taken = time.monotonic() - began
        await asyncio.sleep(max(interval, taken * _LARGEST_SHARE_OF_TIME))


def _look(container: Container) -> None:
    if container.log is not None:
        container.log.note_growth()
    limit = memory_limit(container)
    if limit is None or container.process is None:
        return
    pids = _family(container.process.pid)
    if tree.resident_bytes(pids) > limit:
        container.out_of_memory = True
        container.kill()


def _family(root: int) -> set[int]:
    """Return a process and its descendants; cheaper than a look at every process of the machine."""
    found, waiting = {root}, [root]
    while waiting:
        pid = waiting.pop()
        try:
            threads = os.listdir(f"/proc/{pid}/task")
        except OSError:
            if not os.path.isdir("/proc/self"):
                return tree.members(root)
            continue
        for thread in threads:
            try:
                with open(f"/proc/{pid}/task/{thread}/children") as file:
                    children = {int(child) for child in file.read().split()}
            except OSError:
                continue
            waiting += children - found
            found |= children
    return found


async def simulate_usage(workers: Workers) -> None:
    """Write figures for simulated devices where podside looks for them, every five seconds."""
    before: dict[str, tuple[float, float]] = {}
    while True:
        for worker in list(workers()):
            for container in worker.containers:
                if container.running and container.process is not None:
                    devices = [d for d in container_devices(container.spec, worker.devices) if d.simulated]
                    if devices:
                        _write_figures(worker, container, devices, before)
        await asyncio.sleep(_USAGE_SECONDS)


def _write_figures(
    worker: PodWorker,
    container: Container,
    devices: list[PreparedDevice],
    before: dict[str, tuple[float, float]],
) -> None:
    if container.process is None:
        return
    pids = _family(container.process.pid)
    busy, now = _cpu_seconds(pids), time.monotonic()
    earlier = before.get(container.mark, (busy, now))
    before[container.mark] = (busy, now)
    passed = now - earlier[1]
    percent = min(100, round(100 * max(0.0, busy - earlier[0]) / passed)) if passed > 0 else 0
    write_figures(worker.usage_file(container), devices, tree.resident_bytes(pids), percent)


def _cpu_seconds(pids: Iterable[int]) -> float:
    if not os.path.isdir("/proc/self"):
        return time.process_time()
    ticks, total = os.sysconf("SC_CLK_TCK"), 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                fields = file.read().rsplit(b")", 1)[1].split()
        except OSError:
            continue
        total += int(fields[11]) + int(fields[12])
    return total / ticks
