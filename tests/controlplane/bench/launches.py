"""From asking to the first result: ours, kubectl and a plain client, gateway-provisioners; and what each asks."""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient

from jupyter_dra.claims import build_claim
from jupyter_dra.sessions import SessionPolicy, Sessions, Where
from jupyter_dra.sessions.identity import load_identity
from tests.controlplane.audit import Audit, told
from tests.controlplane.lab import DIRECT, Lab
from tests.localcluster_fixture import LocalCluster, pod_manifest
from tests.perf.measuring import Table
from tests.perf.places import WISH, Channels, first_result, give_back, launch, nothing_left

from .gateway import CannotRun, gateway

TURNS = 6
QUIET_SECONDS = 20
PORTS = dict(zip(("shell", "iopub", "stdin", "hb", "control"), range(51001, 51006), strict=True))

Counts = Counter[tuple[str, str]]


class Ours:
    """A session service as ``scientist``, its client and relay as a notebook has them."""

    user = "scientist"

    def __init__(self, lab: Lab, folder: Path) -> None:
        lab.allow(self.user, "default", "user")
        where = Where(kubeconfig=str(lab.plane.kubeconfig(self.user, context=DIRECT)))
        identity = load_identity(folder, user="ada")
        self.service = Sessions(where, identity=identity, policy=SessionPolicy())
        self.service.loop.call(self.service.open())
        self.service.loop.call(self.service.inventory())

    def turn(self) -> float:
        began = time.perf_counter()
        session_id, handle = launch(self.service)
        channels = Channels(self.service, handle)
        first_result(channels.client)
        took = time.perf_counter() - began
        channels.close()
        give_back(self.service, session_id)
        return took


class Kubectl:
    """``kubectl apply`` of the same claim and a pod of ipykernel, waiting for Running, a plain client."""

    user = "kubectl"

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        # The scheduler and the controllers are the administrator too; kubectl's requests are counted by its own name.
        self._shell = LocalCluster(lab.plane.kubeconfig(self.user), lab.dir, lab.status)

    def turn(self) -> float:
        name, key = f"plain-{secrets.token_hex(3)}", secrets.token_hex(16)
        claim = build_claim({"tier": WISH["tier"], "product": WISH["product"]}, name=name)
        ports = [f"--{channel}={port}" for channel, port in PORTS.items()]
        command = ["python", "-m", "ipykernel_launcher", "--ip=$(POD_IP)", f"--Session.key={key}", *ports]
        address = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
        pod = pod_manifest(name, *command, claim=name, container={"env": [address]})
        began = time.perf_counter()
        self._shell.apply(claim, pod)
        self._shell.kubectl("wait", f"pod/{name}", "--for=jsonpath={.status.phase}=Running", "--timeout=60s")
        ip = self._shell.kubectl("get", "pod", name, "-o", "jsonpath={.status.podIP}")
        client = BlockingKernelClient()
        info: dict[str, Any] = {f"{channel}_port": port for channel, port in PORTS.items()}
        info |= {"ip": ip, "key": key, "transport": "tcp", "signature_scheme": "hmac-sha256"}
        client.load_connection_info(info)  # type: ignore[arg-type]
        client.start_channels(hb=False)
        first_result(client)
        took = time.perf_counter() - began
        client.stop_channels()
        self._shell.kubectl("delete", f"pod/{name}", f"resourceclaim/{name}", "--wait=false")
        self._lab.wait_gone("pods", name)
        self._lab.wait_gone("resourceclaims", name)
        return took


def measure(table: Table, lab: Lab, folder: Path) -> None:
    """Rows of times, then the requests of each way per launch and while nothing happens."""
    audit = Audit(lab.plane.folder / "audit.log")
    times: dict[str, list[float]] = {}
    counts: dict[str, Counts] = {}
    with ExitStack() as stack:
        ours = Ours(lab, folder / "ours")
        stack.callback(ours.service.close, keep=False)
        ways: list[tuple[str, str, Callable[[], float]]] = [
            ("ours", ours.user, ours.turn),
            ("kubectl", Kubectl.user, Kubectl(lab).turn),
        ]
        try:
            other = stack.enter_context(gateway(lab.plane.kubeconfig("gateway"), folder / "gateway"))
            ways.append(("gateway-provisioners", "gateway", lambda: other.launch(folder / "gateway")))
        except CannotRun as reason:
            print(reason)
        for turn in range(TURNS + 1):
            for name, user, way in ways:
                table.sample()
                audit.since(user)
                took = way()
                found = audit.since(user)
                if turn:  # the first one imports, connects and discovers
                    times.setdefault(name, []).append(took)
                    counts.setdefault(name, Counter()).update(found)
            nothing_left(lab)
        for name in list(times)[1:]:
            table.add(f"launch to first result, beside {name}", times["ours"], beside=times[name])
        for name, found in counts.items():
            _tell(name, found)
        _steady(ours, audit)


def _tell(name: str, found: Counts) -> None:
    plain = Counter({key: count for key, count in found.items() if key[0] != "watch"})
    watches = found.total() - plain.total()
    print(
        f"{name}: {plain.total() / TURNS:.1f} requests and {watches / TURNS:.1f} watches per launch and stop"
        f" (in {TURNS}: {told(found)})"
    )


def _steady(ours: Ours, audit: Audit) -> None:
    """Requests of three running sessions in which nothing happens."""
    held = [launch(ours.service)[0] for _ in range(3)]
    audit.since(ours.user)
    time.sleep(QUIET_SECONDS)  # what is measured is that nothing happens meanwhile
    found = audit.since(ours.user)
    print(f"ours, 3 sessions at rest for {QUIET_SECONDS} s: {told(found) or 'no request'}")
    give_back(ours.service, *held)
