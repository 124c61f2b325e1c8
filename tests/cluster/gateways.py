"""What stands between a laptop and its cluster: an HTTP proxy, and an API front that wants client certificates."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jupyter_dra.localcluster.certificates import Authority
from tests.localcluster_fixture import LocalCluster

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]


@dataclass
class Gateway:
    """A server on loopback in a thread of its own, whose connections can be cut.

    Attributes:
        up: False refuses every new connection, like a network that is gone.
        seen: what clients asked for, in order.
    """

    up: bool = True
    seen: list[str] = field(default_factory=list)
    port: int = 0
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _server: asyncio.Server | None = None
    _thread: threading.Thread | None = None

    def start(self, handler: Handler, context: ssl.SSLContext | None = None) -> None:
        ready = threading.Event()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if not self.up:
                writer.transport.abort()
                return
            self._writers.add(writer)  # here, since a task that is cancelled before it began closes nothing
            task = self._loop.create_task(serve(reader, writer))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await handler(reader, writer)
            except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                pass
            finally:
                self._writers.discard(writer)
                writer.transport.abort()

        async def main() -> None:
            self._server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=context)
            self.port = self._server.sockets[0].getsockname()[1]
            ready.set()

        def run() -> None:
            asyncio.set_event_loop(self._loop)
            self._loop.run_until_complete(main())
            self._loop.run_forever()

        self._thread = threading.Thread(target=run, name="gateway", daemon=True)
        self._thread.start()
        assert ready.wait(10)

    def cut(self, *, up: bool) -> None:
        """End every connection at once; with ``up`` False new ones are refused from now on."""
        self.up = up

        def abort() -> None:
            for writer in self._writers:
                writer.transport.abort()

        self._loop.call_soon_threadsafe(abort)

    def stop(self) -> None:
        async def end() -> None:
            assert self._server is not None
            self._server.close()
            tasks = list(self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for writer in self._writers:
                writer.transport.abort()

        asyncio.run_coroutine_threadsafe(end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        assert self._thread is not None
        self._thread.join(10)
        self._loop.close()


async def join(
    one: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    other: tuple[asyncio.StreamReader, asyncio.StreamWriter],
) -> None:
    """Pass bytes both ways until one side ends."""

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(2**16):
            writer.write(data)
            await writer.drain()

    tasks = [asyncio.ensure_future(pump(one[0], other[1])), asyncio.ensure_future(pump(other[0], one[1]))]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        other[1].transport.abort()  # before anything is awaited, which may be cancelled too
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def connect_proxy(login: str | None = None) -> Gateway:
    """An HTTP proxy that only knows CONNECT; with ``login`` ("name:word") it wants that."""
    gateway = Gateway()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, target, _ = head.split("\r\n", 1)[0].split(" ")
        gateway.seen.append(f"{method} {target}")
        wanted = None if login is None else base64.b64encode(login.encode()).decode()
        if method != "CONNECT" or (wanted and f"Basic {wanted}" not in head):
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            return
        host, _, port = target.rpartition(":")
        upstream = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await join((reader, writer), upstream)

    gateway.start(handle)
    return gateway


@dataclass
class CertifiedFront:
    """An API endpoint in front of a local cluster that wants a client certificate of its own authority."""

    gateway: Gateway
    authority: Authority
    cluster: LocalCluster

    def kubeconfig(self, path: Path, user: dict[str, Any], **fields: Any) -> Path:
        """Write a kubeconfig that leads here; the cluster's own token is added to ``user``."""
        config = json.loads(self.cluster.kubeconfig.read_text())
        token = config["users"][0]["user"]["token"]
        config["users"][0]["user"] = user if "exec" in user else {"token": token, **user}
        config["clusters"][0]["cluster"] = {
            "server": f"https://127.0.0.1:{self.gateway.port}",
            "certificate-authority-data": base64.b64encode(self.authority.pair.certificate).decode(),
            **fields,
        }
        path.write_text(json.dumps(config))
        path.chmod(0o600)
        return path

    @property
    def token(self) -> str:
        return str(json.loads(self.cluster.kubeconfig.read_text())["users"][0]["user"]["token"])


def certified_front(cluster: LocalCluster, folder: Path) -> CertifiedFront:
    """Start one; ``gateway.seen`` holds the names in the certificates that clients showed."""
    authority, gateway = Authority.create("front"), Gateway()
    server = authority.server("front", ())
    for name, data in (("crt", server.certificate), ("key", server.key), ("ca", authority.pair.certificate)):
        (folder / f"front.{name}").write_bytes(data)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "front.crt", folder / "front.key")
    context.load_verify_locations(folder / "front.ca")
    context.verify_mode = ssl.CERT_REQUIRED
    inner = ssl.create_default_context(cafile=str(cluster.ca))
    where = urlsplit(cluster.server)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        subject = writer.get_extra_info("peercert")["subject"]
        gateway.seen.append(dict(pair for group in subject for pair in group)["commonName"])
        upstream = await asyncio.open_connection(where.hostname, where.port, ssl=inner)
        await join((reader, writer), upstream)

    gateway.start(handle, context)
    return CertifiedFront(gateway, authority, cluster)


def pem(data: bytes) -> str:
    """As kubeconfigs hold it."""
    return base64.b64encode(data).decode()
