"""Selectors and quantities as the real API server judged them."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_dra.validation import decode, validate


def texts(expression: str) -> list[str]:
    value: dict[str, Any] = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "x"},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }
    return [error.text() for error in validate(value)]


@pytest.mark.parametrize(
    "expression",
    [
        'device.attributes["a"].?b.orValue("").matches("^x")',
        'device.attributes["a"].?b.orValue("").lowerAscii() == "x"',
        "type(device.driver) == string",
    ],
)
def test_what_may_cost_too_much_is_refused(expression: str) -> None:
    assert texts(expression) == [
        "spec.selectors[0].cel.expression: Forbidden: too complex, exceeds cost limit"
    ]


def test_a_guarded_pattern_is_cheap_enough() -> None:
    assert texts('has(device.attributes["a"].b) && device.attributes["a"].b.matches("^x")') == []


@pytest.mark.parametrize("tail", ['includes("x")', "all(x, x == 1)"])
def test_list_attributes_are_refused_in_what_is_written_anew(tail: str) -> None:
    (text,) = texts(f'device.attributes["a"].b.{tail}')
    assert "compilation failed" in text


def test_quantities_may_have_blanks_around_them() -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q"},
        "spec": {"hard": {"pods": " 4 "}},
    }
    assert decode(quota).problems == ()
    broken = {**quota, "spec": {"hard": {"pods": "1 Gi"}}}
    assert len(decode(broken).problems) == 1
