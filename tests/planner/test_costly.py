"""Selectors that are allowed and still take too long: a plan stays a matter of tenths of a second, and says so."""

from __future__ import annotations

import time

import pytest

from jupyter_dra.model.limits import CEL_QUESTION_MAX
from jupyter_dra.planner import Inventory, Plan

from .build import NVIDIA_CLASS, Json, claim, device_class, h100, request, slice_of

DOMAIN = 'device.attributes["gpu.nvidia.com"]'
LOOPS = "lists.range(1000).all(i, lists.range(50).all(j, i + j >= 0))"
KINDS = 12

pytestmark = pytest.mark.threat("T35")


def cluster() -> Inventory:
    """Every device of a kind of its own, so that nothing is evaluated for many at once."""
    slices = [slice_of(f"n{number}", [h100("gpu-0", rack=f"r{number}")]) for number in range(KINDS)]
    return Inventory.from_objects([device_class("gpu", NVIDIA_CLASS), *slices])


def looping(*conditions: str) -> Json:
    return claim("c", request("gpu", "gpu", *(f"{LOOPS} && {text}" for text in conditions)))


def assert_open(plan: Plan) -> None:
    assert plan.verdict == "unknown"
    assert [reason["code"] for reason in plan.certainty["reasons"]] == ["search-budget"]
    assert [finding["code"] for finding in plan.findings] == ["selectors-costly"]
    assert plan.launch["can"] == "yes"


def test_loops_over_every_device_end_with_an_open_verdict() -> None:
    inventory = cluster()
    began = time.process_time()
    plan = inventory.plan(looping(*(f"{number} == {number}" for number in range(32))), detail="full")
    assert time.process_time() - began < 3.0  # a minute without the bound
    assert_open(plan)


def test_what_was_found_out_is_kept_and_nothing_is_believed_that_was_not_tried() -> None:
    inventory, wanted = cluster(), looping(f'has({DOMAIN}.rack) && {DOMAIN}.rack == "r{KINDS - 1}"', "true")
    verdicts = []
    for _ in range(20):
        plan = inventory.plan(wanted)
        verdicts.append(plan.verdict)
        if plan.verdict != "unknown":
            break
        assert_open(plan)
    assert len(verdicts) > 1
    assert verdicts[-1] == "fits"
    assert [node["name"] for node in plan.nodes] == [f"n{KINDS - 1}"]


def test_a_plan_that_was_cut_short_costs_the_next_one_nothing() -> None:
    inventory = cluster()
    assert_open(inventory.plan(looping(*(f"{number} == {number}" for number in range(32)))))
    assert inventory.plan({"tier": "gpu", "vram": "80GB"}).verdict == "fits"


def test_selectors_that_are_too_long_together_are_not_looked_at() -> None:
    long = [" || ".join(f'{DOMAIN}.name == "{number}-{k}"' for k in range(180)) for number in range(8)]
    assert CEL_QUESTION_MAX < sum(map(len, long)) < 8 * 10240
    inventory = cluster()
    assert_open(inventory.plan(claim("c", request("gpu", "gpu", *long))))
    assert inventory.plan(claim("c", request("gpu", "gpu", *long[:2]))).verdict == "invalid"
