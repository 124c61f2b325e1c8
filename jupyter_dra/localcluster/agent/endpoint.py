"""The kubelet's HTTPS port: what an API server calls for logs and port-forwards, and nothing else.

Every request needs the API server's client certificate. Follows pkg/kubelet/server/server.go for paths and queries and
staging/src/k8s.io/cri-streaming for the v4 channels.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import struct
import time
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path

from aiohttp import WSMsgType, web

from jupyter_dra.errors import DRAError
from jupyter_dra.localcluster.agent import tree
from jupyter_dra.localcluster.agent.logs import LogQuery
from jupyter_dra.localcluster.agent.worker import PodWorker

log = logging.getLogger(__name__)

V4 = "v4.channel.k8s.io"
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_BLOCK = 1 << 16
_CLIENT_NAMES = frozenset({"kube-apiserver-kubelet-client"})

Find = Callable[[str, str], PodWorker | None]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Endpoint:
    """The HTTPS server of one agent, for all its nodes.

    Args:
        find: returns the worker of (namespace, pod name).
    """

    def __init__(self, find: Find) -> None:
        self._find = find
        self._runner: web.AppRunner | None = None
        self.port = 0

    async def start(self, address: str, port: int, *, certificate: Path, key: Path, client_ca: Path) -> None:
        """Listen; ``client_ca`` signs the certificates that are let in."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(certificate, key)
        context.load_verify_locations(client_ca)
        context.verify_mode = ssl.CERT_OPTIONAL
        application = web.Application(middlewares=[_authenticated])
        application.router.add_get("/healthz", _healthz)
        application.router.add_get("/containerLogs/{namespace}/{pod}/{container}", self._logs)
        application.router.add_get("/portForward/{namespace}/{pod}", self._port_forward)
        application.router.add_route("*", "/exec/{rest:.*}", _not_offered)
        application.router.add_route("*", "/attach/{rest:.*}", _not_offered)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.5)
        await self._runner.setup()
        site = web.TCPSite(self._runner, address, port, ssl_context=context)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    def _worker(self, request: web.Request) -> PodWorker:
        namespace, name = request.match_info["namespace"], request.match_info["pod"]
        worker = self._find(namespace, name)
        if worker is None:
            raise web.HTTPNotFound(text=f'pod "{name}" not found\n')
        return worker

    async def _logs(self, request: web.Request) -> web.StreamResponse:
        worker = self._worker(request)
        name = request.match_info["container"]
        container = worker.container(name)
        if container is None:
            raise web.HTTPNotFound(
                text=f"container {name} is not valid for pod {request.match_info['pod']}\n"
            )
        previous = request.query.get("previous") in _TRUE
        file = container.previous_log if previous else container.log
        if file is None:
            which = "previous terminated container" if previous else "container"
            reason = f'{which} "{name}" in pod "{request.match_info["pod"]}" not found'
            if not previous:
                why = container.waiting[0]
                reason = f'container "{name}" in pod "{request.match_info["pod"]}" is waiting to start: {why}'
            raise web.HTTPBadRequest(text=reason + "\n")
        response = web.StreamResponse(
            headers={"Content-Type": "text/plain", "X-Content-Type-Options": "nosniff"}
        )
        await response.prepare(request)
        async for block in file.read(_log_query(request)):
            await response.write(block)
        await response.write_eof()
        return response

    async def _port_forward(self, request: web.Request) -> web.StreamResponse:
        worker = self._worker(request)
        text = ",".join(request.query.getall("port", []) + request.query.getall("ports", []))
        try:
            ports = [int(part) for part in text.split(",") if part]
        except ValueError:
            ports = []
        if not ports or not all(0 < port < 65536 for port in ports):
            raise web.HTTPBadRequest(text='query parameter "port" is required\n')
        socket = web.WebSocketResponse(protocols=[V4], heartbeat=30, max_msg_size=0, compress=False)
        if not socket.can_prepare(request) or V4 not in request.headers.get("Sec-WebSocket-Protocol", ""):
            raise web.HTTPBadRequest(text=f"this node forwards ports by {V4} WebSockets only\n")
        await socket.prepare(request)
        await _Forward(socket, worker, ports).run()
        return socket


class _Forward:
    """One port-forward WebSocket: a data and an error channel per port."""

    def __init__(self, socket: web.WebSocketResponse, worker: PodWorker, ports: list[int]) -> None:
        self._socket = socket
        self._worker = worker
        self._ports = ports
        self._writers: dict[int, asyncio.StreamWriter] = {}
        self._pumps: list[asyncio.Task[None]] = []

    async def run(self) -> None:
        try:
            for index, port in enumerate(self._ports):
                first = struct.pack("<H", port)
                await self._socket.send_bytes(bytes([2 * index]) + first)
                await self._socket.send_bytes(bytes([2 * index + 1]) + first)
                await self._connect(index, port)
            async for message in self._socket:
                if message.type is WSMsgType.BINARY and message.data:
                    writer = self._writers.get(message.data[0] // 2)
                    if writer is not None and message.data[0] % 2 == 0:
                        writer.write(message.data[1:])
                        await writer.drain()
        except (ConnectionError, OSError):
            pass
        finally:
            for pump in self._pumps:
                pump.cancel()
            for writer in self._writers.values():
                writer.close()
            await asyncio.gather(*self._pumps, return_exceptions=True)
            await self._socket.close()

    async def _connect(self, index: int, port: int) -> None:
        try:
            address = forward_address(self._worker, port)
            reader, writer = await asyncio.open_connection(address, port)
        except (OSError, DRAError) as error:
            pod = self._worker.pod["metadata"]["name"]
            text = f"error forwarding port {port} to pod {pod}, uid {self._worker.uid}: {error}"
            await self._socket.send_bytes(bytes([2 * index + 1]) + text.encode())
            if len(self._ports) == 1:
                await self._socket.close()
            return
        self._writers[index] = writer
        self._pumps.append(asyncio.create_task(self._pump(index, reader)))

    async def _pump(self, index: int, reader: asyncio.StreamReader) -> None:
        channel = bytes([2 * index])
        try:
            while block := await reader.read(_BLOCK):
                await self._socket.send_bytes(channel + block)
        except (ConnectionError, OSError):
            pass
        if len(self._ports) == 1:
            await self._socket.close()


class ForwardRefused(DRAError):
    """The port does not belong to the pod."""

    code = "forward-refused"


def forward_address(worker: PodWorker, port: int) -> str:
    """Return where a pod listens on a port.

    Pods share this machine's network, so the check a network namespace would make is made here: the pod declares the
    port, and a process of its own listens on it.

    Raises:
        ForwardRefused: it does not.
    """
    declared = {
        item["containerPort"]
        for container in worker.all_containers
        for item in container.spec.get("ports") or ()
    }
    pids = {pid for container in worker.all_containers for pid in container.members()}
    addresses = tree.listeners(pids).get(port, set()) if port in declared else set()
    if not addresses:
        why = "nothing in the pod listens there" if port in declared else "the pod declares no such port"
        raise ForwardRefused(f"connection refused: {why}")
    for address in (worker.pod_ip, "127.0.0.1", "0.0.0.0", "::1", "::"):
        if address in addresses:
            return {"0.0.0.0": worker.pod_ip or "127.0.0.1", "::": "127.0.0.1"}.get(address, address)
    return sorted(addresses)[0]


@web.middleware
async def _authenticated(request: web.Request, handler: Handler) -> web.StreamResponse:
    transport = request.transport
    certificate = transport.get_extra_info("peercert") if transport is not None else None
    names = {
        value for part in (certificate or {}).get("subject", ()) for key, value in part if key == "commonName"
    }
    if not certificate:
        raise web.HTTPUnauthorized(text="Unauthorized\n")
    if not names & _CLIENT_NAMES:
        raise web.HTTPForbidden(text="Forbidden\n")
    return await handler(request)


async def _healthz(_: web.Request) -> web.Response:
    return web.Response(text="ok")


async def _not_offered(_: web.Request) -> web.Response:
    return web.Response(status=501, text="this node runs no commands inside pods\n")


def _log_query(request: web.Request) -> LogQuery:
    query = request.query
    since = None
    try:
        if query.get("sinceSeconds"):
            since = time.time() - int(query["sinceSeconds"])
        elif query.get("sinceTime"):
            since = datetime.fromisoformat(query["sinceTime"]).timestamp()
        tail = query.get("tailLines") or query.get("tail")
        return LogQuery(
            follow=query.get("follow") in _TRUE,
            tail_lines=int(tail) if tail else None,
            since=since,
            timestamps=query.get("timestamps") in _TRUE,
            limit_bytes=int(query["limitBytes"]) if query.get("limitBytes") else None,
        )
    except ValueError:
        raise web.HTTPBadRequest(text="a log option is no number or time\n") from None
