"""A server whose kernels work counts as active, also when nobody looks."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from jupyter_server._tz import utcnow

from jupyter_dra.server import activity
from jupyter_dra.server.activity import KEY, ActivityNote


async def test_a_busy_kernel_is_activity_of_the_server_and_an_idle_one_is_not(
    jp_serverapp: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activity, "PAUSE", 0.01)
    app, busy = jp_serverapp.web_app, [False]
    app.settings["started"] = old = utcnow() - timedelta(hours=5)
    for name in [name for name in app.settings if name.endswith("_last_activity")]:
        app.settings[name] = old
    note = ActivityNote(app.settings, lambda: busy[0])
    note.start()
    try:
        assert KEY not in app.settings
        busy[0] = True
        async with asyncio.timeout(10):
            while KEY not in app.settings:
                await asyncio.sleep(0.01)
        assert app.last_activity() == app.settings[KEY]
    finally:
        note.stop()
