"""How long an image took the last time is remembered across servers, and never in the way of a launch."""

from __future__ import annotations

from pathlib import Path

from jupyter_dra.sessions.image_times import ImageTimes


def test_the_last_time_of_an_image_is_known_to_the_next_server(tmp_path: Path) -> None:
    ImageTimes(tmp_path / "data").note("cuda:1", 65.04)
    ImageTimes(tmp_path / "data").note("cuda:1", 12.34)
    later = ImageTimes(tmp_path / "data")
    assert later.last("cuda:1") == 12.3
    assert later.last("cuda:2") is None


def test_only_the_latest_fifty_are_kept(tmp_path: Path) -> None:
    times = ImageTimes(tmp_path)
    for number in range(60):
        times.note(f"image:{number}", number)
    assert times.last("image:9") is None
    assert times.last("image:10") == 10


def test_a_file_of_something_else_counts_as_no_history(tmp_path: Path) -> None:
    for text in ("", "[1, 2]", "{", '{"a": "b"}'):
        (tmp_path / "image-times.json").write_text(text)
        assert ImageTimes(tmp_path).last("a") is None
    ImageTimes(tmp_path).note("a", 1)
    assert ImageTimes(tmp_path).last("a") == 1


def test_a_folder_that_cannot_be_written_costs_the_history_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ImageTimes(tmp_path / "file").note("a", 1)
    assert ImageTimes(tmp_path / "file").last("a") is None


def test_without_a_folder_it_is_remembered_in_memory() -> None:
    times = ImageTimes(None)
    times.note("a", 2)
    assert times.last("a") == 2
