"""Trouble that hits everybody: of the API server, of its answers, of the node, of Jupyter servers."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from .cluster import BreakableCluster
from .person import Person

QUICK = (
    "cut-watches",
    "storm-429",
    "storm-500",
    "storm-503",
    "slow",
    "lost-answers",
    "late-events",
    "outdated",
)
"""Passing faults; what restarts something comes in between, each in its own rhythm."""


@dataclass
class Weather:
    """Draws trouble from the seed until told to stop; counts what it did."""

    cluster: BreakableCluster
    people: list[Person]
    dice: random.Random
    pause: float
    counts: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def begin(self) -> None:
        self._thread = threading.Thread(target=self._run, name="weather", daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join(120)

    def _run(self) -> None:
        turn = 0
        while not self._over.wait(self.dice.uniform(0.5, 1.5) * self.pause):
            turn += 1
            name = self._next(turn)
            try:
                _TROUBLE[name](self)
                self.counts[name] += 1
            except Exception as error:  # the harness itself failed: told, never hidden
                self.errors.append(f"{name}: {error!r}")

    def _next(self, turn: int) -> str:
        if turn % 13 == 0:
            return "kill-agent"
        if turn % 5 == 0:
            return "restart-api"
        if turn % 4 == 0:
            return "kill-server"
        return self.dice.choice(QUICK)

    def fault(self, **wish: object) -> None:
        self.cluster.fault(**wish)


def _restart_api(weather: Weather) -> None:
    weather.cluster.stop_server()
    time.sleep(weather.dice.uniform(0.0, 1.0))
    weather.cluster.start_server()


def _kill_agent(weather: Weather) -> None:
    weather.cluster.kill_agent()
    time.sleep(weather.dice.uniform(0.0, 1.0))
    weather.cluster.start_agent()


def _late_events(weather: Weather) -> None:
    weather.fault(event_delay=0.5)
    time.sleep(1.0)
    weather.fault(event_delay=0.0)


_TROUBLE: dict[str, Callable[[Weather], None]] = {
    "cut-watches": lambda weather: weather.fault(drop_watches=True),
    "storm-429": lambda weather: weather.fault(fail={"status": 429, "count": 25}),
    "storm-500": lambda weather: weather.fault(fail={"status": 500, "count": 15}),
    "storm-503": lambda weather: weather.fault(fail={"status": 503, "count": 15}),
    "slow": lambda weather: weather.fault(delay={"seconds": 0.7, "count": 20}),
    "lost-answers": lambda weather: weather.fault(lose={"status": 0, "count": 3, "verb": "create"}),
    "late-events": _late_events,
    "outdated": lambda weather: weather.fault(expire_history=True, drop_watches=True),
    "restart-api": _restart_api,
    "kill-agent": _kill_agent,
    "kill-server": lambda weather: weather.dice.choice(weather.people).kill(),
}
