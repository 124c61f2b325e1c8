"""A fault of ours in one session: told in the log, while all others go on being looked after and given back."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from jupyter_dra.sessions import life, reconcile
from jupyter_dra.sessions.making import Context
from jupyter_dra.sessions.registry import Registry
from tests.sessions.place import Place, end_of
from tests.sessions.test_launch import H100, launched


def session(name: str, *, ended_at: float | None = None) -> Any:
    ended = None if ended_at is None else SimpleNamespace(at=ended_at)
    return SimpleNamespace(id=name, ended=ended, releasing=None, adopted=False)


def test_one_lease_that_cannot_be_looked_after_holds_up_no_other(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(ctx: Context, one: Any) -> None:
        raise KeyError(one.id)

    monkeypatch.setattr(life, "note_idle", broken)

    async def forgotten() -> str:
        found: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        live = {"first": session("first"), "second": session("second", ended_at=0.0)}
        registry = cast(Registry, SimpleNamespace(live=live, forget=found.set_result))
        policy = SimpleNamespace(history_seconds=60.0)
        task = asyncio.create_task(
            life.tick(cast(Context, SimpleNamespace(clock=lambda: 100.0, policy=policy)), registry)
        )
        try:
            return await asyncio.wait_for(found, 10)
        finally:
            await life.cancel([task])

    assert asyncio.run(forgotten()) == "second"
    assert "The lease of session first cannot be looked after" in caplog.text


def test_cleaning_up_is_tried_again_after_a_fault(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rounds: list[int] = []

    async def again() -> None:
        third = asyncio.Event()

        async def broken(ctx: Context, registry: Registry) -> list[str]:
            rounds.append(len(rounds))
            if len(rounds) == 3:
                third.set()
            raise KeyError("spec")

        monkeypatch.setattr(reconcile, "reconcile", broken)
        monkeypatch.setattr(reconcile, "PERIOD", 0.01)
        ctx = cast(Context, SimpleNamespace(client=SimpleNamespace(namespace="default")))
        registry = cast(Registry, SimpleNamespace(follow=lambda *_: None, stray=asyncio.Event()))
        task = asyncio.create_task(reconcile.reconcile_for_ever(ctx, registry))
        try:
            await asyncio.wait_for(third.wait(), 10)
        finally:
            await life.cancel([task])

    asyncio.run(again())
    assert "Cleaning up failed; it is tried again" in caplog.text


@pytest.mark.local_only("looks inside")
def test_an_advice_that_fails_holds_up_no_end(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_advice(*_: Any, **__: Any) -> None:
        raise KeyError("tier")

    service = place.service()
    session_id = launched(service, H100)
    live = service._registry.live[session_id]
    monkeypatch.setattr(life, "right_size", no_advice)
    live.usage = {"complete": True}
    service.loop.call(service.stop(session_id))
    assert end_of(service, session_id).code == "stopped"
    place.cluster.wait(place.empty, deadline=5)
