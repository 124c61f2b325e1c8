"""What only time or great numbers bring about, with a clock of the test's own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from jupyter_dra.localcluster import cluster as cluster_module
from jupyter_dra.localcluster import watch as watch_module
from jupyter_dra.localcluster.clock import stamp
from jupyter_dra.localcluster.cluster import ADMIN, Cluster, Settings
from jupyter_dra.localcluster.resources import named
from jupyter_dra.localcluster.selectors import Selection
from jupyter_dra.localcluster.status import APIError
from jupyter_dra.localcluster.store import HISTORY, Store
from jupyter_dra.localcluster.watch import Watch
from jupyter_dra.localcluster.writes import WriteOptions

MAPS = named("configmaps")


@dataclass
class Hands:
    """A clock that moves when told to."""

    now: float = 1_800_000_000.0
    count: int = 0

    def seconds(self) -> float:
        return self.now

    def stamp(self) -> str:
        return stamp(self.now)

    def uid(self) -> str:
        self.count += 1
        return f"00000000-0000-4000-8000-{self.count:012d}"

    def suffix(self) -> str:
        return "abcde"


@contextmanager
def running(clock: Hands) -> Iterator[Cluster]:
    """A started cluster without HTTP; needs a loop."""
    settings = Settings(Path("unused"), b"CA", [("t", ADMIN)], b"key")
    made = Cluster(settings, Store(), clock)
    made.start()
    yield made
    made.drop_watches()


def put(cluster: Cluster, name: str) -> None:
    cluster.writer.create(MAPS, "default", {"metadata": {"name": name}}, WriteOptions(ADMIN))


def test_events_are_gone_after_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        clock = Hands()
        monkeypatch.setattr(cluster_module, "EVENT_SWEEP_SECONDS", 0.01)
        with running(clock) as cluster:
            event = {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": "e", "namespace": "default"},
                "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
            }
            cluster.create(event)
            watch = Watch(cluster.store.collections[named("events")], Selection())
            watch.start(None)
            assert [seen.type for seen in watch.take()] == ["ADDED"]
            clock.now += 3601
            await watch.wait(5)
            assert [seen.type for seen in watch.take()] == ["DELETED"]

    asyncio.run(run())


def test_a_watch_from_before_the_kept_history_is_outdated() -> None:
    async def run() -> None:
        with running(Hands()) as cluster:
            before = cluster.store.revision
            for number in range(HISTORY + 1):
                put(cluster, f"m{number}")
            collection = cluster.store.collections[MAPS]
            with pytest.raises(APIError) as caught:
                Watch(collection, Selection()).start(before)
            assert (caught.value.http_status, caught.value.reason) == (410, "Expired")
            late = Watch(collection, Selection())
            late.start(cluster.store.revision - 1)
            assert [seen.stored.key.name for seen in late.take()] == [f"m{HISTORY}"]

    asyncio.run(run())


def test_a_client_that_lags_too_far_behind_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        monkeypatch.setattr(watch_module, "QUEUE_LIMIT", 10)
        with running(Hands()) as cluster:
            watch = Watch(cluster.store.collections[MAPS], Selection("default"))
            watch.start(None)
            for number in range(20):
                put(cluster, f"m{number}")
            assert watch.dropped

    asyncio.run(run())


def test_each_version_of_an_object_is_encoded_once_for_all_who_see_it() -> None:
    async def run() -> None:
        with running(Hands()) as cluster:
            watches = [Watch(cluster.store.collections[MAPS], Selection("default")) for _ in range(2)]
            for watch in watches:
                watch.start(cluster.store.revision)
            put(cluster, "m")
            first, second = (watch.take()[0].stored for watch in watches)
            assert first.whole is second.whole

    asyncio.run(run())
