"""What the parts of one agent share: options, client, tables, folders."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jupyter_dra.localcluster.agent.addresses import AddressPool
from jupyter_dra.localcluster.agent.images import ImageTable
from jupyter_dra.localcluster.agent.sweeping import Sweeper
from jupyter_dra.localcluster.client import Client, Object
from jupyter_dra.localcluster.drivers import DeviceDrivers
from jupyter_dra.localcluster.kinds import CONFIG_MAPS, SECRETS, SERVICE_ACCOUNTS
from jupyter_dra.localcluster.recorder import Recorder


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """How an agent behaves.

    ``folder`` holds pods' files and logs, ``memory_folder`` their memory-backed volumes. ``workdir`` is where
    containers start unless they name a folder that exists here; None is a folder of the pod's own.
    ``lease_seconds`` and ``lease_duration`` are those of the node Lease. ``pull_seconds`` is how long a pull takes.
    """

    folder: Path
    memory_folder: Path
    mark: str
    workdir: Path | None = None
    images: ImageTable = field(default_factory=ImageTable)
    host_ip: str = "127.0.0.1"
    pull_seconds: float = 0.0
    lease_seconds: float = 10.0
    lease_duration: int = 40
    restart_first: float = 10.0
    restart_longest: float = 300.0
    kubelet_port: int = 0
    memory_interval: float = 0.2


@dataclass(slots=True)
class Surroundings:
    """The agent as its pods see it."""

    options: AgentOptions
    client: Client
    drivers: DeviceDrivers
    recorder: Recorder
    addresses: AddressPool
    sweeper: Sweeper = field(default_factory=Sweeper)
    tokens: dict[tuple[str, str, int], tuple[str, float]] = field(default_factory=dict)

    async def secret(self, namespace: str, name: str) -> Object | None:
        return await self.client.find(SECRETS, name, namespace)

    async def token(self, pod: Mapping[str, Any], audience: str | None, seconds: int) -> str:
        """Return a service account token bound to a pod; a new one is asked for after four fifths of its life."""
        key = (pod["metadata"]["uid"], audience or "", seconds)
        known = self.tokens.get(key)
        if known is not None and known[1] > time.monotonic():
            return known[0]
        text = await self._request_token(pod, audience, seconds)
        now = time.monotonic()
        self.tokens = {k: entry for k, entry in self.tokens.items() if entry[1] > now}
        self.tokens[key] = (text, now + seconds * 0.8)
        return text

    async def _request_token(self, pod: Mapping[str, Any], audience: str | None, seconds: int) -> str:
        namespace, account = pod["metadata"]["namespace"], pod["spec"].get("serviceAccountName") or "default"
        bound = {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": pod["metadata"]["name"],
            "uid": pod["metadata"]["uid"],
        }
        spec = {
            "audiences": [audience] if audience else [],
            "expirationSeconds": seconds,
            "boundObjectRef": bound,
        }
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        path = SERVICE_ACCOUNTS.path(namespace, account, "token")
        answer = await self.client.request("POST", path, body=body)
        return str(answer["status"]["token"])

    async def config_map(self, namespace: str, name: str) -> Object | None:
        return await self.client.find(CONFIG_MAPS, name, namespace)


def memory_folder(mark: str) -> Path:
    """Return where an agent keeps memory-backed volumes: a short path, for sockets stand in them.

    It lies in a memory file system where there is one that can be written, else among the temporary files.
    """
    shared = Path("/dev/shm")
    if shared.is_dir():
        try:
            with tempfile.TemporaryFile(dir=shared):
                return shared / f"jdra-{mark}"
        except OSError:
            pass
    return Path(tempfile.gettempdir()) / f"jdra-{mark}"
