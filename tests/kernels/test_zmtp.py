"""Messages inside a byte stream are found whatever the pieces it comes in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jupyter_dra.kernels.zmtp import GREETING, KEPT_FRAME, Messages, encode

frames = st.lists(st.binary(max_size=400), min_size=1, max_size=6)


@given(st.lists(frames, max_size=6), st.data())
def test_every_message_is_told_once_and_its_end_is_a_border(
    messages: list[list[bytes]], data: st.DataObject
) -> None:
    told: list[list[bytes]] = []
    follower = Messages(told.append)
    wire = bytes(GREETING) + b"\x04\x05READY" + b"".join(map(encode, messages))
    while wire:
        size = data.draw(st.integers(1, len(wire)))
        follower.feed(wire[:size])
        wire = wire[size:]
    assert told == messages
    assert follower.between


@given(frames, st.data())
def test_nothing_fits_in_before_a_message_is_complete(message: list[bytes], data: st.DataObject) -> None:
    wire = encode(message)
    follower = Messages()
    assert not follower.between, "the greeting comes first"
    follower.feed(bytes(GREETING))
    assert follower.between
    follower.feed(wire[: data.draw(st.integers(1, len(wire) - 1))])
    assert not follower.between


def test_a_large_frame_is_passed_over_and_the_small_ones_about_it_are_kept() -> None:
    told: list[list[bytes]] = []
    follower = Messages(told.append)
    follower.feed(bytes(GREETING) + encode([b"head", bytes(KEPT_FRAME + 1), b"tail"]))
    assert told == [[b"head", b"", b"tail"]]
