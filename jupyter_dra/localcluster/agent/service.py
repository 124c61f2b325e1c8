"""Running an agent until it is told to stop."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

from jupyter_dra.errors import ClusterError, DRAError
from jupyter_dra.localcluster.agent.agent import Agent
from jupyter_dra.localcluster.agent.images import ImageTable
from jupyter_dra.localcluster.agent.process import die_with_parent
from jupyter_dra.localcluster.agent.surroundings import AgentOptions, memory_folder
from jupyter_dra.localcluster.client import Client
from jupyter_dra.localcluster.ending import told_to_end
from jupyter_dra.localcluster.inventories import Inventory, load

log = logging.getLogger(__name__)

_FILE_POLL_SECONDS = 0.01


def serve(arguments: argparse.Namespace, on_folder: Callable[[Path], None]) -> int:
    """Run the agent of these arguments; returns the exit status.

    Args:
        on_folder: told of each folder that has to go when the agent is gone.
    """
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )
    if arguments.lifeline:
        die_with_parent()
    folder: Path = arguments.dir
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    pods = folder / f"pods-{arguments.mark}"
    pods.mkdir(mode=0o700)
    memory = memory_folder(arguments.mark)
    memory.mkdir(mode=0o700)
    on_folder(memory)
    on_folder(pods)
    try:
        return asyncio.run(_run(arguments, pods, memory))
    except DRAError as error:
        print(error.message, file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(memory, ignore_errors=True)
        shutil.rmtree(pods, ignore_errors=True)


async def _run(arguments: argparse.Namespace, pods: Path, memory: Path) -> int:
    stopping = _stop_wish(watch_stdin=arguments.lifeline)
    inventory = _inventory(arguments.inventory)
    needed = (arguments.kubeconfig, arguments.tls_cert, arguments.tls_key, arguments.client_ca)
    waiting = asyncio.create_task(_files(needed, arguments.wait_seconds))
    await asyncio.wait({waiting, stopping}, return_when=asyncio.FIRST_COMPLETED)
    if stopping.done():
        waiting.cancel()
        return 0
    await waiting
    options = AgentOptions(
        folder=pods,
        memory_folder=memory,
        mark=f"{arguments.mark}/",
        workdir=arguments.workdir,
        images=ImageTable(missing=tuple(arguments.missing_image)),
        host_ip=arguments.listen,
        pull_seconds=arguments.pull_seconds,
        lease_seconds=arguments.lease_seconds,
        lease_duration=arguments.lease_duration,
        kubelet_port=arguments.port,
    )
    async with Client.from_kubeconfig(arguments.kubeconfig, arguments.context) as client:
        agent = Agent(
            client, inventory, options, (arguments.tls_cert, arguments.tls_key, arguments.client_ca)
        )
        starting = asyncio.create_task(_start(agent, client, arguments.install_kubeconfig))
        await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        try:
            if starting.done():
                starting.result()
                print(
                    json.dumps({"nodes": inventory.node_names(), "devices": inventory.device_count()}),
                    flush=True,
                )
                await stopping
        finally:
            starting.cancel()
            await agent.stop()
    return 0


async def _start(agent: Agent, client: Client, admin: Path | None) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            await client.request("GET", "/readyz", timeout=5)
            break
        except DRAError:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.02)
    if admin is None:
        await agent.start()
        return
    async with Client.from_kubeconfig(admin) as installer:
        await asyncio.gather(agent.start(), agent.drivers.install(installer))


def _inventory(sources: list[str]) -> Inventory:
    host = []
    if "host" in sources:
        from jupyter_dra.localcluster.hostdevices import host_objects  # NVML only when asked for

        host = host_objects()
    return load(sources, host=host)


async def _files(paths: tuple[Path, ...], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not all(path.is_file() and path.stat().st_size for path in paths):
        if time.monotonic() > deadline:
            missing = ", ".join(str(path) for path in paths if not path.is_file())
            raise ClusterError(f"The API server's files did not appear within {seconds:.0f} s: {missing}.")
        await asyncio.sleep(_FILE_POLL_SECONDS)


def _stop_wish(*, watch_stdin: bool) -> asyncio.Future[None]:
    """Completed by a signal or, with ``watch_stdin``, by the end of standard input."""
    stopping = told_to_end()
    loop = asyncio.get_running_loop()

    def look() -> None:
        if os.read(sys.stdin.fileno(), 1024):
            return
        loop.remove_reader(sys.stdin.fileno())
        if not stopping.done():
            stopping.set_result(None)

    if watch_stdin and os.name == "posix":
        loop.add_reader(sys.stdin.fileno(), look)
    return stopping
