"""The control connection to one podside: requests, answers, events (wire format: podside.py)."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

from ..errors import ClusterError, ConflictError, DRAError, RefusedError
from ..sessions.leasing import UNKNOWN, UNUSED, USED
from ..sessions.ports import KernelEvent
from .tls import Dialer, TLSStream

LINE_LIMIT = 512 * 1024
QUEUE = 1000
SILENCE_SECONDS = 30.0  # podside answers every ping: longer silence is a frozen or unreachable pod
PING_SECONDS = 10.0
PINGS = 3  # at least so many within the silence
ANSWER_SECONDS = 20.0
ACTIVITIES = frozenset({"idle", "busy"})
_FIGURES = ("memory_used_bytes", "memory_total_bytes", "utilisation_percent")


class PodControl:
    """Implements `sessions.ports.Control`; lives on the loop that connected it.

    Args:
        silence: seconds without a word of podside after which the pod counts as unreachable.
    """

    def __init__(self, stream: TLSStream, silence: float = SILENCE_SECONDS) -> None:
        self._stream = stream
        self._silence = silence
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._events: asyncio.Queue[KernelEvent | None] = asyncio.Queue(QUEUE)
        self._heard = time.monotonic()
        self._closed: str | None = None
        self.state: Mapping[str, Any] = {}
        self.ending: Mapping[str, Any] | None = None
        self.others = 0
        self._tasks = [asyncio.ensure_future(self._listen()), asyncio.ensure_future(self._ping())]

    @classmethod
    async def connect(cls, dialer: Dialer, *, silence: float = SILENCE_SECONDS) -> PodControl:
        """Connect and read podside's first state; raises ClusterError."""
        stream = await dialer.open("podside")
        control = cls(stream, silence)
        try:
            await control._request("state")
        except BaseException:
            await control.close()
            raise
        return control

    # --- events ---------------------------------------------------------------------------------------------

    @property
    def events(self) -> AsyncIterator[KernelEvent]:
        return self._iterate()

    async def _iterate(self) -> AsyncIterator[KernelEvent]:
        while True:
            event = await self._events.get()
            if event is None:
                self._events.put_nowait(None)
                return
            yield event

    def _put(self, event: KernelEvent) -> None:
        if self._events.full():
            self._events.get_nowait()
        self._events.put_nowait(event)

    @property
    def closed(self) -> bool:
        return self._closed is not None

    async def _listen(self) -> None:
        why = "closed"
        try:
            while line := await self._stream.readline(LINE_LIMIT):
                self._heard = time.monotonic()
                message = json.loads(line)
                if isinstance(message, dict):
                    self._receive(message)
        except (OSError, ValueError, RecursionError):
            why = "broken"
        finally:
            self._shut(why)

    def _receive(self, message: dict[str, Any]) -> None:
        name = message.get("event")
        if name is None:
            future = self._waiting.pop(message.get("id") or 0, None)
            if future is not None and not future.done():
                if message.get("ok") is True:
                    future.set_result(message.get("result"))
                else:
                    future.set_exception(_error(message.get("error")))
            return
        for event in translate(message):
            self._put(event)
        if name == "state":
            self.state = message
            self.others = _number(message.get("others")) or 0
        elif name == "ending":
            self.ending = message

    async def _ping(self) -> None:
        while self._closed is None:
            await asyncio.sleep(min(PING_SECONDS, self._silence / PINGS))
            if time.monotonic() - self._heard > self._silence:
                self._shut("silent")
            else:
                self._send(0, "state", {})

    def _shut(self, why: str) -> None:
        if self._closed is not None:
            return
        self._closed = why
        self._stream.close()
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(_lost())
        self._waiting.clear()
        self._put(KernelEvent("closed", {"why": why, "ending": self.ending}))
        if self._events.full():
            self._events.get_nowait()
        self._events.put_nowait(None)

    @property
    def busy(self) -> bool:
        return self.state.get("activity") == "busy"

    @property
    def held(self) -> bool:
        kernel = self.state.get("kernel")
        return isinstance(kernel, dict) and kernel.get("state") == "held"

    # --- requests -------------------------------------------------------------------------------------------

    def _send(self, number: int, operation: str, arguments: Mapping[str, Any]) -> None:
        self._stream.write(json.dumps({**arguments, "id": number, "op": operation}).encode() + b"\n")

    async def _request(self, operation: str, **arguments: Any) -> Any:
        if self._closed is not None:
            raise _lost()
        number = next(self._numbers)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            self._send(number, operation, arguments)
            return await asyncio.wait_for(future, ANSWER_SECONDS)
        except (OSError, TimeoutError) as error:
            raise _lost() from error
        finally:
            self._waiting.pop(number, None)

    async def _state(self, operation: str, **arguments: Any) -> Mapping[str, Any]:
        result = await self._request(operation, **arguments)
        self.state = result if isinstance(result, dict) else {}
        kernel = self.state.get("kernel")
        return kernel if isinstance(kernel, dict) else {}

    async def start(self, *, auto: bool = False) -> Mapping[str, Any]:
        """Start a held or dead kernel; ``auto`` counts against podside's limit of 3 autorestarts in 10 minutes.

        Raises RefusedError with code ``restart-limit`` when that is used up.
        """
        return await self._state("start", auto=auto)

    async def restart(self) -> Mapping[str, Any]:
        return await self._state("restart")

    async def interrupt(self) -> None:
        await self._request("interrupt")

    async def kill(self) -> None:
        """Kill the kernel; pod and device stay."""
        await self._request("kill")

    async def expect_shutdown(self) -> None:
        """Say that the kernel's coming end was asked for by message and is no crash."""
        await self._request("expect")

    async def facts(self, update: Mapping[str, Any]) -> None:
        await self._request("facts", update=dict(update))

    async def usage(self) -> Mapping[str, Any] | None:
        result = await self._request("usage")
        return clean_usage(result)

    async def lease(self, *, ends_at: float | None = None, idle_seconds: float | None = None) -> None:
        arguments: dict[str, Any] = {}
        if ends_at is not None:
            arguments["remaining_seconds"] = max(0.0, ends_at - time.time())
        if idle_seconds is not None:
            arguments["idle_limit_seconds"] = idle_seconds
        await self._request("lease", **arguments)

    async def end(self, code: str = "stopped") -> None:
        await self._request("end", code=code)

    async def close(self) -> None:
        self._shut("closed")
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def translate(message: Mapping[str, Any]) -> list[KernelEvent]:
    """The events of one line from podside; what it says is data from the pod and is checked field by field."""
    name = message.get("event")
    if name == "kernel":
        state = message.get("state")
        if state == "dead":
            return [KernelEvent("died", clean_death(message.get("death")))]
        kind = {"starting": "started", "running": "ready"}.get(str(state))
        starts = message.get("starts")
        params = {
            "starts": starts if isinstance(starts, int) else 0,
            "reason": _text(message.get("reason"), 40),
        }
        return [KernelEvent(kind, params)] if kind else []
    if name == "activity" and message.get("state") in ACTIVITIES:
        return [KernelEvent(str(message["state"]), {"at": _text(message.get("at"), 40)})]
    if name == "state" and message.get("activity") in ACTIVITIES:  # the first line of every connection
        return [KernelEvent(str(message["activity"]), {"at": None})]
    if name == "usage":
        lease = message.get("lease")
        idling = lease if isinstance(lease, dict) else {}
        use = idling.get("device_use")
        told: dict[str, Any] = {
            "usage": clean_usage(message.get("usage")),
            "seen": clean_seen(message.get("seen")),
            "idle_since": _text(idling.get("idle_since"), 40),
            "device_use": use if use in (USED, UNUSED) else UNKNOWN,
        }
        return [KernelEvent("usage", told)]
    if name == "lease" and isinstance(message.get("lease"), dict):
        return [KernelEvent("lease", dict(message["lease"]))]
    if name == "ending":
        params = {"code": _text(message.get("code"), 40), "message": _text(message.get("message"), 500)}
        return [KernelEvent("ending", {**params, "exit_code": _number(message.get("exit_code"))})]
    return []


def clean_death(death: Any) -> dict[str, Any]:
    """A kernel's death with known fields only."""
    told = death if isinstance(death, dict) else {}
    code = told.get("code")
    return {
        "code": code if code in ("crashed", "exited", "out-of-memory") else "crashed",
        "exit_code": _number(told.get("exit_code")),
        "signal": _text(told.get("signal"), 20),
        "requested": told.get("requested") is True,
        "at": _text(told.get("at"), 40),
    }


def clean_usage(usage: Any) -> dict[str, Any] | None:
    """Figures with known fields only; numbers that are none become None."""
    if not isinstance(usage, dict):
        return None
    told: dict[str, Any] = {name: _number(usage.get(name)) for name in (*_FIGURES, "peak_bytes")}
    by_kernel, devices, cell = usage.get("by_kernel"), usage.get("devices"), usage.get("cell")
    told.update(
        at=_text(usage.get("at"), 40),
        source=_text(usage.get("source"), 40),
        why_missing=_text(usage.get("why_missing"), 40),
        simulated=usage.get("simulated") is True,
        complete=usage.get("complete") is True,
        device_seconds=_amount(usage.get("device_seconds")),
        devices=[_clean_device(one) for one in devices[:16] if isinstance(one, dict)]
        if isinstance(devices, list)
        else [],
        cell=_clean_cell(cell) if isinstance(cell, dict) else None,
        by_kernel=[
            {"memory_used_bytes": _number(e.get("memory_used_bytes"))}
            for e in by_kernel[:16]
            if isinstance(e, dict)
        ]
        if isinstance(by_kernel, list)
        else None,
    )
    return told


def _clean_device(device: Mapping[str, Any]) -> dict[str, Any]:
    names = ("uuid", "name", "driver", "pool", "device", "why_missing")
    figures = {name: _number(device.get(name)) for name in (*_FIGURES, "peak_bytes")}
    return {**{name: _text(device.get(name), 120) for name in names}, **figures}


def _clean_cell(cell: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "request": _text(cell.get("request"), 80),
        "at": _text(cell.get("at"), 40),
        "running": cell.get("running") is True,
        "peak_bytes": _number(cell.get("peak_bytes")),
        "seconds": _amount(cell.get("seconds")),
        "device_seconds": _amount(cell.get("device_seconds")),
    }


def _amount(value: Any) -> float | None:
    """Seconds with one digit; None for what is no such number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e9:
        return None
    return round(float(value), 1)


def clean_seen(seen: Any) -> list[str] | None:
    """Identities of the devices that programs in the pod can see; None where the pod cannot tell."""
    devices = seen.get("devices") if isinstance(seen, dict) else None
    if not isinstance(devices, list):
        return None
    found = (_text(one.get("uuid"), 100) for one in devices[:64] if isinstance(one, dict))
    return [uuid for uuid in found if uuid]


def _number(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -(2**63) < value < 2**63:
        return None
    return int(value)


def _text(value: Any, limit: int) -> str | None:
    return value[:limit] if isinstance(value, str) else None


def _lost() -> ClusterError:
    return ClusterError(
        "The connection to the kernel pod is lost.",
        code="unreachable",
        next_step="It is tried again by itself; `jupyter dra describe` tells how the pod is.",
    )


def _error(told: Any) -> DRAError:
    fields = told if isinstance(told, dict) else {}
    code, message = _text(fields.get("code"), 40) or "error", _text(fields.get("message"), 500) or "Refused."
    if code == "longest-lease":
        return ConflictError(message, code=code, next_step="Choose an earlier end.")
    if code == "restart-limit":
        return RefusedError(message, code=code, next_step="Restart the kernel by hand, or look at its log.")
    return ClusterError(message, code=code, next_step="Try again, or look at the log: jupyter dra logs.")
