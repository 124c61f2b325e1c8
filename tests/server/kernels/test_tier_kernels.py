"""Tier kernels started by a Jupyter server's own API, as every front end does."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from tornado.httpclient import HTTPClientError

from jupyter_dra.kernels.consent import Consents
from jupyter_dra.sessions.identity import data_folder
from tests.localcluster_fixture import LocalCluster

from .notebook import allocated, listen, nothing_left, run, save, start


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
    await nothing_left(cluster)


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
    await nothing_left(cluster)


async def test_a_session_that_ends_by_itself_is_a_dead_kernel_once_and_for_all(
    jp_fetch: Any, jp_serverapp: Any, jp_root_dir: Path, cluster: LocalCluster, tier_kernel: str
) -> None:
    save(jp_root_dir, None)
    session = await start(jp_fetch, tier_kernel)
    told = listen(jp_serverapp, session["kernel"]["id"])
    dra = json.loads((await jp_fetch("jupyter-dra", "sessions")).body)["sessions"][0]["id"]
    await jp_fetch("jupyter-dra", "sessions", dra, method="DELETE")

    async def gone() -> None:
        while told != ["dead"] and session["kernel"]["id"] in jp_serverapp.kernel_manager:
            await asyncio.sleep(0.02)

    await asyncio.wait_for(gone(), 30)
    assert "restart" not in told
    await nothing_left(cluster)
