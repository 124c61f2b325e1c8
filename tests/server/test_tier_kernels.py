"""Tier kernels started by a Jupyter server's own API, as every front end does."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.kernelspec import KernelSpecManager
from tornado.httpclient import HTTPClientError

from jupyter_dra.kernels.consent import Consents
from jupyter_dra.kernels.kernelspecs import install
from jupyter_dra.sessions.identity import data_folder
from tests.backends import Backend
from tests.localcluster_fixture import LocalCluster


@pytest.fixture(scope="module")
def cluster(backend: Backend) -> Iterator[LocalCluster]:
    made = backend.start("dgx-h100")
    yield made
    made.stop()


@pytest.fixture
def jp_server_config(
    cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return {
        "ServerApp": {"jpserver_extensions": {"jupyter_dra": True}},
        "DRAExtension": {"kubeconfig": str(cluster.person())},
        "KernelRestarter": {"time_to_dead": 0.2},
    }


@pytest.fixture
def tier_kernel(jp_serverapp: Any) -> str:
    wish = {"vram": "80GB", "cpu": "1", "host_memory": "1Gi"}
    return install(wish, name="dra-test", manager=KernelSpecManager(parent=jp_serverapp)).name


def save(root: Path, kernel: str | None) -> None:
    metadata = {"kernelspec": {"name": kernel, "display_name": kernel}} if kernel else {}
    content = {"cells": [], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    (root / "train.ipynb").write_text(json.dumps(content))


async def start(jp_fetch: Any, kernel: str) -> dict[str, Any]:
    body = {"path": "train.ipynb", "name": "train.ipynb", "type": "notebook", "kernel": {"name": kernel}}
    reply = await jp_fetch("api", "sessions", method="POST", body=json.dumps(body), request_timeout=60)
    return dict(json.loads(reply.body))


async def run(app: Any, kernel_id: str, code: str) -> str:
    client = app.kernel_manager.get_kernel(kernel_id).client()
    client.start_channels()
    printed: list[str] = []
    try:
        await client.wait_for_ready(timeout=30)
        await client.execute_interactive(
            code, timeout=30, output_hook=lambda m: printed.append(m["content"].get("text", ""))
        )
    finally:
        client.stop_channels()
    return "".join(printed)


def allocated(cluster: LocalCluster) -> list[str]:
    claims = cluster.list("resourceclaims")
    return [r["device"] for c in claims for r in c["status"]["allocation"]["devices"]["results"]]


@pytest.mark.threat("T04")
async def test_opening_a_foreign_notebook_takes_no_device_until_it_is_allowed(
    jp_fetch: Any, jp_serverapp: Any, jp_root_dir: Path, cluster: LocalCluster, tier_kernel: str
) -> None:
    save(jp_root_dir, tier_kernel)
    for _ in range(2):  # opened, then restored with the workspace
        with pytest.raises(HTTPClientError) as caught:
            await start(jp_fetch, tier_kernel)
        assert caught.value.response is not None
        assert "nothing was started" in caught.value.response.body.decode()
    assert not cluster.list("resourceclaims")
    Consents(data_folder(os.environ, Path.home())).allow(str(jp_root_dir / "train.ipynb"), tier_kernel)
    session = await start(jp_fetch, tier_kernel)
    assert len(allocated(cluster)) == 1
    assert await run(jp_serverapp, session["kernel"]["id"], "print(6 * 7)") == "42\n"
    await jp_fetch("api", "sessions", session["id"], method="DELETE", request_timeout=60)
    await asyncio.to_thread(
        cluster.wait, lambda: not cluster.list("resourceclaims") and not cluster.list("pods")
    )


async def test_a_kernel_killed_with_9_is_restarted_in_place_by_the_server(
    jp_fetch: Any, jp_serverapp: Any, jp_root_dir: Path, cluster: LocalCluster, tier_kernel: str
) -> None:
    save(jp_root_dir, None)
    session = await start(jp_fetch, tier_kernel)
    kernel_id = session["kernel"]["id"]
    before = allocated(cluster)
    listed = json.loads((await jp_fetch("jupyter-dra", "sessions")).body)["sessions"]
    assert [entry["notebook"] for entry in listed[0]["kernels"]] == ["train.ipynb"]
    pid = int(await run(jp_serverapp, kernel_id, "import os; print(os.getpid())"))
    os.kill(pid, 9)

    async def new_pid() -> int:
        while True:
            try:
                found = int(await run(jp_serverapp, kernel_id, "import os; print(os.getpid())"))
            except (RuntimeError, TimeoutError, ValueError):
                found = pid
            if found != pid:
                return found

    assert await asyncio.wait_for(new_pid(), 60) != pid
    assert allocated(cluster) == before
    reply = await jp_fetch("api", "kernels", kernel_id, "restart", method="POST", body="", request_timeout=60)
    assert json.loads(reply.body)["id"] == kernel_id
    assert allocated(cluster) == before
    await jp_fetch("api", "kernels", kernel_id, method="DELETE", request_timeout=60)
    await asyncio.to_thread(
        cluster.wait, lambda: not cluster.list("resourceclaims") and not cluster.list("pods")
    )


async def test_a_session_that_ends_by_itself_is_a_dead_kernel_once_and_for_all(
    jp_fetch: Any, jp_serverapp: Any, jp_root_dir: Path, cluster: LocalCluster, tier_kernel: str
) -> None:
    save(jp_root_dir, None)
    session = await start(jp_fetch, tier_kernel)
    manager = jp_serverapp.kernel_manager.get_kernel(session["kernel"]["id"])
    told: list[str] = []
    manager.add_restart_callback(lambda: told.append("dead"), "dead")
    manager.add_restart_callback(lambda: told.append("restart"), "restart")
    dra = json.loads((await jp_fetch("jupyter-dra", "sessions")).body)["sessions"][0]["id"]
    await jp_fetch("jupyter-dra", "sessions", dra, method="DELETE")

    async def gone() -> None:
        while told != ["dead"] and session["kernel"]["id"] in jp_serverapp.kernel_manager:
            await asyncio.sleep(0.02)

    await asyncio.wait_for(gone(), 30)
    assert "restart" not in told
    await asyncio.to_thread(
        cluster.wait, lambda: not cluster.list("resourceclaims") and not cluster.list("pods")
    )
