"""Which processes belong to a pod, and how they are ended: by session, parentage and a mark in the environment.

Standard library only: the guard uses it while the agent lies dead.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

MARK = "JUPYTER_DRA_POD"
_PROC = "/proc"


@dataclass(frozen=True, slots=True)
class ProcessFacts:
    """One process as the kernel lists it; ``started`` tells two users of one pid apart."""

    pid: int
    parent: int
    session: int
    started: int
    state: str


def facts(pid: int) -> ProcessFacts | None:
    """Return what /proc says of a process, or None when it is gone (or the system has no /proc)."""
    try:
        with open(f"{_PROC}/{pid}/stat", "rb") as file:
            text = file.read()
    except OSError:
        return None
    fields = text[text.rindex(b")") + 2 :].split()
    return ProcessFacts(pid, int(fields[1]), int(fields[3]), int(fields[19]), fields[0].decode())


def identity(pid: int) -> str | None:
    """Return a text that stays the same while this very process lives, or None when there is none."""
    if sys.platform == "linux":
        found = facts(pid)
        return None if found is None or found.state in "ZX" else f"{pid}:{found.started}"
    import psutil  # stdlib has no start times outside Linux

    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return f"{pid}:{int(process.create_time() * 100)}"
    except psutil.Error:
        return None


def everyone() -> Iterator[ProcessFacts]:
    for name in os.listdir(_PROC):
        if name.isdigit() and (found := facts(int(name))) is not None:
            yield found


def members(root: int, mark: str | None = None) -> set[int]:
    """Return the live processes that descend from ``root``, share its session, or carry the mark.

    Args:
        root: pid that leads a session of its own; it may be dead.
        mark: value of the ``JUPYTER_DRA_POD`` variable; None looks at parentage and session only.
    """
    return members_of_all({root: mark})


def members_of_all(roots: Mapping[int, str | None]) -> set[int]:
    """Return the members of several roots (pid → mark) by one look at the machine's processes."""
    wanted = set(roots)
    marks = {mark for mark in roots.values() if mark is not None}
    if sys.platform != "linux":
        return _members_portable(wanted, lambda value: value in marks)
    listing = [item for item in everyone() if item.state not in "ZX"]
    found = {item.pid for item in listing if item.pid in wanted or item.session in wanted}
    grown = True
    while grown:
        more = {item.pid for item in listing if item.parent in found or item.parent in wanted} - found
        found |= more
        grown = bool(more)
    if marks:
        texts = {f"{MARK}={mark}".encode() for mark in marks}
        others = (item.pid for item in listing if item.pid not in found)
        found |= {pid for pid in others if not texts.isdisjoint(_environment(pid))}
    return found - {os.getpid()}


def marked(prefix: str) -> set[int]:
    """Return the processes whose mark starts with ``prefix``: all pods of one agent."""
    if sys.platform != "linux":
        return _members_portable(set(), lambda value: value.startswith(prefix))
    needle = f"{MARK}={prefix}".encode()
    return {item.pid for item in everyone() if any(e.startswith(needle) for e in _environment(item.pid))} - {
        os.getpid()
    }


def _environment(pid: int) -> list[bytes]:
    try:
        with open(f"{_PROC}/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


def _members_portable(roots: set[int], marked: Callable[[str], bool]) -> set[int]:
    import psutil  # stdlib cannot list processes outside Linux

    found: set[int] = set()
    for process in psutil.process_iter():
        try:
            value = process.environ().get(MARK)
            by_mark = value is not None and marked(value)
            if by_mark or process.pid in roots or any(parent.pid in roots for parent in process.parents()):
                found.add(process.pid)
        except psutil.Error:
            continue
    return found - {os.getpid()}


def send(pid: int, number: int, expected: str | None = None) -> bool:
    """Signal one process, never group 0 or 1, never ourselves; False when it is gone.

    Args:
        expected: an ``identity`` text; a process that no longer matches it is left alone.
    """
    if pid <= 1 or pid == os.getpid():
        return False
    try:
        handle = os.pidfd_open(pid)
    except AttributeError:
        handle = -1
    except OSError:
        return False
    try:
        if expected is not None and identity(pid) != expected:
            return False
        if handle >= 0:
            signal.pidfd_send_signal(handle, number)
        else:
            os.kill(pid, number)
        return True
    except OSError:
        return False
    finally:
        if handle >= 0:
            os.close(handle)


def end(pids: Iterable[int], number: int = signal.SIGKILL) -> None:
    for pid in pids:
        send(pid, number)


def sweep(prefix: str, *, seconds: float = 2.0) -> int:
    """Kill every process with this mark until none is left; return how many there were."""
    deadline = time.monotonic() + seconds
    seen: set[int] = set()
    while left := marked(prefix):
        seen |= left
        end(left)
        if time.monotonic() > deadline:
            break
        time.sleep(0.02)
    return len(seen)


def resident_bytes(pids: Iterable[int]) -> int:
    """Return the sum of resident memory of these processes."""
    if sys.platform != "linux":
        import psutil  # stdlib cannot read memory outside Linux

        total = 0
        for pid in pids:
            try:
                total += psutil.Process(pid).memory_info().rss
            except psutil.Error:
                continue
        return total
    page = os.sysconf("SC_PAGE_SIZE")
    total = 0
    for pid in pids:
        try:
            with open(f"{_PROC}/{pid}/statm", "rb") as file:
                total += int(file.read().split()[1]) * page
        except (OSError, IndexError):
            continue
    return total


def listeners(pids: Iterable[int]) -> dict[int, set[str]]:
    """Return port → addresses on which these processes listen for TCP connections."""
    import psutil  # one more user of a library the agent needs anyway; never called by the guard

    found: dict[int, set[str]] = {}
    for pid in pids:
        try:
            for connection in psutil.Process(pid).net_connections(kind="tcp"):
                if connection.status == psutil.CONN_LISTEN and connection.laddr:
                    found.setdefault(connection.laddr.port, set()).add(connection.laddr.ip)
        except psutil.Error:
            continue
    return found
