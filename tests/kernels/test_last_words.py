"""A cell whose kernel is gone is told why, within seconds, in its own output."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty
from typing import Any

import nbformat
import pytest
from jupyter_client.blocking.client import BlockingKernelClient

from jupyter_dra.kernels.held_kernel import HeldKernel
from jupyter_dra.sessions import Sessions
from tests.backends import Backend
from tests.localcluster_fixture import LocalCluster
from tests.sessions.place import CLAIMS, Place, end_of

WISH = {"tier": "high-memory-gpu", "cpu": "1", "host_memory": "1Gi"}
SECONDS = 5.0


@pytest.fixture(scope="module")
def cluster(backend: Backend) -> Iterator[LocalCluster]:
    made = backend.start("dgx-h100")
    yield made
    made.stop()


@pytest.fixture
def place(cluster: LocalCluster, tmp_path: Path) -> Iterator[Place]:
    made = Place(cluster, cluster.fresh_namespace(), tmp_path)
    yield made
    for service in made.services:
        service.close(keep=False)
    cluster.wait(made.empty)


@contextmanager
def client_of(service: Sessions, session_id: str) -> Iterator[BlockingKernelClient]:
    """A client as a notebook has one: it follows its kernel to the next pod."""
    client = BlockingKernelClient()
    handle = service.loop.call(service.ready(session_id))
    held = HeldKernel(service, handle, on_moved=client.load_connection_info)
    client.load_connection_info(service.loop.call(held.open()))
    client.start_channels(hb=False)
    try:
        client.wait_for_ready(timeout=30)
        yield client
    finally:
        client.stop_channels()
        service.loop.call(held.close())


def began(client: BlockingKernelClient, code: str) -> str:
    """Send code; returns its request once the kernel works on it."""
    request = str(client.execute(code))
    for message in published(client, request):
        if message["msg_type"] == "execute_input":
            break
    return request


def published(client: BlockingKernelClient, request: str, seconds: float = 20) -> Iterator[dict[str, Any]]:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            message = client.get_iopub_msg(timeout=0.2)
        except Empty:
            continue
        if message["parent_header"].get("msg_id") == request:
            yield message
    raise AssertionError("the request is not answered")


def told(client: BlockingKernelClient, request: str) -> str:
    """What the cell's output says at last; the request is answered on both channels."""
    words = ""
    for message in published(client, request):
        if message["msg_type"] == "error":
            words = "\n".join(message["content"]["traceback"])
        elif message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            break
    reply = client.get_shell_msg(timeout=5)
    while reply["parent_header"]["msg_id"] != request:
        reply = client.get_shell_msg(timeout=5)
    assert reply["content"]["status"] == "error"
    assert reply["content"]["evalue"] == words
    return words


def stop(place: Place, service: Sessions, session_id: str) -> None:
    service.loop.call(service.stop(session_id))


def delete_claim(place: Place, service: Sessions, session_id: str) -> None:
    place.cluster.request("DELETE", f"{CLAIMS.format(place.namespace)}/{session_id}")


@pytest.mark.parametrize(
    ("end", "words"),
    [(stop, "You stopped the session."), (delete_claim, "The session's claim was deleted from outside.")],
)
def test_the_end_of_a_session_is_told_in_the_cell_that_runs(
    place: Place, end: Callable[[Place, Sessions, str], None], words: str
) -> None:
    service = place.service()
    session_id = service.loop.call(service.launch(WISH)).id
    with client_of(service, session_id) as client:
        request = began(client, "import time; time.sleep(60)")
        end(place, service, session_id)
        at = time.monotonic()
        assert told(client, request).startswith(words)
        assert time.monotonic() - at < SECONDS
    end_of(service, session_id)


def test_a_crash_is_told_and_the_next_kernel_answers_the_same_client(place: Place) -> None:
    service = place.service()
    session_id = service.loop.call(service.launch(WISH)).id
    with client_of(service, session_id) as client:
        # Not waited for: a kernel that dies at once may take along even that it began.
        request = str(client.execute("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"))
        assert "signal SIGSEGV" in told(client, request)
        service.loop.call(service.restart_kernel(session_id))
        client.wait_for_ready(timeout=30)
        output: list[str] = []
        client.execute_interactive(
            "print(6 * 7)", timeout=30, output_hook=lambda m: output.append(m["content"].get("text", ""))
        )
        assert "42\n" in output


def test_a_lost_pod_is_told_in_the_cell_and_the_next_cell_runs_in_the_next_pod(place: Place) -> None:
    service = place.service()
    session_id = service.loop.call(service.launch(WISH)).id
    with client_of(service, session_id) as client:
        request = began(client, "import time; time.sleep(60)")
        place.cluster.request("DELETE", f"/api/v1/namespaces/{place.namespace}/pods/{session_id}-0")
        words = told(client, request)
        assert words.startswith("The kernel's pod was deleted from outside. The kernel starts anew")
        assert "variables are gone" in words
        place.cluster.wait(lambda: events(service, session_id)[-1] == "replaced")
        client.wait_for_ready(timeout=30)
        reply = client.execute_interactive("6 * 7", timeout=30, output_hook=lambda message: None)
        assert reply["content"]["status"] == "ok"


def test_a_connection_that_is_lost_is_said_in_the_cell_that_may_go_on(place: Place) -> None:
    service = place.service(silence=1)
    session_id = service.loop.call(service.launch(WISH)).id
    with client_of(service, session_id) as client:
        request = began(client, "import time; time.sleep(3)")
        fault(place, f"{session_id}-0", "freeze")
        said = next(one for one in published(client, request) if one["msg_type"] == "stream")
        assert "connection to the kernel is lost" in said["content"]["text"]
        fault(place, f"{session_id}-0", None)
        last = next(one for one in published(client, request) if one["msg_type"] == "status")
        assert last["content"]["execution_state"] == "idle"


def fault(place: Place, pod: str, name: str | None) -> None:
    notes = {"metadata": {"annotations": {"jupyter-dra.dev/fault": name}}}
    place.cluster.request(
        "PATCH",
        f"/api/v1/namespaces/{place.namespace}/pods/{pod}",
        notes,
        content_type="application/merge-patch+json",
    )


def events(service: Sessions, session_id: str) -> list[str]:
    return ["", *(one["event"] for one in service.loop.call(service.get(session_id)).history)]


def test_a_notebook_that_is_executed_ends_with_the_reason_in_its_cell(
    cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jupyter_client.kernelspec import KernelSpecManager
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    from jupyter_dra.kernels.kernelspecs import install

    for name in ("XDG_DATA_HOME", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("KUBECONFIG", str(cluster.person()))
    install(WISH, name="dra-test", manager=KernelSpecManager())
    crash = nbformat.v4.new_code_cell("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    notebook = nbformat.v4.new_notebook(cells=[crash, nbformat.v4.new_code_cell("print('never')")])
    client = NotebookClient(notebook, kernel_name="dra-test", timeout=60)
    with pytest.raises(CellExecutionError) as caught:
        client.execute()
    assert "The kernel crashed (signal SIGSEGV)." in str(caught.value)
    (output,) = notebook.cells[0].outputs
    assert output["evalue"].startswith("The kernel crashed (signal SIGSEGV).")
    cluster.wait(lambda: not cluster.list("pods"))
