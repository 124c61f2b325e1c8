"""What evaluation promises beyond the recorded answers."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from jupyter_dra.cel import DeviceView, compile_selector
from jupyter_dra.errors import CELRuntimeError
from jupyter_dra.model import Device

GPU: dict[str, Any] = {
    "driver": "gpu.example.com",
    "attributes": {
        "model": {"string": "A100"},
        "count": {"int": 8},
        "version": {"version": "1.2.3"},
        "shared.example.com/on": {"bool": True},
        "names": {"strings": ["a", "b"]},
    },
    "capacity": {"memory": {"value": "40Gi"}},
}


def holds(text: str, device: dict[str, Any] = GPU) -> bool:
    return compile_selector(text).evaluate(device)


def test_a_device_of_a_slice_needs_its_driver() -> None:
    device = Device.from_dict({"name": "gpu-0", "attributes": {"model": {"string": "A100"}}})
    selector = compile_selector('device.attributes["gpu.example.com"].model == "A100"')
    assert selector.evaluate(device, "gpu.example.com")


def test_a_prepared_device_serves_many_selectors() -> None:
    view = DeviceView.of(GPU)
    assert compile_selector("device.driver.startsWith('gpu')").evaluate(view)
    assert not compile_selector("device.allowMultipleAllocations").evaluate(view)


def test_the_same_text_is_compiled_once() -> None:
    assert compile_selector("true") is compile_selector("true", "1.37")
    assert compile_selector("true", "1.36") is not compile_selector("true")


def test_a_bind_is_evaluated_only_when_used() -> None:
    assert holds('cel.bind(x, device.attributes["d"].nope, true)')
    assert holds('cel.bind(x, device.attributes["d"].nope, x == 1 || true)')


def test_bound_names_hide_outer_ones() -> None:
    assert holds("cel.bind(device, 3, device == 3)")
    assert holds("[1, 2].exists(x, [3].all(x, x == 3))")


@pytest.mark.parametrize(
    "text",
    [
        '"a" + "b" == "ab" && "abc".substring(1) == "bc" && "x".indexOf("y") == -1',
        '"hello".replace("l", "L", 1) == "heLlo" && "ab".replace("", "-") == "-a-b-"',
        '"a,b".split(",") == ["a", "b"] && "a,b,c".split(",", 2) == ["a", "b,c"] && "a".split(",", 0) == []',
        '" \\u00a0x ".trim() == "x" && "\\u001cx".trim() != "x"',
        "7 / -2 == -3 && -7 % 3 == -1 && 7 % -3 == 1",
        "int(8.9) == 8 && int(-8.9) == -8 && uint(3) == 3u && double(3) == 3.0",
        'string(1.0) == "1" && string(0.5) == "0.5" && string(1000000.0) == "1e+06" && string(b"a") == "a"',
        "[3, 1, 2].sort() == [1, 2, 3] && [[1], [2]].flatten() == [1, 2] && [[[1]]].flatten(2) == [1]",
        "lists.range(3) == [0, 1, 2] && [1, 2, 3].slice(1, 3) == [2, 3] && [1, 1].distinct() == [1]",
        "[1, 2, 3].last().value() == 3 && ![].first().hasValue()",
        'timestamp("2024-02-29T12:30:00Z").getMonth("+01:00") == 1 && duration("90m").getHours() == 1',
        'timestamp("2024-01-01T00:00:00Z") + duration("24h") == timestamp("2024-01-02T00:00:00Z")',
        'string(duration("1h30m")) == "5400s" && string(timestamp(0)) == "1970-01-01T00:00:00Z"',
        'ip("10.1.2.3").family() == 4 && cidr("10.0.0.0/8").containsIP("10.1.2.3") && !isIP("10.1.2")',
        'cidr("10.1.2.3/8").masked() == cidr("10.0.0.0/8") && cidr("10.0.0.0/8").prefixLength() == 8',
        'url("https://a.b:80/c?x=1&x=2").getQuery()["x"] == ["1", "2"] && url("https://a.b:80/").getPort() == "80"',
        'format.dns1123Label().validate("a_b").hasValue() && !format.uuid().validate("x").value().all(m, m == "")',
        '"%d %x %b %o %X".format([10, 255, 5, 8, "k"]) == "10 ff 101 10 6B"',
        '"%.1f %e".format([1234.25, 1.0]) == "1,234.2 1.000000×10⁰⁰"',
        '"%s %s %s".format([[1, 2], {"a": true}, null]) == "[1, 2] {\\"a\\":true} null"',
        'strings.quote("a\\"b") == "\\"a\\\\\\"b\\""',
        'quantity("1.5Gi").asApproximateFloat() == 1610612736.0 && quantity("2k").asInteger() == 2000',
        'semver("v01.2", true) == semver("1.2.0") && isSemver("1.2.3-a.1+b") && !isSemver("1.2")',
        '{"a": 1}.transformMap(k, v, v + 1) == {"a": 2} && [4].transformMapEntry(i, v, {v: i}) == {4: 0}',
        '[1, 2, 3].transformList(i, v, i > 0, v * i) == [2, 6] && ["b", "a"].sortBy(x, x) == ["a", "b"]',
        "sets.intersects([1, 2], [2]) && !sets.contains([1], [2]) && sets.equivalent([1, 1], [1])",
        "type(1) == int && type(type(1)) == type",
        '!(semver("1.0.0") in {}) && timestamp("2024-02-29T2:30:45Z") < timestamp("2024-02-29T12:30:45Z")',
        'cel.bind(a, device.attributes["gpu.example.com"], a.names.includes("b") && !a.names.includes(1))',
        "1 in {1: 2} && dyn(1.0) in [1, 2] && dyn(true) != 1 && !(dyn(true) in [1]) && !(dyn(1) in {true: 1})",
    ],
)
def test_functions_work_as_documented(text: str) -> None:
    assert holds(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 / 0 == 1", "division by zero"),
        ("9223372036854775807 + 1 == 1", "integer overflow"),
        ("[1][5] == 1", "index out of bounds: 5"),
        ('"abc".charAt(9) == ""', "index out of range: 9"),
        ("optional.none().value() == 1", "optional.none() dereference"),
        ('dyn("s").orValue("x") == "s"', "no such overload"),
        ('quantity("1.5").asInteger() == 1', "cannot convert value to integer"),
        (
            'device.attributes["gpu.example.com"].model',
            "CEL result of type string could not be converted to bool:"
            " unsupported native conversion from string to 'bool'",
        ),
    ],
)
def test_run_time_errors_say_why(text: str, message: str) -> None:
    with pytest.raises(CELRuntimeError, match=r".+") as caught:
        holds(text)
    assert caught.value.message == message


def test_a_missing_key_reads_as_in_the_clusters_version() -> None:
    text = 'device.attributes["d"].nope == 1'
    with pytest.raises(CELRuntimeError) as older:
        compile_selector(text, "1.36").evaluate(GPU)
    with pytest.raises(CELRuntimeError) as newer:
        compile_selector(text, "1.37").evaluate(GPU)
    assert older.value.message == "no such key: nope"
    assert newer.value.message.startswith("no such key: nope. consider using CEL optional chaining")


@pytest.mark.parametrize(("version", "raises"), [("1.36", False), ("1.37", True)])
def test_a_plain_value_has_no_alternative_since_1_37(version: str, raises: bool) -> None:
    selector = compile_selector('device.attributes["gpu.example.com"].model.orValue("x") == "H100"', version)
    device = {"driver": "gpu.example.com", "attributes": {"model": {"string": "H100"}}}
    if raises:
        with pytest.raises(CELRuntimeError, match="no such overload"):
            selector.evaluate(device)
    else:
        assert selector.evaluate(device) is True


def test_a_version_that_cannot_be_read_fails_every_selector() -> None:
    device = {"driver": "d", "attributes": {"v": {"version": "1.2"}}}
    with pytest.raises(CELRuntimeError, match="parse semantic version"):
        compile_selector("true").evaluate(device)


@pytest.mark.parametrize(
    "text",
    [
        "[1,2,3,4,5,6,7,8,9,10].all(a, " * 7 + "true" + ")" * 7,
        'cel.bind(a, "xxxxxxxxxx", '
        + "".join(f"cel.bind(a{i}, a{i - 1 if i else ''} + a{i - 1 if i else ''}, " for i in range(40))
        + "a39 == ''"
        + ")" * 41,
        "lists.range(1000000000).size() == 1",
        "cel.bind(a, [1], "
        + "".join(f"cel.bind(a{i}, [a{i - 1 if i else ''}, a{i - 1 if i else ''}], " for i in range(60))
        + "dyn(a59) == dyn(a59)"
        + ")" * 61,
        '"x".replace("", "'
        + "y" * 200
        + '").replace("y", "'
        + "z" * 200
        + '").replace("z", "'
        + "w" * 200
        + '") == ""',
    ],
)
def test_expensive_selectors_stop_at_the_limit(text: str) -> None:
    with pytest.raises(CELRuntimeError, match="actual cost limit exceeded"):
        holds(text)


def test_nothing_absorbs_the_limit() -> None:
    loop = "[1,2,3,4,5,6,7,8,9,10].all(a, " * 7 + "true" + ")" * 7
    with pytest.raises(CELRuntimeError, match="actual cost limit exceeded"):
        holds(f"true && ({loop} || true)")


def test_selectors_are_safe_between_threads() -> None:
    selector = compile_selector("lists.range(200).all(x, lists.range(x).all(y, y < x))")
    results: list[bool] = []
    threads = [threading.Thread(target=lambda: results.append(selector.evaluate(GPU))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 4


def test_hundreds_of_alternatives_are_fine() -> None:
    assert holds(" || ".join(f"device.driver == 'd{number}'" for number in range(300)) + " || true")


def test_249_parentheses_are_fine_and_250_are_not() -> None:
    assert holds("(" * 249 + "true" + ")" * 249)
    with pytest.raises(Exception, match=r"recursion limit exceeded: 250"):
        compile_selector("(" * 250 + "true" + ")" * 250)
