"""Selectors that are allowed and still take too long: a check bounds its work and says where it stopped."""

from __future__ import annotations

import time
from typing import Any

import pytest

from jupyter_dra.checker import check
from jupyter_dra.model.limits import CEL_EXPRESSION_MAX, CEL_QUESTION_MAX

from .conftest import only

pytestmark = pytest.mark.threat("T35")


def claim(*expressions: str, name: str = "c") -> dict[str, Any]:
    exactly = {
        "deviceClassName": "gpu.nvidia.com",
        "selectors": [{"cel": {"expression": one}} for one in expressions],
    }
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "team-a"},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}},
    }


def long(number: int) -> str:
    """Nine KiB that take longest to read."""
    return "&&".join([f"[1,2,{number}].exists(x, x==1)"] * 330)


def test_loops_are_not_tried_on_every_device_for_ever() -> None:
    loops = "lists.range(1000).all(i, lists.range(100).all(j, i + j >= 0))"
    began = time.process_time()
    result = check(
        [claim(*(f"{loops} && {number} == {number}" for number in range(32))), claim("1 == 2", name="d")]
    )
    assert time.process_time() - began < 3.0  # half a minute without the bound
    warning = only(result, "selectors-costly")
    assert (warning.severity, warning.document) == ("warning", 0)
    assert "not tried" in warning.message


def test_selectors_too_long_together_are_not_looked_at_and_what_stood_before_is() -> None:
    many = [claim(*map(long, range(first, first + 10)), name=f"c{first}") for first in range(0, 40, 10)]
    began = time.process_time()
    result = check([claim("device.attributes", name="before"), *many])
    assert time.process_time() - began < 3.0
    warning = only(result, "selectors-costly")
    assert warning.document == 1
    assert only(result, "cel-compile").document == 0


def test_the_same_selector_in_many_objects_counts_once() -> None:
    again = [claim(long(1), name=f"c{number}") for number in range(2 * CEL_QUESTION_MAX // len(long(1)))]
    assert {finding.code for finding in check(again).findings} <= {"cel-no-match"}


def test_what_is_too_long_by_itself_is_refused_as_the_server_does() -> None:
    over = [f"{number} == 0 || {'true || ' * (CEL_EXPRESSION_MAX // 8)}true" for number in range(32)]
    result = check([claim(*over)])
    assert {finding.code for finding in result.findings} == {"too-long"}
    assert len(result.findings) == 32


def test_a_selector_of_many_objects_is_tried_once_on_each_device() -> None:
    # Forty different ones take more than a check may; forty that are the same take what one takes.
    once = "lists.range(150).all(i, lists.range(50).all(j, i + j >= 0))"
    assert not check([claim(once)]).findings
    assert not check([claim(once, name=f"c{number}") for number in range(40)]).findings
    others = [claim(f"{once} && {number} == {number}", name=f"c{number}") for number in range(40)]
    assert only(check(others), "selectors-costly")
