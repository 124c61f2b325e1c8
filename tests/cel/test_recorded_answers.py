"""Selectors whose answers were computed by Kubernetes' own code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from jupyter_dra.cel import ProfileTable, compile_selector
from jupyter_dra.errors import CELCompileError, CELRuntimeError

_FOLDER = Path(__file__).parent / "data"
_DATA = yaml.safe_load((_FOLDER / "selectors.yaml").read_text("utf-8"))
_DEVICES: dict[str, dict[str, Any]] = _DATA["devices"]
_CASES: list[list[str]] = _DATA["cases"]
# The devices of random.yaml, by index.
RANDOM_DEVICES: list[dict[str, Any]] = [
    {
        "driver": "gpu.example.com",
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
    {
        "driver": "gpu.example.com",
        "attributes": {"model": {"string": ""}, "uuid": {"string": "u-2"}},
        "capacity": {},
    },
    {"driver": "gpu.example.com", "allowMultipleAllocations": True},
]


def answer(text: str, device: dict[str, Any], version: str) -> str:
    try:
        selector = compile_selector(text, version)
    except CELCompileError:
        return "refused"
    try:
        return "yes" if selector.evaluate(device) else "no"
    except CELRuntimeError:
        return "raises"


@pytest.mark.parametrize("case", _CASES, ids=[f"{index}: {case[0]}" for index, case in enumerate(_CASES)])
def test_answers_as_the_scheduler_does(case: list[str]) -> None:
    _name, device, newer, *between, text = case
    older = between[0] if between else newer
    assert {
        version: answer(text, _DEVICES[device], version) for version in ("1.34", "1.35", "1.36", "1.37")
    } == {
        "1.34": older,
        "1.35": older,
        "1.36": newer,
        "1.37": newer,
    }


def test_profiles_give_the_same_answers() -> None:
    table = ProfileTable(unique_from=2)
    numbers = {}
    for name, device in _DEVICES.items():
        numbers[name] = table.add(device["driver"], device)
    wrong = []
    for _name, asked, newer, *_, text in _CASES:
        if newer == "refused":
            continue
        outcome = table.results(compile_selector(text)).of(numbers[asked])
        found = "raises" if isinstance(outcome, CELRuntimeError) else ("yes" if outcome else "no")
        if found != newer:
            wrong.append((text, asked, found, newer))
    assert wrong == []


def test_random_selectors_get_the_schedulers_answers() -> None:
    wrong = []
    for expected, device, text in yaml.safe_load((_FOLDER / "random.yaml").read_text("utf-8")):
        found = answer(text, RANDOM_DEVICES[device], "1.37")
        if found != expected:
            wrong.append((text, found, expected))
    assert wrong == []


def test_there_are_all_the_cases() -> None:
    assert len(_CASES) == 296
