"""A short storm; ``make chaos`` has the long one."""

from __future__ import annotations

import random
import sys

import pytest

from . import tale
from .storm import PEOPLE, run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
SEED = 20261130


@pytest.mark.timeout(240)
def test_sessions_in_bad_weather_end_in_a_stated_state_and_leave_nothing() -> None:
    report = run(16, SEED, at_once=16, pause=1.0)
    assert report.clean, str(report)
    assert sum(report.census.ends.values()) >= report.lived.begun["accepted"] > 0
    assert sum(report.weather.counts.values()) > 3


def test_the_same_seed_tells_the_same_tales() -> None:
    def tales(seed: int) -> list[tale.Tale]:
        dice = random.Random(seed)
        return [tale.draw(dice, number, len(PEOPLE)) for number in range(50)]

    assert tales(SEED) == tales(SEED) != tales(SEED + 1)
