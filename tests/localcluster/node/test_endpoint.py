"""Logs and port-forwards through the API server, and the kubelet port behind it."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import ssl
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp
import pytest

from tests.localcluster_fixture import LocalCluster, pod_manifest

ECHO = """
import os, socket
server = socket.create_server((os.environ["POD_IP"], 0))
print(server.getsockname()[1], flush=True)
while True:
    link, _ = server.accept()
    while data := link.recv(65536):
        link.sendall(data.upper())
"""


def tls(cluster: LocalCluster) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(cluster.dir / "pki" / "ca.crt"))


def token(cluster: LocalCluster) -> dict[str, str]:
    config = json.loads(cluster.kubeconfig.read_text())
    return {"Authorization": f"Bearer {config['users'][0]['user']['token']}"}


async def forward(cluster: LocalCluster, pod: str, port: int, payload: bytes) -> tuple[bytes, bytes]:
    """Send a payload through a port-forward; return what came back on the data and the error channel."""
    url = f"{cluster.server}/api/v1/namespaces/default/pods/{pod}/portforward?ports={port}"
    got = {0: b"", 1: b""}
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(
            url, ssl=tls(cluster), headers=token(cluster), protocols=["v4.channel.k8s.io"], max_msg_size=0
        ) as link,
    ):
        plain = link.get_extra_info("socket")
        await link.send_bytes(b"\x00" + payload)
        async for message in link:
            if message.type is not aiohttp.WSMsgType.BINARY:
                break
            got[message.data[0]] += message.data[1:]
            if len(got[0]) >= len(payload) + 2 or len(got[1]) > 2:
                break
    async with asyncio.timeout(10):  # the TLS farewell ends after the session
        while plain.fileno() >= 0:
            await asyncio.sleep(0.001)
    assert got[0][:2] in (struct.pack("<H", port), b"")
    return got[0][2:], got[1][2:]


@pytest.fixture(scope="module")
def echo_port(shared_cluster: LocalCluster) -> int:
    """Start a pod that declares the port it listens on. The port is chosen first, so that it can be declared."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = int(probe.getsockname()[1])
    program = ECHO.replace('"], 0)', f'"], {port})')
    container = {
        "ports": [{"containerPort": port}, {"containerPort": 9}],
        "env": [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
    }
    shared_cluster.apply(pod_manifest("echo", "python", "-c", program, container=container))
    logs = "/api/v1/namespaces/default/pods/echo/log"
    shared_cluster.wait(lambda: shared_cluster.request("GET", logs).get("text", "").strip() == str(port))
    return port


def test_a_port_forward_carries_bytes_both_ways(shared_cluster: LocalCluster, echo_port: int) -> None:
    payload = b"abc" * 100_000
    data, error = asyncio.run(forward(shared_cluster, "echo", echo_port, payload))
    assert data == payload.upper()
    assert error == b""


@pytest.mark.threat("T43")
def test_a_service_of_this_machine_is_not_reachable_through_a_pod(
    shared_cluster: LocalCluster, echo_port: int
) -> None:
    with listener() as port:
        data, error = asyncio.run(forward(shared_cluster, "echo", port, b"hello"))
    assert data == b""
    assert b"the pod declares no such port" in error


@pytest.mark.threat("T43")
def test_a_declared_port_that_nothing_in_the_pod_uses_is_refused(
    shared_cluster: LocalCluster, echo_port: int
) -> None:
    data, error = asyncio.run(forward(shared_cluster, "echo", 9, b"hello"))
    assert data == b""
    assert b"nothing in the pod listens there" in error


@pytest.mark.threat("T39")
def test_the_kubelet_port_wants_the_api_servers_certificate(
    shared_cluster: LocalCluster, echo_port: int
) -> None:
    node = shared_cluster.list("nodes")[0]
    port = node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"]
    context = tls(shared_cluster)
    context.check_hostname = False

    def status() -> int:
        connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=10)
        try:
            connection.request("GET", "/containerLogs/default/echo/main")
            return connection.getresponse().status
        finally:
            connection.close()

    assert status() == 401
    pki = shared_cluster.dir / "pki"
    context.load_cert_chain(pki / "apiserver-kubelet-client.crt", pki / "apiserver-kubelet-client.key")
    assert status() == 200


def test_the_log_of_a_container_that_waits_says_why(shared_cluster: LocalCluster) -> None:
    volume = {"name": "never", "secret": {"secretName": "never-made"}}
    shared_cluster.apply(pod_manifest("stuck", "true", volumes=[volume]))
    shared_cluster.wait(
        lambda: (shared_cluster.get("pods", "stuck") or {}).get("status", {}).get("containerStatuses")
    )
    text = shared_cluster.kubectl("logs", "stuck", check=False)
    assert "waiting to start" in text
    shared_cluster.kubectl("delete", "pod", "stuck", "--wait")


@contextmanager
def listener() -> Iterator[int]:
    """A service of this machine that would answer if it were asked."""
    with socket.create_server(("0.0.0.0" if sys.platform == "linux" else "127.0.0.1", 0)) as server:

        def answer() -> None:
            try:
                link, _ = server.accept()
                link.sendall(b"a secret of this machine")
                link.close()
            except OSError:
                pass

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        socket.create_connection(server.getsockname()).close()
        thread.join(5)
