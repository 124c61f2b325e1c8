"""Dialing a pod: by its address, or through the API server; never anything that is not that very pod."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import ClusterError
from . import portforward
from .client import KubeClient

log = logging.getLogger(__name__)

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Lookup = Callable[[], Mapping[str, Any] | None]

DIRECT_TIMEOUT = 1.5
LOCAL_POD_RANGE = ipaddress.ip_network("127.64.0.0/10")
CARRIER_RANGE = ipaddress.ip_network("100.64.0.0/10")
"""Shared address space (RFC 6598), which several clouds give to pods."""
_METADATA = (ipaddress.ip_address("169.254.169.254"), ipaddress.ip_address("fd00:ec2::254"))


def address_problem(pod: Mapping[str, Any], *, local: bool) -> str | None:
    """Why the address of ``pod`` must not be dialed; None when it may be (threat T15).

    Args:
        local: the cluster is the local one, whose pods live in the loopback range 127.64.0.0/10.
    """
    if (pod.get("spec") or {}).get("hostNetwork"):
        return "the pod shares its node's network"
    text = (pod.get("status") or {}).get("podIP") or ""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return "the pod has no address" if not text else f"{text!r} is no IP address"
    if address in _METADATA or address.is_link_local or address.is_multicast or address.is_unspecified:
        return f"{address} is not a pod's address"
    if address.is_loopback:
        inside = isinstance(address, ipaddress.IPv4Address) and address in LOCAL_POD_RANGE
        return None if local and (inside or text == "127.0.0.1") else f"{address} is this machine"
    if address.is_reserved or not (address.is_private or address.is_global or address in CARRIER_RANGE):
        return f"{address} is not a pod's address"
    return None


@dataclass(slots=True)
class PodTarget:
    """One port of one pod, known by uid; implements the sessions' ``Target``.

    Attributes:
        lookup: gives the pod as the watch knows it; called before each connection.
        mode: ``direct`` or ``port-forward``.
    """

    client: KubeClient
    namespace: str
    pod: str
    pod_uid: str
    port: int
    lookup: Lookup
    mode: str
    timeout: float = 10.0

    @property
    def transport(self) -> str:
        return self.mode

    async def open(self) -> Streams:
        """Open one stream to the pod; raises ClusterError when it is another pod now or does not answer."""
        pod = self._pod()
        if self.mode == "direct":
            streams = await dial(pod, self.port, local=self.client.choice.is_local, timeout=self.timeout)
        else:
            streams = await portforward.open(
                self.client, self.namespace, self.pod, self.port, timeout=self.timeout
            )
        try:
            self._pod()
        except ClusterError:
            streams[1].close()
            raise
        return streams

    def _pod(self) -> Mapping[str, Any]:
        pod = self.lookup()
        if pod is None or pod["metadata"].get("uid") != self.pod_uid:
            raise ClusterError(
                f"The pod {self.pod} was replaced or is gone.",
                code="pod-replaced",
                next_step="Start the session again.",
                params={"pod": self.pod},
            )
        return pod


async def dial(pod: Mapping[str, Any], port: int, *, local: bool, timeout: float = DIRECT_TIMEOUT) -> Streams:
    """A TCP connection to the pod's own address; raises ClusterError, also for addresses no pod can have."""
    problem = address_problem(pod, local=local)
    if problem is not None:
        raise ClusterError(
            f"The pod cannot be dialed: {problem}.",
            code="address-refused",
            next_step="Ask the administrator; `transport` set to port-forward does without pod addresses.",
            params={"reason": problem},
        )
    address = pod["status"]["podIP"]
    try:
        async with asyncio.timeout(timeout):
            return await asyncio.open_connection(address, port)
    except (OSError, TimeoutError) as error:
        refused = isinstance(error, ConnectionRefusedError)
        raise ClusterError(
            f"{address}:{port} does not answer.",
            code="unreachable",
            next_step="A network policy may stand between; `transport` set to port-forward goes another way.",
            params={"refused": refused},
        ) from error


@dataclass(slots=True)
class Reach:
    """How pods are reached, by the setting ``auto``, ``direct`` or ``port-forward``.

    Auto tries the pod's address first; where a connection is neither made nor refused in 1.5 s the API server's
    port-forward is used, for this and for later pods. A refused connection proves that the address is reachable.
    """

    client: KubeClient
    setting: str = "auto"
    chosen: str | None = None

    def target(self, pod: Mapping[str, Any], port: int, lookup: Lookup, mode: str) -> PodTarget:
        meta = pod["metadata"]
        return PodTarget(self.client, meta["namespace"], meta["name"], meta["uid"], port, lookup, mode)

    async def choose(self, pod: Mapping[str, Any], port: int) -> str:
        """``direct`` or ``port-forward`` for this pod; connects at most once to find out."""
        if self.setting in ("direct", "port-forward"):
            return self.setting
        if self.chosen is not None:
            return self.chosen
        try:
            _, writer = await dial(pod, port, local=self.client.choice.is_local)
            writer.close()
        except ClusterError as error:
            self.chosen = "direct" if error.params.get("refused") else "port-forward"
            if error.code == "address-refused":
                self.chosen = None
                return "port-forward"
        else:
            self.chosen = "direct"
        log.info("Kernel pods are reached by %s", self.chosen)
        return self.chosen
