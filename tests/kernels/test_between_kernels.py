"""Requests at every moment around a kernel's death, by a real client of a real pod: each gets exactly one answer."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from queue import Empty
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient

from jupyter_dra.kernels.last_words import LOST, TORN
from jupyter_dra.kernels.news import MOVED
from jupyter_dra.kernels.unanswered import Obituary, told_by_us
from jupyter_dra.sessions.loop import BackgroundLoop

from .conftest import Pods
from .test_podside import client_of, connect, run, wait_until_ready

DEAD = Obituary("crashed", "It died.")
STEP = 0.004
AROUND = 60
SECONDS = 30.0


class Answers:
    """What a client heard about its requests, on both channels."""

    def __init__(self, client: BlockingKernelClient) -> None:
        self._client = client
        self.requests: list[str] = []
        self.replies: Counter[str] = Counter()
        self.ends: Counter[str] = Counter()
        self.told: dict[str, Obituary] = {}

    def ask(self, code: str) -> None:
        self.requests.append(str(self._client.execute(code, stop_on_error=False)))

    def listen(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            for channel, tell in (
                (self._client.shell_channel, self._reply),
                (self._client.iopub_channel, self._end),
            ):
                try:
                    tell(channel.get_msg(timeout=left / 2))
                except Empty:
                    continue

    def _reply(self, message: dict[str, Any]) -> None:
        request = str(message["parent_header"].get("msg_id"))
        if message["msg_type"] == "execute_reply":
            self.replies[request] += 1
            if (why := told_by_us(message["content"])) is not None:
                self.told[request] = why

    def _end(self, message: dict[str, Any]) -> None:
        if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            self.ends[str(message["parent_header"].get("msg_id"))] += 1

    def all(self) -> None:
        """Wait until every request is answered; none is answered twice."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and not all(
            self.replies[one] and self.ends[one] for one in self.requests
        ):
            self.listen(0.05)
        self.listen(0.1)
        assert [one for one in self.requests if self.replies[one] != 1] == []
        assert [one for one in self.requests if self.ends[one] != 1] == []


def around(answers: Answers, happens: Callable[[], object]) -> None:
    """Ask before, while and after something happens, every few milliseconds."""
    for number in range(AROUND):
        if number == AROUND // 3:
            happens()
        answers.ask(f"{number}")
        answers.listen(STEP)


BUSY = {
    "idle": "pass",
    "computing": "import time; time.sleep(60)",
    "printing": "for _ in range(100): print('y' * 5_000_000, flush=True)",
}


@pytest.mark.parametrize("busy", BUSY.values(), ids=BUSY)
def test_every_request_around_a_death_gets_exactly_one_answer(
    pods: Pods, background: BackgroundLoop, busy: str
) -> None:
    pod = pods.start()
    control = connect(background, pod)
    with client_of(background, pod) as (client, relay):
        answers = Answers(client)

        async def die() -> None:
            await control.kill()
            relay.words.died(DEAD)
            await control.start()

        answers.ask(busy)
        around(answers, lambda: background.run(die()))
        answers.all()
        assert set(answers.told.values()) <= {DEAD, TORN}
        assert answers.requests[-1] not in answers.told, "no kernel died after it was asked"
        assert run(client, "print(6 * 7)") == "42\n"


def test_every_request_around_a_restart_nobody_tells_of_gets_exactly_one_answer(
    pods: Pods, background: BackgroundLoop
) -> None:
    pod = pods.start()
    control = connect(background, pod)
    with client_of(background, pod) as (client, _relay):
        answers = Answers(client)
        answers.ask(BUSY["computing"])
        around(answers, lambda: background.run(control.restart()))
        answers.all()
        assert set(answers.told.values()) <= {LOST, TORN}
        assert LOST in answers.told.values()


def test_every_request_around_a_move_to_another_pod_gets_exactly_one_answer(
    pods: Pods, background: BackgroundLoop
) -> None:
    """The next pod has keys of its own: what waited for it is signed anew."""
    first, second = pods.start(), pods.start()
    wait_until_ready(background, second)
    with client_of(background, first) as (client, relay):
        answers = Answers(client)

        async def leave() -> None:
            relay.detach(MOVED)

        async def arrive() -> None:
            relay.retarget(second, second.credentials)
            client.session.key = second.credentials.key.encode()

        answers.ask(BUSY["computing"])
        around(answers, lambda: background.call(leave()))
        answers.listen(0.1)
        around(answers, lambda: background.call(arrive()))
        answers.all()
        assert set(answers.told.values()) <= {MOVED, TORN}
        assert answers.told[answers.requests[0]] == MOVED
        assert not {*answers.told} & {*answers.requests[AROUND:]}, (
            "what was asked between the pods ran in the next"
        )


def test_a_connection_that_breaks_and_comes_back_loses_no_request(
    pods: Pods, background: BackgroundLoop
) -> None:
    """The kernel goes on meanwhile, so what it was given is answered by itself."""
    pod = pods.start()
    with client_of(background, pod) as (client, relay):
        answers = Answers(client)

        async def part() -> None:
            relay.part()

        answers.ask("import time; time.sleep(1)")
        around(answers, lambda: background.call(part()))
        answers.all()
        assert not answers.told
