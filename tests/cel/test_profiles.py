"""Many devices, evaluated once per profile, as they come and go."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_dra.cel import ProfileTable, compile_selector
from jupyter_dra.errors import CELRuntimeError
from jupyter_dra.model import Device

SELECTORS = [
    compile_selector(text)
    for text in (
        'device.attributes["d"].model == "a"',
        'device.attributes["d"].uuid == "3"',
        'has(device.attributes["d"].uuid) && device.attributes["d"].model == "b"',
        'device.attributes["d"].all(key, value, value != "4")',
        'device.capacity["d"].?memory.orValue(quantity("0")).isGreaterThan(quantity("1Gi"))',
        '"uuid" in device.attributes["d"]',
    )
]


def gpu(model: str, uuid: int | None, memory: str | None = None) -> dict[str, Any]:
    attributes = {"model": {"string": model}}
    if uuid is not None:
        attributes["uuid"] = {"string": str(uuid)}
    return {"attributes": attributes, "capacity": {"memory": {"value": memory}} if memory else {}}


def test_equal_devices_are_one_profile() -> None:
    table = ProfileTable()
    table.add_all("d", [gpu("a", None), gpu("a", None), gpu("b", None)])
    assert [len(members) for members in table.members] == [2, 1]
    assert len(table) == 3


def test_a_nearly_unique_attribute_does_not_split_profiles() -> None:
    table = ProfileTable(unique_from=4)
    table.add_all("d", [gpu("a", number) for number in range(100)])
    assert [len(members) for members in table.members if members] == [100]
    assert table.regrouped == 1


def test_a_unique_attribute_is_found_all_the_same() -> None:
    table = ProfileTable(unique_from=4)
    numbers = table.add_all("d", [gpu("a", number) for number in range(100)])
    results = table.results(SELECTORS[1])
    assert results.matching() == [numbers[3]]
    assert results.of(numbers[3]) is True
    assert results.of(numbers[4]) is False


def test_presence_of_a_unique_attribute_is_known_by_profile() -> None:
    table = ProfileTable(unique_from=4)
    table.add_all("d", [gpu("b", number) for number in range(100)])
    results = table.results(SELECTORS[2])
    assert [
        outcome for outcome, members in zip(results.by_profile, table.members, strict=True) if members
    ] == [True]


def test_errors_are_outcomes() -> None:
    table = ProfileTable()
    good, bad = table.add("d", gpu("a", 3)), table.add("d", gpu("a", None))
    results = table.results(SELECTORS[1])
    assert results.of(good) is True
    assert isinstance(results.of(bad), CELRuntimeError)
    assert list(results.errors()) == [bad]
    assert results.count() == 1


def test_a_later_selector_is_not_seen_where_an_earlier_one_is_false() -> None:
    table = ProfileTable()
    number = table.add("d", gpu("b", None))
    assert table.evaluate([SELECTORS[0], SELECTORS[1]], number) is False
    assert isinstance(table.evaluate([SELECTORS[1], SELECTORS[0]], number), CELRuntimeError)
    assert table.evaluate([], number) is True


def test_devices_of_the_model_are_taken() -> None:
    table = ProfileTable()
    number = table.add("d", Device.from_dict({"name": "gpu-0", **gpu("a", None)}))
    assert table.results(SELECTORS[0]).of(number) is True


def test_a_removed_device_is_gone() -> None:
    table = ProfileTable()
    number = table.add("d", gpu("a", None))
    table.remove(number)
    assert len(table) == 0
    assert table.results(SELECTORS[0]).matching() == []
    with pytest.raises(KeyError):
        table.remove(number)


changes = st.lists(
    st.one_of(
        st.tuples(
            st.just("add"),
            st.builds(
                gpu,
                st.sampled_from("ab"),
                st.none() | st.integers(0, 9),
                st.sampled_from([None, "2Gi", "1Gi"]),
            ),
        ),
        st.tuples(st.just("remove"), st.integers(0, 30)),
        st.tuples(st.just("ask"), st.integers(0, len(SELECTORS) - 1)),
    ),
    max_size=40,
)


@settings(max_examples=200)
@given(changes)
def test_after_any_changes_results_are_those_of_the_devices(steps: list[tuple[str, Any]]) -> None:
    table = ProfileTable(unique_from=3)
    here: dict[int, dict[str, Any]] = {}
    for step, value in steps:
        if step == "add":
            here[table.add("d", value)] = value
        elif step == "remove" and value in here:
            table.remove(value)
            del here[value]
        elif step == "ask":
            table.results(SELECTORS[value]).count()
    for selector in SELECTORS:
        results = table.results(selector)
        true, errors = [], []
        for number, device in here.items():
            try:
                alone: bool | str = selector.evaluate(device, "d")
            except CELRuntimeError as error:
                alone = error.message
                errors.append(number)
            outcome = results.of(number)
            assert (outcome if isinstance(outcome, bool) else outcome.message) == alone
            if alone is True:
                true.append(number)
        assert sorted(results.matching()) == sorted(true)
        assert results.count() == len(true)
        assert sorted(results.errors()) == sorted(errors)
