"""What a kernel published while nobody was connected: whole messages only, the newest within the bound."""

from __future__ import annotations

import importlib.util
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

GREETING = 64
KERNELS = Path(__file__).resolve().parents[2] / "jupyter_dra" / "kernels"
MESSAGES = [[b"topic", b"a" * size, b"", b"z"] for size in (1, 300, 70_000, 0)]
READY = b"\x04\x05READY"


@pytest.fixture(scope="module")
def podkeep() -> Iterator[ModuleType]:
    """The module as podside loads it: a file beside the others, no package."""
    sys.path.insert(0, str(KERNELS))
    try:
        spec = importlib.util.spec_from_file_location("podkeep", KERNELS / "podkeep.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(KERNELS))


def frame(body: bytes, *, more: bool) -> bytes:
    if len(body) < 256:
        return bytes([int(more), len(body)]) + body
    return bytes([int(more) | 2]) + len(body).to_bytes(8, "big") + body


def wire(message: list[bytes]) -> bytes:
    return b"".join(frame(part, more=index < len(message) - 1) for index, part in enumerate(message))


STREAM = bytes(GREETING) + READY + b"".join(map(wire, MESSAGES))


@pytest.mark.parametrize("seed", range(60))
def test_every_message_that_begins_after_the_client_went_is_kept_and_no_other(
    podkeep: ModuleType, seed: int
) -> None:
    dice = random.Random(seed)
    frames, kept = podkeep.Frames(), list[list[bytes]]()
    cut = dice.randrange(len(STREAM))
    frames.feed(STREAM[:cut])
    frames.begin(kept.append)
    at = cut
    while at < len(STREAM):
        step = dice.choice([1, 2, 7, 100, 50_000])
        frames.feed(STREAM[at : at + step])
        at += step
    starts = [
        GREETING + len(READY) + sum(len(wire(one)) for one in MESSAGES[:n]) for n in range(len(MESSAGES))
    ]
    assert kept == [one for one, start in zip(MESSAGES, starts, strict=True) if start >= cut]


def test_beyond_the_bound_the_oldest_is_dropped_and_counted(podkeep: ModuleType) -> None:
    keeper = podkeep.Keeper(most=1000)
    for number in range(10):
        keeper.add([b"topic", bytes([number]) * 200])
    assert [message[1][0] for message in keeper.messages] == [6, 7, 8, 9]
    assert (keeper.dropped_messages, keeper.dropped_bytes) == (6, 6 * 205)
    assert keeper.size == 4 * 205


def test_what_is_dropped_is_counted_in_lines_and_dated_by_the_kernel(podkeep: ModuleType) -> None:
    def printed(minute: int) -> list[bytes]:
        header = b'{"date":"2026-11-30T12:%02d:00Z"}' % minute
        return [b"stream", b"<IDS|MSG>", b"sig", header, b"{}", b"{}", rb'{"text":"a\nb\n"}']

    keeper = podkeep.Keeper(most=1)
    for minute in (2, 9, 18):
        keeper.add(printed(minute))
    keeper.add([b"no", b"message"])
    assert keeper.dropped_lines == 6
    assert keeper.dropped_since == "2026-11-30T12:02:00Z"
    assert keeper.dropped_until == "2026-11-30T12:18:00Z"
    keeper.release()
    assert (keeper.dropped_lines, keeper.dropped_since, keeper.dropped_until) == (0, None, None)
