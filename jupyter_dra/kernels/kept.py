"""What a kernel published while nobody was connected, fetched from its pod (podkeep.py keeps it)."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from dataclasses import dataclass
from typing import Any

from ..errors import ClusterError
from ..sessions.ports import KernelHandle
from .credentials import PodCredentials
from .tls import Dialer, TLSStream

MOST_BYTES = 16 * 2**20
LINE_LIMIT = 8 * 2**20
SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Kept:
    """Wire messages of iopub, oldest first, and how much older output the pod dropped."""

    messages: tuple[list[bytes], ...] = ()
    dropped_messages: int = 0
    dropped_bytes: int = 0
    dropped_lines: int = 0
    dropped_since: str | None = None
    dropped_until: str | None = None


async def fetch_kept(handle: KernelHandle) -> Kept:
    """Take what the pod kept; from now on it keeps nothing until the last client goes again.

    Raises:
        ClusterError: the pod cannot be reached, or what it says makes no sense.
    """
    assert isinstance(handle.credentials, PodCredentials)
    stream = await Dialer(handle.target, handle.credentials).open("kept")
    try:
        return await asyncio.wait_for(_read(stream), SECONDS)
    except (OSError, TimeoutError, ValueError, TypeError, KeyError, binascii.Error, RecursionError) as error:
        raise ClusterError(
            "What the kernel printed meanwhile cannot be read.",
            code="unreachable",
            next_step="Run the cell again where its output matters.",
        ) from error
    finally:
        stream.close()


async def _read(stream: TLSStream) -> Kept:
    """The pod's words are data: sizes are bounded, and the last line must be there."""
    messages: list[list[bytes]] = []
    size = 0
    while True:
        told: Any = json.loads(await stream.readline(LINE_LIMIT))
        if isinstance(told, dict):
            return Kept(
                tuple(messages),
                _count(told["dropped_messages"]),
                _count(told["dropped_bytes"]),
                _count(told.get("dropped_lines")),
                _date(told.get("dropped_since")),
                _date(told.get("dropped_until")),
            )
        parts = [base64.b64decode(part, validate=True) for part in told]
        size += sum(map(len, parts))
        if size > MOST_BYTES:
            raise ValueError("more than the pod may keep")
        messages.append(parts)


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _date(value: Any) -> str | None:
    return value if isinstance(value, str) and len(value) < 64 else None
