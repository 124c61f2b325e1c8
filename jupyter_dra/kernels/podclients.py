"""The servers that follow this pod: whoever has a control connection to podside hears every event.

Runs inside the user's image: standard library only, Python 3.8 and later.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

MOST_UNREAD = 2 * 1024 * 1024  # bytes of events a server may leave unread
SILENCE_SECONDS = 30.0  # servers ask every ten seconds: one that was silent for longer is gone


class Clients:
    """Control connections, each with the moment its server was last heard of; false where there is none."""

    def __init__(self) -> None:
        self._heard: dict[asyncio.StreamWriter, float] = {}

    def __len__(self) -> int:
        return len(self._heard)

    def heard(self, writer: asyncio.StreamWriter) -> None:
        self._heard[writer] = time.monotonic()

    def left(self, writer: asyncio.StreamWriter) -> None:
        """Nothing is sent to this one any more; no error where it was none of them."""
        self._heard.pop(writer, None)

    def living(self) -> int:
        """How many were heard of lately."""
        since = time.monotonic() - SILENCE_SECONDS
        return sum(1 for heard in self._heard.values() if heard > since)

    def tell(self, event: dict[str, Any]) -> None:
        """Send an event to all; one that does not read is dropped."""
        line = json.dumps(event).encode() + b"\n"
        for writer in list(self._heard):
            if writer.transport.get_write_buffer_size() > MOST_UNREAD:
                self.left(writer)
                writer.transport.abort()
            else:
                writer.write(line)

    def close(self) -> None:
        for writer in self._heard:
            writer.close()
