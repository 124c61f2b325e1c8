"""A Jupyter server killed with twenty kernels on sessions, and the next one: until all are back."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from tests.localcluster_fixture import LocalCluster
from tests.server_fixture import RunningServer, eventually, start_server

from .measuring import Table
from .places import WISH, nothing_left

KERNELS = 20
TIMES = 3


def measure(table: Table, cluster: LocalCluster, folder: Path) -> None:
    server = start_server(folder, cluster, max_sessions=2 * KERNELS)
    try:
        sessions = [str(server.dra("POST", "sessions", {"requirement": WISH})["id"]) for _ in range(KERNELS)]
        kernels = {server.session(one, "running", seconds=120)["kernels"][0]["id"] for one in sessions}
        pids = _pids(server, kernels)
        eventually(lambda: _written(server) == KERNELS)
        took = []
        for _ in range(TIMES):
            table.sample()
            server.kill()
            server = start_server(folder, cluster, max_sessions=2 * KERNELS)
            took.append(_back(server))
            table.sample()
            assert {one["id"] for one in server.request("GET", "/api/kernels")} == kernels
        assert _pids(server, kernels) == pids, "none was restarted"
        table.add(f"{KERNELS} kernels back after a server's death", took, bar=2.0)
        for one in sessions:
            server.dra("DELETE", f"sessions/{one}")
    finally:
        server.stop()
    nothing_left(cluster)


def _pids(server: RunningServer, kernels: set[str]) -> dict[str, str]:
    """Each kernel's process, by asking it."""

    async def ask(kernel: str) -> str:
        socket = await server.connect(kernel)
        try:
            return await socket.execute("import os; print(os.getpid())")
        finally:
            await socket.close()

    async def all_of_them() -> dict[str, str]:
        names = sorted(kernels)
        return dict(zip(names, await asyncio.gather(*map(ask, names)), strict=True))

    return asyncio.run(all_of_them())


def _written(server: RunningServer) -> int:
    """How many kernels the server's record on disk holds."""
    folder = server.folder / "data" / "jupyter-dra" / "servers"
    return sum(path.read_text().count('"kernel":') for path in folder.glob("[!.]*.json"))


def _back(server: RunningServer) -> float:
    """Seconds from the server's first answer to its first list of sessions, which waits for the kernels."""
    began = time.perf_counter()
    server.request("GET", "/api/sessions")
    return time.perf_counter() - began
