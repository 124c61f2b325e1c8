"""What happens to one session: drawn from the seed beforehand, then lived through a person's server."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from jupyter_dra.errors import DRAError

from .person import Person, Refused

FATES = (
    "cancel", "cancel", "stop", "stop", "stop", "restart", "restart", "attach", "attach", "move", "kill-kernel",
    "kill-kernel", "kill-podside", "delete-pod", "delete-claim", "shell-stop", "shell-restart", "idle", "lease",
    "missing-image", "impossible", "twice",
)  # fmt: skip
WISHES: tuple[dict[str, Any], ...] = (
    {"tier": "small-gpu"},
    {"tier": "high-memory-gpu"},
    {"vram": "24GB"},
    {"vram": "80GB", "architecture": "Hopper"},
)
READY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Tale:
    """One session's fate, and the small delays on the way."""

    number: int
    person: int
    fate: str
    wish: dict[str, Any]
    delays: tuple[float, float, float]


def draw(dice: random.Random, number: int, people: int) -> Tale:
    fate = dice.choice(FATES)
    wish = dict(dice.choice(WISHES))
    if fate == "impossible":
        wish = {"tier": "small-gpu", "vram": "900GB"}
    elif fate == "missing-image":
        wish["image"] = "registry.example/kernel:missing"
    elif fate == "lease":
        wish["lease"] = f"{dice.randint(4, 10)}s"
    elif fate == "idle":
        wish["idle_timeout"] = f"{dice.randint(2, 5)}s"
    delays = (dice.uniform(0.0, 2.5), dice.uniform(0.0, 1.0), dice.uniform(0.0, 1.0))
    return Tale(number, dice.randrange(people), fate, wish, delays)


@dataclass
class Lived:
    """What is told of all tales together; shared by the threads that live them."""

    begun: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    deeds: Counter[str] = field(default_factory=Counter)
    took: list[tuple[float, str]] = field(default_factory=list)
    faults_of_ours: list[str] = field(default_factory=list)


def live(tale: Tale, person: Person, lived: Lived) -> None:
    """Begin the session and do to it what its fate says; every refusal is counted, none is an error."""
    began, session_id = time.monotonic(), None
    try:
        session_id = _begin(tale, person, lived)
        if session_id is not None:
            _DEEDS[tale.fate](tale, person, session_id)
            lived.deeds[tale.fate] += 1
    except Refused as refusal:
        lived.refused[f"{tale.fate}: {refusal.code}"] += 1
        if refusal.status >= 500 and refusal.code in ("500", "internal"):
            lived.faults_of_ours.append(f"{tale}: {refusal}")
    except DRAError as error:
        lived.refused[f"{tale.fate}: {error.code}"] += 1
    finally:
        path = person.path(session_id) if session_id else ""
        lived.took.append((time.monotonic() - began, f"{session_id} {tale.fate} ({path})"))


def _begin(tale: Tale, person: Person, lived: Lived) -> str | None:
    body = {"requirement": tale.wish, "key": f"tale-{tale.number}", "wait": 60, "name": f"tale {tale.number}"}
    try:
        record = person.request("POST", "sessions", body)
        if tale.fate == "twice":
            again = person.request("POST", "sessions", body)
            if again["id"] != record["id"] and person.restarts == 0:
                lived.faults_of_ours.append(f"{tale}: one key began {record['id']} and {again['id']}")
    except Refused as refusal:
        lived.begun[f"refused ({refusal.code})"] += 1
        return None
    lived.begun["accepted"] += 1
    return str(record["id"])


def _ready(person: Person, session_id: str) -> dict[str, Any] | None:
    record = person.wait(session_id, "running", seconds=READY_SECONDS)
    return record if record is not None and record["state"] == "running" else None


def _stop(tale: Tale, person: Person, session_id: str) -> None:
    time.sleep(tale.delays[2])
    person.request("DELETE", f"sessions/{session_id}")


def _cancel(tale: Tale, person: Person, session_id: str) -> None:
    time.sleep(tale.delays[0])
    person.request("DELETE", f"sessions/{session_id}")


def _plain(tale: Tale, person: Person, session_id: str) -> None:
    if _ready(person, session_id):
        _stop(tale, person, session_id)


def _restart(tale: Tale, person: Person, session_id: str) -> None:
    record = _ready(person, session_id)
    if record:
        time.sleep(tale.delays[1])
        person.request("POST", f"sessions/{session_id}/kernels/{record['kernels'][0]['id']}/restart", {})
        _stop(tale, person, session_id)


def _move(tale: Tale, person: Person, session_id: str) -> None:
    record = _ready(person, session_id)
    if record:
        path = f"sessions/{session_id}/kernels/{record['kernels'][0]['id']}/restart"
        person.request("POST", path, {"cpu": "2"})
        time.sleep(3 * tale.delays[1])
        _stop(tale, person, session_id)


def _attach(tale: Tale, person: Person, session_id: str) -> None:
    record = _ready(person, session_id)
    if record:
        joined = person.request("POST", f"sessions/{session_id}/kernels", {})
        time.sleep(3 * tale.delays[1])
        if tale.delays[0] > 1.2:
            person.request("DELETE", f"sessions/{session_id}/kernels/{joined['id']}")
            person.request("DELETE", f"sessions/{session_id}/kernels/{record['kernels'][0]['id']}")
        else:
            _stop(tale, person, session_id)


def _kill_kernel(tale: Tale, person: Person, session_id: str) -> None:
    if _ready(person, session_id):
        time.sleep(tale.delays[1])
        _kill(person, session_id, podside=False)
        time.sleep(2 * tale.delays[2])
        _stop(tale, person, session_id)


def _kill_podside(tale: Tale, person: Person, session_id: str) -> None:
    if _ready(person, session_id):
        _kill(person, session_id, podside=True)
        person.wait(session_id, "ended", seconds=30)


def _kill(person: Person, session_id: str, *, podside: bool) -> None:
    """Kill -9 of the kernel, or of podside above it, of the session's first pod."""
    pod = person.cluster.ask("GET", f"/api/v1/namespaces/chaos-{person.name}/pods/{session_id}-0")
    if pod.get("kind") != "Pod":
        return
    members = person.cluster.processes(pod["metadata"]["uid"])
    parents = {pid for pid in members if any("podside.py" in word for word in _words(pid))}
    for pid in parents if podside else members - parents:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def _words(pid: int) -> list[str]:
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
            return file.read().split("\0")
    except OSError:
        return []


def _delete_pod(tale: Tale, person: Person, session_id: str) -> None:
    """The kernel goes on in another pod, as long as a server follows it."""
    if not _ready(person, session_id):
        return
    person.cluster.ask("DELETE", f"/api/v1/namespaces/chaos-{person.name}/pods/{session_id}-0")

    def works_again(record: dict[str, Any]) -> bool:
        # None while no server follows the session: its claim is left, its pod is gone.
        kernels = record["kernels"]
        return any(one["pod"] != f"{session_id}-0" and one["state"] in ("idle", "busy") for one in kernels)

    record = person.until(session_id, works_again, seconds=30)
    if record is not None and record["state"] != "ended":
        _stop(tale, person, session_id)


def _delete_claim(tale: Tale, person: Person, session_id: str) -> None:
    if not _ready(person, session_id):
        return
    claims = f"/apis/resource.k8s.io/v1/namespaces/chaos-{person.name}/resourceclaims"
    person.cluster.ask("DELETE", f"{claims}/{session_id}")
    person.wait(session_id, "ended", seconds=30)


def _in_shell(what: str) -> Any:
    def deed(tale: Tale, person: Person, session_id: str) -> None:
        if not _ready(person, session_id):
            return
        with person.shell() as shell:
            if what == "restart":
                asyncio.run(shell.restart_kernel(session_id))
            asyncio.run(shell.stop(session_id))
            shell.loop.call(shell.ended(session_id), 60)

    return deed


def _end_by_itself(tale: Tale, person: Person, session_id: str) -> None:
    if _ready(person, session_id):
        person.wait(session_id, "ended", seconds=40)


_DEEDS = {
    "cancel": _cancel,
    "stop": _plain,
    "twice": _plain,
    "restart": _restart,
    "move": _move,
    "attach": _attach,
    "kill-kernel": _kill_kernel,
    "kill-podside": _kill_podside,
    "delete-pod": _delete_pod,
    "delete-claim": _delete_claim,
    "shell-stop": _in_shell("stop"),
    "shell-restart": _in_shell("restart"),
    "idle": _end_by_itself,
    "lease": _end_by_itself,
    "missing-image": _end_by_itself,
    "impossible": _end_by_itself,
}
