"""Who may speak to a pod and to the relay: wrong certificates, plain clients, impostors, floods, hostile answers."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import ssl
import sys
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import zmq

from jupyter_dra.errors import ClusterError, InputError, RefusedError
from jupyter_dra.kernels.control import PodControl, clean_usage, translate
from jupyter_dra.kernels.credentials import PodCredentials
from jupyter_dra.kernels.pki import make_certificates
from jupyter_dra.kernels.relay import CONNECTIONS_PER_CHANNEL, Relay
from jupyter_dra.kernels.runtime import KernelPods
from jupyter_dra.kernels.tls import Dialer
from jupyter_dra.sessions.loop import BackgroundLoop
from jupyter_dra.sessions.ports import KernelChoice, Streams, Target

from .conftest import LocalPod, Pods, eventually
from .test_podside import client_of, run, wait_until_ready

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def held(pods: Pods) -> LocalPod:
    pod = pods.start(hold=True)
    assert pod.port
    return pod


def dial(background: BackgroundLoop, pod: LocalPod, credentials: Any) -> str:
    """The error code of a dial; "ok" when it is let in."""

    async def open_and_close() -> None:
        (await Dialer(pod, credentials).open("podside")).close()

    try:
        background.call(open_and_close())
    except ClusterError as error:
        return error.code
    return "ok"


@pytest.mark.threat("T09")
def test_plain_and_foreign_clients_are_refused(pods: Pods, background: BackgroundLoop) -> None:
    pod = held(pods)
    good = pod.credentials
    assert dial(background, pod, good) == "ok"
    foreign = PodCredentials.of(make_certificates("other", NOW), good.key, None)
    assert dial(background, pod, foreign) == "impostor"
    trusting = replace(foreign, ca=good.ca, server_sha256=good.server_sha256)
    assert dial(background, pod, trusting) in ("impostor", "unreachable")
    with socket.create_connection(("127.0.0.1", pod.port)) as plain:
        plain.settimeout(15)
        plain.sendall(b'{"v":1,"channel":"podside"}\n')
        assert b"ok" not in plain.recv(100)
    assert _anonymous(pod.port) == b""
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode, old.maximum_version = False, ssl.CERT_NONE, ssl.TLSVersion.TLSv1_2
    with socket.create_connection(("127.0.0.1", pod.port)) as raw, pytest.raises(OSError):
        old.wrap_socket(raw)


def _anonymous(port: int) -> bytes:
    """What a TLS client without a certificate gets to read."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", port)) as raw:
        try:
            with context.wrap_socket(raw) as anonymous:
                anonymous.sendall(b'{"v":1,"channel":"podside"}\n')
                return anonymous.recv(100)
        except OSError:
            return b""


@pytest.mark.threat("T10")
def test_a_pod_with_other_keys_at_the_same_address_gets_no_byte(
    pods: Pods, background: BackgroundLoop
) -> None:
    ours, impostor = held(pods), held(pods)
    assert dial(background, impostor, ours.credentials) == "impostor"
    assert "ending" not in impostor.log()
    pinned = replace(ours.credentials, server_sha256="0" * 64)
    assert dial(background, ours, pinned) == "impostor"


@pytest.mark.threat("T11")
def test_every_pod_has_its_own_certificates_and_keys() -> None:
    runtime = KernelPods()

    def make(name: str) -> Any:
        return runtime.materials(session_id="s", pod_name=name, facts={}, kernel=KernelChoice())

    one, two = make("s-0"), make("s-1")
    assert one.credentials.key != two.credentials.key
    for name in ("server.crt", "server.key", "client-ca.crt"):
        assert one.secret_data[name] != two.secret_data[name]
    assert set(one.private_data) == {"client.crt", "client.key"}
    assert not set(one.private_data) & set(one.secret_data)
    again = runtime.credentials(one.private_data, one.secret_data)
    assert again == one.credentials
    with pytest.raises(InputError):
        runtime.credentials({}, one.secret_data)


@pytest.mark.threat("T18")
def test_secrets_do_not_show_in_reprs() -> None:
    kernel = KernelChoice(env={"PASSWORD": "hunter2"})
    made = KernelPods().materials(session_id="s", pod_name="s-0", facts={}, kernel=kernel)
    assert "hunter2" not in repr(made) + repr(kernel)
    assert isinstance(made.credentials, PodCredentials)
    assert made.credentials.key not in repr(made) + repr(made.credentials)
    assert "PRIVATE KEY" not in repr(made)
    assert "hunter2" not in " ".join(made.command)


@pytest.mark.threat("T14")
def test_the_relay_caps_connections_and_the_kernel_still_answers(
    pods: Pods, background: BackgroundLoop
) -> None:
    pod = pods.start()
    with client_of(background, pod) as (client, relay):
        path = f"{relay.connection_info()['ip']}-{relay.connection_info()['shell_port']}"
        flood = []
        for _ in range(1000):
            one = socket.socket(socket.AF_UNIX)
            one.connect(path)
            flood.append(one)
        eventually(lambda: relay.refused >= 1000 - CONNECTIONS_PER_CHANNEL)
        assert relay.open_connections <= 5 * CONNECTIONS_PER_CHANNEL
        assert run(client, "print(1)") == "1\n"
        for one in flood:
            one.close()


@pytest.mark.threat("T14")
def test_loopback_ports_need_curve_end_to_end(pods: Pods, background: BackgroundLoop) -> None:
    pod = held(pods)

    async def plain() -> None:
        relay = Relay("k", tcp=True)
        await relay.open()
        try:
            relay.retarget(pod, pod.credentials)
        finally:
            await relay.close()

    with pytest.raises(RefusedError) as caught:
        background.call(plain())
    assert caught.value.code == "policy"


@pytest.mark.skipif(not zmq.has("curve"), reason="libzmq was built without Curve")
def test_with_curve_the_relay_works_over_loopback_ports(pods: Pods, background: BackgroundLoop) -> None:
    from jupyter_client.blocking.client import BlockingKernelClient

    pod = pods.start(runtime=KernelPods(python=sys.executable, port=0, curve=True))
    wait_until_ready(background, pod)

    async def open_relay() -> Relay:
        relay = Relay("k", tcp=True)
        await relay.open()
        relay.retarget(pod, pod.credentials)
        return relay

    relay = background.call(open_relay())
    info = relay.connection_info()
    assert info["transport"] == "tcp"
    client = BlockingKernelClient()
    client.load_connection_info(info)
    client.start_channels()
    try:
        client.wait_for_ready(timeout=30)
        assert run(client, "print(6 * 7)") == "42\n"
    finally:
        client.stop_channels()
        background.call(relay.close())
        client.context.term()


def test_another_pod_takes_over_the_same_addresses(pods: Pods, background: BackgroundLoop) -> None:
    first, second = pods.start(), pods.start()
    wait_until_ready(background, second)
    with client_of(background, first) as (client, relay):
        run(client, "x = 'first'")
        info = relay.connection_info()
        credentials = second.credentials
        assert credentials.key != first.credentials.key
        background.call(_retarget(relay, second, credentials))
        client.session.key = credentials.key.encode()
        client.wait_for_ready(timeout=30)
        assert run(client, "print('x' in dir())") == "False\n"
        assert relay.connection_info()["ip"] == info["ip"]


async def _retarget(relay: Relay, pod: Target, credentials: PodCredentials) -> None:
    relay.retarget(pod, credentials)


def test_clients_wait_while_the_pod_is_out_of_reach(pods: Pods, background: BackgroundLoop) -> None:
    """A network drop: dials fail for a while, then the notebook goes on without a reload."""
    pod = pods.start()
    with client_of(background, pod) as (client, relay):
        run(client, "x = 1")
        real, pod.open = pod.open, _unreachable  # type: ignore[method-assign]
        background.call(_part(relay))
        number = client.execute("print(x)")
        pod.open = real  # type: ignore[method-assign]
        reply = client.get_shell_msg(timeout=20)
        assert reply["parent_header"]["msg_id"] == number
        assert reply["content"]["status"] == "ok"


class Forwarded(asyncio.Transport):
    """A transport like that of a port-forward: it cannot be given another protocol."""

    def __init__(self, inner: asyncio.Transport) -> None:
        super().__init__()
        self.write, self.close, self.is_closing = inner.write, inner.close, inner.is_closing  # type: ignore[method-assign]
        self.inner = inner


class ForwardedPod:
    transport = "port-forward"

    def __init__(self, pod: LocalPod) -> None:
        self.pod, self.pod_uid = pod, pod.pod_uid
        self.kept: list[asyncio.StreamWriter] = []

    async def open(self) -> Streams:
        reader, writer = await self.pod.open()
        protocol = writer.transport.get_protocol()
        self.kept.append(writer)
        assert isinstance(writer.transport, asyncio.Transport)
        return reader, asyncio.StreamWriter(
            Forwarded(writer.transport), protocol, reader, asyncio.get_running_loop()
        )


def test_kernels_are_reached_through_a_port_forward_too(pods: Pods, background: BackgroundLoop) -> None:
    pod = pods.start()
    with client_of(background, pod) as (client, relay):
        target = ForwardedPod(pod)
        background.call(_retarget(relay, target, pod.credentials))
        assert run(client, "print(input('? '))", answer="through") == "through\n"
        assert len(run(client, "print('y' * 3_000_000)")) == 3_000_001


async def _part(relay: Relay) -> None:
    relay.part()


async def _unreachable() -> Streams:
    raise ClusterError("out of reach")


@pytest.mark.threat("T16")
@pytest.mark.parametrize(
    "noise",
    [
        b"\xff" * 1000 + b"\n",
        b"[" * 100_000 + b"\n",
        b"7\n",
        b'{"event":"usage","usage":7}\n',
        b"x" * 2_000_000,
    ],
    ids=["bytes", "deep", "number", "shape", "long"],
)
def test_a_hostile_podside_ends_its_own_connection_only(background: BackgroundLoop, noise: bytes) -> None:
    runtime = KernelPods()
    made = runtime.materials(session_id="s", pod_name="s-0", facts={}, kernel=KernelChoice())

    async def play(folder: Path) -> tuple[str, float]:
        for name in ("server.crt", "server.key", "client-ca.crt"):
            (folder / name).write_bytes(made.secret_data[name])
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "server.crt", folder / "server.key")
        context.load_verify_locations(folder / "client-ca.crt")
        context.verify_mode = ssl.CERT_REQUIRED

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readline()
            writer.write(b'{"ok":true}\n{"event":"state"}\n')
            request = json.loads(await reader.readline())
            writer.write(json.dumps({"id": request["id"], "ok": True, "result": {}}).encode() + b"\n" + noise)
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
        port = server.sockets[0].getsockname()[1]

        class There:
            pod_uid = "u"
            transport = "direct"

            async def open(self) -> Streams:
                return await asyncio.open_connection("127.0.0.1", port)

        control = await runtime.connect(There(), made.credentials, silence=30)
        began = time.monotonic()
        kinds = [event.kind async for event in control.events]
        with pytest.raises(ClusterError):
            await control.start()
        await control.close()
        server.close()
        return kinds[-1], time.monotonic() - began

    with tempfile.TemporaryDirectory() as folder:
        last, seconds = background.call(play(Path(folder)), 30)
    assert last == "closed"
    assert seconds < 10


@pytest.mark.threat("T16")
def test_figures_and_events_from_the_pod_keep_known_fields_only() -> None:
    usage = clean_usage(
        {"memory_used_bytes": "9", "utilisation_percent": 1e300, "at": 5, "source": "x" * 999, "z": 1}
    )
    assert usage is not None
    assert usage["memory_used_bytes"] is None
    assert usage["utilisation_percent"] is None
    assert len(usage["source"]) == 40
    assert "z" not in usage
    assert translate({"event": "kernel", "state": "dead", "death": {"code": "<b>", "exit_code": "x"}})[
        0
    ].params == {
        "code": "crashed",
        "exit_code": None,
        "signal": None,
        "requested": False,
        "at": None,
    }
    assert translate({"event": "activity", "state": "anything"}) == []
    assert translate({}) == []


def test_a_silent_pod_is_reported_as_lost(pods: Pods, background: BackgroundLoop) -> None:
    pod = pods.start(hold=True)
    assert pod.port
    control = background.call(PodControl.connect(Dialer(pod, pod.credentials), silence=1.5))
    pod.process.send_signal(signal.SIGSTOP)
    try:

        async def last() -> Any:
            return [event async for event in control.events][-1]

        event = background.call(asyncio.wait_for(last(), 20))
        assert event.kind == "closed"
        assert event.params["why"] == "silent"
    finally:
        pod.process.send_signal(signal.SIGCONT)
