"""Keeps a server alive whose kernels work while nobody looks.

JupyterHub's culler and Jupyter's own shutdown judge a server by the newest of its activities, among them every setting
whose name ends in ``_last_activity`` (jupyter_server/serverapp.py). A cell that computes for hours without a word is
no activity by itself; here it counts as long as its kernel is busy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, MutableMapping
from typing import Any

from jupyter_server._tz import utcnow

KEY = "jupyter_dra_last_activity"
PAUSE = 60.0


class ActivityNote:
    """Looks once a minute whether a kernel is busy, and notes the moment in the server's settings."""

    def __init__(self, settings: MutableMapping[str, Any], busy: Callable[[], bool]) -> None:
        self._settings, self._busy = settings, busy
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin; a second call changes nothing."""
        if self._timer is None:
            self._look()

    def _look(self) -> None:
        if self._busy():
            self._settings[KEY] = utcnow()
        self._timer = asyncio.get_running_loop().call_later(PAUSE, self._look)

    def stop(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
