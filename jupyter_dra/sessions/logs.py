"""The log of a kernel's pod, read on the background loop and handed out on the caller's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable

from ..errors import DRAError
from .live import LiveKernel, LiveSession
from .loop import BackgroundLoop
from .making import Context
from .pods import CONTAINER

LIMIT = 8 * 2**20
_AHEAD = 64


def read_log(
    ctx: Context, session: LiveSession, kernel: LiveKernel, *, tail: int | None, follow: bool
) -> AsyncIterator[bytes]:
    """The log in chunks; at most 8 MiB unless followed."""
    return ctx.client.logs(
        kernel.pod_name,
        session.namespace,
        container=CONTAINER,
        tail=tail,
        follow=follow,
        limit_bytes=None if follow else LIMIT,
    )


async def across(
    loop: BackgroundLoop, source: Callable[[], Awaitable[AsyncIterator[bytes]]]
) -> AsyncGenerator[bytes]:
    """The chunks of a stream that lives on the background loop; errors of ours are raised here."""
    queue: asyncio.Queue[bytes | DRAError | None] = asyncio.Queue(_AHEAD)
    here = asyncio.get_running_loop()

    async def put(item: bytes | DRAError | None) -> None:
        if here is asyncio.get_running_loop():
            await queue.put(item)
        else:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(queue.put(item), here))

    async def pump() -> None:
        try:
            async for chunk in await source():
                await put(chunk)
            await put(None)
        except DRAError as error:
            await put(error)

    future = loop.run(pump())
    try:
        while (item := await queue.get()) is not None:
            if isinstance(item, DRAError):
                raise item
            yield item
    finally:
        future.cancel()
