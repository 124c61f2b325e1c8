"""The control plane besides the API server: scheduler and controllers, over HTTP like any client."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from jupyter_dra.localcluster.client import Client
from jupyter_dra.localcluster.controllers.claims import ClaimController
from jupyter_dra.localcluster.controllers.device_taints import DeviceTaintController
from jupyter_dra.localcluster.controllers.nodes import LEASE_NAMESPACE, NodeController, Patience
from jupyter_dra.localcluster.informer import Informer, started
from jupyter_dra.localcluster.kinds import (
    CLAIMS,
    CLASSES,
    LEASES,
    NODES,
    PODS,
    SLICES,
    TAINT_RULES,
    TEMPLATES,
)
from jupyter_dra.localcluster.recorder import Recorder
from jupyter_dra.localcluster.scheduler import Scheduler

Stop = Callable[[], Awaitable[None]]


async def start(client: Client, *, patience: Patience | None = None) -> Stop:
    """Start scheduler and controllers on the running loop and return what stops them.

    Args:
        client: with the rights of the control plane; stays the caller's to close.
        patience: how long silent nodes are borne; None means the times of a real cluster.

    Called by the API server's process when it answers requests.
    """
    resources = {
        "pods": PODS,
        "nodes": NODES,
        "claims": CLAIMS,
        "templates": TEMPLATES,
        "slices": SLICES,
        "classes": CLASSES,
        "rules": TAINT_RULES,
    }
    informers = {name: Informer(client, resource) for name, resource in resources.items()}
    informers["leases"] = Informer(client, LEASES, namespace=LEASE_NAMESPACE)
    await started(*informers.values())
    recorders = {
        name: Recorder(client, name)
        for name in ("default-scheduler", "resource_claim", "device-taint-eviction", "node-controller")
    }
    pods, claims = informers["pods"], informers["claims"]
    scheduler = Scheduler(client, informers, recorders["default-scheduler"])
    claim_controller = ClaimController(client, pods, claims, recorders["resource_claim"])
    informers["templates"].on_change(claim_controller.template_changed)
    taints = DeviceTaintController(
        client, pods, claims, informers["slices"], informers["rules"], recorders["device-taint-eviction"]
    )
    nodes = NodeController(
        client,
        informers["nodes"],
        informers["leases"],
        pods,
        recorders["node-controller"],
        patience or Patience(),
    )
    scheduler.start()
    nodes.start()

    async def stop() -> None:
        await scheduler.stop()
        await asyncio.gather(claim_controller.stop(), taints.stop(), nodes.stop())
        await asyncio.gather(
            *(informer.stop() for informer in informers.values()),
            *(recorder.stop() for recorder in recorders.values()),
        )

    return stop
