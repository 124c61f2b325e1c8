"""Kernels through jupyter_client on the local cluster: blocking, async, nbclient, and inside a Jupyter server."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager, KernelManager

from jupyter_dra.kernels.kernelspecs import install
from jupyter_dra.kernels.provisioner import DRAProvisioner, KernelNotStarted
from tests.backends import Backend
from tests.localcluster_fixture import LocalCluster

from .conftest import alive, eventually
from .test_podside import run

SMALL = {"cpu": "1", "host_memory": "1Gi"}


@pytest.fixture(scope="module")
def cluster(backend: Backend) -> Iterator[LocalCluster]:
    made = backend.start("dgx-h100")
    yield made
    made.stop()


@pytest.fixture
def specs(cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KernelSpecManager:
    """Kernelspecs, identity and consents of one test; the cluster comes by KUBECONFIG."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("KUBECONFIG", str(cluster.person()))
    manager = KernelSpecManager()
    install({"vram": "80GB", **SMALL}, name="dra-test", manager=manager)
    return manager


@pytest.fixture(autouse=True)
def nothing_is_left(cluster: LocalCluster) -> Iterator[None]:
    yield
    kinds = ("pods", "secrets", "resourceclaims")
    cluster.wait(lambda: not any(cluster.list(kind) for kind in kinds))
    eventually(lambda: not [t for t in threading.enumerate() if t.name == "jupyter-dra"])


def ready(manager: Any) -> BlockingKernelClient:
    client: BlockingKernelClient = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    return client


def devices(cluster: LocalCluster) -> list[str]:
    claims = cluster.list("resourceclaims")
    return [r["device"] for c in claims for r in c["status"]["allocation"]["devices"]["results"]]


def test_a_blocking_manager_starts_restarts_and_gives_back(
    cluster: LocalCluster, specs: KernelSpecManager
) -> None:
    manager = KernelManager(kernel_name="dra-test")
    manager.start_kernel()
    client = ready(manager)
    try:
        assert "H100" in run(client, "%load_ext jupyter_dra\nprint(get_ipython().run_line_magic('dra', ''))")
        before, pods = devices(cluster), [pod["metadata"]["uid"] for pod in cluster.list("pods")]
        connection = json.loads(Path(manager.connection_file).read_text())
        began = time.monotonic()
        manager.restart_kernel()
        assert run(client, "print(input('again? '))", answer="yes") == "yes\n"
        assert time.monotonic() - began < 6
        assert devices(cluster) == before
        assert [pod["metadata"]["uid"] for pod in cluster.list("pods")] == pods
        assert json.loads(Path(manager.connection_file).read_text()) == connection
        # ipykernel aborts what comes right behind a failed cell, unless that cell says otherwise.
        client.execute("import time; time.sleep(60)", stop_on_error=False)
        eventually(lambda: _busy(client))
        manager.interrupt_kernel()
        assert eventually(lambda: _reply(client))["content"]["ename"] == "KeyboardInterrupt"
        client.execute("import os; os.kill(os.getpid(), 9)")
        eventually(lambda: not manager.is_alive())
        assert cluster.list("resourceclaims"), "a dead kernel keeps its device"
        manager.restart_kernel(now=True)
        assert run(client, "print(6 * 7)") == "42\n"
        assert devices(cluster) == before
    finally:
        client.stop_channels()
        manager.shutdown_kernel()
    assert not cluster.list("pods")
    assert not cluster.list("resourceclaims")
    assert not manager.has_kernel or not manager.is_alive()


def _busy(client: BlockingKernelClient) -> bool:
    message = client.get_iopub_msg(timeout=10)
    return message["msg_type"] == "execute_input" and "sleep(60)" in message["content"]["code"]


def _reply(client: BlockingKernelClient) -> Any:
    return client.get_shell_msg(timeout=10)


def test_a_notebook_runs_from_top_to_bottom_with_nbclient(
    cluster: LocalCluster, specs: KernelSpecManager
) -> None:
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_code_cell("x = 6"),
            nbformat.v4.new_code_cell("%load_ext jupyter_dra\n%dra\nprint(x * 7)"),
        ]
    )
    # The folder as `jupyter execute` gives it: a Path, not a text.
    resources = {"metadata": {"path": Path.cwd()}}
    NotebookClient(notebook, kernel_name="dra-test", timeout=60, resources=resources).execute()
    outputs = notebook.cells[1].outputs
    assert any("42" in output.get("text", "") for output in outputs)


def test_an_async_manager_can_be_cancelled_while_it_starts(
    cluster: LocalCluster, specs: KernelSpecManager
) -> None:
    async def cancel_soon() -> None:
        manager = AsyncKernelManager(kernel_name="dra-test")
        start = asyncio.ensure_future(manager.start_kernel())
        while not await asyncio.to_thread(cluster.list, "resourceclaims"):
            await asyncio.sleep(0.01)
        start.cancel()
        with pytest.raises(asyncio.CancelledError):
            await start

    asyncio.run(cancel_soon())


def test_a_start_that_is_impossible_says_why_and_leaves_nothing(
    cluster: LocalCluster, specs: KernelSpecManager
) -> None:
    install({"tier": "no-such-tier", **SMALL}, manager=specs)
    manager = KernelManager(kernel_name="dra-no-such-tier")
    with pytest.raises(KernelNotStarted, match="no-such-tier"):
        manager.start_kernel()
    assert not cluster.list("resourceclaims")


@pytest.mark.threat("T22")
@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"teir": "gpu.nvidia.com"}, "'teir'.*Did you mean tier"),
        ({"hostPath": "/etc"}, "'hostPath'"),
        ({"pod": {"spec": {"containers": [{"securityContext": {"privileged": True}}]}}}, "'pod'"),
        ({"share": {"hostNetwork": True}}, "share names exactly one"),
    ],
    ids=str,
)
def test_a_kernelspec_that_asks_for_what_there_is_not_starts_nothing(
    cluster: LocalCluster, specs: KernelSpecManager, config: dict[str, Any], said: str
) -> None:
    path = Path(install({"vram": "80GB", **SMALL}, name="odd", manager=specs).folder) / "kernel.json"
    content = json.loads(path.read_text())
    content["metadata"]["kernel_provisioner"]["config"].update(config)
    path.write_text(json.dumps(content))
    with pytest.raises(KernelNotStarted, match=said):
        KernelManager(kernel_name="odd").start_kernel()
    assert not cluster.list("pods")


@pytest.mark.threat("T17")
def test_nothing_of_this_programs_environment_reaches_the_pod(
    cluster: LocalCluster, specs: KernelSpecManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentinels = {f"SENTINEL_{number}": f"canary-{number}" for number in range(20)}
    for name, value in sentinels.items():
        monkeypatch.setenv(name, value)
    manager = KernelManager(kernel_name="dra-test")
    manager.start_kernel(env={**os.environ, "JPY_SESSION_NAME": "/somewhere/train.ipynb"})
    client = ready(manager)
    try:
        assert run(client, "import os; print([k for k in os.environ if 'SENTINEL' in k])") == "[]\n"
        assert run(client, "print(os.environ['JPY_SESSION_NAME'])") == "/somewhere/train.ipynb\n"
        assert run(client, "print('JPY_PARENT_PID' in os.environ)") == "False\n"
        stored = json.dumps([cluster.list(kind) for kind in ("pods", "secrets", "resourceclaims")])
        assert "canary" not in stored
        facts = run(client, "print(open(os.environ['JUPYTER_DRA_RUN_DIR'] + '/session.json').read())")
        assert "canary" not in facts
        pid = int(run(client, "print(os.getpid())"))
        assert b"canary" not in Path(f"/proc/{pid}/environ").read_bytes()
    finally:
        client.stop_channels()
        manager.shutdown_kernel()
    eventually(lambda: not alive(pid))


def test_a_pod_deleted_from_outside_is_a_dead_kernel_until_somebody_restarts_it(
    cluster: LocalCluster, specs: KernelSpecManager
) -> None:
    manager = KernelManager(kernel_name="dra-test")
    manager.start_kernel()
    try:
        pod = cluster.list("pods")[0]["metadata"]["name"]
        cluster.request("DELETE", f"/api/v1/namespaces/default/pods/{pod}")
        eventually(lambda: not manager.is_alive())
        manager.restart_kernel(now=True)
        assert manager.is_alive()
        assert [one["metadata"]["name"] for one in cluster.list("pods")] != [pod]
        assert len(cluster.list("pods")) == len(cluster.list("resourceclaims")) == 1
    finally:
        manager.shutdown_kernel(now=True)
    eventually(lambda: not cluster.list("pods") and not cluster.list("resourceclaims"))


def test_the_way_of_asking_has_the_requirements_names() -> None:
    from jupyter_dra.kernels.provisioner import WISHES

    assert set(WISHES) <= set(DRAProvisioner.class_trait_names())


Fetch = Callable[..., Awaitable[Any]]
