"""Names derived from people and notebooks: short enough, valid, and never two people's."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_dra.claims.names import SUFFIX_LENGTH, hashed_slug, session_id, slug
from tests.hostile import TEXTS

LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
GROUP = "department-of-computational-biology-and-bioinformatics-group-alpha-"
NOTEBOOK = "a-very-long-folder-name-for-the-autumn-term/exercise-sheet-number-eleven-final-version"


@pytest.mark.threat("T27")
def test_two_people_who_differ_in_the_last_letter_have_different_names() -> None:
    one, other = hashed_slug(f"{GROUP}a"), hashed_slug(f"{GROUP}b")
    assert one != other
    assert all(LABEL.fullmatch(name) for name in (one, other))


@pytest.mark.threat("T27")
@given(st.text(), st.text())
def test_different_originals_never_share_a_slug_and_every_slug_is_a_label(one: str, other: str) -> None:
    assert LABEL.fullmatch(hashed_slug(one))
    assert (hashed_slug(one) == hashed_slug(other)) == (one == other)


@pytest.mark.threat("T27")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a--b", "a-b"),
        ("Ada", "ada"),
        ("e\u0301", "\u00e9"),
        ("\u0430da", "ada"),
        ("a b", "a-b"),
        ("", "-"),
        ("x,y", "x y"),
    ],
)
def test_names_that_look_alike_are_told_apart(one: str, other: str) -> None:
    assert hashed_slug(one) != hashed_slug(other)


@pytest.mark.parametrize("text", [*TEXTS, NOTEBOOK, ""])
def test_a_sessions_id_leaves_room_for_what_kubernetes_adds(text: str) -> None:
    found = session_id(text, "x" * SUFFIX_LENGTH)
    assert LABEL.fullmatch(found)
    assert len(found) <= 30 + 1 + SUFFIX_LENGTH
    assert len(f"{found}-0") <= 63, "the pod's name is its host name too"
    # A claim made from a template is called <pod>-<entry>-<five characters>.
    assert len(f"{found}-0-device-12345") <= 63
    assert len(f"{found}-0-keys") <= 63


def test_a_plain_name_stays_readable() -> None:
    assert slug("BERT train") == "bert-train"
    assert session_id("BERT train", "7k2xq") == "bert-train-7k2xq"
