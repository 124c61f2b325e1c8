"""What every route shares: login, right, JSON only, problem documents."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Awaitable, Callable
from functools import wraps
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar, cast

from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from jupyter_server.extension.handler import ExtensionHandlerMixin
from tornado import web

from ...errors import DRAError
from ..bodies import validated
from ..problems import plain_problem, problem_of

if TYPE_CHECKING:
    from ..board import Board

AUTH_RESOURCE = "dra"
_LONG = 16_384
_Handler = TypeVar("_Handler", bound="DRAHandler")
Answer = TypeVar("Answer")
Verb = Callable[..., Awaitable[None]]


def route(verb: Verb) -> Verb:
    """Login, then the authorizer's yes, then the verb; our errors become problem documents.

    Every verb of every handler goes through this one function, so none can be reached without both.
    """

    @wraps(verb)
    async def guarded(self: DRAHandler, *args: str, **kwargs: str) -> None:
        try:
            await verb(self, *args, **kwargs)
        except DRAError as error:
            self.send_problem(problem_of(error))

    return cast(Verb, web.authenticated(authorized(resource=AUTH_RESOURCE)(guarded)))


class DRAHandler(ExtensionHandlerMixin, APIHandler):
    """Base of our handlers."""

    auth_resource = AUTH_RESOURCE
    _work: asyncio.Future[Any] | None = None
    _gone = False

    @property
    def board(self) -> Board:
        """What this server knows and may do; see `jupyter_dra.server.board`."""
        return self.settings["jupyter_dra_board"]  # type: ignore[no-any-return]

    def body(self, schema: str) -> dict[str, Any]:
        """The request's JSON body, checked against a schema of ``openapi.yaml``."""
        kind = self.request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if self.request.body and kind != "application/json":
            raise web.HTTPError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, reason="JSON only")
        return validated(self.request.body, schema)

    def send(self, document: dict[str, Any], status: int = HTTPStatus.OK) -> None:
        """Answer with a JSON document; a long one is compressed for those who take that."""
        self.set_status(status)
        self.set_header("Cache-Control", "no-store")
        body = json.dumps(document, separators=(",", ":")).encode()
        if len(body) >= _LONG and "gzip" in self.request.headers.get("Accept-Encoding", ""):
            self.set_header("Content-Encoding", "gzip")
            self.set_header("Vary", "Accept-Encoding")
            # The first level is within a fifth of the best here, in a quarter of its time.
            body = gzip.compress(body, 1)
        self.finish(body, set_content_type="application/json")

    def send_problem(self, problem: dict[str, Any]) -> None:
        """Answer with a problem document."""
        self.set_status(problem["status"])
        self.set_header("Cache-Control", "no-store")
        self.finish(json.dumps(problem), set_content_type="application/problem+json")

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Called by tornado for every HTTPError and every exception that is none of ours."""
        error = kwargs.get("exc_info", (None, None, None))[1]
        detail = error.reason if isinstance(error, web.HTTPError) else None
        self.send_problem(plain_problem(status_code, detail))

    async def while_connected(self, answer: Awaitable[Answer]) -> Answer:
        """The answer, unless the page takes its request back: what was typed over is not worked on any more."""
        work: asyncio.Future[Answer] = asyncio.ensure_future(answer)
        self._work = work
        try:
            return await work
        except asyncio.CancelledError:
            if not self._gone:
                raise
            raise web.Finish from None

    def on_connection_close(self) -> None:
        """Called by tornado when the page is gone, or took its request back."""
        super().on_connection_close()
        self._gone = True
        if self._work is not None:
            self._work.cancel()

    def query(self, name: str) -> str | None:
        """One query parameter, or None."""
        value = self.get_query_argument(name, None)
        return value if value else None

    def query_number(self, name: str, *, least: int = 0, most: int = 10**9) -> int | None:
        """One whole number among the query parameters, or None."""
        text = self.query(name)
        if text is None:
            return None
        if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
            raise web.HTTPError(HTTPStatus.BAD_REQUEST, reason=f"{name} is a number from {least} to {most}")
        return int(text)
