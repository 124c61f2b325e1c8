"""The client and the cache against a real API server that misbehaves on demand."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_dra.errors import ClusterError
from jupyter_dra.localcluster.client import ApiError, Client, Object
from jupyter_dra.localcluster.informer import Informer, started
from jupyter_dra.localcluster.kinds import CONFIG_MAPS, NODES, PODS, SECRETS
from jupyter_dra.localcluster.recorder import Recorder
from tests.localcluster_fixture import LocalCluster, start_local_cluster

FAULTS = "/jupyter-dra/faults"


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    running = start_local_cluster(None, ["l4"])
    yield running
    running.stop()


def run(cluster: LocalCluster, story: Callable[[Client], Awaitable[Any]]) -> Any:
    async def play() -> Any:
        async with Client.from_kubeconfig(cluster.kubeconfig) as client, asyncio.timeout(20):
            return await story(client)

    return asyncio.run(play())


def config_map(name: str, **data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


async def until(what: Callable[[], bool]) -> None:
    while not what():
        await asyncio.sleep(0.005)


def test_changes_arrive_in_order_and_a_lost_watch_loses_nothing(cluster: LocalCluster) -> None:
    async def story(client: Client) -> list[tuple[str, str]]:
        seen: list[tuple[str, str]] = []
        informer = Informer(client, CONFIG_MAPS, namespace="default")
        informer.on_change(lambda kind, item, _: seen.append((kind, item["metadata"]["name"])))
        await started(informer)
        seen.clear()
        await client.create(CONFIG_MAPS, config_map("first"), "default")
        await until(lambda: informer.get("first", "default") is not None)
        await client.request("POST", FAULTS, body={"drop_watches": True})
        await client.create(CONFIG_MAPS, config_map("second"), "default")
        await client.patch(CONFIG_MAPS, "first", {"data": {"k": "v"}}, namespace="default")
        await client.delete(CONFIG_MAPS, "second", "default")
        await client.create(CONFIG_MAPS, config_map("third"), "default")
        await until(lambda: informer.get("third", "default") is not None)
        await informer.stop()
        return seen

    seen = run(cluster, story)
    assert seen[0] == ("ADDED", "first")
    assert ("MODIFIED", "first") in seen
    assert seen[-1] == ("ADDED", "third")


def test_an_expired_version_leads_to_a_new_list_with_the_difference(cluster: LocalCluster) -> None:
    async def story(client: Client) -> tuple[list[str], dict[Any, Any]]:
        seen: list[str] = []
        for name in ("keeps", "goes"):
            await client.create(CONFIG_MAPS, config_map(name), "default")
        informer = Informer(client, CONFIG_MAPS, namespace="default")
        await started(informer)
        informer.on_change(lambda kind, item, _: seen.append(f"{kind} {item['metadata']['name']}"))
        seen.clear()
        await client.request("POST", FAULTS, body={"event_delay": 0.2})
        await client.delete(CONFIG_MAPS, "goes", "default")
        await client.request("POST", FAULTS, body={"expire_history": True, "drop_watches": True})
        await client.request("DELETE", FAULTS)
        await until(lambda: informer.get("goes", "default") is None)
        await client.create(CONFIG_MAPS, config_map("comes"), "default")
        await until(lambda: informer.get("comes", "default") is not None)
        await informer.stop()
        return seen, informer.items

    seen, items = run(cluster, story)
    assert seen == ["DELETED goes", "ADDED comes"]
    assert ("default", "keeps") in items


def test_our_own_write_is_known_before_the_watch_tells(cluster: LocalCluster) -> None:
    async def story(client: Client) -> None:
        await client.create(CONFIG_MAPS, config_map("learned"), "default")
        informer = Informer(client, CONFIG_MAPS, namespace="default")
        await started(informer)
        await client.request("POST", FAULTS, body={"event_delay": 1.0})
        answer = await client.patch(CONFIG_MAPS, "learned", {"data": {"k": "v"}}, namespace="default")
        informer.learn(answer)
        known = informer.get("learned", "default")
        assert known is not None
        assert known["data"] == {"k": "v"}
        informer.learn({**answer, "metadata": {**answer["metadata"], "resourceVersion": "1"}, "data": {}})
        assert informer.get("learned", "default") == answer
        await client.request("DELETE", FAULTS)
        await informer.stop()

    run(cluster, story)


def test_refusals_keep_the_servers_words(cluster: LocalCluster) -> None:
    async def story(client: Client) -> None:
        assert await client.find(SECRETS, "nothing", "default") is None
        with pytest.raises(ApiError) as caught:
            await client.create(CONFIG_MAPS, {**config_map("x"), "nonsense": 1}, "default")
        assert caught.value.status == 400
        assert 'unknown field "nonsense"' in caught.value.message
        assert await client.delete(SECRETS, "nothing", "default") is None
        pods = await client.list(PODS)
        assert pods["kind"] == "PodList"
        nodes = await client.list(NODES)
        assert {item["kind"] for item in nodes["items"]} == {"Node"}

    run(cluster, story)


def test_an_absent_server_is_said_to_be_absent() -> None:
    async def story() -> None:
        async with Client("http://127.0.0.1:9") as client:
            with pytest.raises(ClusterError, match="does not answer"):
                await client.list(PODS)

    asyncio.run(story())


def test_equal_events_are_counted_and_not_repeated(cluster: LocalCluster) -> None:
    async def story(client: Client) -> None:
        about = await client.create(CONFIG_MAPS, config_map("told"), "default")
        about["kind"] = "ConfigMap"
        recorder = Recorder(client, "test")
        for _ in range(3):
            recorder.record(about, "Normal", "Told", "the same thing")
        await recorder.flush()
        await recorder.stop()

    run(cluster, story)
    events = [e for e in cluster.list("events") if e["involvedObject"]["name"] == "told"]
    assert [event["count"] for event in events] == [3]


def test_a_kubeconfig_without_the_context_is_refused(cluster: LocalCluster, tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="no context named 'other'"):
        Client.from_kubeconfig(cluster.kubeconfig, "other")
