"""Twenty-four hours of leases and idling, an hour every 1.1 seconds, on the local cluster with real kernels."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from jupyter_dra.errors import ConflictError
from jupyter_dra.sessions import SessionPolicy, Sessions, Where, life
from jupyter_dra.sessions.identity import load_identity
from tests.localcluster_fixture import LocalCluster, start_local_cluster
from tests.server_fixture import eventually
from tests.stories.scaled import Clock, FastPods

HOUR = 3600.0
SPEED = HOUR / 1.1
DAY = 24 * HOUR
WISH = {"tier": "gpu.nvidia.com", "host_memory": "1Gi", "cpu": "1"}
LATE = 5 * HOUR
"""How much later than due an end may be seen: a kernel is busy while it
starts, podside looks once a second, and the machine is shared."""


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    running = start_local_cluster(None, ["dgx-h100"])
    yield running
    running.stop()


class Day:
    """A service on the fast clock, and what happened to its sessions at which hour."""

    def __init__(self, cluster: LocalCluster, folder: Path) -> None:
        self.cluster, self.folder = cluster, folder
        self.clock = Clock(SPEED)
        self.service = self.make()
        self._work: list[threading.Thread] = []

    def make(self) -> Sessions:
        policy = SessionPolicy(
            lease=int(6 * HOUR),
            longest_lease=int(18 * HOUR),
            idle=int(3 * HOUR),
            launch=int(DAY),
            wait=int(DAY),
            history_seconds=int(3 * DAY),
        )
        return Sessions(
            Where(kubeconfig=str(self.cluster.kubeconfig)),
            identity=load_identity(self.folder, user="ada"),
            policy=policy,
            runtime=FastPods(self.clock),
            clock=self.clock,
        )

    def launch(self, **wish: Any) -> str:
        session_id: str = self.service.loop.call(self.service.launch({**WISH, **wish})).id
        self.service.loop.call(self.service.ready(session_id), 60)
        return session_id

    def cell(self, session_id: str, code: str) -> None:
        """Run a cell beside the day, and return once it runs; the session may end under it."""

        def work() -> None:
            channel = self.service.channel(session_id)
            try:
                channel.execute(code, told=lambda message: None)
            finally:
                channel.close()

        self._work.append(threading.Thread(target=_quietly, args=(work,), daemon=True))
        self._work[-1].start()
        eventually(lambda: self.service.loop.call(self.service.get(session_id)).activity == "busy", 30)

    def extend(self, session_id: str, seconds: float) -> None:
        self.service.loop.call(self.service.extend(session_id, extend_seconds=seconds))

    def begun(self, session_id: str) -> float:
        """Simulated epoch at which the session got its device: from then on the lease counts."""
        at = self.service._registry.live[session_id].steps["allocated"].ended_at
        assert at is not None
        return at

    def lived(self, session_id: str) -> tuple[str, float]:
        """How a session ended, and after how many hours."""
        record = eventually(lambda: self._ended(session_id), 60)
        return record.ended.code, (record.ended.at - self.begun(session_id)) / HOUR

    def _ended(self, session_id: str) -> Any:
        record = self.service.loop.call(self.service.get(session_id))
        return record if record.state == "ended" else None

    def until(self, hour: float) -> None:
        eventually(lambda: self.clock.since() >= hour * HOUR, 60)

    def close(self) -> None:
        self.service.close(keep=False)
        for thread in self._work:
            thread.join(20)


def _quietly(work: Callable[[], None]) -> None:
    from jupyter_dra.errors import DRAError

    try:
        work()
    except DRAError:
        return  # the session ended under the cell, as it was meant to


@pytest.fixture
def day(cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Day]:
    # The server's own patience with podside is real time, too.
    monkeypatch.setattr(life, "LEASE_PATIENCE", 4 * HOUR)
    made = Day(cluster, tmp_path)
    yield made
    made.close()


SLEEP = "import time; time.sleep({})"


def test_a_day_of_leases_and_idling_gives_every_device_back_for_its_own_reason(day: Day) -> None:
    forgotten = day.launch(lease="16h")
    training = day.launch(lease="16h")
    day.cell(training, SLEEP.format(day.clock.real(8 * HOUR)))
    short = day.launch(lease="5h", idle_timeout="17h")
    extended = day.launch(lease="5h", idle_timeout="17h")
    longest = day.launch(idle_timeout="17h")

    day.until(4)
    day.extend(extended, 5 * HOUR)
    day.extend(longest, 6 * HOUR)
    day.extend(longest, 5.5 * HOUR)
    with pytest.raises(ConflictError) as beyond:
        day.extend(longest, 2 * HOUR)
    assert beyond.value.code == "longest-lease"

    due = {
        forgotten: ("idle", 3),
        short: ("lease-over", 5),
        extended: ("lease-over", 10),
        training: ("idle", 11),
        longest: ("lease-over", 17.5),
    }
    for session_id, (code, hours) in due.items():
        ended, lived = day.lived(session_id)
        assert ended == code, (code, ended, lived)
        assert hours - 0.01 <= lived <= hours + LATE / HOUR, (code, hours, lived)

    day.until(24)
    held = [day.cluster.list(kind) for kind in ("pods", "resourceclaims", "secrets")]
    assert held == [[], [], []]
    assert day.service.loop.call(day.service.list()) == []
    told = day.service.loop.call(day.service.list(ended=True))
    assert {record.id for record in told} == set(due)


@pytest.mark.threat("T34")
def test_a_server_that_is_gone_all_day_leaves_no_device_held(day: Day) -> None:
    idle = day.launch(lease="16h")
    lasting = day.launch(lease="6h", idle_timeout="17h")
    day.service.close(keep=True)
    for session_id, hours in ((idle, 3), (lasting, 6)):
        eventually(partial(_over, day.cluster, f"{session_id}-0"), 30)
        assert hours - 0.5 <= day.clock.since() / HOUR <= hours + LATE / HOUR
    day.service = day.make()
    day.service.loop.call(day.service.reconcile(), 30)

    def codes() -> dict[str, str | None]:
        told = day.service.loop.call(day.service.list(ended=True))
        return {record.id: record.ended.code if record.ended else None for record in told}

    eventually(lambda: codes() == {idle: "idle", lasting: "lease-over"}, 20)
    eventually(lambda: not day.cluster.list("resourceclaims"), 20)


def _over(cluster: LocalCluster, pod: str) -> bool:
    found = cluster.get("pods", pod)
    return found is None or found["status"]["phase"] in ("Succeeded", "Failed")
