"""%%dra in a real IPython shell on the local cluster: one cell on a device, variables there and results back."""

from __future__ import annotations

import json
import re
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.testing.globalipapp import start_ipython
from IPython.utils.capture import capture_output

from jupyter_dra.magics.cell import KERNEL
from jupyter_dra.magics.cellshow import Outputs
from jupyter_dra.magics.cluster_side import ClusterSide
from jupyter_dra.magics.magic import DRAMagics
from jupyter_dra.sessions import SessionPolicy, Sessions, Where
from jupyter_dra.sessions.identity import load_identity
from tests.localcluster_fixture import LocalCluster, start_local_cluster

H100 = "high-memory-gpu --product H100"


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    made = start_local_cluster(None, ["dgx-h100"])
    yield made
    made.stop()


@dataclass(frozen=True)
class Ran:
    """What a cell raised, printed and showed."""

    error: BaseException | None
    stdout: str
    stderr: str
    texts: list[str]


class Notebook:
    """A shell with the magic, on a cluster."""

    def __init__(self, shell: InteractiveShell, cluster: LocalCluster, folder: Path) -> None:
        self.shell, self.cluster, self._folder = shell, cluster, folder
        self.sides: list[ClusterSide] = []
        self.restart()

    def restart(self) -> None:
        """The notebook's own kernel starts anew: nothing is remembered here."""

        def make() -> Sessions:
            return Sessions(
                Where(kubeconfig=str(self.cluster.kubeconfig)),
                identity=load_identity(self._folder / "data", user="ada"),
                policy=SessionPolicy(keep_on_stop=True),
            )

        self.sides.append(ClusterSide(make))
        self.shell.register_magics(DRAMagics(self.shell, self.sides[-1]))

    def run(self, line: str, cell: str) -> Ran:
        with capture_output() as caught:
            result = self.shell.run_cell(f"%%dra {line}\n{cell}")
        texts = [output.data.get("text/plain", "") for output in caught.outputs]
        return Ran(result.error_in_exec, caught.stdout, caught.stderr, texts)

    def good(self, line: str, cell: str) -> Ran:
        caught = self.run(line, cell)
        if caught.error is not None:
            raise caught.error
        return caught

    def left(self) -> list[Any]:
        return [self.cluster.list(kind) for kind in ("pods", "resourceclaims", "secrets")]


@pytest.fixture
def notebook(cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Notebook]:
    monkeypatch.setenv("JUPYTER_DRA_RUN_DIR", str(tmp_path))
    shell = start_ipython() or InteractiveShell.instance()
    shell.reset()
    made = Notebook(shell, cluster, tmp_path)
    yield made
    for side in made.sides:
        side.close()


@pytest.mark.threat("T45")
def test_a_cell_runs_on_a_device_with_variables_there_and_results_back_and_nothing_stays(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    payloads: list[str] = []
    monkeypatch.setattr(notebook.shell, "set_next_input", payloads.append)
    space = notebook.shell.user_ns
    space.update(words={"a": [1, 2.5, None], "b": (b"\x00", "é")}, secret="sentinel-7f3", total=0)
    before = dict(space)

    caught = notebook.good(
        f"{H100} --in words --out total,seen",
        "import sys, os\n"
        "from IPython.display import display\n"
        "print('to stdout'); print('to stderr', file=sys.stderr)\n"
        "shown = display({'text/plain': 'first'}, raw=True, display_id='x')\n"
        "display({'text/plain': 'second'}, raw=True, display_id='x', update=True)\n"
        "display({'text/plain': 'foreign'}, raw=True, display_id='not-mine', update=True)\n"
        "get_ipython().set_next_input('rm -rf')\n"
        "total = sum(words['a'][:2])\n"
        "seen = [words, 'secret' in globals(), os.environ.get('JUPYTER_DRA_RUN_DIR') is not None, os.getpid()]\n"
        "total * 2\n",
    )

    assert space["total"] == 3.5
    assert space["seen"][0] == space["words"]
    assert space["seen"][1] is False, "only what was named went over"
    assert space["seen"][3] != __import__("os").getpid()
    assert {key for key in space if key not in before and not key.startswith("_")} == {"seen"}
    assert "to stdout" in caught.stdout
    assert "to stderr" in caught.stderr
    assert [text for text in caught.texts if text in ("first", "second", "foreign", "7.0")] == [
        "first",
        "second",
        "7.0",
    ]
    assert caught.texts[0].startswith("%%dra sends words")
    assert "given back" in caught.texts[-1]
    assert "H100" in caught.texts[-1]
    assert "device held" in caught.texts[-1]
    assert payloads == [], "what the other side wants typed here is dropped"
    assert notebook.left() == [[], [], []]


def test_an_error_of_the_cell_is_shown_as_its_own_and_the_device_is_given_back(notebook: Notebook) -> None:
    caught = notebook.run(H100, "def deep():\n    return {}['gone']\ndeep()")

    assert type(caught.error).__name__ == "KeyError"
    assert "deep()" in caught.stdout + caught.stderr, "that kernel's traceback"
    assert "cell.py" not in caught.stdout + caught.stderr, "and not ours"
    assert "given back" in caught.texts[-1]
    assert notebook.left() == [[], [], []]


def test_interrupting_the_cell_interrupts_the_other_kernel(notebook: Notebook) -> None:
    started = threading.Event()

    def watch() -> None:
        if started.wait(60):
            time.sleep(0.5)  # a user's Ctrl-C comes while the cell waits, not while it draws
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    watcher = threading.Thread(target=watch)
    watcher.start()
    stream = Outputs._stream

    def told(self: Any, content: Any) -> None:
        stream(self, content)
        if "working" in content["text"]:
            started.set()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Outputs, "_stream", told)
        caught = notebook.run(H100, "import time\nprint('working', flush=True)\ntime.sleep(300)")
    watcher.join()

    assert type(caught.error).__name__ == "KeyboardInterrupt"
    assert notebook.left() == [[], [], []]


def test_a_kept_session_is_used_again_also_after_the_notebooks_kernel_was_restarted(
    notebook: Notebook,
) -> None:
    first = notebook.good(f"{H100} --keep 5m --name warm --out pid", "import os; pid = os.getpid(); n = 1")
    pid = notebook.shell.user_ns["pid"]
    assert "kept until it idled 5m" in first.texts[-1]
    [pod] = notebook.cluster.list("pods")

    second = notebook.good("--name warm --out pid,n", "n += 1; pid = os.getpid()")
    assert notebook.shell.user_ns["pid"] == pid
    assert notebook.shell.user_ns["n"] == 2
    assert "still kept" in second.texts[-1]

    notebook.restart()
    notebook.good("--name warm --out n", "n += 1")
    assert notebook.shell.user_ns["n"] == 3

    refused = notebook.run("--vram 8GB --name warm", "1")
    assert "was made for something else" in str(refused.error)
    [record] = notebook.sides[-1].list()["sessions"]
    assert record["kernels"][0]["name"] == KERNEL
    assert record["lease"]["idle_limit_seconds"] == 300
    assert [one["metadata"]["uid"] for one in notebook.cluster.list("pods")] == [pod["metadata"]["uid"]]
    notebook.sides[-1].give_back(record["id"], 30)
    assert notebook.left() == [[], [], []]


@pytest.mark.threat("T45")
@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("--in missing", "no such variable"),
        ("--in handle", "is a _io.BytesIO"),
        ("--in nested", r"nested\['here'\]\[0\] is a object"),
        ("--in large", "too large"),
        ("--in 'a b'", "no name of a variable"),
        ("--out class", "no name of a variable"),
    ],
)
def test_what_cannot_travel_is_said_before_anything_is_launched(
    notebook: Notebook, line: str, why: str
) -> None:
    space = notebook.shell.user_ns
    space.update(handle=__import__("io").BytesIO(), nested={"here": [object()]}, large=bytes(65 * 2**20))

    caught = notebook.run(f"{H100} {line}", "1")

    assert re.search(why, str(caught.error))
    assert notebook.left() == [[], [], []]


def test_results_that_are_no_data_are_refused_by_name_and_the_others_come(notebook: Notebook) -> None:
    caught = notebook.run(f"{H100} --out good,bad,gone", "good = 5; bad = object()")

    assert notebook.shell.user_ns["good"] == 5
    assert "bad is a object" in str(caught.error)
    assert "gone is not defined" in str(caught.error)
    assert not {"bad", "gone"} & set(notebook.shell.user_ns)


def test_inside_a_pod_the_cell_is_not_run_and_a_request_is_shown(notebook: Notebook, tmp_path: Path) -> None:
    (tmp_path / "session.json").write_text(json.dumps({"kind": "SessionFacts", "session": "s-1"}))

    caught = notebook.good("a100 --vram 40GB", "raise SystemExit")

    assert "The cell was not run." in caught.stdout
    card = notebook.shell.user_ns["_"]
    assert card.data["card"] == "request"
    assert card.data["requirement"]["vram"] == "40GB"
