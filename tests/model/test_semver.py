"""Versions order as on semver.org."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_dra.errors import VersionError
from jupyter_dra.model import Semver

numbers = st.integers(0, 2**64 - 1).map(str)
identifiers = st.one_of(
    numbers,
    st.from_regex(r"[0-9A-Za-z-]*[A-Za-z-][0-9A-Za-z-]*", fullmatch=True).filter(lambda text: len(text) < 20),
)
dotted = st.lists(identifiers, min_size=1, max_size=4).map(".".join)
versions = st.builds(
    lambda core, pre, build: ".".join(core) + ("-" + pre if pre else "") + ("+" + build if build else ""),
    st.tuples(numbers, numbers, numbers),
    st.one_of(st.none(), dotted),
    st.one_of(st.none(), dotted),
)


def precedence(one: Semver, two: Semver) -> int:
    """semver.org item 11, written down naively."""
    core = (one.major, one.minor, one.patch), (two.major, two.minor, two.patch)
    if core[0] != core[1]:
        return -1 if core[0] < core[1] else 1
    if not one.pre or not two.pre:
        return bool(two.pre) - bool(one.pre)
    for a, b in zip(one.pre, two.pre, strict=False):
        if a == b:
            continue
        if a.isdigit() and b.isdigit():
            return -1 if int(a) < int(b) else 1
        if a.isdigit() != b.isdigit():
            return -1 if a.isdigit() else 1
        return -1 if a < b else 1
    return (len(one.pre) > len(two.pre)) - (len(one.pre) < len(two.pre))


@given(versions, versions)
def test_order_is_that_of_semver_org(one: str, two: str) -> None:
    left, right = Semver.parse(one), Semver.parse(two)
    expected = precedence(left, right)
    assert left.compare(right) == expected
    assert (left < right, left == right, left > right) == (expected < 0, expected == 0, expected > 0)
    assert left != right or hash(left) == hash(right)


@given(versions)
def test_text_survives(text: str) -> None:
    assert str(Semver.parse(text)) == text


@given(versions)
def test_build_metadata_plays_no_part(text: str) -> None:
    assert Semver.parse(text.partition("+")[0] + "+other") == Semver.parse(text)


@given(st.text(max_size=20), st.booleans())
def test_any_text_is_read_or_refused(text: str, normalize: bool) -> None:
    assert Semver.is_valid(text, normalize) in (True, False)


@pytest.mark.parametrize(
    "text", ["1.2", "v1.2.3", "01.2.3", "535.230.02", "1.2.3-", "1.2.3-01", "1.2.3+", "", "1.2.٣"]
)
def test_refused_texts(text: str) -> None:
    with pytest.raises(VersionError):
        Semver.parse(text)


@pytest.mark.parametrize(
    ("text", "parts"),
    [("1.2", (1, 2, 0)), ("v1", (1, 0, 0)), ("535.183.01", (535, 183, 1)), ("v0.00.3-rc1", (0, 0, 3))],
)
def test_normalized_texts(text: str, parts: tuple[int, int, int]) -> None:
    version = Semver.parse(text, normalize=True)
    assert (version.major, version.minor, version.patch) == parts


def test_short_versions_with_a_suffix_are_not_normalized() -> None:
    with pytest.raises(VersionError, match="short version cannot contain PreRelease/Build meta data"):
        Semver.parse("1.2-rc1", normalize=True)
