"""Patterns are RE2's, also where google-re2 cannot be installed."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_dra.cel import compile_selector, regex
from jupyter_dra.cel.regex import compiled
from jupyter_dra.cel.values import EvalError
from jupyter_dra.errors import CELCompileError

# What `matches` in claims made by this project looks like.
GENERATED = "(?i)(^|[^a-z0-9])a100([^a-z0-9]|$)"


@pytest.fixture
def without_re2(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """google-re2 is not there, as in Pyodide."""
    monkeypatch.setitem(sys.modules, "re2", None)
    compiled.cache_clear()
    yield
    compiled.cache_clear()


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("fish$", "fish\n", None),
        ("a.b", "a\nb", None),
        (r"^\w+$", "é", None),
        (r"\d", "٣", None),
        ("[[:alpha:]]+", "1ab2", "ab"),
        ("(?i)H100", "nvidia h100", "h100"),
        (r"\bfish\b", "a fish.", "fish"),
        ("(?P<n>a)b", "xab", "ab"),
        ("a{2,3}", "aaaa", "aaa"),
        ("a|b", "cb", "b"),
        (r"a\.b", "a.b", "a.b"),
        (r"\x41", "A", "A"),
        ("", "abc", ""),
        (GENERATED, "NVIDIA A100-SXM4", " A100-"),
        (GENERATED, "NVIDIA A1000", None),
    ],
)
class TestBothEngines:
    def test_with_google_re2(self, pattern: str, text: str, found: str | None) -> None:
        assert compiled(pattern).find(text) == found

    @pytest.mark.usefixtures("without_re2")
    def test_without(self, pattern: str, text: str, found: str | None) -> None:
        assert compiled(pattern).find(text) == found


@pytest.mark.parametrize(
    "pattern",
    ["(?=a)", r"(a)\1", "[a-", "(", ")", "a++", "a{1001}", "[[:foo:]]", "*a", r"\8", r"\C", "(?<n", "a**"],
)
class TestRefusedByBoth:
    def test_with_google_re2(self, pattern: str) -> None:
        with pytest.raises(EvalError):
            compiled(pattern)

    @pytest.mark.usefixtures("without_re2")
    def test_without(self, pattern: str) -> None:
        with pytest.raises(EvalError):
            compiled(pattern)


@pytest.mark.threat("T35")
@pytest.mark.usefixtures("without_re2")
@pytest.mark.parametrize(
    "pattern",
    [
        "^(a+)+$",
        "(a|a)*b",
        "(a?){30}a{30}",
        "a?" * 30 + "a" * 30,
        "(a|a)" * 30 + "b",
        ".*" * 8,
        r"\pL",
        "(?s).",
    ],
)
def test_without_re2_what_could_take_long_or_is_not_known_is_refused_in_words(pattern: str) -> None:
    with pytest.raises(EvalError, match="cannot be run safely without google-re2"):
        compiled(pattern)


@pytest.mark.usefixtures("without_re2")
def test_without_re2_a_selector_says_why_it_is_refused() -> None:
    with pytest.raises(CELCompileError) as caught:
        compile_selector('device.driver.matches("^(x+)+$")')
    assert caught.value.hint is not None
    assert "cannot be run safely without google-re2" in caught.value.hint


@pytest.mark.usefixtures("without_re2")
def test_without_re2_long_texts_are_refused_rather_than_searched_for_minutes() -> None:
    with pytest.raises(EvalError, match="cannot be searched safely"):
        compiled("a*b*c*d").matches("a" * 5_000)


@pytest.mark.threat("T35")
def test_catastrophic_patterns_are_quick() -> None:
    start = time.process_time()
    assert not compiled("^(a+)+$").matches("a" * 5_000 + "b")
    assert time.process_time() - start < 1


items = st.sampled_from(
    ["a", "b", "c", ".", "[ab]", "[^a]", r"\d", r"\w", r"\s", "^", "$", "(a|b)", "(?:ab|c)", "1", r"\b"]
)
repeated = st.tuples(items, st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{1,2}", "*?"])).map("".join)
patterns = st.lists(repeated, max_size=5).map("".join)


@settings(max_examples=300)
@given(patterns, st.text("abc1 \né", max_size=8))
def test_where_the_substitute_answers_it_answers_as_re2(pattern: str, text: str) -> None:
    try:
        substitute = regex._Fallback(pattern)
    except EvalError:
        return
    real = compiled(pattern)
    assert substitute.find(text) == real.find(text)
    assert list(substitute.find_all(text)) == list(real.find_all(text))
