"""Synthetic notebook work of a week: bursts of cells, as people think, run, read and go away.

Nothing here was measured on people; the shape follows what is commonly seen on shared Jupyter servers, and every number
stands below, so that it can be changed. Lognormal distributions are given as (median, sigma):

- Five working days; a day begins at 9:00 ± 1 h (normal) and has 3 to 6 bursts of work (uniform), 25 minutes to 2 hours
  apart (uniform).
- A burst is one notebook in use: 8 to 40 cells (uniform).
- Before each cell the person reads and types: 40 s, sigma 1.1, at most 20 minutes.
- 60 % of the cells run on the processor only: 1.5 s, sigma 1.2.
- 40 % use the device: of ten such cells seven are short (3 s, sigma 1), two are longer (50 s, sigma 0.8), one is a
  training run (10 minutes, sigma 0.9), none longer than three hours.
- One day in ten ends with a long training run that nobody watches: 3 h, sigma 0.4, at most ten hours.
- One burst in four ends with the person stopping what they hold; otherwise they just go away.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

HOUR, DAY = 3600.0, 86400.0
WORKING_DAYS = 5


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: what the person does before it, how long it runs, whether that is on the device (seconds)."""

    think: float
    run: float
    device: bool


@dataclass(frozen=True, slots=True)
class Burst:
    """One notebook in use, from ``begins`` on (seconds since Monday 0:00), or as soon as the one before is done."""

    begins: float
    cells: tuple[Cell, ...]
    stops: bool


def week_of(seed: int, user: int, *, days: int = WORKING_DAYS) -> list[Burst]:
    """The work one person wants to do in a week; the same for every policy."""
    chance = random.Random(f"{seed}/{user}")
    return [burst for day in range(days) for burst in _day(chance, day)]


def _day(chance: random.Random, day: int) -> Iterator[Burst]:
    at = day * DAY + chance.gauss(9 * HOUR, HOUR)
    bursts = chance.randint(3, 6)
    for number in range(bursts):
        cells = [_cell(chance) for _ in range(chance.randint(8, 40))]
        if number == bursts - 1 and chance.random() < 0.1:
            cells.append(Cell(60.0, _draw(chance, 3 * HOUR, 0.4, 10 * HOUR), True))
        yield Burst(at, tuple(cells), chance.random() < 0.25)
        at += sum(cell.think + cell.run for cell in cells) + chance.uniform(25 * 60, 2 * HOUR)


def _cell(chance: random.Random) -> Cell:
    think = _draw(chance, 40, 1.1, 20 * 60)
    if chance.random() < 0.6:
        return Cell(think, _draw(chance, 1.5, 1.2, 20 * 60), False)
    kind = chance.random()
    median, sigma = (3, 1.0) if kind < 0.7 else (50, 0.8) if kind < 0.9 else (600, 0.9)
    return Cell(think, _draw(chance, median, sigma, 3 * HOUR), True)


def _draw(chance: random.Random, median: float, sigma: float, most: float) -> float:
    return min(most, chance.lognormvariate(math.log(median), sigma))
