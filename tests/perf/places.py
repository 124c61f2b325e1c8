"""What the product's measurements run in: a big local cluster, a session service on it, a bare local kernel."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

from jupyter_dra.kernels.credentials import PodCredentials
from jupyter_dra.kernels.relay import Relay
from jupyter_dra.sessions import SessionPolicy, Sessions, Where
from jupyter_dra.sessions.identity import load_identity
from jupyter_dra.sessions.ports import KernelHandle
from tests.localcluster_fixture import LocalCluster, start_local_cluster

NODES = 16
WISH = {"tier": "high-memory-gpu", "product": "H100", "cpu": "100m", "host_memory": "1Gi"}


def many_nodes(folder: Path, nodes: int = NODES) -> Path:
    """An inventory file of as many nodes of eight H100 as 100 launches need."""
    packaged = files("jupyter_dra.localcluster.inventories")
    classes, one = (packaged.joinpath(f"{name}.yaml").read_text("utf-8") for name in ("classes", "dgx-h100"))
    copies = [one.replace("dgx-h100-0", f"dgx-h100-{number}") for number in range(nodes)]
    path = folder / "many.yaml"
    path.write_text("\n---\n".join([classes, *copies]))
    return path


def start_cluster(folder: Path) -> LocalCluster:
    return start_local_cluster(None, [str(many_nodes(folder))])


@contextmanager
def service_of(cluster: LocalCluster, folder: Path, **policy: Any) -> Iterator[Sessions]:
    """A session service; everything it launched is given back."""
    where = Where(kubeconfig=str(cluster.kubeconfig))
    identity = load_identity(folder, user="ada")
    service = Sessions(where, identity=identity, policy=SessionPolicy(max_sessions=200, **policy))
    try:
        service.loop.call(service.open())
        service.loop.call(service.inventory())
        yield service
    finally:
        service.close(keep=False)


def first_result(client: BlockingKernelClient, code: str = "6*7") -> None:
    """Execute until the first answer, without a handshake before."""
    client.execute(code, reply=True, timeout=120)


class Channels:
    """A relay in front of a session's kernel and a client on it."""

    def __init__(self, service: Sessions, handle: KernelHandle) -> None:
        self._service = service
        assert isinstance(handle.credentials, PodCredentials)
        credentials = handle.credentials

        async def open_relay() -> Relay:
            relay = Relay(handle.kernel_id)
            await relay.open()
            relay.retarget(handle.target, credentials)
            return relay

        self.relay = service.loop.call(open_relay())
        self.client = BlockingKernelClient()
        self.client.load_connection_info(self.relay.connection_info())
        self.client.start_channels(hb=False)

    def close(self) -> None:
        self.client.stop_channels()
        self._service.loop.call(self.relay.close())


class BareKernel:
    """A plain local kernel over TCP, without us."""

    def __init__(self) -> None:
        self.manager = KernelManager()
        self.manager.start_kernel()
        self.client = self.manager.client()
        self.client.start_channels(hb=False)
        first_result(self.client)

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


def launch(service: Sessions, **options: Any) -> tuple[str, KernelHandle]:
    """A session whose kernel is connected."""
    record = service.loop.call(service.launch(WISH, **options))
    return record.id, service.loop.call(service.ready(record.id), 120)


def give_back(service: Sessions, *session_ids: str) -> None:
    """Stop sessions and wait until nothing of them is left."""
    for session_id in session_ids:
        service.loop.call(service.stop(session_id))
    for session_id in session_ids:
        service.loop.call(service.ended(session_id), 120)


def nothing_left(cluster: LocalCluster, within: float = 30.0) -> None:
    """Fails unless pods, claims and Secrets are gone soon."""
    deadline = time.monotonic() + within
    while any(left := [cluster.list(kind) for kind in ("pods", "resourceclaims", "secrets")]):
        if time.monotonic() > deadline:
            names = [one["metadata"]["name"] for kind in left for one in kind]
            raise AssertionError(f"left behind: {names}")
        time.sleep(0.05)
