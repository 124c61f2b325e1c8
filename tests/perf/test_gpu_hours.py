"""The replay of device hours keeps its own books straight, and uses the product's leases."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from tests.perf.activity import week_of
from tests.perf.gpu_hours import POLICIES, POLICY, Setting, main, replay

SMALL = Setting(users=8, devices=3, days=2, seed=11)


def test_the_same_seed_is_the_same_week_and_another_is_another() -> None:
    assert week_of(3, 1) == week_of(3, 1)
    assert week_of(3, 1) != week_of(4, 1)
    assert week_of(3, 1) != week_of(3, 2)


@pytest.mark.parametrize("name", POLICIES)
def test_nobody_uses_what_is_not_held_and_no_device_is_held_twice(name: str) -> None:
    tally = replay(POLICIES[name], SMALL)
    assert 0 < tally.used <= tally.held
    assert tally.most_held <= SMALL.devices
    assert sum(tally.ends.values()) == len(tally.waits), "every hold ended, with a reason"
    assert max(tally.waits) <= POLICY.wait


def test_where_devices_abound_the_same_work_is_done_and_each_policy_holds_less_than_the_one_before() -> None:
    rich = Setting(users=8, devices=8, days=2, seed=11)
    tallies = [replay(policy, rich) for policy in POLICIES.values()]
    assert all(not any(tally.waits) for tally in tallies)
    assert {round(tally.used) for tally in tallies} == {round(tallies[0].used)}
    assert all(more.held > less.held for more, less in pairwise(tallies))


def test_an_idle_session_is_held_for_the_products_idle_limit_and_no_longer() -> None:
    tally = replay(POLICIES["session"], SMALL)
    assert POLICY.idle is not None
    assert tally.ends["idle"] > 0
    assert tally.longest_idle == pytest.approx(POLICY.idle)


def test_the_command_prints_hours_and_waits_of_every_policy(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--users", "4", "--devices", "2", "--days", "1", "-o", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["policy"] for row in told["policies"]] == list(POLICIES)
    assert all(row["held_hours"] >= row["used_hours"] for row in told["policies"])
    assert main(["--users", "4", "--devices", "2", "--days", "1"]) == 0
    assert "longest wait 2 h" in capsys.readouterr().out
