"""A client's connection outlives kernels: each of its messages reaches one of them, whole, or is known to be lost."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jupyter_client.session import DELIM, Session

from jupyter_dra.kernels.credentials import PodCredentials
from jupyter_dra.kernels.local_side import KEPT, KeptSide
from jupyter_dra.kernels.unanswered import Unanswered
from jupyter_dra.kernels.zmtp import GREETING, encode, ready, split

HELLO = ready(b"DEALER")
SPLIT = st.lists(st.integers(1, 40), min_size=1, max_size=8)


def keys(key: str) -> PodCredentials:
    return PodCredentials(b"", b"", b"", "", key)


class Wire(asyncio.Transport):
    """The client's end of the local connection."""

    def __init__(self, channel: str = "shell") -> None:
        super().__init__()
        self._opening = len(GREETING) + len(ready(KEPT[channel]))
        self.heard = bytearray()
        self.ended = False

    def write(self, data: Any) -> None:
        self.heard += data

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.ended = True

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def abort(self) -> None: ...

    @property
    def messages(self) -> list[list[bytes]]:
        return split(bytes(self.heard[self._opening :]))[0]


class Pod:
    """One kernel's end of one stream."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.heard = bytearray()
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.sink: Any = None

    def write(self, data: bytes) -> None:
        if self.over.done():
            raise ConnectionResetError
        self.heard += data

    def join(self, sink: Any) -> None:
        self.sink = sink

    def close(self) -> None:
        if not self.over.done():
            self.over.set_result(None)

    def resume_reading(self) -> None: ...

    def opens(self) -> None:
        self.sink.write(GREETING + ready(b"ROUTER"))

    @property
    def messages(self) -> list[list[bytes]]:
        return split(bytes(self.heard[len(GREETING) + len(HELLO) :]))[0]


class Watch:
    def __init__(self) -> None:
        self.renewed: list[bool] = []

    def asked(self, side: KeptSide) -> None: ...

    def joined(self, side: KeptSide, *, renewed: bool) -> None:
        self.renewed.append(renewed)


class Client:
    """A client, its connection, and the kernels behind it one after another."""

    def __init__(self, channel: str = "shell", key: str = "k") -> None:
        self.wire, self.watch, self.pods = Wire(channel), Watch(), list[Pod]()
        self.side = KeptSide(channel, lambda side: None, self.watch)
        self.side.connection_made(self.wire)
        self.session = Session(key=key.encode())
        self.says(GREETING + HELLO)

    def says(self, data: bytes) -> None:
        self.side.data_received(data)

    def request(self, number: int) -> bytes:
        message = self.session.msg("execute_request", {"code": str(number)})
        message["header"]["msg_id"] = message["msg_id"] = f"m{number}"
        return encode(self.session.serialize(message))

    def joins(self, number: int, key: str = "k") -> Pod:
        pod = Pod(number)
        self.side.join(pod, ("pod", number), keys(key))  # type: ignore[arg-type]
        pod.opens()
        self.pods.append(pod)
        return pod

    def breaks(self) -> bool:
        self.pods[-1].close()
        return self.side.part()


def names(requests: Unanswered) -> dict[str, set[str]]:
    """The places in which there are requests."""
    places = {name: set(getattr(requests, name)) for name in ("held", "given", "lost", "torn")}
    return {name: found for name, found in places.items() if found}


def asked_of(pod: Pod) -> list[str]:
    contents = [message[message.index(DELIM) + 2] for message in pod.messages]
    return [Session().unpack(one)["msg_id"] for one in contents]


@given(st.integers(0, 1 << 32))
def test_each_request_reaches_one_kernel_whole_or_is_lost_with_one_that_got_a_part(seed: int) -> None:
    chance = random.Random(seed)

    async def play() -> None:
        client, wanted = Client(), [f"m{number}" for number in range(8)]
        wire = b"".join(client.request(number) for number in range(8))
        number = 0
        while wire:
            step = chance.choice(["send", "send", "send", "join", "break"])
            joined = client.side.joined
            if step == "send":
                size = chance.randint(1, min(len(wire), 700))
                client.says(wire[:size])
                wire = wire[size:]
            elif step == "join" and not joined:
                assert client.side.part()
                number += 1
                client.joins(number)
            elif step == "break" and joined:
                if chance.random() < 0.5:
                    client.pods[-1].close()  # the side finds out by itself
                else:
                    assert client.breaks()
        if not client.side.joined:
            client.side.part()
            client.joins(number + 1)
        reached = [asked_of(pod) for pod in client.pods]
        flat = [one for kernel in reached for one in kernel]
        assert len(flat) == len(set(flat))
        assert flat == sorted(flat), "in the order they were sent"
        last, before = reached[-1], [one for kernel in reached[:-1] for one in kernel]
        requests = {"given": set(), "lost": set(), "torn": set(), **names(client.side.requests)}
        assert requests["given"] == set(last)
        assert requests["lost"] == set(before)
        assert requests["torn"] == set(wanted) - set(last) - set(before)

    asyncio.run(play())


@given(st.data())
def test_what_the_client_hears_stays_whole_messages_unless_it_is_left(data: st.DataObject) -> None:
    async def play() -> None:
        client = Client()
        said = [[b"", b"a" * data.draw(st.integers(0, 300))] for _ in range(4)]
        wire = b"".join(map(encode, said))
        cut = data.draw(st.integers(0, len(wire)))
        pod = client.joins(1)
        at = 0
        while at < cut:
            step = data.draw(st.integers(1, cut - at))
            pod.sink.write(wire[at : at + step])
            at += step
        whole, rest = split(wire[:cut])
        stays = client.breaks()
        assert stays is (not rest)
        client.side.say(encode([b"ours"]))
        if stays:
            assert client.wire.messages == [*whole, [b"ours"]]
            assert client.joins(2).messages == []
            client.pods[-1].sink.write(encode([b"next"]))
            assert client.wire.messages[-1] == [b"next"]
        else:
            assert client.wire.ended
            assert client.wire.messages == whole
            client.says(client.request(1))  # sent before the client saw the end
            back = Client()
            back.side.inherit(client.side)
            assert back.wire.messages == [[b"ours"]]
            assert asked_of(back.joins(2)) == ["m1"]

    asyncio.run(play())


def test_the_same_kernel_again_still_owes_its_answers_and_another_never_gives_them() -> None:
    async def play() -> None:
        client = Client()
        client.joins(1)
        client.says(client.request(1))
        client.breaks()
        client.says(client.request(2))
        assert names(client.side.requests) == {"held": {"m2"}, "given": {"m1"}}
        client.joins(1)
        assert names(client.side.requests) == {"given": {"m1", "m2"}}
        client.breaks()
        client.joins(2)
        assert names(client.side.requests) == {"lost": {"m1", "m2"}}
        assert client.watch.renewed == [False, False, True]

    asyncio.run(play())


def test_the_next_kernel_is_told_every_subscription_that_still_stands() -> None:
    async def play() -> None:
        client = Client("iopub")
        client.says(encode([b"\x01a"]) + encode([b"\x01b"]))
        assert client.joins(1).messages == [[b"\x01a"], [b"\x01b"]]
        client.says(encode([b"\x00a"]))
        client.breaks()
        client.says(encode([b"\x01c"]))
        assert client.joins(2).messages == [[b"\x01b"], [b"\x01c"]]

    asyncio.run(play())


def test_an_answer_to_what_a_dead_kernel_asked_is_not_typed_into_the_next() -> None:
    async def play() -> None:
        client = Client("stdin")
        client.joins(1)
        client.breaks()
        client.says(encode([b"yes"]))
        assert client.joins(1).messages == [[b"yes"]], "the kernel that asked, after a break of the network"
        client.breaks()
        client.says(encode([b"no"]))
        assert client.joins(2).messages == []

    asyncio.run(play())


@given(SPLIT)
def test_what_is_signed_for_the_pod_before_is_signed_anew_until_the_client_knows_the_next(
    sizes: list[int],
) -> None:
    async def play() -> None:
        client, later = Client(key="old"), Session(key=b"new")
        client.joins(1, "old")
        client.breaks()
        client.says(client.request(1))
        client.side.new_keys(keys("old"))
        pod = client.joins(2, "new")
        old = client.request(2)
        client.session = later
        foreign = encode([DELIM, b"no signature", b"{}", b"{}", b"{}", b"{}"])
        wire = old + foreign + client.request(3) + client.request(4)
        at = 0
        while at < len(wire):
            size = sizes[at % len(sizes)] * 10
            client.says(wire[at : at + size])
            at += size
        assert len(pod.messages) == 5
        for place, message in enumerate(pod.messages):
            if place == 2:
                assert message[1] == b"no signature"
                continue
            later.deserialize(message[1:])

    asyncio.run(play())


def test_a_peer_that_speaks_no_zmtp_is_dropped() -> None:
    async def play() -> None:
        side = KeptSide("shell", lambda side: None, Watch())
        wire = Wire()
        aborted: list[int] = []
        wire.abort = lambda: aborted.append(1)  # type: ignore[method-assign]
        side.connection_made(wire)
        side.data_received(b"\x02" * 200)
        assert aborted

    asyncio.run(play())


@pytest.mark.parametrize("channel", sorted(KEPT))
def test_a_pod_that_speaks_no_zmtp_loses_its_stream_and_nothing_else(channel: str) -> None:
    async def play() -> None:
        client = Client(channel)
        pod = Pod(1)
        client.side.join(pod, ("pod", 1), keys("k"))  # type: ignore[arg-type]
        pod.sink.write(b"\x02" * 200)
        assert pod.over.done()
        assert client.side.part()
        client.joins(2)
        assert client.side.joined

    asyncio.run(play())
