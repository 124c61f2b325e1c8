"""Messages inside a byte stream are found whatever the pieces it comes in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_dra.kernels.zmtp import GREETING, KEPT_FRAME, Messages, Opening, encode, ready, split

frames = st.lists(st.binary(max_size=400), min_size=1, max_size=6)


@given(st.lists(frames, max_size=6), st.data())
def test_every_message_is_told_once_and_its_end_is_a_border(
    messages: list[list[bytes]], data: st.DataObject
) -> None:
    told: list[list[bytes]] = []
    follower = Messages(told.append)
    wire = b"\x04\x05READY" + b"".join(map(encode, messages))
    while wire:
        size = data.draw(st.integers(1, len(wire)))
        follower.feed(wire[:size])
        wire = wire[size:]
    assert told == messages
    assert follower.between


@given(frames, frames, st.data())
def test_the_first_border_is_where_a_message_that_was_under_way_ends(
    first: list[bytes], second: list[bytes], data: st.DataObject
) -> None:
    wire = encode(first)
    follower = Messages()
    begun = data.draw(st.integers(0, len(wire) - 1))
    follower.feed(wire[:begun])
    assert follower.first_border is None
    follower.feed(wire[begun:] + encode(second))
    assert follower.first_border == len(wire) - begun


@given(st.lists(frames, max_size=4), frames, st.data())
def test_whole_messages_are_split_from_what_is_left(
    messages: list[list[bytes]], last: list[bytes], data: st.DataObject
) -> None:
    part = encode(last)[: data.draw(st.integers(0, len(encode(last)) - 1))]
    assert split(b"".join(map(encode, messages)) + part) == (messages, part)


@given(st.binary(max_size=50), st.data())
def test_an_opening_ends_with_its_command_whatever_the_pieces(after: bytes, data: st.DataObject) -> None:
    opening, wire, rest = Opening(), GREETING + ready(b"DEALER") + after, b""
    while wire:
        size = data.draw(st.integers(1, len(wire)))
        if opening.command is None:
            rest = opening.feed(wire[:size])
        else:
            rest += wire[:size]
        wire = wire[size:]
    assert opening.command == ready(b"DEALER")
    assert rest == after


def test_an_opening_without_end_is_refused() -> None:
    with pytest.raises(ValueError, match="opening"):
        Opening().feed(GREETING + b"\x06" + b"\xff" * 8)


@given(frames, st.data())
def test_nothing_fits_in_before_a_message_is_complete(message: list[bytes], data: st.DataObject) -> None:
    wire = encode(message)
    follower = Messages()
    assert follower.between
    follower.feed(wire[: data.draw(st.integers(1, len(wire) - 1))])
    assert not follower.between


def test_a_large_frame_is_passed_over_and_the_small_ones_about_it_are_kept() -> None:
    told: list[list[bytes]] = []
    follower = Messages(told.append)
    follower.feed(encode([b"head", bytes(KEPT_FRAME + 1), b"tail"]))
    assert told == [[b"head", b"", b"tail"]]
