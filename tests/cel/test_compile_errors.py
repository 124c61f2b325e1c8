"""What the user reads when the API server would refuse a selector."""

from __future__ import annotations

import pytest

from jupyter_dra.cel import SelectorCompileError, compile_selector, constant_problems
from jupyter_dra.errors import CELCompileError, CELRuntimeError


def refused(text: str, version: str = "1.37") -> SelectorCompileError:
    with pytest.raises(CELCompileError) as caught:
        compile_selector(text, version)
    assert isinstance(caught.value, SelectorCompileError)
    return caught.value


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        (
            'device.capacity["memory"].isGreaterThan(quantity("40Gi"))',
            1,
            40,
            "found no matching overload for 'isGreaterThan' applied to"
            " 'map(string, kubernetes.Quantity).(kubernetes.Quantity)'",
        ),
        (
            'device.attributes["model"] == "x"',
            1,
            28,
            "found no matching overload for '_==_' applied to '(map(string, dyn), string)'",
        ),
        (
            'device.capacity["gpu.nvidia.com"].memory >= quantity("40Gi")',
            1,
            42,
            "found no matching overload for '_>=_' applied to '(kubernetes.Quantity, kubernetes.Quantity)'",
        ),
        ('device.name == "gpu-0"', 1, 7, "undefined field 'name'"),
        ("math.greatest(1, 2) == 2", 1, 1, "undeclared reference to 'math' (in container '')"),
        ('has(device.attributes["d"]["x"])', 1, 27, "invalid argument to has() macro"),
        ("device.driver", 1, 1, "must evaluate to bool or the unknown type, not string"),
        ('true &&\n  device.pool == "a"', 2, 9, "undefined field 'pool'"),
        ("[1, 2.0].size() == 2", 1, 5, "expected type 'int' but found 'double'"),
        ("let == 1", 1, 1, "reserved identifier: let"),
        ("9223372036854775808 > 0", 1, 1, "invalid int literal"),
    ],
)
def test_message_and_position_are_the_servers(text: str, line: int, column: int, message: str) -> None:
    error = refused(text)
    assert (error.message, error.line, error.column) == (message, line, column)


def test_before_1_36_attributes_are_called_any() -> None:
    error = refused('device.attributes["model"] == "x"', "1.35")
    assert error.message == "found no matching overload for '_==_' applied to '(map(string, any), string)'"


def test_server_text_shows_every_error_under_its_line() -> None:
    error = refused('device.attributes["é"].x.foo(1) ==\n device.nope')
    assert error.server_text() == (
        "compilation failed: ERROR: <input>:1:29: undeclared reference to 'foo' (in container '')\n"
        ' | device.attributes["é"].x.foo(1) ==\n'
        " | ...................．........^\n"
        "ERROR: <input>:2:8: undefined field 'nope'\n"
        " |  device.nope\n"
        " | .......^"
    )


def test_server_text_of_a_constant_that_cannot_be_converted() -> None:
    error = refused('int("x") == 1')
    assert error.server_text() == "program instantiation failed: type conversion error from 'string' to 'int'"


def test_server_text_of_a_result_that_is_no_bool_has_no_position() -> None:
    assert refused("1").server_text() == "must evaluate to bool or the unknown type, not int"


def test_a_text_over_ten_kibibytes_is_too_long() -> None:
    error = refused("true || " * 1400 + "true")
    assert error.server_text() == "Too long: may not be more than 10240 bytes"


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ('device.capacity["memory"].isGreaterThan(quantity("1"))', "device.capacity[device.driver].memory"),
        ('device.attributes["gpu.nvidia.com/model"] == "x"', 'device.attributes["gpu.nvidia.com"].model'),
        ('device.attributes.pcieRoot == "x"', 'device.attributes["resource.kubernetes.io"].pcieRoot'),
        ('device.capacity["d"].memory >= quantity("1Gi")', "compareTo(b) >= 0"),
        ('device.capacity["d"].memory.isGreaterThan("1Gi")', 'isGreaterThan(quantity("…"))'),
        ('device.capacity["d"].memory == "1Gi"', 'quantity("40Gi")'),
        ("device.name == 'x'", "not its name"),
        ("device.memory == 1", "device.capacity[device.driver].memory"),
        ("math.greatest(1, 2) == 2", "not known to jupyter-dra"),
        ('device.driver.toLower() == "x"', "lowerAscii()"),
        ('device.driver.matchez("x")', "matches()"),
        ('"a" in device.driver', "contains"),
        ('quantity("1").sign() == 1', "sign(quantity)"),
        ('has(device.attributes["d"]["x"])', 'has(device.attributes["domain"].name)'),
        ('device.driver = "x"', "=="),
        ("true and true", "&&"),
        ("true & true", "&&"),
        ('device.attributes["d"].?x == "a"', ".orValue"),
        ('device.attributes["d"].?x', ".orValue(false)"),
        ('device.driver.matches("(?=a)")', "RE2"),
        ("device.driver == gpu", '"gpu"'),
        ('attributes["d"].x == 1', "device.attributes"),
        ("", "empty"),
    ],
)
def test_common_mistakes_are_explained(text: str, advice: str) -> None:
    error = refused(text)
    assert error.hint is not None
    assert advice in error.hint
    assert error.next_step == error.hint


def test_includes_names_its_version() -> None:
    error = refused('device.attributes["d"].x.includes("a")', "1.35")
    assert error.hint == "includes() is known from Kubernetes 1.36 on."


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ('device.attributes["d"].x == 1', ".?x.orValue"),
        ('quantity("40GB").isGreaterThan(quantity("1"))', "80G, not 80GB"),
        ('semver("9.0").major() == 9', "three parts"),
        ('device.attributes["d"].v == "1.2.3"', "semver"),
    ],
)
def test_common_run_time_errors_are_explained(text: str, advice: str) -> None:
    device = {"driver": "d", "attributes": {"v": {"version": "1.2.3"}}, "capacity": {}}
    with pytest.raises(CELRuntimeError) as caught:
        compile_selector(text).evaluate(device)
    assert caught.value.next_step is not None
    assert advice in caught.value.next_step


def test_constants_that_always_raise_are_found_without_a_device() -> None:
    selector = compile_selector('device.driver == "x" || quantity("40GB").isGreaterThan(quantity("1"))')
    (problem,) = constant_problems(selector)
    assert problem.offset == 33
    assert problem.message.startswith("quantities must match the regular expression")
    assert constant_problems(compile_selector('semver("1.2", true).major() == 1')) == ()


def test_an_unknown_version_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="not a Kubernetes version"):
        compile_selector("true", "2")
