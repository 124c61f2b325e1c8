"""How long a session is idle, as other processes of its user see it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jupyter_dra.sessions import Sessions, idle_notes
from tests.sessions.place import Place
from tests.sessions.test_launch import H100, launched


def idle_of(service: Sessions, session_id: str) -> int | None:
    found: dict[str, int] = service.loop.call(service.idle())
    return found.get(session_id)


def holder_seen(service: Sessions, session_id: str) -> dict[str, Any]:
    plan = service.loop.call(service.plan({**H100, "count": 8}, detail="full"), 30)
    return next(one for one in plan["holders"] if one["session"] == session_id)


def test_a_shell_sees_how_long_a_session_of_the_server_is_idle(place: Place) -> None:
    server, shell = place.service(), place.service()
    session_id = launched(server)
    place.cluster.wait(lambda: idle_of(shell, session_id) is not None, deadline=10)
    place.cluster.wait(lambda: (idle_of(shell, session_id) or 0) >= 1, deadline=10)
    assert holder_seen(shell, session_id)["idle_seconds"] >= 1
    shell.loop.call(shell.extend(session_id, extend_seconds=60), 30)  # writes the record, and keeps the note
    assert idle_of(place.service(), session_id) is not None


def test_what_a_process_wrote_that_may_be_gone_is_not_believed_for_long(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, shell = place.service(keep_on_stop=True), place.service()
    session_id = launched(server)
    place.cluster.wait(lambda: idle_of(shell, session_id) is not None, deadline=10)
    server.close(keep=True)
    assert idle_of(shell, session_id) is not None
    monkeypatch.setattr(idle_notes, "BELIEVED", 0.0)
    assert idle_of(shell, session_id) is None
    assert holder_seen(shell, session_id)["idle_seconds"] is None
    shell.loop.call(shell.stop(session_id))
    shell.loop.call(shell.ended(session_id), 20)


def test_the_note_is_renewed_while_nothing_changes_and_not_more_often(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idle_notes, "LATEST", 2.0)
    session_id = launched(place.service())
    record = place.folder / "data" / "sessions" / f"{session_id}.json"

    def noted() -> dict[str, float]:
        return dict(json.loads(record.read_text())["idle"])

    notes = [noted()]

    def renewed() -> bool:
        """What the kernel and the device did when it started is still told; after that only the time of the note is."""
        if noted() != notes[-1]:
            notes.append(noted())
        return len(notes) > 1 and notes[-1]["since"] == notes[-2]["since"] is not None

    place.cluster.wait(renewed, deadline=20)
    assert notes[-1]["at"] - notes[-2]["at"] >= 2.0
