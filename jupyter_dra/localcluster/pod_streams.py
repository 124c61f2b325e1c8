"""Logs and port-forward: the API server asks the node's agent and passes bytes through.

Follows k8s.io/kubernetes ``pkg/registry/core/pod/strategy.go`` (LogLocation, PortForwardLocation).
"""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import quote, urlencode

from tornado.iostream import IOStream, StreamClosedError

from jupyter_dra.localcluster import kubelet, reading
from jupyter_dra.localcluster.handlers import Exchange
from jupyter_dra.localcluster.requests import Target
from jupyter_dra.localcluster.resources import Resource, named
from jupyter_dra.localcluster.status import (
    APIError,
    bad_request,
    internal,
    not_found,
    not_implemented,
)
from jupyter_dra.localcluster.store import Stored

PROTOCOL = "v4.channel.k8s.io"
_LOG_QUERY = ("follow", "previous", "sinceSeconds", "sinceTime", "timestamps", "tailLines", "limitBytes")
_FLAGS = ("follow", "previous", "timestamps")
_NUMBERS = ("sinceSeconds", "tailLines", "limitBytes")
_NODES = named("nodes")
_CHUNK = 1 << 16


async def answer_log(exchange: Exchange, resource: Resource) -> None:
    """GET pods/NAME/log as text; with ``follow`` until the container ends or the client leaves."""
    stored = reading.find(exchange, resource)
    container = _container(stored, exchange.query.text("container"))
    previous = exchange.query.flag("previous")
    _check_started(stored, container, previous)
    query = {name: exchange.query.text(name) for name in _LOG_QUERY if exchange.query.text(name)}
    for name in _FLAGS:
        exchange.query.flag(name)
    for name in _NUMBERS:
        number = exchange.query.number(name)
        if number is not None and number < 0:
            raise bad_request(f"{name}: must be greater than or equal to 0")
    namespace, pod = stored.key
    path = f"/containerLogs/{quote(namespace)}/{quote(pod)}/{quote(container)}"
    address = _address(exchange, stored)
    reply = await kubelet.call(
        exchange.cluster.kubelet_tls(), address, f"{path}?{urlencode(query)}" if query else path
    )
    try:
        await _pass_text(exchange, reply)
    finally:
        reply.close()


async def _pass_text(exchange: Exchange, reply: kubelet.Reply) -> None:
    if reply.status != 200:
        text = (await reply.text()).strip()
        reason = {400: "BadRequest", 404: "NotFound"}.get(reply.status, "InternalError")
        raise APIError(reply.status, reason, text or f"the kubelet answered {reply.status}")
    exchange.set_header("Content-Type", "text/plain")
    closed = asyncio.get_running_loop().create_future()
    exchange.when_closed(closed.cancel)
    pump = asyncio.ensure_future(_pump_text(exchange, reply))
    done, _ = await asyncio.wait({pump, closed}, return_when=asyncio.FIRST_COMPLETED)
    if pump in done:
        pump.result()
        await exchange.finish()
        return
    pump.cancel()
    await asyncio.gather(pump, return_exceptions=True)


async def _pump_text(exchange: Exchange, reply: kubelet.Reply) -> None:
    await exchange.flush()
    try:
        async for chunk in reply.chunks():
            exchange.write(chunk)
            await exchange.flush()
    except (asyncio.IncompleteReadError, ConnectionError, StreamClosedError):
        return


def _container(stored: Stored, wanted: str) -> str:
    spec = stored.value["spec"]
    groups = ("containers", "initContainers", "ephemeralContainers")
    names = [c["name"] for group in groups for c in spec.get(group) or ()]
    pod = stored.key.name
    if wanted:
        if wanted not in names:
            raise bad_request(f"container {wanted} is not valid for pod {pod}")
        return wanted
    if len(names) == 1:
        return str(names[0])
    mains = [c["name"] for c in spec.get("containers") or ()]
    inits = [c["name"] for c in spec.get("initContainers") or ()]
    text = f"a container name must be specified for pod {pod}, choose one of: [{' '.join(mains)}]"
    raise bad_request(f"{text} or one of the init containers: [{' '.join(inits)}]" if inits else text)


def _check_started(stored: Stored, container: str, previous: bool) -> None:
    status = stored.value.get("status") or {}
    for name in ("containerStatuses", "initContainerStatuses"):
        for one in status.get(name) or ():
            if one.get("name") != container:
                continue
            if previous:
                if not (one.get("lastState") or {}).get("terminated"):
                    raise bad_request(
                        f'previous terminated container "{container}" in pod "{stored.key.name}" not found'
                    )
                return
            waiting = (one.get("state") or {}).get("waiting")
            if waiting is not None and not (one.get("lastState") or {}).get("terminated"):
                raise bad_request(_waiting(stored, container, waiting))
            return


def _waiting(stored: Stored, container: str, waiting: dict[str, Any]) -> str:
    head = f'container "{container}" in pod "{stored.key.name}" is waiting to start'
    reason = waiting.get("reason", "")
    if reason in ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"):
        return f"{head}: trying and failing to pull image"
    return f"{head}: {reason}"


def _address(exchange: Exchange, stored: Stored) -> kubelet.Address:
    node_name = (stored.value.get("spec") or {}).get("nodeName")
    if not node_name:
        raise bad_request(f"pod {stored.key.name} does not have a host assigned")
    node = exchange.cluster.store.get(_NODES, "", node_name)
    if node is None:
        raise not_found("", "nodes", node_name)
    address = kubelet.address_of(node.value)
    if address is None:
        known = (node.value.get("status") or {}).get("addresses") or []
        raise internal(f"no preferred addresses found; known addresses: {known}")
    return address


async def answer_port_forward(exchange: Exchange, resource: Resource) -> None:
    """Upgrade to a v4 WebSocket towards the pod's node; needs the verb ``create`` as well as ``get``."""
    headers = exchange.request.headers
    offered = [part.strip() for part in headers.get("Sec-WebSocket-Protocol", "").split(",") if part.strip()]
    if (
        exchange.request.method != "GET"
        or headers.get("Upgrade", "").lower() != "websocket"
        or PROTOCOL not in offered
    ):
        raise not_implemented("port-forward over SPDY", f"it takes WebSockets with the protocol {PROTOCOL}")
    target = exchange.target
    exchange.authorize(
        Target(
            "create",
            target.path,
            target.group,
            target.version,
            target.plural,
            target.subresource,
            target.namespace,
            target.name,
        )
    )
    stored = reading.find(exchange, resource)
    ports = [part for text in exchange.query.all("ports") for part in text.split(",") if part]
    if not ports or not all(part.isdigit() and 0 < int(part) < 65536 for part in ports):
        raise bad_request('query parameter "ports" is required')
    if (stored.value.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        raise bad_request(f"pod {stored.key.name} is not running")
    namespace, pod = stored.key
    path = f"/portForward/{quote(namespace)}/{quote(pod)}?{urlencode({'port': ','.join(ports)})}"
    reply = await kubelet.call(
        exchange.cluster.kubelet_tls(),
        _address(exchange, stored),
        path,
        {
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": headers.get("Sec-WebSocket-Version", "13"),
            "Sec-WebSocket-Key": headers.get("Sec-WebSocket-Key", ""),
            "Sec-WebSocket-Protocol": PROTOCOL,
        },
    )
    try:
        if reply.status != 101:
            text = (await reply.text()).strip()
            raise APIError(reply.status, "BadRequest", text or f"the kubelet answered {reply.status}")
        await _splice(exchange.detach(), reply)
    finally:
        reply.close()


async def _splice(client: IOStream, reply: kubelet.Reply) -> None:
    """Pass bytes both ways until either side ends."""
    client.set_nodelay(True)
    await client.write(reply.head)
    ways = {
        asyncio.ensure_future(_from_client(client, reply.writer)),
        asyncio.ensure_future(_to_client(reply.reader, client)),
    }
    _, pending = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    for way in pending:
        way.cancel()
    await asyncio.gather(*ways, return_exceptions=True)
    client.close()


async def _from_client(client: IOStream, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            data = await client.read_bytes(_CHUNK, partial=True)
            writer.write(data)
            await writer.drain()
    except (StreamClosedError, ConnectionError):
        return


async def _to_client(reader: asyncio.StreamReader, client: IOStream) -> None:
    try:
        while data := await reader.read(_CHUNK):
            await client.write(data)
    except (StreamClosedError, ConnectionError):
        return
