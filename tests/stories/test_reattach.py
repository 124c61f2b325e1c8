"""A Jupyter server goes away, by kill or in order; the next one of the same user has its kernels and notebooks."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_dra.localcluster.agent import tree
from tests.backends import Backend
from tests.localcluster_fixture import LocalCluster
from tests.server_fixture import RunningServer, eventually, start_server

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
H100 = {"tier": "high-memory-gpu", "product": "H100"}
REMEMBER = "import os; kept = 41; print(os.getpid())"
RECALL = "print(os.getpid(), kept + 1)"


@pytest.fixture(scope="module")
def cluster(backend: Backend) -> Iterator[LocalCluster]:
    running = backend.start("dgx-h100")
    yield running
    running.stop()


def begin(server: RunningServer, notebook: str | None = None) -> dict[str, Any]:
    """A running session, begun over REST, and the page's own session for the notebook as JupyterLab makes it."""
    begun = server.dra("POST", "sessions", {"requirement": H100, "notebook": notebook})
    session = server.session(begun["id"], "running")
    if notebook is not None:
        kernel = {"id": session["kernels"][0]["id"]}
        page = {"path": notebook, "name": notebook, "type": "notebook", "kernel": kernel}
        session["page"] = server.request("POST", "/api/sessions", page)
    return session


def run(server: RunningServer, kernel_id: str, code: str, timeout: float = 30) -> str:
    """What code prints in a kernel, through a web socket of its own."""

    async def main() -> str:
        socket = await server.connect(kernel_id)
        try:
            return (await socket.execute(code, timeout=timeout)).strip()
        finally:
            await socket.close()

    return asyncio.run(main())


def kernel_of(session: dict[str, Any]) -> str:
    return str(session["kernels"][0]["id"])


def written(server: RunningServer, *words: str) -> None:
    """Wait until the record on disk holds these words."""
    folder = server.folder / "data" / "jupyter-dra" / "servers"

    def look() -> bool:
        text = "".join(path.read_text() for path in folder.glob("[!.]*.json"))
        return all(word in text for word in words)

    eventually(look, 10)


def kernels_of(server: RunningServer) -> set[str]:
    return {kernel["id"] for kernel in server.request("GET", "/api/kernels")}


def test_after_a_kill_the_next_server_has_the_same_kernels_and_notebooks_and_can_do_everything_with_them(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    server = start_server(tmp_path, cluster)
    try:
        session = begin(server, "train.ipynb")
        other = begin(server)
        kernel, second = kernel_of(session), kernel_of(other)
        pid = run(server, kernel, REMEMBER)
        written(server, session["page"]["id"], second)

        server.kill()
        server = start_server(tmp_path, cluster)

        pages = server.request(
            "GET", "/api/sessions"
        )  # the very first question waits until the kernels are back
        assert [(page["id"], page["path"], page["kernel"]["id"]) for page in pages] == [
            (session["page"]["id"], "train.ipynb", kernel)
        ], "an open page finds its session under the id it knows"
        assert kernels_of(server) == {kernel, second}
        assert run(server, kernel, RECALL) == f"{pid} 42", "nothing was restarted"

        _interrupt(server, kernel)
        server.request("POST", f"/api/kernels/{kernel}/restart")
        again = run(server, kernel, "import os; print(os.getpid(), 'kept' in dir())")
        assert again.split() != [pid, "True"]
        assert again.endswith("False")
        assert tree.identity(int(pid)) is None

        server.request("DELETE", f"/api/sessions/{session['page']['id']}")
        cluster.wait_gone("resourceclaims", session["id"])
        server.request("DELETE", f"/api/kernels/{second}")
        cluster.wait_gone("resourceclaims", other["id"])
        assert [cluster.list(kind) for kind in ("pods", "secrets")] == [[], []]
    finally:
        server.stop()


def _interrupt(server: RunningServer, kernel: str) -> None:
    """A cell that would run for long ends by the page's stop button."""

    async def main() -> None:
        socket = await server.connect(kernel)
        try:
            running = asyncio.create_task(socket.execute("import time\ntime.sleep(600)"))

            def busy() -> bool:
                found = server.request("GET", f"/api/kernels/{kernel}")
                return bool(found["execution_state"] == "busy")

            await asyncio.to_thread(eventually, busy, 20)
            await asyncio.to_thread(server.request, "POST", f"/api/kernels/{kernel}/interrupt")
            with pytest.raises(AssertionError, match="KeyboardInterrupt"):
                await asyncio.wait_for(running, 20)
        finally:
            await socket.close()

    asyncio.run(main())


LINES = """
import os, pathlib, time
number = 0
while not os.path.exists({flag!r}):
    print(number, flush=True)
    pathlib.Path({progress!r}).write_text(str(number))
    number += 1
    time.sleep(0.05)
"""


async def _printing(server: RunningServer, kernel: str, folder: Path) -> tuple[str, int]:
    """A page whose cell prints on while the server is killed: the cell, and the last number that was seen."""
    page = await server.connect(kernel, "page-1")
    cell = await page.begin(LINES.format(flag=str(folder / "enough"), progress=str(folder / "progress")))
    seen = await page.printed(cell)
    await asyncio.to_thread(written, server, '"page-1"')
    await asyncio.to_thread(server.kill)
    try:
        while True:
            seen = await page.printed(cell)
    except AssertionError:  # the server's end is closed
        last = int(seen.split()[-1])
        page.let_go()

    def went_on() -> bool:
        text = (folder / "progress").read_text()
        return bool(text) and int(text) > last + 10

    await asyncio.to_thread(eventually, went_on, 20)
    return cell, last


@pytest.mark.parametrize("meanwhile", [True, False], ids=["cell ends meanwhile", "cell goes on"])
def test_an_open_page_gets_what_its_cell_printed_while_there_was_no_server(
    cluster: LocalCluster, tmp_path: Path, meanwhile: bool
) -> None:
    server = start_server(tmp_path, cluster)
    try:
        session = begin(server, "train.ipynb")
        kernel = kernel_of(session)
        cell, last = asyncio.run(_printing(server, kernel, tmp_path))
        if meanwhile:
            (tmp_path / "enough").touch()
        server = start_server(tmp_path, cluster)
        server.request("GET", "/api/sessions")  # waits until the kernels are back

        async def page_again() -> str:
            page = await server.connect(kernel, "page-1")
            first = await page.printed(cell)
            (tmp_path / "enough").touch()
            rest = await page.follow(cell)
            await page.close()
            return first + rest

        rest = [int(line) for line in asyncio.run(page_again()).split()]
        assert rest == list(range(rest[0], rest[-1] + 1)), "nothing is missing and nothing comes twice"
        assert last < rest[0] <= last + 5, "only what was on its way when the server died may be lost"
        history = server.dra("GET", f"sessions/{session['id']}")["history"]
        [back] = [one for one in history if one["event"] == "reattached"]
        assert (back["output"], back["dropped"]) == ("kept", 0)
        assert back["messages"] > 0
        server.dra("DELETE", f"sessions/{session['id']}")
        cluster.wait_gone("resourceclaims", session["id"])
    finally:
        server.stop()


def test_a_server_stopped_in_order_keeps_its_sessions_if_the_setting_says_so(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    server = start_server(tmp_path, cluster, keep_on_stop=True)
    try:
        session = begin(server, "train.ipynb")
        pid = run(server, kernel_of(session), REMEMBER)
        written(server, session["page"]["id"])

        server.stop()
        server = start_server(tmp_path, cluster)

        assert [page["path"] for page in server.request("GET", "/api/sessions")] == ["train.ipynb"]
        assert run(server, kernel_of(session), RECALL) == f"{pid} 42"
        history = server.dra("GET", f"sessions/{session['id']}")["history"]
        assert [one["output"] for one in history if one["event"] == "reattached"] == ["lost-until-here"]

        server.stop()
        cluster.wait_gone("resourceclaims", session["id"])
        assert list((tmp_path / "data" / "jupyter-dra" / "servers").iterdir()) == []
    finally:
        server.stop()


def test_a_second_server_of_the_same_user_leaves_the_first_ones_kernels_alone(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    first = start_server(tmp_path, cluster)
    second = None
    try:
        session = begin(first, "train.ipynb")
        written(first, session["page"]["id"])

        second = start_server(tmp_path, cluster)

        assert kernels_of(second) == set()
        assert second.request("GET", "/api/sessions") == []
        second.stop()
        assert run(first, kernel_of(session), "print('here')") == "here"
        first.dra("DELETE", f"sessions/{session['id']}")
        cluster.wait_gone("resourceclaims", session["id"])
    finally:
        for server in (first, second):
            if server is not None:
                server.stop()
