"""The local cluster as the server meets it: a command that may be slow, silent or refused."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from jupyter_dra.errors import ClusterError
from jupyter_dra.server import localcluster
from jupyter_dra.server.localcluster import LocalCluster


def command(monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    monkeypatch.setattr(localcluster, "COMMAND", (sys.executable, "-c", body))


async def test_a_command_that_never_answers_is_ended_and_the_cluster_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = tmp_path / "pid"
    silent = f"import os, signal; open({str(note)!r}, 'w').write(str(os.getpid())); signal.pause()"
    command(monkeypatch, silent)
    monkeypatch.setattr(localcluster, "PATIENCE", 2.0)
    told = await LocalCluster().status()
    assert told == {"kind": "LocalCluster", "version": 1, "running": False}
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)


async def test_nonsense_is_no_running_cluster_and_an_answer_is_kept_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    command(monkeypatch, "print('[]')")
    local = LocalCluster()
    assert (await local.status())["running"] is False
    command(monkeypatch, """print('{"kind": "LocalCluster", "version": 1, "running": true}')""")
    assert (await local.status())["running"] is False
    assert (await LocalCluster().status())["running"] is True


async def test_a_start_that_is_refused_says_why_in_the_commands_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    command(monkeypatch, "import sys; print(*sys.argv[1:4], file=sys.stderr); sys.exit(2)")
    with pytest.raises(ClusterError) as refused:
        await LocalCluster().start(["l4"], workdir="/work")
    assert refused.value.message == "The local cluster did not start: up -o json"
    assert refused.value.next_step is not None and "jupyter dra local up" in refused.value.next_step
