"""HTTP: who calls, what is asked, and one answer for every error. Routing by path is in ``routes``."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from tornado.iostream import StreamClosedError
from tornado.web import RequestHandler

from jupyter_dra.localcluster.cluster import Cluster
from jupyter_dra.localcluster.faults import Fault
from jupyter_dra.localcluster.identity import AUTHENTICATED, User, service_account_user
from jupyter_dra.localcluster.media import JSON, Wanted, read_accept
from jupyter_dra.localcluster.requests import Query, Target, read_target
from jupyter_dra.localcluster.status import (
    APIError,
    bad_request,
    forbidden,
    internal,
    method_not_allowed,
    unauthorized,
)
from jupyter_dra.localcluster.store import encode

log = logging.getLogger(__name__)

MAX_BODY = 3 * 1024 * 1024
METHODS = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")

Answer = Callable[["Exchange"], Awaitable[None]]


class Exchange(RequestHandler):
    """One request and its answer; ``answer`` is the routing function."""

    SUPPORTED_METHODS = METHODS

    cluster: Cluster
    user: User
    query: Query
    target: Target
    wanted: Wanted

    def initialize(self, cluster: Cluster, answer: Answer) -> None:
        self.cluster = cluster
        self._answer = answer
        self._gone = False
        self._lost: Fault | None = None
        self._on_close: list[Callable[[], object]] = []

    def set_default_headers(self) -> None:
        self.set_header("Cache-Control", "no-cache, private")
        self.clear_header("Server")

    def compute_etag(self) -> None:
        return None

    async def _serve(self) -> None:
        try:
            self._no_delay()
            self._check_origin()
            self.query = Query.parse(self.request.query)
            self.target = read_target(self.request.method or "GET", self.request.path, self.query)
            self.user = self._impersonated(self._authenticate())
            self.wanted = read_accept(self.request.headers.get("Accept", JSON))
            await self._inject_fault()
            await self._answer(self)
        except APIError as error:
            self.refuse(error)
        except StreamClosedError:
            log.debug("%s %s: the client left", self.request.method, self.request.path)
        except Exception as error:
            log.exception("%s %s failed", self.request.method, self.request.path)
            self.refuse(internal(f"{type(error).__name__}: {error}"))

    get = head = post = put = patch = delete = _serve

    def _no_delay(self) -> None:
        stream = getattr(self.request.connection, "stream", None)
        if stream is not None:
            stream.set_nodelay(True)

    def _check_origin(self) -> None:
        """A web page must not reach us: neither from its origin nor by a name that points to 127.0.0.1."""
        names = self.cluster.settings.host_names
        host = urlsplit(f"//{self.request.host}").hostname
        if host not in names:
            raise forbidden("", "", "", f"host {self.request.host!r} is not this cluster")
        origin = self.request.headers.get("Origin")
        if origin and urlsplit(origin).netloc != self.request.host:
            raise forbidden("", "", "", f"origin {origin!r} is foreign")

    def _authenticate(self) -> User:
        scheme, _, token = self.request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise unauthorized()
        user = self.cluster.authenticator.authenticate(token.strip(), self.cluster.clock.seconds())
        if user is None:
            raise unauthorized()
        return user

    def _impersonated(self, user: User) -> User:
        """The user that ``Impersonate-User`` and ``-Group`` name, for callers who may impersonate it."""
        headers = self.request.headers
        name = headers.get("Impersonate-User", "")
        groups = tuple(headers.get_list("Impersonate-Group"))
        if not name:
            if groups:
                raise bad_request("requested groups without impersonating a user")
            return user
        wanted = [("users", name), *(("groups", group) for group in groups)]
        account = name.removeprefix("system:serviceaccount:").split(":")
        if name.startswith("system:serviceaccount:") and len(account) == 2:
            wanted[0] = ("serviceaccounts", account[1])
        for plural, other in wanted:
            namespace = account[0] if plural == "serviceaccounts" else ""
            asked = Target("impersonate", self.request.path, "", "v1", plural, "", namespace, other)
            if not self.cluster.authorizer.decide(user, asked).allowed:
                # The server names the newer, narrower verb that would also have allowed it (KEP-5284).
                mode = "serviceaccount" if wanted[0][0] == "serviceaccounts" else "user-info"
                raise denied(user, replace(self.target, verb=f"impersonate-on:{mode}:{self.target.verb}"))
        if wanted[0][0] == "serviceaccounts" and not groups:
            return service_account_user(account[0], account[1])
        return User(name, "", (*groups, AUTHENTICATED))

    async def _inject_fault(self) -> None:
        fault = self.cluster.faults.next_for(self.target)
        if fault is None:
            return
        if fault.seconds:
            await asyncio.sleep(fault.seconds)
        if fault.after:
            self._lost = fault
        elif fault.status:
            raise fault.error()

    def authorize(self, target: Target | None = None) -> None:
        """Raise 403 unless the caller may do this."""
        asked = target or self.target
        if not self.cluster.authorizer.decide(self.user, asked).allowed:
            raise denied(self.user, asked)

    def json(self, value: Any, status: int = 200, content_type: str = JSON) -> None:
        self.reply(encode(value), status, content_type)

    def reply(self, body: bytes, status: int = 200, content_type: str = JSON) -> None:
        lost, self._lost = self._lost, None
        if lost is not None:
            self._lose_answer(lost)
            return
        self.set_status(status)
        self.set_header("Content-Type", content_type)
        if self.request.method == "HEAD":
            self.set_header("Content-Length", str(len(body)))
            body = b""
        self.finish(body)

    def _lose_answer(self, fault: Fault) -> None:
        """The request was carried out, but the client gets an error, or a closed connection."""
        if fault.status:
            self.refuse(fault.error())
            return
        stream = self.detach()
        stream.close()

    def warn(self, texts: list[str]) -> None:
        for text in texts:
            escaped = text.replace("\\", "\\\\").replace('"', '\\"')
            self.add_header("Warning", f'299 - "{escaped}"')

    def refuse(self, error: APIError) -> None:
        if self._finished:
            return
        if self._headers_written:
            # Too late for a status code: ending the stream is all that is left.
            self.finish()
            return
        for name, value in error.headers.items():
            self.set_header(name, value)
        self.json(error.body, error.http_status)

    @property
    def is_over(self) -> bool:
        """Whether the answer is complete or the client is gone."""
        return self._finished or self._gone

    def on_connection_close(self) -> None:
        super().on_connection_close()
        self._gone = True
        for callback in self._on_close:
            callback()

    def when_closed(self, callback: Callable[[], object]) -> None:
        """Call back once if the client goes away before the answer is complete."""
        self._on_close.append(callback)

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        error = (
            method_not_allowed(self.request.method or "") if status_code == 405 else internal(self._reason)
        )
        self.json(APIError(status_code, error.reason, error.message).body, status_code)


def denied(user: User, target: Target) -> APIError:
    """403 with the text of k8s.io/apiserver ``pkg/endpoints/handlers/responsewriters/errors.go``."""
    if not target.is_resource:
        return APIError(
            403, "Forbidden", f'forbidden: User "{user.name}" cannot {target.verb} path "{target.path}"'
        )
    scope = f'in the namespace "{target.namespace}"' if target.namespace else "at the cluster scope"
    why = (
        f'User "{user.name}" cannot {target.verb} resource "{target.rule_resource}" '
        f'in API group "{target.group}" {scope}'
    )
    return forbidden(target.group, target.plural, target.name, why)
