"""Execute round trips over relay and podside beside a plain local kernel, also while a large plan runs; restarts."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient

from jupyter_dra.sessions import Sessions
from jupyter_dra.sessions.inventory_thread import InventoryThread
from tests.localcluster_fixture import LocalCluster

from .bench_planner import cluster as big_cluster
from .measuring import Row, Table, percentile, seconds
from .places import BareKernel, Channels, first_result, give_back, launch, service_of

ROUNDS, BLOCK = 150, 25
RESTARTS = 4
TYPING = 0.3  # seconds from one change of a field to the next
VISIBLE = {"slices": True, "classes": True, "claims": "all", "nodes": True, "quota": True}


def round_trip(client: BlockingKernelClient) -> float:
    """Milliseconds of executing nothing."""
    return 1000 * seconds(lambda: client.execute("pass", reply=True, timeout=60))


def measure(table: Table, cluster: LocalCluster, folder: Path) -> None:
    """All of it, against one bare kernel."""
    bare = BareKernel()
    try:
        for transport, bar in (("direct", 1.0), ("port-forward", 5.0)):
            with service_of(cluster, folder / transport, transport=transport) as service:
                session_id, handle = launch(service)
                assert handle.target.transport == transport
                channels = Channels(service, handle)
                first_result(channels.client)
                _round_trips(table, transport, bar, bare.client, channels.client)
                if transport == "direct":
                    _while_planning(table, service, channels.client)
                    _restarts(table, bare, handle.control, service, channels)
                channels.close()
                give_back(service, session_id)
    finally:
        bare.close()


def _round_trips(
    table: Table, transport: str, bar: float, bare: BlockingKernelClient, ours: BlockingKernelClient
) -> None:
    for _ in range(20):
        round_trip(bare), round_trip(ours)
    plain, relayed = [], []
    for turn in range(ROUNDS):
        plain.append(round_trip(bare))
        relayed.append(round_trip(ours))
        if turn % 10 == 0:
            table.sample()
    table.add(f"execute, {transport} (over bare)", relayed, "ms", beside=plain, over=bar)


def _while_planning(table: Table, service: Sessions, ours: BlockingKernelClient) -> None:
    """Blocks of idle rounds and of rounds beside plans in turns, so that the machine's noise hits all of them.

    Plans come at the pace of someone who types, over nodes as clusters have them, and, far beyond that, one after
    the other over nodes of which no two are alike.
    """
    typing, endless = InventoryThread(), InventoryThread()
    for thread, irregular in ((typing, False), (endless, True)):
        service.loop.call(thread.load(list(big_cluster(5_000, irregular=irregular)), VISIBLE), 120)
    idle, beside, without_end, elsewhere = [], [], [], []
    plans = 0
    with another_process() as other:
        for _ in range(ROUNDS // BLOCK):
            table.sample()
            idle += [round_trip(ours) for _ in range(BLOCK)]
            table.sample()
            with planning(service, typing, every=TYPING):
                beside += [round_trip(ours) for _ in range(BLOCK)]
            with planning(service, endless) as count:
                without_end += [round_trip(ours) for _ in range(BLOCK)]
            plans += count()
            os.kill(other, signal.SIGCONT)
            elsewhere += [round_trip(ours) for _ in range(BLOCK)]
            os.kill(other, signal.SIGSTOP)
    typing.close()
    endless.close()
    for name, times in (
        ("execute while someone types requests (p95 over idle)", beside),
        ("execute beside endless plans (p95 over idle)", without_end),
    ):
        over = (percentile(times, 0.95) - percentile(idle, 0.95)) / table.slower()
        table.put(Row(name, tuple(times), "ms", tuple(idle), over, 3.0))
    table.add("  endless plans in another process, for comparison", elsewhere, "ms", beside=idle)
    print(f"    {plans} plans without end were made meanwhile")


_ELSEWHERE = """
import itertools
import os
import signal
import subprocess
import sys
from jupyter_dra.planner import Inventory
from tests.perf.bench_planner import cluster
inventory = Inventory.from_objects(cluster(5_000, True))
for number in itertools.count(1):
    wish = {"tier": "gpu", "vram": f"{39_000 + number}MB", "architecture": "Rubin"}
    inventory.plan(wish, "default", "full")
    print(number, flush=True)
"""


@contextmanager
def another_process() -> Iterator[int]:
    """A process that plans while it is not stopped: what a plan costs that shares the machine, but no interpreter."""
    with subprocess.Popen([sys.executable, "-c", _ELSEWHERE], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        os.kill(process.pid, signal.SIGSTOP)
        try:
            yield process.pid
        finally:
            process.kill()


_numbers = itertools.count(1)


@contextmanager
def planning(
    service: Sessions, thread: InventoryThread, *, every: float = 0.0
) -> Iterator[Callable[[], int]]:
    """Ask new plans of 40,000 devices, with reasons and verified changes, ``every`` so many seconds."""
    done: list[int] = []
    stop = threading.Event()

    def question(inventory: Any) -> None:
        wish = {"tier": "gpu", "vram": f"{39_000 + next(_numbers)}MB", "architecture": "Rubin"}
        inventory.plan(wish, "default", "full").as_dict()

    async def ask() -> None:
        while not stop.is_set():
            await thread.ask(question)
            done.append(1)
            await asyncio.sleep(every)

    running: Future[None] = service.loop.run(ask())
    try:
        yield lambda: len(done)
    finally:
        stop.set()
        running.result(60)


def _restarts(table: Table, bare: BareKernel, control: Any, service: Sessions, channels: Channels) -> None:
    """From asking for a restart in place to the first answer."""

    def ours() -> None:
        service.loop.call(control.restart(), 60)
        first_result(channels.client)

    def plain() -> None:
        bare.manager.restart_kernel(now=True)
        first_result(bare.client)

    pairs = [(seconds(plain), seconds(ours)) for _ in range(RESTARTS)]
    table.add("restart in place to first answer", [b for _, b in pairs], beside=[a for a, _ in pairs])
