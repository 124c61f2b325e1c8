"""The main process of a kernel pod: one mutual-TLS port in front of the kernel, its lease and its facts.

Mounted from the pod's Secret and run by the image's own Python (3.8 or later, standard library only)::

    python /jupyter-dra/podside/podside.py [--hold] [--run /run/jupyter-dra] [--termination-log FILE]

Every connection opens with one JSON line, ``{"v":1,"channel":"shell"}``, answered by ``{"ok":true}``. Then the five
kernel channels carry raw bytes to the ipc sockets of one kernel (the answer has its number, ``starts``); channel
``podside`` carries JSON lines: requests ``{"id","op",…}``, answers ``{"id","ok","result"|"error"}`` and events
``{"event",…}`` (see control.py, its other end).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import time
from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ..sessions import leasing as podlease
    from . import podclients, podgate, podjoin, podkeep, podkernel, podmeter, podusage

    Operation = Callable[["Podside", dict[str, Any]], Awaitable[Any]]
else:
    import podclients
    import podgate
    import podjoin
    import podkeep
    import podkernel
    import podlease
    import podmeter
    import podusage

VERSION = 1
LINE_LIMIT = 512 * 1024
CONNECTIONS = 128
RESTARTS = 3  # unasked deaths within RESTART_WINDOW after which the kernel stays dead
RESTART_WINDOW = 600.0
DECISION_SECONDS = 15.0  # what a server has to decide about a dead kernel
PATIENCE_ALONE = 2.0
CLOSED_SECONDS = 0.5  # for the connections to a kernel that has ended
HOLD_LIMIT = 900.0
LINGER_SECONDS = 3.0  # below the pod's grace: in it a server has another pod scheduled on the same device
ENDS = {"lease-over": "The lease is over.", "idle": "Nothing used the device for the idle limit."}
OWN_KEYS = ("kind", "version", "kernel", "lease", "usage", "seen", "activity", "written_at")


class Refused(Exception):
    """A request that is understood and not done; ``code`` tells why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Podside:
    """State of the pod: the kernel, who is connected, the lease, the facts; lease and idling on the monotonic clock."""

    def __init__(self, config: dict[str, Any], options: argparse.Namespace) -> None:
        self.config = config
        self.options = options
        self.began = time.monotonic()
        self.run = options.run
        self.kernel = podkernel.Kernel(config, self.run, self.on_death)
        terms = config.get("lease") or {}
        self.lease = podlease.Lease(
            self.began,
            seconds=terms.get("lease_seconds"),
            longest=terms.get("longest_seconds"),
            idle_limit=terms.get("idle_limit_seconds"),
        )
        self.use = podlease.Use(self.began, by_kernel=terms.get("idle_by") == "kernel")
        self.meter = podmeter.Meter(
            podusage.Sampler(self.run, config.get("nvml_library")),
            self.run,
            every=float(config.get("usage_seconds", 5)),
            cells=bool(config.get("measure_cells")),
        )
        self.facts: dict[str, Any] = dict(config.get("facts") or {})
        self.history: deque[dict[str, Any]] = deque(maxlen=50)
        self.deaths: deque[float] = deque(maxlen=RESTARTS + 1)
        self.clients = podclients.Clients()
        self.connections = 0
        self.joins = podjoin.Joins()
        self.keeper = podkeep.Keeper()
        self.held = bool(options.hold)
        self.ready = False
        self.blind = bool(config.get("curve"))  # encrypted status messages cannot be read: never judged idle
        self.busy: set[str] = set()
        self.told_activity = "starting"
        self.dead_at: float | None = None
        self.restarting = False
        self.leaving = False
        self.ending: str | None = None
        self.exit_status = 0
        self.done = asyncio.Event()
        self.lock = asyncio.Lock()
        self.tasks: set[asyncio.Task[None]] = set()
        self.dirty = True

    # --- running --------------------------------------------------------------------------------------------

    async def main(self) -> int:
        """Serve until the pod is to end; returns its exit status."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGCHLD, self.kernel.reap)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.leave)
        self.kernel.reap()  # children that ended before the handler stood
        if self.kernel.pid is not None:
            self.spawn(self.watch_kernel())
        host = self.options.host or os.environ.get("POD_IP") or None
        try:
            server = await asyncio.start_server(
                self.serve,
                host,
                self.options.port,
                ssl=podgate.context(self.options.dir),
                limit=LINE_LIMIT,
                ssl_handshake_timeout=10,
            )
        except OSError as error:
            self.end("crashed", f"podside cannot listen: {error}", 70)
            self.kernel.end_everything()
            return self.exit_status
        port = server.sockets[0].getsockname()[1]
        podkernel.write_private(os.path.join(self.run, "podside.port"), str(port))
        log(f"listening on port {port}")
        self.spawn(self.meter.run(self.measurable, self.measured))
        while not self.done.is_set():
            self.tick()
            try:
                await asyncio.wait_for(self.done.wait(), 1.0)
            except asyncio.TimeoutError:  # noqa: UP041
                continue
        server.close()
        await self.kernel.stop(0.3)
        self.clients.close()
        self.kernel.end_everything()
        return self.exit_status

    def spawn(self, work: Awaitable[None]) -> None:
        async def guarded() -> None:
            try:
                await work
            except (Refused, OSError, EOFError, ValueError, asyncio.TimeoutError) as error:  # noqa: UP041
                log(f"ended early: {error!r}")

        task = asyncio.ensure_future(guarded())
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    # --- the kernel -----------------------------------------------------------------------------------------

    def start_kernel(self, reason: str) -> None:
        """Start the kernel; where it cannot be executed the pod ends with 127 and says so."""
        if self.leaving:
            raise Refused("stopped", "The pod was told to stop.")
        self.held = False
        try:
            self.kernel.start()
        except (OSError, ValueError) as error:
            self.end("crashed", f"The kernel's command cannot be run: {error}", 127)
            raise Refused("crashed", f"The kernel's command cannot be run: {error}") from error
        self.ready, self.dead_at = False, None
        self.busy.clear()
        self.use.touch(time.monotonic())
        self.history.append({"at": podkernel.utc(), "event": "started", "reason": reason})
        self.told_activity = "starting"
        log(f"kernel {self.kernel.pid} started ({reason})")
        self.tell({"event": "kernel", "state": "starting", "reason": reason, "starts": self.kernel.starts})

    async def watch_kernel(self) -> None:
        """Report readiness and activity of the kernel that runs now, until its sockets close."""
        pid = self.kernel.pid
        topic = b"kernel" if "ipykernel" in " ".join(self.config["argv"]) else b""
        await self.socket_ready("iopub", 600.0)
        if self.blind:
            self.on_status("subscribed", "", "")
            return
        while self.kernel.pid == pid and pid is not None:
            try:
                await podkernel.watch_status(self.kernel.socket_path("iopub"), topic, self.on_status)
            except (OSError, EOFError):
                await asyncio.sleep(0.2)

    async def socket_ready(self, channel: str, seconds: float) -> None:
        """Wait until a kernel runs and its socket file stands; raises Refused when it does not come."""
        path, deadline = self.kernel.socket_path(channel), time.monotonic() + seconds
        while self.kernel.pid is None or not os.path.exists(path):
            if self.ending or time.monotonic() > deadline:
                raise Refused("no-kernel", "No kernel runs in this pod.")
            await asyncio.sleep(0.01)

    def on_status(self, state: str, request: str, request_id: str) -> None:
        if not self.ready:
            self.ready = True
            self.tell({"event": "kernel", "state": "running", "starts": self.kernel.starts})
        if request in podkernel.HOUSEKEEPING:
            self.activity()
            return
        self.use.touch(time.monotonic())
        if state == "busy" and len(self.busy) < 1000:
            self.busy.add(request_id)
            self.meter.cell_begins(request_id)
        elif state == "idle":
            self.busy.discard(request_id)
            self.meter.cell_ends(request_id)
        asyncio.get_running_loop().call_later(0.1, self.activity)

    def activity(self) -> None:
        if self.kernel.pid is None:
            state = "held" if self.held else "dead"
        else:
            state = ("busy" if self.busy else "idle") if self.ready else "starting"
        if state != self.told_activity:
            self.told_activity = state
            self.tell({"event": "activity", "state": state, "at": podkernel.utc()})

    def on_death(self, death: dict[str, Any]) -> None:
        first_start = not self.ready and self.kernel.starts == 1
        self.dead_at, self.ready = time.monotonic(), False
        self.busy.clear()
        self.history.append(dict(death, event="died"))
        log(f"kernel ended: {json.dumps(death)}")
        if not death["requested"] and death["code"] != "exited":
            self.deaths.append(self.dead_at)
        self.tell({"event": "kernel", "state": "dead", "death": death, "starts": self.kernel.starts})
        self.activity()
        if first_start and not death["requested"] and not self.ending and not self.leaving:
            self.end(
                "crashed", "The kernel ended before it was ready; see the pod's log.", death["exit_code"]
            )

    def may_restart(self) -> bool:
        now = time.monotonic()
        return sum(1 for at in self.deaths if now - at < RESTART_WINDOW) <= RESTARTS

    async def restart_kernel(self, reason: str) -> None:
        async with self.lock:
            self.restarting = True
            try:
                await self.kernel.stop()
                await self.joins.closed(CLOSED_SECONDS)
                self.start_kernel(reason)
                self.spawn(self.watch_kernel())
            finally:
                self.restarting = False

    # --- the clock ------------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Once a second: lease, idling, a dead kernel nobody decides about; facts to the file."""
        now = time.monotonic()
        due = self.lease.over(now, self.use.due_since(busy=self.in_use()))
        if due is not None:
            self.end(due, ENDS[due], 0)
        elif self.held and not self.clients and now - self.began > HOLD_LIMIT:
            self.end("launch-timeout", "Nobody started the kernel.", 0)
        if self.dead_at is not None and not self.restarting and not self.ending and not self.leaving:
            self.decide(now - self.dead_at)
        self.write_facts()

    def decide(self, seconds: float) -> None:
        death = self.kernel.last_death or {}
        crashed = not death.get("requested") and death.get("code") != "exited"
        patience = PATIENCE_ALONE
        if self.clients or not crashed:
            patience = float(self.config.get("decision_seconds", DECISION_SECONDS))
        if seconds < patience:
            return
        if crashed and self.may_restart() and self.config.get("autorestart", True):
            self.spawn(self.restart_kernel("autorestart"))
        elif not self.clients:
            self.end(death.get("code", "exited"), "The kernel ended.", death.get("exit_code", 0))

    def in_use(self) -> bool:
        """Whether the kernel works, or may: starting, held for a predecessor, or nobody can tell."""
        return self.held or (self.kernel.pid is not None and bool(self.busy or self.blind or not self.ready))

    def idle_since(self) -> float | None:
        return self.use.idle_since(busy=self.in_use())

    def lease_facts(self) -> dict[str, Any]:
        """The lease as others read it: moments of this machine's calendar."""
        now, wall = time.monotonic(), time.time()

        def text(at: float | None) -> str | None:
            return None if at is None else podkernel.utc(wall + at - now)

        limit = self.lease.idle_limit
        return {
            "ends_at": text(self.lease.ends),
            "longest_until": text(self.lease.longest),
            "idle_limit_seconds": None if limit is None else int(limit),
            "idle_since": text(self.idle_since()),
            "device_use": self.use.device,
        }

    def measured(self) -> None:
        """One sample of the device's figures was taken."""
        self.use.measure(time.monotonic(), self.meter.usage)
        usage, seen = self.meter.usage, self.meter.seen
        self.tell({"event": "usage", "usage": usage, "seen": seen, "lease": self.lease_facts()})
        if self.meter.measures_cells:
            self.write_facts()  # the kernel reads it right after its cell

    def measurable(self) -> tuple[list[Any], list[int]]:
        """The allocated devices, and the processes whose memory is the kernel's."""
        return self.facts.get("devices") or [], podkernel.tree_of(self.kernel.pid) if self.kernel.pid else []

    def leave(self) -> None:
        """The pod is to go: the kernel ends at once, the pod as soon as no server has a use for it.

        A server that follows the kernel and did not ask for this lets another pod be scheduled on the claim first: one
        that asked for it has closed its connection before.
        """
        if self.leaving or not self.clients.living():
            self.end("stopped", "The pod was told to stop.", 143)
            return
        self.leaving = True
        self.spawn(self.linger())

    async def linger(self) -> None:
        until = time.monotonic() + LINGER_SECONDS
        await self.kernel.stop(0.3)
        while self.clients and not self.ending and time.monotonic() < until:
            await asyncio.sleep(0.02)
        self.end("stopped", "The pod was told to stop.", 143)

    def end(self, code: str, message: str, status: int) -> None:
        """End the pod: say why (termination message, log, event), then stop everything; only the first counts."""
        if self.ending:
            return
        self.ending, self.exit_status = code, status
        self.tell({"event": "ending", "code": code, "message": message, "exit_code": status})
        self.write_facts()
        told = {"code": code, "message": message, "exit_code": status, "at": podkernel.utc()}
        told["death"] = self.kernel.last_death
        log(f"ending: {code} ({message})")
        path = self.options.termination_log
        if path:
            try:
                with open(path, "w", encoding="utf-8") as file:
                    file.write(json.dumps(told))
            except OSError as error:
                log(f"no termination message: {error}")
        self.done.set()

    # --- facts ----------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        kernel = self.kernel
        running = ("running" if self.ready else "starting") if kernel.pid is not None else None
        return {
            "kernel": {
                "state": running or ("held" if self.held else "dead"),
                "starts": kernel.starts,
                "started_at": None if kernel.started_at is None else podkernel.utc(kernel.started_at),
                "last_death": kernel.last_death,
                "may_restart": self.may_restart(),
                "history": list(self.history),
            },
            "activity": self.told_activity,
            "lease": self.lease_facts(),
            "usage": self.meter.usage,
            "seen": self.meter.seen,
        }

    def write_facts(self) -> None:
        if not self.dirty and int(time.monotonic()) % 5:
            return
        self.dirty = False
        content: dict[str, Any] = {"kind": "SessionFacts", "version": VERSION}
        content.update({name: value for name, value in self.facts.items() if name not in OWN_KEYS})
        content.update(self.state())
        content["written_at"] = podkernel.utc()
        try:
            podkernel.write_private(os.path.join(self.run, "session.json"), json.dumps(content))
        except OSError as error:
            log(f"session.json not written: {error}")

    def tell(self, event: dict[str, Any]) -> None:
        """Send an event to every connected server, and have the facts written again."""
        self.dirty = True
        self.clients.tell(event)

    # --- connections ----------------------------------------------------------------------------------------

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            if self.connections > CONNECTIONS:
                raise Refused("too-many", "Too many connections.")
            if not podgate.is_pinned(writer, self.config["client_sha256"]):
                raise Refused("not-pinned", "Another client certificate is expected.")
            hello = json.loads(await asyncio.wait_for(reader.readline(), 10))
            channel = hello.get("channel") if isinstance(hello, dict) and hello.get("v") == VERSION else None
            if channel == "podside":
                await self.converse(reader, writer)
            elif channel in podkernel.CHANNELS:
                await self.join(channel, writer)
            elif channel == "kept":
                await self.keeper.give(writer)
            else:
                raise Refused("bad-hello", f"The first line names no channel of version {VERSION}.")
        except Refused as error:
            writer.write(answer(None, error))
        except (OSError, EOFError, ValueError, asyncio.TimeoutError, RecursionError):  # noqa: UP041
            pass
        finally:
            self.connections -= 1
            self.clients.left(writer)
            writer.close()

    async def join(self, channel: str, writer: asyncio.StreamWriter) -> None:
        """Pass bytes between a TLS connection and the kernel's socket, both ways, until one side closes."""
        await self.socket_ready(channel, 60.0)
        starts = self.kernel.starts
        made = podkeep.Published if channel == "iopub" and not self.blind else podjoin.Pipe
        loop = asyncio.get_running_loop()
        _transport, inner = await loop.create_unix_connection(made, self.kernel.socket_path(channel))
        if starts != self.kernel.starts:
            inner.transport.close()
            raise Refused("no-kernel", "The kernel ended just now.")
        outer = podjoin.couple(inner, writer)
        writer.write(json.dumps({"ok": True, "starts": starts}).encode() + b"\n")
        self.keeper.joined(inner)
        try:
            await self.joins.passing(inner, outer)
        finally:
            if self.ending or not self.keeper.left(inner):
                inner.transport.close()

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one control connection: events out, requests in."""
        writer.write(b'{"ok":true}\n')
        others = self.clients.living()
        writer.write(json.dumps(dict(self.state(), event="state", others=others)).encode() + b"\n")
        self.clients.heard(writer)
        while True:
            line = await reader.readline()
            if not line:
                return
            self.clients.heard(writer)
            request = json.loads(line)
            if isinstance(request, dict):
                self.spawn(self.perform(request, writer))
            await writer.drain()

    async def perform(self, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        """Do one request and answer it."""
        number = request.get("id")
        try:
            operation = OPERATIONS.get(str(request.get("op")))
            if operation is None:
                raise Refused("unknown-op", "This podside does not know the request.")
            result = await operation(self, request)
            writer.write(json.dumps({"id": number, "ok": True, "result": result}).encode() + b"\n")
        except Refused as error:
            writer.write(answer(number, error))
        except (TypeError, ValueError, KeyError) as error:
            writer.write(answer(number, Refused("invalid", str(error))))

    # --- requests -------------------------------------------------------------------------------------------

    async def op_start(self, request: dict[str, Any]) -> dict[str, Any]:
        """Start a held or dead kernel; nothing if one runs. ``auto``: only within the limit of autorestarts."""
        async with self.lock:
            if self.kernel.pid is None:
                if request.get("auto") and not self.may_restart():
                    raise Refused("restart-limit", f"The kernel died {len(self.deaths)} times in 10 minutes.")
                await self.joins.closed(CLOSED_SECONDS)
                self.start_kernel("autorestart" if request.get("auto") else "asked")
                self.spawn(self.watch_kernel())
        return self.state()

    async def op_restart(self, request: dict[str, Any]) -> dict[str, Any]:
        await self.restart_kernel("restart")
        return self.state()

    async def op_interrupt(self, request: dict[str, Any]) -> bool:
        return self.kernel.signal(signal.SIGINT)

    async def op_kill(self, request: dict[str, Any]) -> bool:
        """Kill the kernel, keep the pod and its device (jupyter_client's kill before a restart)."""
        self.kernel.requested = True
        killed = self.kernel.signal(signal.SIGKILL)
        await self.kernel.stop(0.0)
        return killed

    async def op_expect(self, request: dict[str, Any]) -> None:
        """The kernel was asked to shut down by message: its end is no crash."""
        self.kernel.requested = True

    async def op_facts(self, request: dict[str, Any]) -> None:
        update = request["update"]
        if not isinstance(update, dict):
            raise Refused("invalid", "update is no mapping")
        self.facts.update(update)
        self.dirty = True
        self.write_facts()

    async def op_usage(self, request: dict[str, Any]) -> dict[str, Any] | None:
        return self.meter.usage

    async def op_lease(self, request: dict[str, Any]) -> dict[str, Any]:
        if request.get("remaining_seconds") is not None:
            try:
                self.lease.end_in(time.monotonic(), float(request["remaining_seconds"]))
            except podlease.TooLong as error:
                raise Refused("longest-lease", str(error)) from error
        if "idle_limit_seconds" in request:
            limit = request["idle_limit_seconds"]
            self.lease.idle_limit = None if limit is None else float(limit)
        self.use.touch(time.monotonic())  # somebody wants it
        facts = self.lease_facts()
        self.tell({"event": "lease", "lease": facts})
        self.write_facts()
        return facts

    async def op_end(self, request: dict[str, Any]) -> None:
        code, message = str(request.get("code") or "stopped"), str(request.get("message") or "Stopped.")
        asyncio.get_running_loop().call_later(0.02, self.end, code[:40], message[:500], 0)

    async def op_state(self, request: dict[str, Any]) -> dict[str, Any]:
        return self.state()


OPERATIONS: dict[str, Operation] = {
    name[3:]: getattr(Podside, name) for name in dir(Podside) if name.startswith("op_")
}


def answer(number: Any, error: Refused) -> bytes:
    told = {"id": number, "ok": False, "error": {"code": error.code, "message": str(error)}}
    return json.dumps(told).encode() + b"\n"


def log(message: str) -> None:
    print("podside: " + message.replace("\n", " "), file=sys.stderr, flush=True)


def arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="podside")
    parser.add_argument(
        "--dir", default=os.path.dirname(os.path.abspath(__file__)), help="the mounted Secret"
    )
    parser.add_argument("--run", default="/run/jupyter-dra", help="private, memory-backed folder")
    parser.add_argument("--host", help="address to listen on (default: POD_IP, else all)")
    parser.add_argument("--port", type=int, default=17117)
    parser.add_argument("--hold", action="store_true", help="start the kernel only when told")
    parser.add_argument("--termination-log", help="file for the reason of the end")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Run the pod; returns the exit status of the container."""
    options = arguments(sys.argv[1:] if argv is None else argv)
    with open(os.path.join(options.dir, "podside.json"), encoding="utf-8") as file:
        config = json.load(file)
    config["umask"] = os.umask(0o077)  # the kernel gets back what was set
    podkernel.private_folder(options.run)
    podkernel.adopt_orphans()
    podkernel.install_module(options.dir, options.run)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    podside = Podside(config, options)
    try:
        if not podside.held:
            podside.start_kernel("launch")  # first of all: the kernel needs longest
    except Refused:
        return podside.exit_status
    return loop.run_until_complete(podside.main())


if __name__ == "__main__":
    STATUS = main()
    sys.stderr.flush()
    os._exit(STATUS)
