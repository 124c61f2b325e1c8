"""What a front end does with a notebook on a tier's kernel, and what the cluster then holds."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.localcluster_fixture import LocalCluster

WISH = {"vram": "80GB", "cpu": "1", "host_memory": "1Gi"}


def save(root: Path, kernel: str | None) -> None:
    """Write ``train.ipynb``, which names this kernel."""
    metadata = {"kernelspec": {"name": kernel, "display_name": kernel}} if kernel else {}
    content = {"cells": [], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    (root / "train.ipynb").write_text(json.dumps(content))


async def start(jp_fetch: Any, kernel: str) -> dict[str, Any]:
    """Begin Jupyter's own session of the notebook, as opening it does."""
    body = {"path": "train.ipynb", "name": "train.ipynb", "type": "notebook", "kernel": {"name": kernel}}
    reply = await jp_fetch("api", "sessions", method="POST", body=json.dumps(body), request_timeout=60)
    return dict(json.loads(reply.body))


async def run(app: Any, kernel_id: str, code: str) -> str:
    """What code prints in a kernel of the server, once that answers."""
    client = app.kernel_manager.get_kernel(kernel_id).client()
    client.start_channels()
    printed: list[str] = []
    try:
        await client.wait_for_ready(timeout=30)
        await client.execute_interactive(
            code, timeout=30, output_hook=lambda m: printed.append(m["content"].get("text", ""))
        )
    finally:
        client.stop_channels()
    return "".join(printed)


def listen(app: Any, kernel_id: str) -> list[str]:
    """What the kernel manager is told about the kernel, as it comes."""
    manager = app.kernel_manager.get_kernel(kernel_id)
    told: list[str] = []
    manager.add_restart_callback(lambda: told.append("dead"), "dead")
    manager.add_restart_callback(lambda: told.append("restart"), "restart")
    return told


def allocated(cluster: LocalCluster) -> list[str]:
    """The devices of all claims."""
    claims = cluster.list("resourceclaims")
    return [r["device"] for c in claims for r in c["status"]["allocation"]["devices"]["results"]]


async def nothing_left(cluster: LocalCluster) -> None:
    """Wait until no claim and no pod is there."""
    await asyncio.to_thread(
        cluster.wait, lambda: not cluster.list("resourceclaims") and not cluster.list("pods")
    )
