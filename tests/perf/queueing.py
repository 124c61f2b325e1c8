"""A small simulation of people who share devices: a clock, a first-come queue, and the product's own leases.

People are generators: they yield seconds to let pass, or a `Wish` for a device, which answers with a `Hold` or None.
When a hold ends by itself is judged by `jupyter_dra.sessions.leasing`, the code that server and podside run.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field

from jupyter_dra.sessions.leasing import Lease, TooLong, Use

EXTEND_SECONDS, SOON_SECONDS = 7200.0, 600.0
"""What one click extends a lease by, and when the warning comes."""
IDLE_FIGURES = {"utilisation_percent": 0, "memory_used_bytes": 8 << 30}

Person = Generator["float | Wish", "Hold | None", None]


@dataclass(frozen=True, slots=True)
class Wish:
    """A device, waited for at most ``patience`` seconds, given under these terms."""

    patience: float
    lease: float | None = None
    longest: float | None = None
    idle: float | None = None


@dataclass(slots=True)
class Tally:
    """What a run adds up to, in seconds."""

    held: float = 0.0
    used: float = 0.0
    waits: list[float] = field(default_factory=list)
    gave_up: int = 0
    cut: int = 0
    ends: dict[str, int] = field(default_factory=dict)
    most_held: int = 0
    longest_idle: float = 0.0


class Hold:
    """A device in somebody's hands, with the product's lease and its judgement of use."""

    def __init__(self, world: World, wish: Wish) -> None:
        self._world = world
        self.began = world.now
        self.lease = Lease(world.now, seconds=wish.lease, longest=wish.longest, idle_limit=wish.idle)
        self.use = Use(world.now)
        self.use.measure(world.now, IDLE_FIGURES)
        self.busy = False
        self.over: str | None = None
        world.watch(self)

    def begin_cell(self, seconds: float) -> None:
        """A cell runs that will take so long: the person extends the lease for it, as far as that goes."""
        self.busy = True
        now = self._world.now
        self.use.touch(now)
        if self.lease.ends is not None and self.lease.ends - now < seconds + SOON_SECONDS:
            self._extend(now, max(EXTEND_SECONDS, seconds + SOON_SECONDS))
        self._world.watch(self)

    def _extend(self, now: float, seconds: float) -> None:
        try:
            self.lease.end_in(now, seconds)
        except TooLong:
            if self.lease.longest is not None:
                self.lease.end_in(now, self.lease.longest - now)

    def end_cell(self) -> None:
        self.busy = False
        self.use.touch(self._world.now)
        self._world.watch(self)

    def due(self) -> str | None:
        """The end code that is due now, by the product's own judgement."""
        return self.lease.over(self._world.now, self.use.due_since(busy=self.busy))

    def next_look(self) -> float | None:
        """When the product would look and end it, if nothing happens until then."""
        moments = [] if self.lease.ends is None else [self.lease.ends]
        since = self.use.due_since(busy=self.busy)
        if since is not None and self.lease.idle_limit is not None:
            moments.append(since + self.lease.idle_limit)
        return min(moments, default=None)

    def give_back(self, code: str = "stopped") -> None:
        if self.over is None:
            self.over = code
            self._world.returned(self)


class World:
    """Time, devices, and who waits for one.

    Args:
        launch: seconds from a free device to a running kernel; the device is held meanwhile.
    """

    def __init__(self, devices: int, *, launch: float) -> None:
        self.now = 0.0
        self.launch = launch
        self.tally = Tally()
        self._free = devices
        self._devices = devices
        self._order = itertools.count()
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._queue: deque[tuple[float, Wish, Person]] = deque()

    def run(self, people: list[Person]) -> Tally:
        for person in people:
            self._step(person, None)
        while self._events:
            self.now, _, act = heapq.heappop(self._events)
            act()
        return self.tally

    def at(self, moment: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._events, (max(moment, self.now), next(self._order), act))

    def _step(self, person: Person, answer: Hold | None) -> None:
        try:
            asked = person.send(answer)
        except StopIteration:
            return
        if isinstance(asked, Wish):
            entry = (self.now, asked, person)
            self._queue.append(entry)
            self.at(self.now + asked.patience, lambda: self._give_up(entry))
            self._serve()
        else:
            self.at(self.now + asked, lambda: self._step(person, None))

    def _give_up(self, entry: tuple[float, Wish, Person]) -> None:
        if entry in self._queue:
            self._queue.remove(entry)
            self.tally.gave_up += 1
            self._step(entry[2], None)

    def _serve(self) -> None:
        while self._free and self._queue:
            since, wish, person = self._queue.popleft()
            self._free -= 1
            self.tally.waits.append(self.now - since)
            self.tally.most_held = max(self.tally.most_held, self._devices - self._free)
            hold = Hold(self, wish)
            self.at(self.now + self.launch, lambda person=person, hold=hold: self._step(person, hold))  # type: ignore[misc]

    def watch(self, hold: Hold) -> None:
        """Look at a hold when it is due, as podside's clock does."""
        moment = hold.next_look()
        if moment is not None and hold.over is None:
            self.at(moment, lambda: self._look(hold))

    def _look(self, hold: Hold) -> None:
        code = hold.due() if hold.over is None else None
        if code is not None:
            if code == "idle":
                self.tally.longest_idle = max(self.tally.longest_idle, self.now - hold.use.at)
            hold.give_back(code)

    def returned(self, hold: Hold) -> None:
        self.tally.held += self.now - hold.began
        code = hold.over or ""
        self.tally.ends[code] = self.tally.ends.get(code, 0) + 1
        self._free += 1
        self.at(self.now, self._serve)
