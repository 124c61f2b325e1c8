"""Code run on a session's kernel by a program that waits for it, such as ``%%dra``."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import zmq
from jupyter_client.blocking.client import BlockingKernelClient

from ..errors import ClusterError, DRAError, SessionEnded
from ..sessions.ports import KernelHandle
from .held_kernel import HeldKernel
from .unanswered import told_by_us

READY_SECONDS = 60.0
POLL_MILLISECONDS = 250
ALIVE_SECONDS = 1.0
LOST_SECONDS = 8.0
"""Seconds of silence of a kernel that says it is idle, after which the answer counts as lost with a connection."""
INTERRUPT_SECONDS = 15.0
"""Seconds an interrupted cell gets to end; a second interrupt ends the waiting at once."""

Message = Mapping[str, Any]


class RelayChannel:
    """Implements `sessions.ports.KernelChannel` over the relay; blocking, for one thread.

    Args:
        service: a `sessions.service.Sessions`.
        handle: from its ``ready``.
    """

    def __init__(self, service: Any, handle: KernelHandle) -> None:
        self._service = service
        self._client = BlockingKernelClient()
        self._held = HeldKernel(service, handle, on_moved=self._client.load_connection_info)
        try:
            self._client.load_connection_info(service.loop.call(self._held.open()))
            self._client.start_channels(hb=False)
            self._listen()
        except BaseException:
            self.close()
            raise

    def _listen(self) -> None:
        """Until our subscription is there: what a kernel publishes before would be lost."""
        end = time.monotonic() + READY_SECONDS
        while True:
            request = self._client.kernel_info()
            until = time.monotonic() + 1.0
            while time.monotonic() < until:
                message = self._next("iopub", 0.1)
                if message is not None and message["parent_header"].get("msg_id") == request:
                    while self._next("shell", 0.2) is not None:
                        pass
                    return
            self._check_alive()
            if time.monotonic() > end:
                raise SessionEnded("The kernel does not answer.", code="launch-timeout")

    def _next(self, channel: str, seconds: float) -> dict[str, Any] | None:
        from queue import Empty

        source: Any = getattr(self._client, f"{channel}_channel")
        try:
            message: dict[str, Any] = source.get_msg(timeout=seconds)
        except Empty:
            return None
        return message

    def idle(self) -> bool:
        """Whether the kernel says that it does nothing."""
        return bool(self._service.loop.call(self._held.state()) == "idle")

    def _check_alive(self) -> None:
        ending = self._service.loop.call(self._held.ending())
        if ending is not None:
            words = ending.get("message") or "The kernel ended while the cell ran."
            raise SessionEnded(
                str(words),
                code=str(ending.get("code") or "exited"),
                next_step=ending.get("next_step"),
            )

    def execute(
        self,
        code: str,
        *,
        told: Callable[[Message], None],
        ask: Callable[[str, bool], str] | None = None,
        silent: bool = False,
    ) -> Message:
        """Run code and wait for its end; see `sessions.ports.KernelChannel.execute`."""
        request = self._client.execute(
            code, silent=silent, store_history=not silent, allow_stdin=ask is not None
        )
        return _Run(self, request, told, ask).wait()

    def evaluate(self, expression: str) -> str | None:
        """Evaluate one expression; see `sessions.ports.KernelChannel.evaluate`."""
        request = self._client.execute(
            "", silent=True, store_history=False, user_expressions={"it": expression}, allow_stdin=False
        )
        reply = _Run(self, request, lambda message: None, None).wait()
        answer: Message = (reply.get("user_expressions") or {}).get("it") or reply
        if answer.get("status") == "ok":
            return None
        return str(answer.get("evalue") or answer.get("ename") or "no answer")

    def interrupt(self) -> None:
        self._service.loop.call(self._held.interrupt())

    def close(self) -> None:
        self._client.stop_channels()
        if self._service.loop.running:
            self._service.loop.call(self._held.close())


class _Run:
    """One request from its sending to its end."""

    def __init__(
        self,
        channel: RelayChannel,
        request: str,
        told: Callable[[Message], None],
        ask: Callable[[str, bool], str] | None,
    ) -> None:
        self._channel, self._client = channel, channel._client
        self._request, self._told, self._ask = request, told, ask
        self._reply: Message | None = None
        self._idle = False
        self._interrupted: float | None = None
        self._heard = self._asked_at = time.monotonic()
        self._idle_since: float | None = None

    def wait(self) -> Message:
        poller = zmq.Poller()
        for channel in (self._client.iopub_channel, self._client.shell_channel, self._client.stdin_channel):
            poller.register(channel.socket, zmq.POLLIN)
        while self._reply is None or not self._idle:
            try:
                self._turn(dict(poller.poll(POLL_MILLISECONDS)))
            except KeyboardInterrupt:
                if self._interrupted is not None:
                    raise
                self._interrupted = time.monotonic()
                self._channel.interrupt()
        return self._reply

    def _turn(self, ready: Mapping[Any, int]) -> None:
        now = time.monotonic()
        if ready:
            self._heard, self._idle_since = now, None
        elif now - max(self._heard, self._asked_at) > ALIVE_SECONDS:
            self._asked_at = now
            self._silent(now)
        if self._interrupted is not None and now - self._interrupted > INTERRUPT_SECONDS:
            raise KeyboardInterrupt
        if self._client.iopub_channel.socket in ready:
            self._published()
        if self._client.stdin_channel.socket in ready:
            self._asked()
        if self._client.shell_channel.socket in ready:
            message = self._own("shell")
            if message is not None:
                self._answered(message["content"])

    def _answered(self, reply: Message) -> None:
        why = told_by_us(reply)
        if why is not None:
            raise SessionEnded(why.message, code=why.code, next_step=why.next_step)
        self._reply = reply

    def _silent(self, now: float) -> None:
        """Ask why nothing comes: the kernel may be dead, or its answer was on a connection that broke."""
        self._channel._check_alive()
        if not self._channel.idle():
            self._idle_since = None
            return
        self._idle_since = self._idle_since or now
        if now - self._idle_since > LOST_SECONDS:
            raise ClusterError(
                "The connection to the kernel broke while the cell ran; how it ended is not known.",
                code="output-lost",
                next_step="Its variables are still there: look at them, or run the cell again.",
            )

    def _own(self, channel: str) -> dict[str, Any] | None:
        message = self._channel._next(channel, 0)
        if message is None or message["parent_header"].get("msg_id") != self._request:
            return None
        return message

    def _published(self) -> None:
        message = self._own("iopub")
        if message is None:
            return
        if message["msg_type"] == "status":
            self._idle = self._idle or message["content"]["execution_state"] == "idle"
        elif told_by_us(message["content"]) is None:
            self._told({"type": message["msg_type"], "content": message["content"]})

    def _asked(self) -> None:
        message = self._own("stdin")
        if message is None or self._ask is None:
            return
        content = message["content"]
        try:
            answer = self._ask(str(content.get("prompt") or ""), bool(content.get("password")))
        except EOFError:
            answer = ""
        except RuntimeError:  # a front end without input, such as nbclient: nobody can answer
            self._channel.interrupt()
            return
        self._client.input(answer)


def open_channel(service: Any, handle: KernelHandle) -> RelayChannel:
    """Called by the session service, which knows this module by its policy only; raises DRAError."""
    try:
        return RelayChannel(service, handle)
    except DRAError:
        raise
    except (OSError, RuntimeError) as error:
        raise SessionEnded(f"The kernel cannot be reached: {error}", code="launch-timeout") from error
