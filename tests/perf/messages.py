"""Execute round trips over relay and podside beside a plain local kernel, also while a large plan runs; restarts."""

from __future__ import annotations

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
    """Blocks of idle rounds and of rounds beside a plan in turns, so that the machine's noise hits both."""
    thread = InventoryThread()
    objects = list(big_cluster(5_000, irregular=True))
    service.loop.call(thread.load(objects, VISIBLE), 120)
    idle, beside, elsewhere = [], [], []
    plans = 0
    with another_process() as other:
        for _ in range(ROUNDS // BLOCK):
            table.sample()
            idle += [round_trip(ours) for _ in range(BLOCK)]
            table.sample()
            with planning(service, thread) as count:
                beside += [round_trip(ours) for _ in range(BLOCK)]
            plans += count()
            os.kill(other, signal.SIGCONT)
            elsewhere += [round_trip(ours) for _ in range(BLOCK)]
            os.kill(other, signal.SIGSTOP)
    thread.close()
    over = (percentile(beside, 0.95) - percentile(idle, 0.95)) / table.slower()
    name = "execute beside plans of 40,000 (p95 over idle)"
    table.put(Row(name, tuple(beside), "ms", tuple(idle), over, 3.0))
    table.add("  plans in another process, for comparison", elsewhere, "ms", beside=idle)
    print(f"    {plans} plans were made meanwhile")


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
def planning(service: Sessions, thread: InventoryThread) -> Iterator[Callable[[], int]]:
    """Ask one new plan after the other, with reasons and verified changes, as someone does who types."""
    done: list[int] = []
    stop = threading.Event()

    def question(inventory: Any) -> None:
        wish = {"tier": "gpu", "vram": f"{39_000 + next(_numbers)}MB", "architecture": "Rubin"}
        inventory.plan(wish, "default", "full").as_dict()

    async def ask() -> None:
        while not stop.is_set():
            await thread.ask(question)
            done.append(1)

    running: Future[None] = service.loop.run(ask())
    try:
        yield lambda: len(done)
    finally:
        stop.set()
        running.result(60)


def _restarts(table: Table, bare: BareKernel, control: Any, service: Sessions, channels: Channels) -> None:
    """From asking for a restart in place to the first answer."""

    async def in_place() -> None:
        channels.relay.cut_joined()
        await control.restart()
        await channels.relay.settled()

    def ours() -> None:
        service.loop.call(in_place(), 60)
        first_result(channels.client)

    def plain() -> None:
        bare.manager.restart_kernel(now=True)
        first_result(bare.client)

    pairs = [(seconds(plain), seconds(ours)) for _ in range(RESTARTS)]
    table.add("restart in place to first answer", [b for _, b in pairs], beside=[a for a, _ in pairs])
