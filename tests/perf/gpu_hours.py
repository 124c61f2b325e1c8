"""How many device hours a week of notebook work takes under three policies: ``make gpu-hours``.

Everybody wants to do the same work (`activity.py`); only who holds a device, and for how long, differs:

- *server*: a device belongs to the Jupyter server, from the day's first cell until the hub culls the server after an
  hour without use. What hubs do whose spawner asks for a GPU.
- *session*: a device belongs to a notebook's kernel, from its first cell on the device until it idled for the product's
  limit, its lease is over, or the person stops it.
- *cell*: a device is held while a cell on it runs (``%%dra``); *cell, kept* keeps it for two idle minutes
  (``--keep 2m``).

Lease, idle limit and the longest wait are those the product comes with; who waits longer gives the burst up.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from jupyter_dra.sessions.policy import SessionPolicy

from .activity import HOUR, Burst, Cell, week_of
from .measuring import percentile
from .queueing import Hold, Person, Tally, Wish, World

POLICY = SessionPolicy()
CULLED_AFTER = HOUR
KEEP = 120.0
LAUNCH = 8.0

Policy = Callable[[World, list[Burst]], Person]


@dataclass(frozen=True, slots=True)
class Setting:
    """Who shares what, how long a launch takes, and which week it is."""

    users: int = 24
    devices: int = 12
    days: int = 5
    launch: float = LAUNCH
    seed: int = 7


def replay(policy: Policy, setting: Setting) -> Tally:
    """One week of everybody's work under one policy."""
    world = World(setting.devices, launch=setting.launch)
    weeks = [week_of(setting.seed, user, days=setting.days) for user in range(setting.users)]
    return world.run([policy(world, week) for week in weeks])


def per_server(world: World, week: list[Burst]) -> Person:
    """The server holds a device from its first use until it is culled."""
    wish = Wish(POLICY.wait, idle=CULLED_AFTER)
    hold: Hold | None = None
    for burst in week:
        yield from _until(world, burst)
        if hold is None or hold.over:
            hold = yield wish
        if hold is None:
            continue
        yield from _work(world, burst.cells, hold)


def per_session(world: World, week: list[Burst]) -> Person:
    """A kernel session per notebook, with the product's lease and idle limit; a new one where it was given back."""
    idle = None if POLICY.idle is None else float(POLICY.idle)
    wish = Wish(POLICY.wait, lease=POLICY.lease, longest=POLICY.longest_lease, idle=idle)
    for burst in week:
        yield from _until(world, burst)
        hold: Hold | None = None
        for cell in burst.cells:
            yield cell.think
            if cell.device and (hold is None or hold.over):
                hold = yield wish
                if hold is None:
                    break
            yield from _run(world, cell, hold)
        if hold is not None and burst.stops:
            hold.give_back()


def per_cell(keep: float | None = None) -> Policy:
    """A device for each cell that asks for one, kept for ``keep`` idle seconds."""

    def policy(world: World, week: list[Burst]) -> Person:
        wish = Wish(POLICY.wait, lease=POLICY.lease, longest=POLICY.longest_lease, idle=keep)
        for burst in week:
            yield from _until(world, burst)
            hold: Hold | None = None
            for cell in burst.cells:
                yield cell.think
                if cell.device and (hold is None or hold.over):
                    hold = yield wish
                    if hold is None:
                        break
                yield from _run(world, cell, hold if cell.device else None)
                if hold is not None and keep is None and cell.device:
                    hold.give_back()

    return policy


POLICIES: dict[str, Policy] = {
    "server": per_server,
    "session": per_session,
    "cell, kept 2 min": per_cell(KEEP),
    "cell": per_cell(),
}


def _until(world: World, burst: Burst) -> Person:
    if burst.begins > world.now:
        yield burst.begins - world.now


def _work(world: World, cells: Iterable[Cell], hold: Hold) -> Person:
    for cell in cells:
        yield cell.think
        yield from _run(world, cell, hold)


def _run(world: World, cell: Cell, hold: Hold | None) -> Person:
    """Run a cell; one on a device whose lease ends meanwhile is cut off there."""
    if hold is None or hold.over:
        yield cell.run
        return
    hold.begin_cell(cell.run)
    left = math.inf if hold.lease.ends is None else hold.lease.ends - world.now
    seconds = min(cell.run, left)
    yield seconds
    if cell.device:
        world.tally.used += seconds
        world.tally.cut += seconds < cell.run
    if not hold.over:
        hold.end_cell()


def as_row(name: str, tally: Tally) -> dict[str, object]:
    """One policy in numbers: hours, and minutes of waiting."""
    waits = [wait / 60 for wait in tally.waits] or [0.0]
    return {
        "policy": name,
        "held_hours": round(tally.held / HOUR, 1),
        "used_hours": round(tally.used / HOUR, 1),
        "used_of_held_percent": round(100 * tally.used / tally.held) if tally.held else None,
        "holds": len(tally.waits),
        "waited": sum(1 for wait in tally.waits if wait > 0),
        "wait_p50_minutes": round(percentile(waits, 0.5), 1),
        "wait_p95_minutes": round(percentile(waits, 0.95), 1),
        "wait_longest_minutes": round(max(waits), 1),
        "gave_up": tally.gave_up,
        "cut_cells": tally.cut,
        "ends": dict(sorted(tally.ends.items())),
    }


HEADS = {
    "policy": "device held per",
    "held_hours": "held h",
    "used_hours": "used h",
    "used_of_held_percent": "used %",
    "holds": "holds",
    "waited": "waited",
    "wait_p50_minutes": "p50 min",
    "wait_p95_minutes": "p95 min",
    "wait_longest_minutes": "longest",
    "gave_up": "gave up",
    "cut_cells": "cut",
}


def table(rows: list[dict[str, object]]) -> str:
    lines = [list(HEADS.values()), *([str(row[key]) for key in HEADS] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADS))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="gpu-hours", description=(__doc__ or "").split("\n", 1)[0])
    plain = Setting()
    parser.add_argument("--users", type=int, default=plain.users)
    parser.add_argument("--devices", type=int, default=plain.devices)
    parser.add_argument("--days", type=int, default=plain.days)
    parser.add_argument("--launch", type=float, default=plain.launch, help="seconds from device to kernel")
    parser.add_argument("--seed", type=int, default=plain.seed)
    parser.add_argument("-o", choices=("table", "json"), default="table")
    given = vars(parser.parse_args(words))
    form = given.pop("o")
    setting = Setting(**given)
    rows = [as_row(name, replay(policy, setting)) for name, policy in POLICIES.items()]
    if form == "json":
        print(json.dumps({"setting": given, "policies": rows}, indent=1))
        return 0
    print(
        f"{setting.users} people, {setting.devices} devices, {setting.days} days, seed {setting.seed}; launch "
        f"{setting.launch:g} s, lease {POLICY.lease / HOUR:g} h, idle limit {(POLICY.idle or 0) / 60:g} min, "
        f"longest wait {POLICY.wait / HOUR:g} h, servers culled after {CULLED_AFTER / HOUR:g} h"
    )
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
