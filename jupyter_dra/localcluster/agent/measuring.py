"""Watching the memory of containers, and the made-up figures of simulated devices."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Iterator

from jupyter_dra.errors import QuantityError
from jupyter_dra.localcluster.agent import tree
from jupyter_dra.localcluster.agent.container import Container
from jupyter_dra.localcluster.agent.figures import Load, simulated_figures, write_figures
from jupyter_dra.localcluster.agent.process import reap_orphans
from jupyter_dra.localcluster.agent.worker import PodWorker
from jupyter_dra.localcluster.drivers import DeviceKey, PreparedDevice, container_devices
from jupyter_dra.model.quantity import Quantity

_USAGE_SECONDS = 1.0
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
    """Write figures for simulated devices where podside looks for them, every second.

    Rarely enough that it takes no more than a twentieth of the time.
    """
    meter = _Meter()
    while True:
        began = time.monotonic()
        meter.write(list(workers()))
        taken = time.monotonic() - began
        await asyncio.sleep(max(_USAGE_SECONDS, taken * _LARGEST_SHARE_OF_TIME))


class _Meter:
    """Measures containers with simulated devices; use counts from one look to the next."""

    def __init__(self) -> None:
        self._before: dict[str, tuple[float, float]] = {}

    def write(self, workers: Iterable[PodWorker]) -> None:
        loads = [(worker, c, devices, self._load(c)) for worker, c, devices in _holders(workers)]
        self._before = {c.mark: self._before[c.mark] for _, c, _, _ in loads}
        whole: dict[DeviceKey, Load] = {}
        for _, _, devices, load in loads:
            for device in devices:
                present = whole.get(_key(device))
                whole[_key(device)] = load if present is None else present.plus(load)
        for worker, container, devices, load in loads:
            figures = [simulated_figures(device, load, whole[_key(device)]) for device in devices]
            write_figures(worker.usage_file(container), figures)

    def _load(self, container: Container) -> Load:
        pids = _family(container.process.pid) if container.process is not None else set()
        busy, now = _cpu_seconds(pids), time.monotonic()
        earlier, at = self._before.get(container.mark, (busy, now))
        self._before[container.mark] = (busy, now)
        percent = round(100 * max(0.0, busy - earlier) / (now - at)) if now > at else 0
        return Load(tree.resident_bytes(pids), min(100, percent))


def _holders(workers: Iterable[PodWorker]) -> Iterator[tuple[PodWorker, Container, list[PreparedDevice]]]:
    for worker in workers:
        for container in worker.containers:
            devices = [d for d in container_devices(container.spec, worker.devices) if d.simulated]
            if devices and container.running and container.process is not None:
                yield worker, container, devices


def _key(device: PreparedDevice) -> DeviceKey:
    return device.driver, device.pool, device.name


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
