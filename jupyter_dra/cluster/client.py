"""An API client that speaks plain dictionaries and refuses to lose fields."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

from ..errors import ClusterError, ConflictError, InputError, NotFoundError
from .kubeconfig import ClusterChoice, Surroundings, choose
from .resources import path as path_of
from .resources import resource
from .status import error_from_status
from .transport import CHECK_BETWEEN, REQUEST_TIMEOUT, Transport

_PATCH_TYPES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}
FIELD_MANAGER = "jupyter-dra"
CREATE_PATIENCE = 12.0


class KubeClient:
    """One user's access to one cluster.

    Objects are the API's own dictionaries. Every write asks for ``fieldValidation=Strict``. Namespaces default to
    the client's; `ALL_NAMESPACES` lists over all. Errors are those of `jupyter_dra.errors`, with the server's text
    and ``params["status"]``. Must be used on one event loop.
    """

    def __init__(self, choice: ClusterChoice, transport: Transport | None = None) -> None:
        self.choice = choice
        self.transport = transport or Transport(choice)

    @property
    def context(self) -> str:
        return self.choice.context

    @property
    def namespace(self) -> str:
        return self.choice.namespace

    @property
    def cluster(self) -> str:
        """The cluster's name for people."""
        return self.choice.label

    def _path(
        self, kind: str, namespace: str | None, name: str | None = None, subresource: str | None = None
    ) -> str:
        where = self.namespace if namespace is None else namespace
        return path_of(kind, where, name, subresource)

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        timeout: float = REQUEST_TIMEOUT,
        retry: bool | None = None,
    ) -> Any:
        """Any request, by path; answers with the decoded JSON. See `Transport.request` for retries."""
        return await self.transport.request(
            method, path, query=query, body=body, timeout=timeout, retry=retry
        )

    async def get(
        self, kind: str, name: str, namespace: str | None = None, *, timeout: float = REQUEST_TIMEOUT
    ) -> dict[str, Any]:
        return _object(await self.request("GET", self._path(kind, namespace, name), timeout=timeout))

    async def list(
        self,
        kind: str,
        namespace: str | None = None,
        *,
        labels: str | None = None,
        fields: str | None = None,
        resource_version: str | None = None,
        timeout: float = REQUEST_TIMEOUT,
    ) -> dict[str, Any]:
        """The list object; its items get the ``kind`` and ``apiVersion`` the server leaves out."""
        query = {"labelSelector": labels, "fieldSelector": fields, "resourceVersion": resource_version}
        answer = _object(await self.request("GET", self._path(kind, namespace), query=query, timeout=timeout))
        entry = resource(kind)
        for item in answer.get("items") or []:
            item.setdefault("apiVersion", entry.api_version)
            item.setdefault("kind", entry.kind)
        return answer

    async def create(
        self,
        obj: Mapping[str, Any],
        namespace: str | None = None,
        *,
        dry_run: bool = False,
        timeout: float = REQUEST_TIMEOUT,
    ) -> dict[str, Any]:
        """Create ``obj``; never repeated when it may have been accepted (then ``params["lost"]`` is true)."""
        kind = str(obj["kind"])
        where = namespace if namespace is not None else obj.get("metadata", {}).get("namespace")
        query = self._write_query(dry_run)
        return _object(
            await self.request("POST", self._path(kind, where), query=query, body=obj, timeout=timeout)
        )

    async def replace(
        self,
        obj: Mapping[str, Any],
        *,
        subresource: str | None = None,
        dry_run: bool = False,
        timeout: float = REQUEST_TIMEOUT,
    ) -> dict[str, Any]:
        meta = obj["metadata"]
        path = self._path(str(obj["kind"]), meta.get("namespace"), meta["name"], subresource)
        query = self._write_query(dry_run)
        return _object(await self.request("PUT", path, query=query, body=obj, timeout=timeout))

    async def patch(
        self,
        kind: str,
        name: str,
        patch: Any,
        namespace: str | None = None,
        *,
        type: str = "merge",
        subresource: str | None = None,
        timeout: float = REQUEST_TIMEOUT,
    ) -> dict[str, Any]:
        """Patch an object; ``type`` is merge, json or strategic. Put uid or resourceVersion in for a precondition."""
        if type not in _PATCH_TYPES:
            raise InputError(
                f"{type!r} is no kind of patch.", path="type", next_step=f"Kinds: {', '.join(_PATCH_TYPES)}."
            )
        answer = await self.transport.request(
            "PATCH",
            self._path(kind, namespace, name, subresource),
            query=self._write_query(False),
            body=patch,
            content_type=_PATCH_TYPES[type],
            timeout=timeout,
        )
        return _object(answer)

    async def delete(
        self,
        kind: str,
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        grace_seconds: int | None = None,
        propagation: str = "Background",
        timeout: float = REQUEST_TIMEOUT,
    ) -> dict[str, Any]:
        """Delete an object; with ``uid`` only the very object that was meant (else ConflictError)."""
        body: dict[str, Any] = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation}
        conditions = {"uid": uid, "resourceVersion": resource_version}
        wanted = {key: value for key, value in conditions.items() if value is not None}
        if wanted:
            body["preconditions"] = wanted
        if grace_seconds is not None:
            body["gracePeriodSeconds"] = grace_seconds
        path = self._path(kind, namespace, name)
        return _object(await self.request("DELETE", path, body=body, timeout=timeout))

    async def watch(
        self,
        kind: str,
        namespace: str | None = None,
        *,
        labels: str | None = None,
        fields: str | None = None,
        resource_version: str | None = None,
        timeout_seconds: int = 300,
        read_timeout: float | None = None,
    ) -> AsyncIterator[dict[str, Any]]:
        """Events ``{"type", "object"}`` until the server ends the stream; BOOKMARKs included.

        Raises ConflictError ``expired`` when ``resource_version`` is too old. ``read_timeout`` bounds the silence
        on a connection (bookmarks come about each minute).
        """
        query = {
            "watch": True,
            "allowWatchBookmarks": True,
            "labelSelector": labels,
            "fieldSelector": fields,
            "resourceVersion": resource_version,
            "timeoutSeconds": timeout_seconds,
        }
        path = self._path(kind, namespace)
        async with self.transport.stream(path, query=query, read_timeout=read_timeout) as content:
            async for line in _lines(content):
                try:
                    event = json.loads(line)
                except ValueError as error:
                    raise ClusterError(
                        "A watch event was cut off.", code="unreachable", next_step=CHECK_BETWEEN
                    ) from error
                if event.get("type") == "ERROR":
                    status = event.get("object") or {}
                    raise error_from_status(status, int(status.get("code") or 500), what=f"WATCH {path}")
                yield event

    async def logs(
        self,
        pod: str,
        namespace: str | None = None,
        *,
        container: str | None = None,
        tail: int | None = None,
        follow: bool = False,
        limit_bytes: int | None = None,
    ) -> AsyncIterator[bytes]:
        """A container's log in chunks; ends with the container when ``follow``."""
        query = {
            "container": container,
            "tailLines": tail,
            "follow": True if follow else None,
            "limitBytes": limit_bytes,
        }
        path = self._path("Pod", namespace, pod, "log")
        async with self.transport.stream(path, query=query) as content:
            async for chunk in content.iter_any():
                yield chunk

    def _write_query(self, dry_run: bool) -> dict[str, Any]:
        return {
            "fieldManager": FIELD_MANAGER,
            "fieldValidation": "Strict",
            "dryRun": "All" if dry_run else None,
        }

    async def close(self) -> None:
        await self.transport.close()

    async def __aenter__(self) -> KubeClient:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()


async def connect(
    context: str | None = None,
    kubeconfig: str | None = None,
    namespace: str | None = None,
    *,
    setting: str | None = None,
    surroundings: Surroundings | None = None,
) -> KubeClient:
    """A client for the cluster the contract's order names; nothing is sent yet.

    Raises ClusterError ``no-cluster`` when there is none.
    """
    choice = choose(context, kubeconfig, setting=setting, namespace=namespace, surroundings=surroundings)
    return KubeClient(choice)


async def ensure_created(
    client: KubeClient, obj: Mapping[str, Any], *, proof: str, timeout: float | None = None
) -> dict[str, Any]:
    """Create ``obj`` also when an answer gets lost on the way, without ever taking a stranger's object.

    Args:
        proof: an annotation key whose value in ``obj`` is unguessable; an object that is already there under
            this name is ours only if it carries the same value (threat T30).
        timeout: seconds in which a faulty server is asked again; None means `CREATE_PATIENCE`.

    Raises:
        ConflictError: ``exists`` when the name belongs to somebody else's object.
    """
    kind, meta = str(obj["kind"]), obj["metadata"]
    patience = CREATE_PATIENCE if timeout is None else timeout
    deadline, pause, unsure, asked_again = time.monotonic() + patience, 0.05, False, False
    while True:
        try:
            return await client.create(obj)
        except ClusterError as error:
            faulty = error.params.get("lost") or error.params.get("status") in (500, 502, 503, 504)
            if not faulty and (error.code != "forbidden" or asked_again):
                raise
            if time.monotonic() + pause > deadline:
                raise
            if faulty:
                unsure = True
            else:
                # An API server that has just started refuses everybody until it has read its roles.
                asked_again = await _knows_roles(client)
        except ConflictError as error:
            if error.code != "exists" or not unsure:
                raise
            found = await _mine(client, kind, meta, proof)
            if found is None:
                raise
            return found
        await asyncio.sleep(pause * random.uniform(0.5, 1.0))
        pause = min(pause * 2, 2.0)


async def _knows_roles(client: KubeClient) -> bool:
    """Whether the server grants what every authenticated user may do (role ``system:discovery``)."""
    try:
        await client.request("GET", "/version")
    except ClusterError as error:
        return error.code != "forbidden"
    return True


async def _mine(client: KubeClient, kind: str, meta: Mapping[str, Any], proof: str) -> dict[str, Any] | None:
    try:
        found = await client.get(kind, meta["name"], meta.get("namespace"))
    except NotFoundError:
        return None
    given = (found["metadata"].get("annotations") or {}).get(proof)
    return found if given and given == meta["annotations"][proof] else None


def _object(answer: Any) -> dict[str, Any]:
    if not isinstance(answer, dict):
        raise ClusterError(
            "The API server answered with something that is no object.",
            code="unreachable",
            next_step=CHECK_BETWEEN,
        )
    return answer


async def _lines(content: Any) -> AsyncIterator[bytes]:
    """Lines of any length; a line that the end of the stream cuts is dropped by the JSON check of the caller."""
    buffer = bytearray()
    async for chunk in content.iter_any():
        buffer += chunk
        start = 0
        while (end := buffer.find(b"\n", start)) >= 0:
            line = bytes(buffer[start:end])
            start = end + 1
            if line.strip():
                yield line
        del buffer[:start]
