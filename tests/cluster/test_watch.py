"""The watch cache: current, resumed, listed anew only when it must be."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from jupyter_dra.cluster import KubeClient, WatchCache
from jupyter_dra.errors import ClusterError
from tests.cluster.test_client import config_map

FAULTS = "/jupyter-dra/faults"


def test_changes_arrive_in_order_and_can_be_waited_for(run: Any) -> None:
    async def test(client: KubeClient) -> None:
        cache = await WatchCache(client, "ConfigMap", "default").ready()
        async with cache.changes() as changes:
            await client.create(config_map("w-order"))
            await cache.wait_object("w-order", lambda obj: obj, 5)
            await client.patch("ConfigMap", "w-order", {"data": {"a": "2"}})
            await client.delete("ConfigMap", "w-order")
            seen = []
            async for type, obj in changes:
                if obj["metadata"]["name"] == "w-order":
                    seen.append((type, obj["data"]["a"]))
                if type == "DELETED":
                    break
        assert seen == [("ADDED", "1"), ("MODIFIED", "2"), ("DELETED", "2")]
        assert cache.get("w-order") is None
        with pytest.raises(TimeoutError):
            await cache.wait_for(lambda c: c.get("never"), 0.05)
        await cache.close()

    run(test)


@pytest.mark.threat("T37")
def test_a_cut_watch_goes_on_without_a_new_list(run: Any) -> None:
    async def test(client: KubeClient) -> None:
        cache = await WatchCache(client, "ConfigMap", "default").ready()
        for round in range(3):
            await client.request("POST", FAULTS, body={"drop_watches": True})
            await client.create(config_map(f"w-cut-{round}"))
            await cache.wait_object(f"w-cut-{round}", lambda obj: obj, 10)
            await client.delete("ConfigMap", f"w-cut-{round}")
        assert cache.lists == 1
        await cache.close()

    run(test)


def test_a_watch_that_had_the_right_is_not_put_off_by_a_server_that_just_started(run: Any) -> None:
    """Until it has read its roles, an API server refuses everybody."""

    async def test(client: KubeClient) -> None:
        cache = await WatchCache(client, "ConfigMap", "default").ready()
        await client.request("POST", FAULTS, body={"fail": {"status": 403, "count": 3, "verb": "watch"}})
        await client.request("POST", FAULTS, body={"drop_watches": True})
        await client.create(config_map("w-roles"))
        await cache.wait_object("w-roles", lambda obj: obj, 10)
        await client.delete("ConfigMap", "w-roles")
        await cache.close()

    run(test)


@pytest.mark.threat("T37")
def test_an_outdated_watch_lists_once_and_tells_the_difference(run: Any) -> None:
    async def test(client: KubeClient) -> None:
        await client.create(config_map("w-old"))
        cache = await WatchCache(client, "ConfigMap", "default").ready()
        heard: list[tuple[str, str]] = []
        cache.subscribe(lambda type, obj: heard.append((type, obj["metadata"]["name"])))
        await client.request("POST", FAULTS, body={"fail": {"status": 503, "count": 3, "verb": "watch"}})
        await client.request("POST", FAULTS, body={"drop_watches": True})
        await client.delete("ConfigMap", "w-old")
        await client.create(config_map("w-new"))
        await client.request("POST", FAULTS, body={"expire_history": True, "drop_watches": True})
        await cache.wait_object("w-new", lambda obj: obj, 20)
        await cache.wait_object("w-old", lambda obj: obj is None, 5)
        assert ("DELETED", "w-old") in heard
        assert ("ADDED", "w-new") in heard
        assert cache.lists <= 2
        await client.delete("ConfigMap", "w-new")
        await cache.close()

    run(test)


def test_a_kind_that_may_not_be_listed_says_so(run: Any) -> None:
    async def test(client: KubeClient) -> None:
        wish = {"fail": {"status": 403, "count": 3, "verb": "list", "resource": "limitranges"}}
        await client.request("POST", FAULTS, body=wish)
        cache = WatchCache(client, "LimitRange", "default")
        with pytest.raises(ClusterError) as caught:
            await cache.ready(5)
        assert caught.value.code == "forbidden"
        await cache.close()

    run(test)


def test_objects_can_be_left_out_and_made_smaller(run: Any) -> None:
    async def test(client: KubeClient) -> None:
        cache = WatchCache(
            client,
            "ConfigMap",
            "default",
            keep=lambda obj: obj["metadata"]["name"].startswith("w-keep"),
            slim=lambda obj: {"kind": obj["kind"], "metadata": obj["metadata"]},
        )
        await cache.ready()
        await client.create(config_map("w-drop"))
        await client.create(config_map("w-keep"))
        await cache.wait_object("w-keep", lambda obj: obj, 5)
        assert [obj["metadata"]["name"] for obj in cache] == ["w-keep"]
        assert "data" not in next(iter(cache))
        for name in ("w-drop", "w-keep"):
            await client.delete("ConfigMap", name)
        await cache.close()

    run(test)


def test_a_waiter_that_is_cancelled_leaves_nothing_behind(run: Any) -> None:
    async def test(client: KubeClient) -> None:
        cache = await WatchCache(client, "ConfigMap", "default").ready()
        task = asyncio.create_task(cache.wait_object("w-nobody", lambda obj: obj))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert cache._waiters == {}
        await cache.close()

    run(test)


@pytest.mark.threat("T37")
def test_a_flood_about_one_object_is_remembered_by_its_newest_only(run: Any) -> None:
    async def test(client: KubeClient) -> None:
        cache = WatchCache(
            client,
            "ConfigMap",
            "default",
            group=lambda obj: obj["metadata"]["name"].partition(".")[0],
            most=5,
        )
        await cache.ready()
        await client.create(config_map("w-quiet.0"))
        for number in range(20):
            await client.create(config_map(f"w-flood.{number}"))
        await cache.wait_object("w-flood.19", lambda obj: obj, 10)
        names = [obj["metadata"]["name"] for obj in cache.of_group("w-flood")]
        assert names == [f"w-flood.{number}" for number in range(15, 20)]
        await client.patch("ConfigMap", "w-flood.16", {"data": {"a": "2"}})
        await cache.wait_object("w-flood.16", lambda obj: obj and obj["data"]["a"] == "2", 10)
        assert cache.of_group("w-flood")[-1]["metadata"]["name"] == "w-flood.16"
        await client.request("POST", FAULTS, body={"expire_history": True, "drop_watches": True})
        await cache.wait_for(lambda now: now.lists == 2, 20)
        assert len(cache.of_group("w-flood")) == 5
        for number in range(20):
            await client.delete("ConfigMap", f"w-flood.{number}")
        await cache.wait_for(lambda now: not now.of_group("w-flood"), 10)
        assert [obj["metadata"]["name"] for obj in cache if obj["metadata"]["name"].startswith("w-")] == [
            "w-quiet.0"
        ]
        await client.delete("ConfigMap", "w-quiet.0")
        await cache.close()

    run(test)


def test_an_object_that_cannot_be_taken_in_is_told_and_the_watch_goes_on_without_it(
    run: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def slim(obj: dict[str, Any]) -> dict[str, Any]:
        if obj["metadata"]["name"] == "w-odd":
            raise KeyError("spec")
        return obj

    async def test(client: KubeClient) -> None:
        cache = await WatchCache(client, "ConfigMap", "default", slim=slim).ready()
        await client.create(config_map("w-odd"))
        await cache.wait_for(lambda c: c.error, 10)
        assert not cache.fresh and cache.error is not None
        assert cache.error.message == "A fault of jupyter-dra in the ConfigMap watch: KeyError"
        await client.delete("ConfigMap", "w-odd")
        await client.create(config_map("w-plain"))
        await cache.wait_object("w-plain", lambda obj: obj, 10)
        assert cache.fresh and cache.error is None
        await client.delete("ConfigMap", "w-plain")
        await cache.close()

    run(test)
    assert "cannot take in" in caplog.text


def test_a_server_that_ends_every_watch_at_once_is_not_asked_without_pause(run: Any) -> None:
    async def test(client: KubeClient) -> None:
        brief = _EmptyWatches(client.choice, client.transport)
        cache = await WatchCache(brief, "ConfigMap", "default").ready()
        async with asyncio.timeout(10):
            await brief.fourth.wait()
        first, second, third, fourth = brief.began
        assert second - first > 0.04 and third - second > 0.09 and fourth - third > 0.19
        assert cache.lists == 1
        await cache.close()

    run(test)


class _EmptyWatches(KubeClient):
    """A client behind a proxy that ends each answer that does not end by itself."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.began: list[float] = []
        self.fourth = asyncio.Event()

    async def watch(self, *_: Any, **__: Any) -> AsyncIterator[dict[str, Any]]:
        nothing: list[dict[str, Any]] = []
        self.began.append(time.monotonic())
        if len(self.began) == 4:
            self.fourth.set()
        for event in nothing:
            yield event
