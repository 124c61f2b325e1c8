"""One thread with its own event loop for everything that must go on while the caller's loop is blocked.

With a blocking KernelManager nobody runs the caller's loop after a start; watches, control connections and
relays therefore live here.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class BackgroundLoop:
    """An event loop in a daemon thread; started on first use, ended by `close`."""

    def __init__(self, name: str = "jupyter-dra") -> None:
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The running loop; starts the thread when needed."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._main, name=self._name, daemon=True)
                self._thread.start()
            return self._loop

    def _main(self) -> None:
        assert self._loop is not None
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    @property
    def running(self) -> bool:
        return self._loop is not None

    @property
    def here(self) -> bool:
        """True when called on the background thread."""
        return threading.current_thread() is self._thread

    def run(self, coro: Coroutine[Any, Any, T]) -> Future[T]:
        """Start ``coro`` on the background loop; cancelling the future cancels it."""
        return asyncio.run_coroutine_threadsafe(coro, self.loop)

    def call(self, coro: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
        """Run ``coro`` on the background loop and wait for it; must not be called on that loop."""
        if self.here:
            coro.close()
            raise RuntimeError("call() would wait for its own loop; await the coroutine instead")
        future = self.run(coro)
        try:
            return future.result(timeout)
        except BaseException:
            future.cancel()
            raise

    async def wrap(self, coro: Coroutine[Any, Any, T]) -> T:
        """Await ``coro`` from any loop while it runs on the background loop."""
        if self.here:
            return await coro
        return await asyncio.wrap_future(self.run(coro))

    def soon(self, function: Callable[..., object], *args: Any) -> None:
        """Call ``function`` on the background loop, without waiting."""
        self.loop.call_soon_threadsafe(function, *args)

    def close(self, timeout: float = 5.0) -> None:
        """Cancel what still runs, end the thread and close the loop; safe to call twice."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            return
        if threading.current_thread() is thread:
            raise RuntimeError("the background loop cannot close itself")
        try:
            asyncio.run_coroutine_threadsafe(_cancel_all(), loop).result(timeout)
        except TimeoutError:
            pass
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout)
        if not thread.is_alive():
            loop.close()


async def _cancel_all() -> None:
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
    # Aborted connections close their sockets in the next rounds of the loop.
    await asyncio.sleep(0.01)
    # Aborted transports are closed by callbacks of the next turns.
    for _ in range(3):
        await asyncio.sleep(0)
