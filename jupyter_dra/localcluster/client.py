"""A small asynchronous Kubernetes API client: plain dictionaries over one pooled HTTPS session.

It is what the node side of the local cluster speaks with, and knows nothing of the server it meets: the same client
serves a real control plane.
"""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import tempfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Self

import aiohttp
import yaml

from jupyter_dra.errors import ClusterError, DRAError
from jupyter_dra.localcluster.kinds import Resource

Object = dict[str, Any]

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"

_READ_CHUNK = 1 << 18
_FAREWELL_SECONDS = 0.05  # for the TLS farewell of a request that was cancelled; else its socket stays open


class ApiError(DRAError):
    """The API server answered with a Status that says no."""

    code = "api"

    def __init__(self, status: int, reason: str, message: str, body: Mapping[str, Any] | None = None) -> None:
        super().__init__(message, params={"status": status, "reason": reason})
        self.status = status
        self.reason = reason
        self.body = dict(body or {})

    @property
    def is_conflict(self) -> bool:
        return self.status == 409 and self.reason == "Conflict"

    @property
    def is_gone(self) -> bool:
        """True when a resource version is too old to watch or page from."""
        return self.status == 410


class Client:
    """Requests against one API server; use ``async with`` or call ``close``.

    Args:
        server: base URL, without a trailing slash.
        token: bearer token, or None when ``tls`` carries a client certificate.
        tls: context that trusts the server's CA; None for plain HTTP.
    """

    def __init__(self, server: str, *, token: str | None = None, tls: ssl.SSLContext | None = None) -> None:
        self.server = server.rstrip("/")
        self.token = token
        self._tls = tls
        self._session: aiohttp.ClientSession | None = None

    @classmethod
    def from_kubeconfig(cls, path: str | Path, context: str | None = None) -> Self:
        """Read a kubeconfig file; tokens and client certificates are understood, exec plugins are not.

        Raises:
            ClusterError: the file names no usable cluster.
        """
        config = (
            yaml.load(Path(path).read_bytes(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)) or {}
        )
        chosen = _entry(config, "contexts", context or config.get("current-context"), "context", path)
        cluster = _entry(config, "clusters", chosen.get("cluster"), "cluster", path)
        user = _entry(config, "users", chosen.get("user"), "user", path)
        server = cluster.get("server")
        if not isinstance(server, str):
            raise ClusterError(f"{path} names no server.", code="no-cluster")
        token = user.get("token")
        if not token and user.get("tokenFile"):
            token = Path(user["tokenFile"]).read_text().strip()
        return cls(
            server, token=token, tls=_tls_context(cluster, user) if server.startswith("https") else None
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None
            if self._tls is not None:
                await asyncio.sleep(_FAREWELL_SECONDS)

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            headers = {"Accept": "application/json", "User-Agent": "jupyter-dra-local"}
            if self.token:
                headers["Authorization"] = f"Bearer {self.token}"
            connector = aiohttp.TCPConnector(ssl=self._tls if self._tls is not None else True, limit=0)
            self._session = aiohttp.ClientSession(
                connector=connector,
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=None, connect=10),
                auto_decompress=True,
                trust_env=False,
            )
        return self._session

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
        timeout: float = 30.0,
    ) -> Object:
        """Send one request and return the decoded answer.

        Raises:
            ApiError: the server refused.
            ClusterError: the server did not answer within ``timeout`` seconds, or at all.
        """
        data = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        headers = {"Content-Type": content_type} if data is not None else {}
        try:
            async with self._open().request(
                method,
                self.server + path,
                params=params,
                data=data,
                headers=headers,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=timeout),
            ) as response:
                raw = await response.read()
                if response.status >= 400:
                    raise _error(response.status, raw)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise ClusterError(
                f"The API server at {self.server} does not answer: {error or 'time-out'}."
            ) from error
        if not raw:
            return {}
        try:
            answer = json.loads(raw)
        except ValueError:
            return {"text": raw.decode("utf-8", "replace")}
        return answer if isinstance(answer, dict) else {"items": answer}

    async def get(self, resource: Resource, name: str, namespace: str | None = None) -> Object:
        return await self.request("GET", resource.path(namespace, name))

    async def find(self, resource: Resource, name: str, namespace: str | None = None) -> Object | None:
        """Return the object, or None when there is none."""
        try:
            return await self.get(resource, name, namespace)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    async def list(
        self, resource: Resource, namespace: str | None = None, *, params: Mapping[str, str] | None = None
    ) -> Object:
        """Return the whole list object; items get their kind and apiVersion back."""
        answer = await self.request("GET", resource.path(namespace), params=params)
        for item in answer.get("items") or ():
            item.setdefault("apiVersion", resource.group_version)
            item.setdefault("kind", resource.kind)
        return answer

    async def create(
        self, resource: Resource, body: Mapping[str, Any], namespace: str | None = None
    ) -> Object:
        return await self.request(
            "POST", resource.path(namespace), params={"fieldValidation": "Strict"}, body=body
        )

    async def replace(
        self,
        resource: Resource,
        body: Mapping[str, Any],
        *,
        namespace: str | None = None,
        subresource: str | None = None,
    ) -> Object:
        """Write a whole object; its resourceVersion, if it carries one, is the precondition."""
        name = body["metadata"]["name"]
        return await self.request("PUT", resource.path(namespace, name, subresource), body=body)

    async def patch(
        self,
        resource: Resource,
        name: str,
        patch: Any,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        content_type: str = MERGE_PATCH,
    ) -> Object:
        return await self.request(
            "PATCH", resource.path(namespace, name, subresource), body=patch, content_type=content_type
        )

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        grace_seconds: int | None = None,
        uid: str | None = None,
    ) -> Object | None:
        """Delete an object and return the answer; None when it was gone, or was another than ``uid``."""
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        try:
            return await self.request("DELETE", resource.path(namespace, name), body=options)
        except ApiError as error:
            if error.status == 404 or (error.status == 409 and uid is not None):
                return None
            raise

    async def watch(
        self,
        resource: Resource,
        *,
        resource_version: str,
        namespace: str | None = None,
        params: Mapping[str, str] | None = None,
        timeout_seconds: int = 3000,
    ) -> AsyncIterator[tuple[str, Object]]:
        """Yield (type, object) after ``resource_version``, bookmarks included, until the server ends the stream.

        Raises:
            ApiError: an ERROR event; ``is_gone`` says that a new list is needed.
            ClusterError: the connection broke.
        """
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(timeout_seconds),
            **(params or {}),
        }
        timeout = aiohttp.ClientTimeout(total=None, connect=10, sock_read=timeout_seconds + 60)
        try:
            async with self._open().get(
                self.server + resource.path(namespace), params=query, timeout=timeout, allow_redirects=False
            ) as response:
                if response.status >= 400:
                    raise _error(response.status, await response.read())
                try:
                    async for line in _lines(response.content):
                        event = json.loads(line)
                        kind, item = event.get("type", ""), event.get("object") or {}
                        if kind == "ERROR":
                            raise _status_error(item.get("code", 500), item)
                        yield kind, item
                finally:
                    _abort(response)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise ClusterError(f"The watch on {resource.plural} broke: {error or 'time-out'}.") from error


async def _lines(stream: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Split a stream at line ends; unlike ``readline`` a line may have any length."""
    rest = b""
    while chunk := await stream.read(_READ_CHUNK):
        *complete, rest = (rest + chunk).split(b"\n")
        for line in complete:
            if line.strip():
                yield line
    if rest.strip():
        yield rest


def _abort(response: aiohttp.ClientResponse) -> None:
    """Drop a stream that was left early: a TLS farewell would outlive a loop that is about to end.

    A stream that the server ended has no connection any more; that one is back in the pool.
    """
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()


def _entry(config: Mapping[str, Any], section: str, name: str | None, key: str, path: str | Path) -> Object:
    for item in config.get(section) or ():
        if item.get("name") == name:
            return dict(item.get(key) or {})
    raise ClusterError(f"{path} has no {key} named {name!r}.", code="no-cluster")


def _tls_context(cluster: Mapping[str, Any], user: Mapping[str, Any]) -> ssl.SSLContext:
    if cluster.get("insecure-skip-tls-verify"):
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif cluster.get("certificate-authority-data"):
        context = ssl.create_default_context(cadata=_decoded(cluster["certificate-authority-data"]).decode())
    else:
        context = ssl.create_default_context(cafile=cluster.get("certificate-authority"))
    if user.get("client-certificate-data"):
        with tempfile.TemporaryDirectory() as folder:  # the ssl module reads key pairs from files only
            certificate, key = Path(folder, "crt"), Path(folder, "key")
            certificate.write_bytes(_decoded(user["client-certificate-data"]))
            key.touch(mode=0o600)
            key.write_bytes(_decoded(user["client-key-data"]))
            context.load_cert_chain(certificate, key)
    elif user.get("client-certificate"):
        context.load_cert_chain(user["client-certificate"], user.get("client-key"))
    return context


def _decoded(text: str) -> bytes:
    return base64.b64decode(text)


def _error(status: int, raw: bytes) -> ApiError:
    try:
        body = json.loads(raw)
    except ValueError:
        body = {"message": raw.decode("utf-8", "replace")[:500]}
    return _status_error(status, body if isinstance(body, dict) else {})


def _status_error(status: int, body: Mapping[str, Any]) -> ApiError:
    return ApiError(status, str(body.get("reason", "")), str(body.get("message", f"HTTP {status}")), body)
