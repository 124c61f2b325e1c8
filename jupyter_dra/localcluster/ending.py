"""The wish from outside that this process ends: SIGTERM and Ctrl-C, in one way on every system."""

from __future__ import annotations

import asyncio
import signal


def told_to_end() -> asyncio.Future[None]:
    """A future of the running loop that SIGTERM or SIGINT completes; later signals change nothing.

    Called in the main thread. Where the loop cannot take signals (Windows), Python's own handlers wake it.
    """
    loop = asyncio.get_running_loop()
    told: asyncio.Future[None] = loop.create_future()

    def tell() -> None:
        if not told.done():
            told.set_result(None)

    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(number, tell)
        except NotImplementedError:
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(tell))
    return told
