"""Sessions: begin, look, extend, share, stop."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from tornado.iostream import StreamClosedError

from .base import DRAHandler, route

_LOG_TAIL = 2000


class SessionsHandler(DRAHandler):
    """GET and POST sessions."""

    @route
    async def get(self) -> None:
        records = await self.board.sessions.list(ended=True)
        shown = [self.board.attachments.shown(record.as_dict()) for record in records]
        await self.board.add_neighbours(shown)
        context = await self.board.sessions.context()
        self.send({"kind": "SessionList", "version": 1, "context": context, "sessions": shown})

    @route
    async def post(self) -> None:
        from ...claims import Requirement

        body = self.body("SessionCreate")
        requirement = Requirement.from_dict(body["requirement"])
        record, created = await self.board.attachments.launch(
            requirement,
            name=body.get("name"),
            notebook=body.get("notebook"),
            kernel=body.get("kernel"),
            wait=body.get("wait"),
            key=body.get("key"),
            force=bool(body.get("force")),
        )
        self.set_header("Location", f"{self.base_url}jupyter-dra/sessions/{record['id']}")
        self.send(record, HTTPStatus.ACCEPTED if created else HTTPStatus.OK)


class SessionHandler(DRAHandler):
    """GET, PATCH and DELETE sessions/<id>."""

    @route
    async def get(self, session_id: str) -> None:
        shown = self.board.attachments.shown((await self.board.sessions.get(session_id)).as_dict())
        await self.board.add_neighbours([shown])
        self.send(shown)

    @route
    async def patch(self, session_id: str) -> None:
        from ...claims import parse_duration

        body = self.body("SessionPatch")
        if "shared_with" in body:
            await self.board.sessions.share(session_id, body["shared_with"])
        lease = body.get("lease") or {}
        idle = body.get("idle_timeout")
        record = await self.board.sessions.extend(
            session_id,
            extend_seconds=lease.get("extend_seconds"),
            ends_at=lease.get("ends_at"),
            idle_seconds=None if idle is None else parse_duration(idle, "idle_timeout"),
            name=body.get("name"),
        )
        self.send(self.board.attachments.shown(record.as_dict()))

    @route
    async def delete(self, session_id: str) -> None:
        record = await self.board.attachments.stop(session_id)
        self.send(record, HTTPStatus.ACCEPTED)


class KernelsHandler(DRAHandler):
    """POST sessions/<id>/kernels."""

    @route
    async def post(self, session_id: str) -> None:
        body = self.body("KernelAttach")
        record = await self.board.attachments.attach(
            session_id, kernel=body.get("kernel"), notebook=body.get("notebook")
        )
        self.send({**record["kernels"][-1], "session": record}, HTTPStatus.ACCEPTED)


class KernelHandler(DRAHandler):
    """DELETE sessions/<id>/kernels/<kernel>."""

    @route
    async def delete(self, session_id: str, kernel_id: str) -> None:
        self.send(await self.board.attachments.stop_kernel(session_id, kernel_id), HTTPStatus.ACCEPTED)


class RestartHandler(DRAHandler):
    """POST sessions/<id>/kernels/<kernel>/restart."""

    @route
    async def post(self, session_id: str, kernel_id: str) -> None:
        from ...sessions import PodChange

        change = PodChange(**self.body("KernelRestart"))
        self.send(await self.board.attachments.restart(session_id, kernel_id, change), HTTPStatus.ACCEPTED)


class DetachHandler(DRAHandler):
    """POST sessions/<id>/detach."""

    @route
    async def post(self, session_id: str) -> None:
        self.body("Empty")
        record = await self.board.sessions.detach(session_id)
        self.send(record.as_dict())


class AdoptHandler(DRAHandler):
    """POST sessions/adopt."""

    @route
    async def post(self) -> None:
        body = self.body("SessionAdopt")
        record = await self.board.sessions.adopt(body["claim"])
        self.send(record.as_dict())


class LogsHandler(DRAHandler):
    """GET sessions/<id>/logs: plain text that no browser takes for a page (threat T01)."""

    @route
    async def get(self, session_id: str) -> None:
        tail = self.query_number("tail", most=10_000)
        follow = self.query("follow") == "1"
        chunks = self.board.sessions.logs(
            session_id,
            kernel_id=self.query("kernel"),
            tail=_LOG_TAIL if tail is None else tail,
            follow=follow,
        )
        iterator = aiter(chunks)
        try:
            first: bytes | None = await anext(iterator)
        except StopAsyncIteration:
            first = b""
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Content-Security-Policy", "default-src 'none'; sandbox")
        self.set_header("Cache-Control", "no-store")
        try:
            self.write(first or b"")
            async for chunk in iterator:
                self.write(chunk)
                await self.flush()
            self.finish(set_content_type="text/plain; charset=utf-8")
        except StreamClosedError:
            return
        finally:
            await _close(iterator)


async def _close(iterator: Any) -> None:
    close = getattr(iterator, "aclose", None)
    if close is not None:
        await close()
