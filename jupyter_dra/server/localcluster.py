"""The local cluster as this server meets it: through the command that starts it and tells of it, never by import."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import time
from typing import Any

from ..errors import ClusterError

log = logging.getLogger(__name__)

COMMAND = (sys.executable, "-m", "jupyter_dra.cli.main", "local")
PATIENCE = 30.0
"""Seconds the command may take."""
_FRESH, _SELDOM = 5.0, 300.0
_NOT_RUNNING = {"kind": "LocalCluster", "version": 1, "running": False}
_IN_A_TERMINAL = "Start it in a terminal with `jupyter dra local up`; it says what holds it up."


class LocalCluster:
    """Starts the local cluster, and remembers for a while whether it runs."""

    def __init__(self) -> None:
        self._asked = 0.0
        self._known: dict[str, Any] | None = None

    async def status(self, *, seldom: bool = False) -> dict[str, Any]:
        """The LocalCluster document; one that cannot be asked does not run.

        Args:
            seldom: another cluster is at work, so an older answer will do.
        """
        now = time.monotonic()
        if self._known is None or now - self._asked > (_SELDOM if seldom else _FRESH):
            try:
                _, out, _ = await _run("status", "-o", "json")
                told = json.loads(out)
            except (ClusterError, ValueError) as error:
                log.info("Whether the local cluster runs is not known: %s", error)
                told = {}
            known = isinstance(told, dict) and told.get("kind") == "LocalCluster"
            self._asked, self._known = now, told if known else dict(_NOT_RUNNING)
        return self._known

    async def start(self, devices: list[str], *, workdir: str) -> None:
        """Start it as a process of its own; raises ClusterError with the command's own words.

        Args:
            devices: inventories; none takes the default.
            workdir: the folder in which its kernels work.
        """
        words = ["up", "-o", "json", "--workdir", workdir]
        if devices:
            words += ["--devices", *devices]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            words.append("--allow-root")
        status, _, err = await _run(*words)
        self._known = None
        if status:
            text = err.decode("utf-8", "replace").strip().splitlines()
            raise ClusterError(
                f"The local cluster did not start: {text[0] if text else 'no reason given'}",
                code="unreachable",
                next_step=_IN_A_TERMINAL,
            )


async def _run(*words: str) -> tuple[int | None, bytes, bytes]:
    """Exit status, output and errors of ``jupyter dra local``; it never outlives the question."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(PATIENCE):
            out, err = await process.communicate()
    except TimeoutError as error:
        raise ClusterError(
            f"`jupyter dra local {words[0]}` gave no answer in {PATIENCE:g} s.",
            code="unreachable",
            next_step=_IN_A_TERMINAL,
        ) from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode, out, err
