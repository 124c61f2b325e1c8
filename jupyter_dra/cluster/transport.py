"""HTTP to the API server: credentials and TLS by the client library, requests and retries by our rules."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import re
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from .._version import __version__
from ..errors import ClusterError
from .credentials import Credentials
from .kubeconfig import ClusterChoice
from .proxies import proxy_for
from .status import RETRY_STATUS, error_from_status, parse_status

if TYPE_CHECKING:
    import aiohttp

log = logging.getLogger(__name__)

REQUEST_TIMEOUT = 30.0
CHECK_BETWEEN = "Check whether a proxy or a login page stands between here and the API server."
"""The next step where an answer is none of an API server's."""
_SAFE = frozenset({"GET", "PUT", "PATCH", "DELETE"})
_BACKOFF_FIRST, _BACKOFF_MOST = 0.05, 5.0
_RELOAD_PAUSE = 5.0
_PASSWORD = re.compile(r"//[^/@\s]+@")
"""A login in a URL; the proxy's would stand in what aiohttp says of a connection that failed."""


class Transport:
    """One connection pool to one API server; used on the loop it was made on."""

    def __init__(self, choice: ClusterChoice) -> None:
        self.choice = choice
        self._credentials = Credentials(choice)
        self._api: Any = None
        self._session: aiohttp.ClientSession | None = None
        self._tls: tuple[object, ...] = ()
        self._retired: list[aiohttp.ClientSession] = []
        self._lock = asyncio.Lock()
        self._loaded_at = 0.0
        self.requests = 0
        """Requests sent so far, watches and streams included."""

    async def _ready(self) -> tuple[Any, aiohttp.ClientSession]:
        async with self._lock:
            if self._api is not None and await self._credentials.refresh(self._api.configuration):
                self._adopt(self._api.configuration)
            if self._api is None:
                self._adopt(await self._credentials.load())
                self._loaded_at = time.monotonic()
        assert self._session is not None
        return self._api, self._session

    def _adopt(self, configuration: Any) -> None:
        """Speak with these credentials from now on; watches and streams that are under way go on as they are.

        A new token needs no new connections. After a new certificate the old ones are kept until `close`: aiohttp
        leaves whoever still reads from a connection that it closes waiting for ever.
        """
        from kubernetes.aio.client.api_client import ApiClient

        try:
            self._api = ApiClient(configuration)
        except OSError as error:
            raise ClusterError(
                f"The cluster's certificates cannot be read: {error}",
                code="no-cluster",
                next_step="Look at the certificate files that the kubeconfig names.",
            ) from error
        self._api.user_agent = f"jupyter-dra/{__version__}"
        files = (configuration.cert_file, configuration.key_file, configuration.ssl_ca_cert)
        tls = (configuration.host, *map(_state_of, files))
        if self._session is not None and tls == self._tls:
            return
        if self._session is not None:
            self._retired.append(self._session)
        self._session, self._tls = self._new_session(), tls

    def _new_session(self) -> aiohttp.ClientSession:
        import aiohttp

        # Watch lines can be larger than aiohttp's default buffer (a ResourceSlice of 128 devices).
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                ssl=self._api.rest_client.ssl_context, limit=0, keepalive_timeout=60
            ),
            # Proxies are chosen by `proxies`, and no ~/.netrc may add a login of its own.
            trust_env=False,
            read_bufsize=2**21,
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def _close_sessions(self) -> None:
        sessions = [*self._retired, *([self._session] if self._session is not None else [])]
        self._retired, self._session = [], None
        for session in sessions:
            # Abort rather than say goodbye: nothing is under way, and the loop may end before the answer comes.
            if session.connector is not None:
                await session.connector.close(abort_ssl=True)
            await session.close()

    async def close(self) -> None:
        await self._close_sessions()
        api, self._api = self._api, None
        if api is not None:
            await api.close()

    async def _reload(self) -> bool:
        """After a 401: read credentials anew; False when that was done a moment ago."""
        async with self._lock:
            if time.monotonic() - self._loaded_at < _RELOAD_PAUSE or self._api is None:
                return False
            self._loaded_at = time.monotonic()
            self._credentials.reread()
            self._adopt(await self._credentials.load())
            return True

    async def _arguments(
        self, path: str, query: Mapping[str, Any] | None, headers: Mapping[str, str] | None
    ) -> tuple[aiohttp.ClientSession, str, dict[str, Any]]:
        api, session = await self._ready()
        prepared = {"Accept": "application/json", **(headers or {})}
        _, url, sent, _, _ = await api.param_serialize(
            "GET", path, header_params=prepared, auth_settings=["BearerToken"]
        )
        pairs = [(key, _text(value)) for key, value in (query or {}).items() if value is not None]
        if pairs:
            url = f"{url}?{urlencode(pairs)}"
        configuration = api.configuration
        extra: dict[str, Any] = {"headers": sent}
        if configuration.tls_server_name:
            extra["server_hostname"] = configuration.tls_server_name
        proxy = proxy_for(url, configuration.proxy, self.choice.surroundings.environ)
        if proxy is not None:
            extra["proxy"] = proxy
        if configuration.proxy_headers:
            extra["proxy_headers"] = configuration.proxy_headers
        return session, _exact(url), extra

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        content_type: str = "application/json",
        timeout: float = REQUEST_TIMEOUT,
        retry: bool | None = None,
    ) -> Any:
        """One request, answered with the decoded JSON.

        Failures that cannot have changed anything are repeated within ``timeout``: refused connections and 429
        always; lost connections and 5xx when ``retry`` (default: every method but POST).
        """
        deadline = time.monotonic() + timeout
        repeat = method in _SAFE if retry is None else retry
        data = None if body is None else json.dumps(body).encode()
        headers = {} if data is None else {"Content-Type": content_type}
        attempt, reloaded = 0, False
        while True:
            attempt += 1
            left = deadline - time.monotonic()
            try:
                status, raw, after = await self._once(method, path, query, headers, data, max(left, 0.05))
            except _Lost as lost:
                if not (repeat or lost.unsent) or not await _pause(attempt, None, deadline):
                    raise lost.error from lost
                continue
            if status < 300:
                return _decoded(raw)
            if status == 401 and not reloaded and await self._reload():
                reloaded = True
                continue
            if (status == 429 or (repeat and status in RETRY_STATUS)) and await _pause(
                attempt, after, deadline
            ):
                continue
            raise error_from_status(parse_status(raw, status), status, what=f"{method} {path}")

    async def _once(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None,
        headers: Mapping[str, str],
        data: bytes | None,
        timeout: float,
    ) -> tuple[int, bytes, str | None]:
        import aiohttp

        session, url, extra = await self._arguments(path, query, headers)
        started = time.monotonic()
        self.requests += 1
        limit = aiohttp.ClientTimeout(total=timeout, sock_connect=min(timeout, 10.0))
        try:
            async with session.request(
                method, url, data=data, timeout=limit, allow_redirects=False, **extra
            ) as answer:
                _refuse_redirect(answer.status)
                raw = await answer.read()
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise _Lost(error, self.choice) from error
        log.debug("%s %s -> %d in %.3f s", method, path, answer.status, time.monotonic() - started)
        return answer.status, raw, answer.headers.get("Retry-After")

    @asynccontextmanager
    async def stream(
        self, path: str, *, query: Mapping[str, Any] | None = None, read_timeout: float | None = None
    ) -> AsyncIterator[aiohttp.StreamReader]:
        """The body of a GET as it arrives (watch, log); raises like `request` when the server refuses."""
        import aiohttp

        session, url, extra = await self._arguments(path, query, None)
        self.requests += 1
        limit = aiohttp.ClientTimeout(total=None, sock_connect=10.0, sock_read=read_timeout)
        try:
            async with session.get(url, timeout=limit, allow_redirects=False, **extra) as answer:
                _refuse_redirect(answer.status)
                if answer.status >= 300:
                    raw = await answer.read()
                    if answer.status == 401:
                        await self._reload()
                    raise error_from_status(
                        parse_status(raw, answer.status), answer.status, what=f"GET {path}"
                    )
                try:
                    yield answer.content
                finally:
                    _abort(answer)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise _Lost(error, self.choice).error from error

    async def websocket(
        self, path: str, *, query: Mapping[str, Any], protocol: str, heartbeat: float, timeout: float = 10.0
    ) -> aiohttp.ClientWebSocketResponse[bool]:
        """Upgrade to a WebSocket that speaks ``protocol``; raises ClusterError when the server does not."""
        import aiohttp

        session, url, extra = await self._arguments(path, query, None)
        self.requests += 1
        try:
            async with asyncio.timeout(timeout):
                socket = await session.ws_connect(
                    url, protocols=(protocol,), heartbeat=heartbeat, max_msg_size=0, autoping=True, **extra
                )
        except aiohttp.WSServerHandshakeError as error:
            status = {"message": f"The upgrade to {protocol} was refused ({error.message})."}
            raise error_from_status(status, error.status, what=f"GET {path}") from error
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise _Lost(error, self.choice).error from error
        if socket.protocol != protocol:
            await socket.close()
            raise ClusterError(
                f"The API server does not speak {protocol}.", code="unsupported", next_step=CHECK_BETWEEN
            )
        answer: aiohttp.ClientWebSocketResponse[bool] = socket
        return answer


class _Lost(Exception):
    """No answer: ``unsent`` is true when the request surely never left."""

    def __init__(self, error: BaseException, choice: ClusterChoice) -> None:
        import aiohttp

        super().__init__(str(error))
        self.unsent = isinstance(error, aiohttp.ClientConnectorError)
        text = _PASSWORD.sub("//***@", str(error)) or type(error).__name__
        certificate = isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientSSLError)
        if certificate:
            self.unsent = False
        self.error = ClusterError(
            f"The cluster {choice.label!r} cannot be reached: {text}",
            code="unreachable",
            next_step=(
                "The server's certificate is not the one the kubeconfig trusts."
                if certificate
                else "Check the network and whether the cluster runs."
            ),
            params={"cluster": choice.label, "lost": True, "unsent": self.unsent},
        )


def _state_of(path: str | None) -> tuple[object, ...]:
    """What tells one state of a certificate file from the next."""
    if not path:
        return ()
    try:
        found = os.stat(path)
    except OSError:
        return (path,)
    return path, found.st_ino, found.st_mtime_ns


def _abort(answer: aiohttp.ClientResponse) -> None:
    """Cut a stream that is left early; a polite TLS goodbye would outlive the loop that is being closed."""
    connection = answer.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()


def _exact(url: str) -> Any:
    import yarl

    return yarl.URL(url, encoded=True)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _refuse_redirect(status: int) -> None:
    if 300 <= status < 400:
        raise ClusterError(
            "The API server answered with a redirect, which is not followed.",
            code="unreachable",
            next_step="Write the API server's own address into the kubeconfig.",
        )


def _decoded(raw: bytes) -> Any:
    if not raw:
        return None
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise ClusterError(
            "The API server's answer is no JSON.", code="unreachable", next_step=CHECK_BETWEEN
        ) from error


async def _pause(attempt: int, after: str | None, deadline: float) -> bool:
    """Wait before the next attempt; False when the deadline does not allow one."""
    wait = min(_BACKOFF_FIRST * 2 ** (attempt - 1), _BACKOFF_MOST) * random.uniform(0.5, 1.0)
    if after is not None:
        try:
            wait = max(wait, min(float(after), 60.0))
        except ValueError:
            pass
    if time.monotonic() + wait >= deadline:
        return False
    await asyncio.sleep(wait)
    return True
