"""Whenever the news of a death comes, each request that waited is answered once, and on both channels."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

import pytest
from jupyter_client.session import DELIM, Session

from jupyter_dra.kernels import last_words
from jupyter_dra.kernels.last_words import LOST, LastWords
from jupyter_dra.kernels.unanswered import Obituary, told_by_us
from jupyter_dra.kernels.zmtp import encode

from .test_local_side import Client, keys

DEAD = Obituary("crashed", "It died.", "Run it again.")
NEXT = Obituary("stopped", "Another death.")


class Both:
    """One client's shell and iopub, and what answers in a dead kernel's place."""

    def __init__(self) -> None:
        self.shell, self.iopub = Client("shell"), Client("iopub")
        sides = {"shell": [self.shell.side], "iopub": [self.iopub.side]}
        self.words = LastWords("k", lambda channel: sides[channel])
        self.words.use(keys("k"))
        for client in (self.shell, self.iopub):
            client.side._watch = self.words

    def joins(self, number: int) -> None:
        self.iopub.joins(number)
        self.shell.joins(number)

    def breaks(self) -> None:
        for client in (self.shell, self.iopub):
            client.breaks()
            self.words.parted(client.side)

    def asks(self, number: int) -> None:
        self.shell.says(self.shell.request(number))

    def kernel_says(self, client: Client, kind: str, number: int, **content: str) -> None:
        message = self.shell.session.msg(kind, content, parent={"header": {"msg_id": f"m{number}"}})
        client.pods[-1].sink.write(encode(self.shell.session.serialize(message, ident=kind.encode())))

    def heard(self, client: Client) -> list[tuple[str, str, Obituary | None]]:
        """(request, kind or state, our words) of every message."""
        found = []
        for frames in client.wire.messages:
            at = frames.index(DELIM)
            header, parent, content = (Session().unpack(frames[at + place]) for place in (2, 3, 5))
            kind = content.get("execution_state") or header["msg_type"]
            found.append((parent["msg_id"], kind, told_by_us(content)))
        return found


Play = Callable[[Both], Coroutine[None, None, None]]


def play(scene: Play) -> None:
    async def run() -> None:
        await scene(Both())

    asyncio.run(run())


def test_news_that_comes_before_the_connections_break_waits_for_that() -> None:
    async def scene(both: Both) -> None:
        both.joins(1)
        both.asks(1)
        assert not both.words.died(DEAD)
        assert both.words.telling
        both.breaks()
        assert both.heard(both.shell) == [("m1", "execute_reply", DEAD)]
        assert both.heard(both.iopub) == [("m1", "error", DEAD), ("m1", "idle", None)]
        both.asks(2)
        both.joins(2)
        both.breaks()
        assert len(both.heard(both.shell)) == 1, "the news was about the kernel before"
        assert both.words.died(NEXT)
        assert both.heard(both.shell)[1:] == [("m2", "execute_reply", NEXT)]

    play(scene)


def test_news_that_comes_after_the_next_kernel_still_tells_the_reason() -> None:
    async def scene(both: Both) -> None:
        both.joins(1)
        both.asks(1)
        both.breaks()
        both.joins(2)
        both.asks(2)
        assert both.words.died(DEAD)
        assert both.heard(both.shell) == [("m1", "execute_reply", DEAD)]

    play(scene)


def test_a_death_nobody_tells_of_is_said_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(last_words, "REASON_SECONDS", 0.0)

    async def scene(both: Both) -> None:
        both.joins(1)
        both.asks(1)
        both.breaks()
        both.joins(2)
        while not both.heard(both.shell):
            await asyncio.sleep(0)
        assert both.heard(both.shell) == [("m1", "execute_reply", LOST)]
        assert not both.words.died(DEAD)
        assert len(both.heard(both.shell)) == 1

    play(scene)


def test_who_asks_after_the_end_is_told_at_once() -> None:
    async def scene(both: Both) -> None:
        both.joins(1)
        both.asks(1)
        both.breaks()
        both.asks(2)
        assert both.words.over(DEAD)
        both.asks(3)
        assert both.heard(both.shell) == [(f"m{number}", "execute_reply", DEAD) for number in (1, 2, 3)]

    play(scene)


def test_the_kernels_own_end_of_a_cell_is_not_repeated() -> None:
    async def scene(both: Both) -> None:
        both.joins(1)
        both.asks(1)
        both.shell.breaks()  # iopub still brings what was under way
        both.words.died(DEAD)
        assert both.heard(both.shell) == [("m1", "execute_reply", DEAD)]
        assert both.heard(both.iopub) == []
        both.kernel_says(both.iopub, "status", 1, execution_state="idle")
        both.iopub.breaks()
        assert both.heard(both.iopub) == [("m1", "idle", None)]

    play(scene)


def test_a_reply_whose_end_was_not_published_any_more_ends_with_the_next_kernel() -> None:
    async def scene(both: Both) -> None:
        both.joins(1)
        both.asks(1)
        both.kernel_says(both.shell, "execute_reply", 1, status="ok")
        both.breaks()
        assert both.heard(both.iopub) == []
        both.joins(2)
        assert both.heard(both.iopub) == [("m1", "idle", None)]
        assert both.heard(both.shell) == [("m1", "execute_reply", None)]

    play(scene)
