"""What is left when everybody went home: objects, processes, sockets, sessions nobody can explain."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from jupyter_dra.sessions.endings import CODES

from .cluster import BreakableCluster
from .person import Person

PATIENCE = 60.0
_KINDS = {
    "pods": "/api/v1",
    "secrets": "/api/v1",
    "resourceclaims": "/apis/resource.k8s.io/v1",
}


@dataclass
class Census:
    """Everything that should not be there."""

    objects: list[str] = field(default_factory=list)
    processes: list[str] = field(default_factory=list)
    sockets: list[str] = field(default_factory=list)
    unexplained: list[str] = field(default_factory=list)
    ends: Counter[str] = field(default_factory=Counter)

    @property
    def clean(self) -> bool:
        return not (self.objects or self.processes or self.sockets or self.unexplained)


def take(cluster: BreakableCluster, people: Iterable[Person]) -> Census:
    """Look until nothing is left or patience ends; the Jupyter servers still run."""
    found, folders = Census(), list(people)
    end = time.monotonic() + PATIENCE
    while True:
        found.objects = [line for person in folders for line in objects(cluster, person)]
        found.processes = [_described(pid) for pid in cluster.processes()]
        found.sockets = [line for person in folders for line in sockets(person.folder)]
        if not (found.objects or found.processes or found.sockets) or time.monotonic() > end:
            break
        time.sleep(0.2)  # between looks
    for person in folders:
        _explain(person, found)
    return found


def objects(cluster: BreakableCluster, person: Person) -> list[str]:
    """Names of what sessions make, in the person's namespace."""
    lines = []
    for kind, group in _KINDS.items():
        path = f"{group}/namespaces/chaos-{person.name}/{kind}"
        for item in cluster.ask("GET", path).get("items") or []:
            phase = (item.get("status") or {}).get("phase", "")
            lines.append(f"{kind}/{item['metadata']['name']} {phase}".strip())
    return lines


def sockets(folder: Path) -> list[str]:
    """Relay sockets below a folder: those that somebody serves, and those that a killed server left."""
    with open("/proc/net/unix", encoding="utf-8", errors="replace") as file:
        bound = {line.split()[-1] for line in file if str(folder) in line}
    left = {str(path) for path in (folder / "run").glob("dra-*/*") if path.is_socket()}
    return sorted(bound | left)


def _described(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
            return f"{pid} {file.read().replace(chr(0), ' ')[:120]}"
    except OSError:
        return str(pid)


def _explain(person: Person, found: Census) -> None:
    """Every session has a stated end with words."""
    for session_id, record in person.records().items():
        ended = record.get("ended") or {}
        if ended.get("code") in CODES and ended.get("message"):
            found.ends[ended["code"]] += 1
        else:
            found.unexplained.append(f"{person.name}/{session_id}: {ended or 'no end is recorded'}")


def descriptors() -> int:
    """Open descriptors of this process."""
    return len(os.listdir("/proc/self/fd"))
