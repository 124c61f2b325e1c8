"""%%dra in a real notebook kernel, through the messages a page sees: output, display, progress, input, interrupt."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

from tests.localcluster_fixture import LocalCluster, start_local_cluster

TIER = "high-memory-gpu --cpu 1 --host-memory 1GiB"


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    made = start_local_cluster(None, ["dgx-h100"])
    yield made
    made.stop()


class Page:
    """A notebook page on its own cheap kernel."""

    def __init__(self, manager: KernelManager) -> None:
        self.manager = manager
        self.client: BlockingKernelClient = manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def run(
        self, code: str, *, answer: str | None = None, on: Callable[[dict[str, Any]], None] | None = None
    ) -> list[dict[str, Any]]:
        """Everything published for one cell, in order; ``on`` is told each message as it comes."""
        request = self.client.execute(code, allow_stdin=answer is not None)
        found: list[dict[str, Any]] = []
        while True:
            if answer is not None and self.client.stdin_channel.msg_ready():
                message = self.client.get_stdin_msg(timeout=1)
                found.append(message)
                self.client.input(answer)
            if not self.client.iopub_channel.msg_ready():
                self.client.iopub_channel.socket.poll(50)
                continue
            message = self.client.get_iopub_msg(timeout=1)
            if message["parent_header"].get("msg_id") != request:
                continue
            found.append(message)
            if on is not None:
                on(message)
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                return found


def printed(messages: list[dict[str, Any]], name: str = "stdout") -> str:
    return "".join(
        one["content"]["text"]
        for one in messages
        if one["msg_type"] == "stream" and one["content"]["name"] == name
    )


def shown(messages: list[dict[str, Any]], kind: str = "text/plain") -> list[str]:
    types = ("display_data", "update_display_data", "execute_result")
    return [one["content"]["data"].get(kind, "") for one in messages if one["msg_type"] in types]


def empty(cluster: LocalCluster, kind: str) -> bool:
    return not cluster.list(kind)


@pytest.fixture
def page(cluster: LocalCluster, tmp_path: Path) -> Iterator[Page]:
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(
        cwd=str(tmp_path),
        env={
            **os.environ,
            "KUBECONFIG": str(cluster.kubeconfig),
            "XDG_DATA_HOME": str(tmp_path / "data"),
            "JUPYTER_DRA_RUN_DIR": str(tmp_path / "no-pod"),
        },
    )
    made = Page(manager)
    made.run("%load_ext jupyter_dra")
    yield made
    made.client.stop_channels()
    manager.shutdown_kernel(now=True)
    for kind in ("pods", "secrets", "resourceclaims"):
        cluster.wait(partial(empty, cluster, kind))


def test_a_cell_looks_as_if_it_had_run_here(page: Page, cluster: LocalCluster) -> None:
    page.run("n, data = 3, [1.5, 2.5]")
    held: list[int] = []

    def look(message: dict[str, Any]) -> None:
        if message["msg_type"] == "stream" and "half way" in message["content"]["text"]:
            held.append(len(cluster.list("resourceclaims")))

    messages = page.run(
        f"%%dra {TIER} --in n,data --out total,where\n"
        "import os, sys\n"
        "from IPython.display import HTML, display\n"
        "for step in range(n):\n"
        "    print(f'\\rstep {step}', end='', flush=True)\n"
        "bar = display(HTML('<progress value=1>'), display_id='bar')\n"
        "display(HTML('<progress value=2>'), display_id='bar', update=True)\n"
        "print('half way', file=sys.stderr, flush=True)\n"
        "name = input('who? ')\n"
        "total, where = sum(data), os.getpid()\n"
        "f'hello {name}'\n",
        answer="Ada",
        on=look,
    )
    assert "\rstep 0\rstep 1\rstep 2" in printed(messages)
    assert printed(messages, "stderr") == "half way\n"
    bars = [
        (one["msg_type"], one["content"]["data"].get("text/html"))
        for one in messages
        if "data" in one["content"]
    ]
    assert ("display_data", "<progress value=1>") in bars
    assert ("update_display_data", "<progress value=2>") in bars
    asked = [one["content"]["prompt"] for one in messages if one["msg_type"] == "input_request"]
    assert re.fullmatch(r"\[cell-[a-z0-9]{5}\] who\? ", asked[0]), "the prompt says whose it is"
    assert "'hello Ada'" in shown(messages)
    assert held == [1]
    last = shown(messages)[-1]
    assert re.search(r"H100.* · cell [0-9.]+ s .*· device held [0-9.]+ s · given back", last), "device time"
    assert cluster.list("resourceclaims") == [], "nothing is held between cells"
    assert printed(page.run("import os; print(total, where != os.getpid())")) == "4.0 True\n"


def test_the_stop_button_interrupts_the_cell_and_gives_the_device_back(
    page: Page, cluster: LocalCluster
) -> None:
    def stop(message: dict[str, Any]) -> None:
        if "working" in str(message["content"].get("text")):
            page.manager.interrupt_kernel()

    messages = page.run(f"%%dra {TIER}\nimport time\nprint('working', flush=True)\ntime.sleep(600)", on=stop)
    errors = [one["content"]["ename"] for one in messages if one["msg_type"] == "error"]
    assert errors == ["KeyboardInterrupt"]
    cluster.wait(lambda: not cluster.list("resourceclaims"))
    assert printed(page.run("print('still here')")) == "still here\n"


def test_what_cannot_travel_is_said_before_a_device_is_taken(page: Page, cluster: LocalCluster) -> None:
    page.run("import threading; lock = threading.Lock()")
    taken: list[int] = []
    messages = page.run(
        f"%%dra {TIER} --in lock\n1", on=lambda _: taken.append(len(cluster.list("resourceclaims")))
    )
    text = str([one["content"] for one in messages])
    assert "lock is a _thread.lock" in text
    assert not any(taken)


def test_a_named_session_stays_warm_for_the_time_that_was_asked(page: Page, cluster: LocalCluster) -> None:
    first = page.run(f"%%dra {TIER} --name warm --keep 10m\nx = 40; x")
    assert "kept until it idled 10m" in shown(first)[-1]
    [claim] = cluster.list("resourceclaims")
    again = page.run("%%dra --name warm --out x\nx += 2")
    assert "still kept" in shown(again)[-1]
    assert "42" in printed(page.run("print(x)"))
    assert [one["metadata"]["uid"] for one in cluster.list("resourceclaims")] == [claim["metadata"]["uid"]]
    page.run(f"%dra stop {claim['metadata']['name']}")
