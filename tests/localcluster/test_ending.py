"""Both ways a process of the local cluster hears that it shall end: through the loop, or through Python's handlers."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator

import pytest

from jupyter_dra.localcluster.ending import told_to_end


class LoopWithoutSignals(asyncio.SelectorEventLoop):
    """A loop as Windows has it."""

    def add_signal_handler(self, sig: int, callback: Callable[..., object], *args: object) -> None:
        raise NotImplementedError


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


@pytest.mark.parametrize("loop", [asyncio.SelectorEventLoop, LoopWithoutSignals])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_wait_and_a_second_one_changes_nothing(
    loop: Callable[[], asyncio.AbstractEventLoop], number: signal.Signals
) -> None:
    async def wait() -> bool:
        told = told_to_end()
        os.kill(os.getpid(), number)
        async with asyncio.timeout(5):
            await told
        os.kill(os.getpid(), number)
        await asyncio.sleep(0)
        return told.done()

    with asyncio.Runner(loop_factory=loop) as runner:
        assert runner.run(wait())
