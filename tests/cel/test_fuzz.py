"""Whatever is typed, a selector is refused, raises as the scheduler would, or answers; and soon."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_dra.cel import ProfileTable, SelectorCompileError, compile_selector, string_literal
from jupyter_dra.cel.declarations import functions
from jupyter_dra.errors import CELCompileError, CELRuntimeError

DRIVER = "gpu.example.com"
DEVICES: list[dict[str, Any]] = [
    {
        "driver": DRIVER,
        "attributes": {
            "model": {"string": "A100"},
            "uuid": {"string": "u-1"},
            "count": {"int": 8},
            "version": {"version": "1.2.3"},
            "on": {"bool": True},
            "names": {"strings": ["a", "b"]},
            "other.example.com/x": {"int": -1},
        },
        "capacity": {"memory": {"value": "40Gi"}},
    },
    {"driver": DRIVER, "attributes": {"model": {"string": ""}, "uuid": {"string": "u-2"}}, "capacity": {}},
    {"driver": DRIVER, "allowMultipleAllocations": True},
]
TOKENS = [
    *(
        "device",
        ".",
        "attributes",
        "capacity",
        "driver",
        '["gpu.example.com"]',
        ".?",
        "model",
        "uuid",
        "count",
        "memory",
    ),
    *(
        "version",
        "names",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "?",
        "&&",
        "||",
        "!",
        "-",
        "+",
        "*",
        "/",
        "%",
        "==",
    ),
    *(
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        "in",
        "true",
        "false",
        "null",
        "1",
        "0",
        "1u",
        "1.5",
        '"a"',
        "'b'",
        'b"c"',
        "x",
        "y",
    ),
    *(
        "has(",
        ".all(x, ",
        ".exists(x, ",
        ".map(x, ",
        ".orValue(",
        ".size()",
        'quantity("1Gi")',
        'semver("1.2.3")',
        " ",
    ),
    *(
        "cel.bind(x, ",
        "// c\n",
        "9223372036854775807",
        'r"\\d"',
        '"\\u00e9"',
        "let",
        '"',
        "\\",
        ";",
        "\n",
        "é",
        "🙂",
    ),
]
NAMES = sorted(name for name in functions((1, 37)) if name.replace(".", "").isalnum())


def is_well_formed(error: CELCompileError) -> bool:
    return (
        isinstance(error, SelectorCompileError)
        and error.line >= 1
        and error.column >= 1
        and error.server_text() != ""
    )


def outcome(text: str, device: dict[str, Any]) -> bool | str:
    """True, False, ``refused`` or the error's message; anything else is a failure of the test."""
    start = time.process_time()
    try:
        selector = compile_selector(text)
    except CELCompileError as error:
        return "refused" if is_well_formed(error) else "bad error"
    try:
        answer = selector.evaluate(device)
    except CELRuntimeError as error:
        return error.message
    finally:
        assert time.process_time() - start < 10
    return answer


@pytest.mark.threat("T35")
@settings(max_examples=400)
@given(st.lists(st.sampled_from(TOKENS), max_size=25).map("".join), st.sampled_from(DEVICES))
def test_soup_of_tokens(text: str, device: dict[str, Any]) -> None:
    assert outcome(text, device) != "bad error"


@settings(max_examples=200)
@given(st.text(max_size=40), st.sampled_from(DEVICES))
def test_any_text(text: str, device: dict[str, Any]) -> None:
    assert outcome(text, device) != "bad error"


attributes = st.sampled_from(["model", "uuid", "count", "version", "on", "names", "nope"])
leaves = st.one_of(
    st.sampled_from(
        ["true", "false", "null", "0", "-1", "3", "2u", "1.5", '"A100"', '""', '"u-1"', 'b"x"', "[]", "{}"]
    ),
    st.sampled_from(
        ["[1, 2]", '["A100", "x"]', '{"a": 1}', 'quantity("40Gi")', 'semver("1.2.3")', "device", "x"]
    ),
    st.sampled_from(
        ['duration("1h")', "timestamp(0)", "optional.none()", "device.driver", "device.attributes"]
    ),
    attributes.map(lambda name: f'device.attributes["{DRIVER}"].{name}'),
    attributes.map(lambda name: f'device.attributes["{DRIVER}"].?{name}'),
    st.just(f'device.capacity["{DRIVER}"].memory'),
    attributes.map(lambda name: f'"{name}" in device.attributes["{DRIVER}"]'),
    attributes.map(lambda name: f'has(device.attributes["{DRIVER}"].{name})'),
)


def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    binary = st.sampled_from(["&&", "||", "==", "!=", "<", ">=", "+", "-", "*", "/", "%", "in"])
    loops = st.sampled_from(["all", "exists", "exists_one", "map", "filter"])
    return st.one_of(
        st.builds(lambda a, op, b: f"({a} {op} {b})", inner, binary, inner),
        st.builds(lambda a, name: f"({a}).{name}()", inner, st.sampled_from(NAMES)),
        st.builds(lambda a, name, b: f"({a}).{name}({b})", inner, st.sampled_from(NAMES), inner),
        st.builds(lambda name, a: f"{name}({a})", st.sampled_from(NAMES), inner),
        st.builds(lambda a, loop, b: f"dyn({a}).{loop}(x, {b})", inner, loops, inner),
        st.builds(lambda a, b: f"dyn({a}).transformMap(x, y, {b})", inner, inner),
        st.builds(lambda a, b, c: f"({a} ? {b} : {c})", inner, inner, inner),
        st.builds(lambda a, b: f"cel.bind(x, {a}, {b})", inner, inner),
        st.builds(lambda a, b: f"[{a}, {b}]", inner, inner),
        st.builds(lambda a, b: f"dyn({a})[{b}]", inner, inner),
        st.builds(lambda a, b: f"dyn({a}).?m.orValue({b})", inner, inner),
        st.builds(lambda a: f"dyn({a})", inner),
        st.builds(lambda a: f"!({a})", inner),
    )


expressions = st.recursive(leaves, grown, max_leaves=8)


@settings(max_examples=500)
@given(expressions, st.sampled_from(DEVICES))
def test_expressions(text: str, device: dict[str, Any]) -> None:
    outcome(text, device)


@settings(max_examples=400)
@given(expressions.map(lambda text: f"dyn({text}) == true") | expressions)
def test_a_profile_answers_as_each_of_its_devices(text: str) -> None:
    try:
        selector = compile_selector(text)
    except CELCompileError:
        return
    table = ProfileTable(unique_from=2)
    numbers = [table.add(DRIVER, device) for device in DEVICES * 2]
    results = table.results(selector)
    for number, device in zip(numbers, DEVICES * 2, strict=True):
        found = results.of(number)
        assert (found if isinstance(found, bool) else found.message) == outcome(text, device)
    right = [
        number for number, device in zip(numbers, DEVICES * 2, strict=True) if outcome(text, device) is True
    ]
    assert sorted(results.matching()) == right
    assert results.count() == len(right)


@pytest.mark.threat("T03")
@given(
    st.text(max_size=30).filter(lambda text: not any("\ud800" <= character <= "\udfff" for character in text))
)
def test_an_escaped_text_means_itself(text: str) -> None:
    device = {"driver": "d", "attributes": {"t": {"string": text}}}
    assert compile_selector(f'device.attributes["d"].t == {string_literal(text)}').evaluate(device)


entries = st.dictionaries(
    st.text(max_size=3) | st.sampled_from(["string", "int", "version", "ints"]),
    st.none() | st.text() | st.integers() | st.lists(st.integers(), max_size=2),
    max_size=2,
)


@given(st.dictionaries(st.sampled_from(["a", "d/b", "/c", "d/"]), entries | st.integers(), max_size=3))
def test_devices_of_any_shape_are_read_or_fail_as_selectors(attributes: dict[str, Any]) -> None:
    device = {"driver": "d", "attributes": attributes, "capacity": attributes}
    outcome('device.attributes["d"].a == 1 || device.capacity.exists(d, d == "")', device)
    table = ProfileTable(unique_from=2)
    number = table.add("d", device)
    found = table.results(compile_selector("true")).of(number)
    assert (found if isinstance(found, bool) else found.message) == outcome("true", device)
