"""The page of threats names tests that exist, and no threat is without one."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "threat-model.md"
COUNT = 50
ROW = re.compile(r"^\| (T\d\d) \| (.+?) \| (.+?) \| (.+?) \|$", re.M)
FUNCTION = re.compile(r"`([\w/]+\.py)::(test_\w+)`")
STORY = re.compile(r"`([\w/]+\.(?:test\.mjs|test\.tsx?))` “([^”]+)”")
TEST = re.compile(
    r"((?:^@[^\n]*\n(?:(?!def |async def |@|class )[^\n]*\n)*)*)^(?:async )?def (test_\w+)", re.M
)
MARK = re.compile(r"threat\(\"(T\d\d)\"\)")
WHOLE_FILE = re.compile(r"^pytestmark = .*$", re.M)


def rows() -> dict[str, tuple[str, str, str]]:
    return {id: (does, holds, tests) for id, does, holds, tests in ROW.findall(PAGE.read_text())}


@cache
def marked() -> dict[tuple[str, str], frozenset[str]]:
    """The threats of every Python test, by file and name."""
    found = {}
    for path in TESTS.rglob("test_*.py"):
        text = path.read_text()
        whole = MARK.findall(" ".join(WHOLE_FILE.findall(text)))
        for decorators, name in TEST.findall(text):
            found[str(path.relative_to(TESTS)), name] = frozenset([*whole, *MARK.findall(decorators)])
    return found


def test_every_threat_has_a_row_with_a_control() -> None:
    assert list(rows()) == [f"T{number:02}" for number in range(1, COUNT + 1)]
    assert all(len(does) > 20 and len(holds) > 20 for does, holds, _ in rows().values())


@pytest.mark.parametrize("id", rows())
def test_every_test_that_is_named_exists_and_says_what_it_holds_off(id: str) -> None:
    named = rows()[id][2]
    functions, stories = FUNCTION.findall(named), STORY.findall(named)
    assert functions or stories
    for file, name in functions:
        assert (file, name) in marked(), f"{file} has no {name}"
        assert id in marked()[file, name], f'{file}::{name} lacks threat("{id}")'
    for file, title in stories:
        assert f"'{title}'" in (TESTS / file).read_text(), f"{file} has no story of that title"
        assert id in (TESTS / file).read_text()


def test_no_test_holds_off_what_the_page_does_not_name() -> None:
    assert {id for ids in marked().values() for id in ids} <= set(rows())
