"""Which kernels a new server takes over, and which it leaves alone."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from jupyter_dra.errors import ClusterError, ConflictError, NotFoundError, SessionEnded
from jupyter_dra.server.keeping import Keeping
from jupyter_dra.server.ledger import Entry, Ledger
from jupyter_dra.server.reattach import Reattachment
from jupyter_dra.sessions import Sessions

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs file locks")
ONE = Entry("kernel-1", "bert-1", "dra-session", "page-1", "a.ipynb", "a.ipynb", "notebook")
TWO = Entry("kernel-2", "bert-2", "dra-session")


def test_a_server_that_is_gone_leaves_its_kernels_to_one_successor(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from jupyter_dra.server.ledger import Entry, Ledger\n"
        f"Ledger(Path({str(tmp_path)!r})).write([Entry('kernel-1', 'bert-1', 'dra-session', 'page-1', 'a.ipynb',"
        " 'a.ipynb', 'notebook')]); os.kill(os.getpid(), 9)\n"
    )
    root = Path(__file__).resolve().parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, timeout=60).returncode == -9

    first, second = Ledger(tmp_path), Ledger(tmp_path)
    assert first.take_over() == [ONE]
    assert second.take_over() == []
    first.close(keep=True)
    assert second.take_over() == [ONE]


def test_kernels_of_a_living_server_are_not_offered(tmp_path: Path) -> None:
    living = Ledger(tmp_path)
    living.write([ONE])
    assert Ledger(tmp_path).take_over() == []
    living.close(keep=False)
    assert list((tmp_path / "servers").iterdir()) == []


def test_a_server_without_kernels_of_ours_writes_nothing(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "data")
    assert ledger.take_over() == []
    ledger.write([])
    ledger.close(keep=True)
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"kernels": [{"kernel": 1}]}', '{"kernels": [{"evil": 1}]}']
)
def test_a_damaged_record_is_as_good_as_none(tmp_path: Path, text: str) -> None:
    gone = Ledger(tmp_path)
    gone.write([ONE])
    gone.close(keep=True)
    next((tmp_path / "servers").glob("*.json")).write_text(text)
    assert Ledger(tmp_path).take_over() == []


class Service:
    """Stands for the session service: what it knows, and what it was asked to take over."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.taken: list[Any] = []

    async def get(self, session_id: str) -> Any:
        answer = self.answers[session_id.replace("-", "_")]
        if isinstance(answer, BaseException):
            raise answer
        return SimpleNamespace(as_dict=lambda: {"server": "me", "state": "running", "kernels": [], **answer})

    async def reattach(self, session_id: str) -> list[Any]:
        self.taken.append(session_id)
        why = self.answers[session_id.replace("-", "_")].get("why")
        if why is not None:
            raise why
        return []


def reattachment(service: Service, *entries: Entry) -> Reattachment:
    async def nothing(*args: Any) -> list[Any]:
        return []

    sessions = SimpleNamespace(list_sessions=nothing, session_exists=nothing)
    server: Any = SimpleNamespace(
        kernel_manager={}, session_manager=sessions, log=SimpleNamespace(info=lambda *words: None)
    )
    stand_in = cast(Sessions, service)
    return Reattachment(server, stand_in, list(entries), server_id="me", changed=lambda session: None)


async def once(work: Reattachment) -> None:
    """The first try only."""
    task = asyncio.ensure_future(work.run())
    await work._tried.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize(
    "answer",
    [
        {"server": "another"},
        {"state": "releasing"},
        NotFoundError("There is none."),
    ],
)
def test_sessions_of_another_server_and_those_that_ended_are_not_touched(answer: Any) -> None:
    service = Service(bert_1=answer)
    work = reattachment(service, ONE)
    asyncio.run(work.run())
    assert service.taken == []
    assert work.waiting == {}


@pytest.mark.parametrize(
    "why",
    [
        ConflictError("No seal.", code="not-proven"),
        SessionEnded("Over.", code="exited"),
        RuntimeError("fault"),
    ],
)
def test_what_is_not_proven_or_fails_does_not_keep_the_others_back(why: Exception) -> None:
    service = Service(bert_1={"why": why}, bert_2={})
    work = reattachment(service, ONE, TWO)
    asyncio.run(work.run())
    assert sorted(service.taken) == ["bert-1", "bert-2"]
    assert work.waiting == {}


def test_kernels_wait_for_a_cluster_out_of_reach_while_pages_are_answered() -> None:
    service = Service(bert_1=ClusterError("No answer.", code="unreachable"))
    work = reattachment(service, ONE)
    asyncio.run(once(work))
    assert work.waiting == {"kernel-1": ONE}


def test_a_server_whose_user_never_had_a_session_loads_nothing_at_start(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom types import SimpleNamespace\nfrom jupyter_dra.server.board import Board\n"
        "app = SimpleNamespace(context='', keep_on_stop=False)\n"
        "Board(app, SimpleNamespace()).start()\n"
        "heavy = ('kubernetes', 'aiohttp', 'jupyter_dra.claims', 'jupyter_dra.kernels')\n"
        "loaded = [m for m in heavy if m in sys.modules]\n"
        "assert not loaded, loaded\n"
    )
    root = Path(__file__).resolve().parents[2]
    env = {**os.environ, "XDG_DATA_HOME": str(tmp_path / "data")}
    subprocess.run([sys.executable, "-c", code], cwd=root, env=env, check=True, timeout=60)
    assert not (tmp_path / "data").exists()


async def test_a_full_disk_keeps_no_server_from_stopping_in_order(caplog: pytest.LogCaptureFixture) -> None:
    class Full(Ledger):
        closed = False

        def write(self, entries: object) -> None:
            raise OSError(28, "No space left on device")

        def close(self, *, keep: bool) -> None:
            self.closed = True

    ledger = Full(Path("/nowhere"))
    await Keeping(cast(Any, SimpleNamespace()), ledger, dict).close(keep=False)
    assert ledger.closed
    assert "cannot be written: [Errno 28] No space left on device" in caplog.text
