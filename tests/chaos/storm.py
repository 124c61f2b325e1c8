"""One storm: tales lived in bad weather, then calm, then the census."""

from __future__ import annotations

import asyncio
import random
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from jupyter_dra.errors import DRAError

from . import tale
from .census import Census, take
from .cluster import BreakableCluster
from .person import LAUNCH_SECONDS, Person
from .weather import Weather

PEOPLE = ("ada", "mira")


@dataclass(frozen=True, slots=True)
class Report:
    """What happened and what is left."""

    seed: int
    sessions: int
    phases: dict[str, float]
    lived: tale.Lived
    weather: Weather
    census: Census

    @property
    def clean(self) -> bool:
        return self.census.clean and not self.lived.faults_of_ours and not self.weather.errors

    def __str__(self) -> str:
        census, lived = self.census, self.lived
        lines = [
            f"seed {self.seed}: {self.sessions} sessions in {sum(self.phases.values()):.0f} s",
            f"  time      {', '.join(f'{name} {seconds:.0f} s' for name, seconds in self.phases.items())}",
            *(f"  slow      {took:.0f} s: {one}" for took, one in sorted(lived.took)[-8:]),
            f"  begun     {_counts(lived.begun)}",
            f"  deeds     {_counts(lived.deeds)}",
            f"  refusals  {_counts(lived.refused)}",
            f"  faults    {sum(self.weather.counts.values())}: {_counts(self.weather.counts)}",
            f"  ends      {sum(census.ends.values())}: {_counts(census.ends)}",
            f"  orphans   {len(census.objects)} objects, {len(census.processes)} processes, "
            f"{len(census.sockets)} sockets, {len(census.unexplained)} sessions without a stated end",
        ]
        left = [*census.objects, *census.processes, *census.sockets, *census.unexplained]
        wrong = [*lived.faults_of_ours, *self.weather.errors]
        return "\n".join(
            [*lines, *(f"  LEFT      {one}" for one in left), *(f"  WRONG     {one}" for one in wrong)]
        )


class Clock:
    """Seconds of one phase after the other."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._at = time.monotonic()

    def lap(self, name: str) -> None:
        now = time.monotonic()
        self.laps[name], self._at = now - self._at, now


def _counts(counter: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counter.items())) or "none"


def run(sessions: int, seed: int, *, at_once: int = 20, pause: float = 2.0) -> Report:
    """Live tales drawn from ``seed``, ``at_once`` at a time, with a fault about every ``pause`` seconds."""
    dice = random.Random(seed)
    tales = [tale.draw(dice, number, len(PEOPLE)) for number in range(sessions)]
    clock = Clock()
    cluster = BreakableCluster(("default",))
    people = [Person(name, cluster, cluster.folder / name[0]) for name in PEOPLE]
    weather = Weather(cluster, people, random.Random(dice.random()), pause)
    lived = tale.Lived()
    try:
        for person in people:
            namespace = {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": f"chaos-{person.name}"},
            }
            cluster.ask("POST", "/api/v1/namespaces", namespace)
            person.start()
        clock.lap("start")
        weather.begin()
        with ThreadPoolExecutor(at_once, thread_name_prefix="tale") as pool:
            done = [pool.submit(tale.live, one, people[one.person], lived) for one in tales]
            for future in done:
                future.result()
        weather.end()
        clock.lap("storm")
        cluster.repair()
        for person in people:
            _go_home(person)
        clock.lap("going home")
        census = take(cluster, people)
        clock.lap("census")
        return Report(seed, sessions, clock.laps, lived, weather, census)
    finally:
        weather.end()
        for person in people:
            person.stop()
        cluster.stop()


def _go_home(person: Person) -> None:
    """Stop what the person still has, and look for what dead servers left, until there is nothing more."""
    end = time.monotonic() + 3 * LAUNCH_SECONDS
    with person.shell() as shell:
        while time.monotonic() < end:
            for record in asyncio.run(shell.list()):
                try:
                    asyncio.run(shell.stop(record.id))
                    shell.loop.call(shell.ended(record.id), 60)
                except (DRAError, TimeoutError):
                    continue
            asyncio.run(shell.reconcile())
            left = asyncio.run(shell.list())
            open_ends = [one for one in person.records().values() if not one.get("ended_at")]
            if not left and not open_ends:
                return
            time.sleep(0.5)  # what was begun just before a crash counts as abandoned after the launch limit
