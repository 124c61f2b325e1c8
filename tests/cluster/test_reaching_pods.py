"""Dialing pods: by address, by port-forward, and never the wrong one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from jupyter_dra.cluster import KubeClient, PodTarget, Reach, WatchCache, portforward
from jupyter_dra.cluster.direct import address_problem
from jupyter_dra.errors import ClusterError, DRAError

ECHO = """
import os, socketserver
class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while data := self.request.recv(65536):
            self.request.sendall(data)
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
Server((os.environ["POD_IP"], 7007), Echo).serve_forever()
"""


def pod(name: str) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "python",
        "command": ["python", "-c", ECHO],
        "ports": [{"containerPort": 7007}],
        "env": [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
    }
    spec = {"containers": [container], "restartPolicy": "Never", "terminationGracePeriodSeconds": 0}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


async def running(client: KubeClient, name: str) -> tuple[WatchCache, dict[str, Any]]:
    cache = await WatchCache(client, "Pod", "default").ready()
    await client.create(pod(name))

    def ready(obj: Any) -> Any:
        return obj if obj and (obj.get("status") or {}).get("phase") == "Running" else None

    return cache, await cache.wait_object(name, ready, 30)


async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, size: int) -> None:
    data = bytes(range(256)) * (size // 256)

    async def send() -> None:
        for start in range(0, len(data), 100_000):
            writer.write(data[start : start + 100_000])
            await writer.drain()

    sender = asyncio.create_task(send())
    assert await reader.readexactly(len(data)) == data
    await sender
    writer.close()


@pytest.mark.parametrize("mode", ["direct", "port-forward"])
def test_bytes_go_both_ways_whole_and_in_order(run: Any, mode: str) -> None:
    async def test(client: KubeClient) -> None:
        cache, obj = await running(client, f"echo-{mode}")
        target = PodTarget(
            client, "default", obj["metadata"]["name"], obj["metadata"]["uid"], 7007, lambda: obj, mode
        )
        async with asyncio.timeout(20):
            while True:
                try:
                    reader, writer = await target.open()
                    writer.write(b"?")
                    if await reader.readexactly(1) == b"?":
                        break
                except (ClusterError, OSError, asyncio.IncompleteReadError):
                    await asyncio.sleep(0.05)
            writer.close()
            await talk(*await target.open(), size=4_000_000)
            pairs = await asyncio.gather(*(target.open() for _ in range(4)))
            await asyncio.gather(*(talk(*pair, size=64_000) for pair in pairs))
        await client.delete("Pod", obj["metadata"]["name"], grace_seconds=0)
        await cache.close()

    run(test)


def test_a_port_nobody_listens_on_closes_the_stream(run: Any) -> None:
    async def test(client: KubeClient) -> None:
        cache, _ = await running(client, "echo-closed")

        async def ask() -> None:
            reader, writer = await portforward.open(client, "default", "echo-closed", 7999)
            writer.write(b"?")
            await asyncio.wait_for(reader.readexactly(1), 10)

        with pytest.raises((ClusterError, ConnectionError, asyncio.IncompleteReadError)):
            await ask()
        with pytest.raises(DRAError):
            await portforward.open(client, "default", "no-such-pod", 7007)
        await client.delete("Pod", "echo-closed", grace_seconds=0)
        await cache.close()

    run(test)


@pytest.mark.threat("T10")
def test_a_pod_recreated_under_the_same_name_is_never_reached(run: Any) -> None:
    async def test(client: KubeClient) -> None:
        cache, obj = await running(client, "echo-twin")
        known = [obj]
        target = Reach(client, "port-forward").target(obj, 7007, lambda: known[0], "port-forward")
        known[0] = {**obj, "metadata": {**obj["metadata"], "uid": "another"}}
        before = client.transport.requests
        with pytest.raises(ClusterError) as caught:
            await target.open()
        assert caught.value.code == "pod-replaced"
        assert client.transport.requests == before
        await client.delete("Pod", "echo-twin", grace_seconds=0)
        await cache.close()

    run(test)


@pytest.mark.threat("T15")
@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "127.0.0.1",
        "127.64.0.9",
        "224.0.0.1",
        "0.0.0.0",
        "::1",
        "fe80::1",
        "255.255.255.255",
        "x",
        "",
    ],
)
def test_addresses_no_pod_can_have_are_refused(address: str) -> None:
    assert address_problem({"spec": {}, "status": {"podIP": address}}, local=False)


@pytest.mark.threat("T15")
def test_host_network_is_refused_and_pod_addresses_are_not() -> None:
    assert address_problem({"spec": {"hostNetwork": True}, "status": {"podIP": "10.0.0.7"}}, local=False)
    for address in ("10.0.0.7", "192.168.3.4", "100.64.0.1", "fd00::12", "34.9.8.7"):
        assert address_problem({"spec": {}, "status": {"podIP": address}}, local=False) is None
    assert address_problem({"spec": {}, "status": {"podIP": "127.64.0.9"}}, local=True) is None
    assert address_problem({"spec": {}, "status": {"podIP": "127.3.0.9"}}, local=True)
