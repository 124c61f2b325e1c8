"""Two servers that believe to be the same one: a home that was copied, an identity in an image, a cloned disk."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from jupyter_dra.errors import ConflictError
from jupyter_dra.server.ledger import Entry, Ledger
from jupyter_dra.sessions import SessionPolicy, Sessions, Where, load_identity
from tests.sessions.conftest import Place
from tests.sessions.test_launch import H100, launched

SMALL = {**H100, "cpu": "1", "host_memory": "1Gi"}


@pytest.mark.threat("T31")
@pytest.mark.parametrize("ahead", [-600, 600], ids=["clock behind", "clock ahead"])
def test_a_copy_of_a_server_neither_takes_nor_ends_what_the_first_one_looks_after(
    place: Place, ahead: int
) -> None:
    first = place.service(folder="home")
    sessions = [launched(first, SMALL) for _ in range(3)]
    shutil.copytree(place.folder / "home", place.folder / "copy")
    copy = Sessions(
        Where(kubeconfig=str(place.cluster.kubeconfig), namespace=place.namespace),
        identity=load_identity(place.folder / "copy", user="ada"),
        policy=SessionPolicy(),
        clock=lambda: time.time() + ahead,
    )
    try:
        for session_id in sessions:
            with pytest.raises(ConflictError) as caught:
                copy.loop.call(copy.reattach(session_id), 30)
            assert caught.value.code == "attached"
        assert [copy.loop.call(copy.reconcile(), 30) for _ in range(3)] == [[], [], []]
    finally:
        copy.close(keep=False)
    states = {record.id: record.state for record in first.loop.call(first.list())}
    assert states == dict.fromkeys(sessions, "running")
    for session_id in sessions:
        handle = first.loop.call(first.ready(session_id))
        assert first.loop.call(handle.control.start(), 20)["state"] == "running", "still the first one's"


@pytest.mark.threat("T31")
def test_when_the_first_server_is_gone_its_copy_may_take_over(place: Place) -> None:
    first = place.service(folder="home")
    session_id = launched(first, SMALL)
    shutil.copytree(place.folder / "home", place.folder / "copy")
    first.close(keep=True)
    copy = place.service(folder="copy")
    assert len(copy.loop.call(copy.reattach(session_id), 30)) == 1


@pytest.mark.threat("T31")
def test_the_record_of_a_living_server_is_worth_nothing_in_a_copied_folder(tmp_path: Path) -> None:
    living = Ledger(tmp_path / "home")
    living.write([Entry("kernel-1", "bert-1", "dra")])
    shutil.copytree(tmp_path / "home", tmp_path / "copy")
    assert Ledger(tmp_path / "copy").take_over() == []
    living.close(keep=True)
    assert [entry.kernel for entry in Ledger(tmp_path / "home").take_over()] == ["kernel-1"]
