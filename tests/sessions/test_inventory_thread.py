"""Plans are made beside the loop that carries kernel messages."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from typing import Any

import pytest

from jupyter_dra.errors import ClusterError
from jupyter_dra.sessions.device_facts import DeviceBook
from jupyter_dra.sessions.inventory_thread import InventoryThread

from .conftest import Place

CLASS = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu"},
    "spec": {"selectors": [{"cel": {"expression": 'device.driver == "gpu.nvidia.com"'}}]},
}


def gpus(node: str, count: int, *, generation: int = 1, memory: str = "80Gi") -> dict[str, Any]:
    devices = [
        {
            "name": f"gpu-{index}",
            "attributes": {"type": {"string": "gpu"}, "productName": {"string": "NVIDIA H100 80GB HBM3"}},
            "capacity": {"memory": {"value": memory}},
        }
        for index in range(count)
    ]
    pool = {"name": node, "generation": generation, "resourceSliceCount": 1}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-{generation}", "resourceVersion": "1"},
        "spec": {"driver": "gpu.nvidia.com", "nodeName": node, "pool": pool, "devices": devices},
    }


VISIBLE = {"slices": True, "classes": True, "claims": "all", "nodes": True, "quota": True}


def free(inventory: Any) -> int:
    return int(inventory.plan({"tier": "gpu"}).as_dict()["counts"]["free"])


def test_a_question_sees_every_change_applied_before_it_and_none_after() -> None:
    async def main() -> list[int]:
        thread = InventoryThread()
        await thread.load([CLASS, gpus("a", 1)], VISIBLE)
        first = asyncio.ensure_future(thread.ask(free))
        await asyncio.sleep(0)
        thread.apply("ADDED", gpus("b", 2))
        second = asyncio.ensure_future(thread.ask(free))
        await asyncio.sleep(0)
        thread.apply("DELETED", gpus("a", 1))
        answers = [await first, await second, await thread.ask(free)]
        thread.close()
        return answers

    assert asyncio.run(main()) == [1, 3, 2]


@pytest.mark.threat("T36")
@pytest.mark.threat("T35")
def test_the_loop_goes_on_while_a_question_is_answered() -> None:
    async def main() -> None:
        thread = InventoryThread()
        await thread.load([CLASS], VISIBLE)
        go_on, names = threading.Event(), []

        def question(inventory: Any) -> str:
            names.append(threading.current_thread().name)
            return "answered" if go_on.wait(10) else "nobody went on"

        asked = asyncio.ensure_future(thread.ask(question))
        while not names:
            await asyncio.sleep(0)
        go_on.set()
        assert await asked == "answered"
        assert names != [threading.current_thread().name]
        thread.close()

    asyncio.run(main())


def test_a_question_that_is_cancelled_before_its_turn_is_not_answered() -> None:
    async def main() -> list[str]:
        thread = InventoryThread()
        await thread.load([CLASS], VISIBLE)
        go_on, answered = threading.Event(), []
        begun = asyncio.ensure_future(thread.ask(lambda inventory: go_on.wait(10)))
        typed = asyncio.ensure_future(thread.ask(lambda inventory: answered.append("first draft")))
        await asyncio.sleep(0)
        typed.cancel()
        await asyncio.sleep(0)
        go_on.set()
        await begun
        await thread.ask(lambda inventory: answered.append("second draft"))
        thread.close()
        return answered

    assert asyncio.run(main()) == ["second draft"]


def test_what_a_question_raises_is_told_to_who_asked_and_the_next_is_answered() -> None:
    async def main() -> None:
        thread = InventoryThread()
        await thread.load([CLASS, gpus("a", 1)], VISIBLE)
        with pytest.raises(ZeroDivisionError):
            await thread.ask(lambda inventory: 1 // 0)
        thread.apply("ADDED", {"kind": "ResourceSlice", "metadata": {"name": "odd"}, "spec": 3})
        assert await thread.ask(free) == 1
        thread.close()
        with pytest.raises(ClusterError):
            await thread.ask(free)

    asyncio.run(main())


def test_threads_take_turns_sooner_while_a_question_is_answered_and_as_before_afterwards() -> None:
    async def main() -> list[float]:
        one, other = InventoryThread(), InventoryThread()
        for thread in (one, other):
            await thread.load([CLASS], VISIBLE)
        both = threading.Barrier(2)

        def question(inventory: Any) -> float:
            both.wait(10)
            seen = sys.getswitchinterval()
            both.wait(10)
            return seen

        answers = await asyncio.gather(one.ask(question), other.ask(question))
        one.close()
        other.close()
        return list(answers)

    usual = sys.getswitchinterval()
    assert all(during < usual for during in asyncio.run(main()))
    deadline = time.monotonic() + 10
    while sys.getswitchinterval() != usual:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_thread_ends_when_the_cluster_is_left() -> None:
    async def main() -> None:
        thread = InventoryThread("inventory-under-test")
        await thread.load([CLASS], VISIBLE)
        thread.close()
        thread.close()

    asyncio.run(main())
    deadline = time.monotonic() + 10
    while any(one.name == "inventory-under-test" for one in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_device_is_described_by_the_newest_slice_of_its_pool() -> None:
    book = DeviceBook()
    old, new = gpus("a", 1, generation=1, memory="40Gi"), gpus("a", 1, generation=2)
    label, facts = book.describe([new, old], "gpu.nvidia.com", "a", "gpu-0")
    assert label == "H100 80 GB"
    assert facts["memory_bytes"] == 80 << 30
    assert facts["capacity"] == {"gpu.nvidia.com/memory": {"value": "80Gi"}}
    assert facts["simulated"] is False
    assert book.describe([], "gpu.nvidia.com", "a", "gpu-9") == (None, {})


def test_the_feed_describes_devices_as_the_planner_lists_them(place: Place) -> None:
    service = place.service()

    async def look() -> None:
        feed = await service.inventory()
        rows = await feed.ask(lambda inventory: inventory.devices())
        assert rows
        for row in rows:
            label, facts = feed.describe(row["driver"], row["pool"], row["name"])
            assert label == row["label"]
            told = set(facts) - {"simulated", "slots"}
            assert {name: facts[name] for name in told} == {name: row[name] for name in told}

    service.loop.call(look())
