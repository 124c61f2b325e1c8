"""Times and how they are shown: p50 and p95 beside a yardstick of the same run, and the bar they are held to."""

from __future__ import annotations

import resource
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

_SPIN = 0.02


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which this share of the values lies."""
    found = sorted(values)
    return found[min(len(found) - 1, int(len(found) * share))]


def seconds(what: Callable[[], object]) -> float:
    """Wall time of one call."""
    began = time.perf_counter()
    what()
    return time.perf_counter() - began


def processor_ms(words: Sequence[str], env: Mapping[str, str]) -> float:
    """Milliseconds of processor time a command takes, its children included: a busy machine counts less."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, env=dict(env), stdout=subprocess.DEVNULL, check=True, timeout=120)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def slowness() -> float:
    """How many times longer than alone a busy thread runs now, because others want the same cores; at least 1."""
    wall, work = time.perf_counter(), time.thread_time()
    while time.thread_time() - work < _SPIN:
        pass
    return max(1.0, (time.perf_counter() - wall) / (time.thread_time() - work))


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table.

    Attributes:
        values: what was measured.
        beside: the same of something bare, measured in turns with it.
        judged: what is held against ``bar``; None where there is no bar.
    """

    name: str
    values: tuple[float, ...]
    unit: str
    beside: tuple[float, ...] = ()
    judged: float | None = None
    bar: float | None = None

    @property
    def missed(self) -> bool:
        return self.judged is not None and self.bar is not None and self.judged > self.bar

    def text(self) -> str:
        p50, p95 = percentile(self.values, 0.5), percentile(self.values, 0.95)
        line = f"{self.name:<44}{p50:9.2f}{p95:9.2f} {self.unit:<3}"
        if self.beside:
            bare = percentile(self.beside, 0.5)
            line += f"{bare:9.2f}{percentile(self.beside, 0.95):9.2f}{p50 / bare:7.2f}x"
        else:
            line += " " * 26
        if self.judged is not None:
            line += f"{self.judged:9.2f} of {self.bar:<5g} {'MISSED' if self.missed else 'ok'}"
        return line


@dataclass(slots=True)
class Table:
    """Rows in the order they were measured; each is printed at once and again at the end.

    What is held against a bar is divided by how much slower than alone this machine ran meanwhile: the samples of
    `slowness` since the row before.
    """

    rows: list[Row] = field(default_factory=list)
    _samples: list[float] = field(default_factory=list)

    def sample(self) -> None:
        """Call between the turns of a measurement."""
        self._samples.append(slowness())

    def add(
        self,
        name: str,
        values: Sequence[float],
        unit: str = "s",
        *,
        beside: Sequence[float] = (),
        bar: float | None = None,
        over: float | None = None,
        processor: bool = False,
    ) -> None:
        """Add a row.

        Args:
            bar: for the p50.
            over: for the p50 above the yardstick's p50.
            processor: processor time, which needs no correction.
        """
        judged = None
        if bar is not None:
            judged = percentile(values, 0.5)
        elif over is not None:
            judged = percentile(values, 0.5) - percentile(beside, 0.5)
        if judged is not None and not processor:
            judged /= self.slower()
        self._samples.clear()
        self.put(Row(name, tuple(values), unit, tuple(beside), judged, bar if bar is not None else over))

    def slower(self) -> float:
        """The machine's slowness since the last row."""
        if not self._samples:
            self.sample()
        return sum(self._samples) / len(self._samples)

    def put(self, row: Row) -> None:
        self.rows.append(row)
        print(row.text(), flush=True)

    def show(self) -> int:
        """Print everything again; the number of bars missed."""
        print(f"\n{'':<44}{'p50':>9}{'p95':>9}    {'bare p50':>9}{'p95':>9}  ratio   judged")
        for row in self.rows:
            print(row.text())
        missed = sum(row.missed for row in self.rows)
        print(f"{missed} bars missed" if missed else "every bar is met", flush=True)
        return missed
