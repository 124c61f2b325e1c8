"""The guard: a small process that cleans up after an agent which was killed.

It is forked from the agent's interpreter before anything heavy is imported, holds one end of a pipe, and does nothing
until the other end closes. A normal end closes it too; then there is nothing left to do.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

from jupyter_dra.localcluster.agent.tree import sweep


def start_guard(mark_prefix: str) -> int:
    """Fork the guard and return the descriptor that tells it about folders; closing it is the signal.

    Each line written to the descriptor is a JSON path of a folder to remove at the end. Returns -1 where the system
    cannot fork; then the next start does the cleaning.
    """
    if not hasattr(os, "fork"):
        return -1
    reading, writing = os.pipe()
    if os.fork():
        os.close(reading)
        os.set_inheritable(writing, False)
        return writing
    os.close(writing)
    try:
        _watch(reading, mark_prefix)
    finally:
        os._exit(0)


def _watch(reading: int, mark_prefix: str) -> None:
    os.setsid()
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    text = b""
    while chunk := os.read(reading, 65536):
        text += chunk
    sweep(mark_prefix)
    for line in text.splitlines():
        folder = Path(json.loads(line))
        if folder.is_dir() and not folder.is_symlink():
            shutil.rmtree(folder, ignore_errors=True)


def tell_guard(descriptor: int, folder: Path) -> None:
    """Name one more folder that the guard removes when the agent is gone."""
    if descriptor >= 0:
        os.write(descriptor, json.dumps(str(folder)).encode() + b"\n")
