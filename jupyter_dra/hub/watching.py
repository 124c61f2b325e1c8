"""What the cluster offers, kept current by one list and watch per kind for the whole hub."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from kubernetes_asyncio import client

from ..planner import Inventory

GROUP = "resource.k8s.io"
_WATCH_SECONDS = 300
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0


class ClusterView:
    """Classes, slices and claims as one `Inventory`, shared by all spawners of a hub.

    Where the hub may not list claims of all namespaces it sees those of its own, and the inventory is told so. Started on
    first use; a lost watch lists again with growing pauses. Used on the hub's loop only; plans run in one worker thread.
    """

    def __init__(self, api_client: Any, namespace: str, log: logging.Logger | None = None) -> None:
        self._api = api_client
        self._namespace = namespace
        self._log = log or logging.getLogger(__name__)
        self._objects: dict[str, dict[str, dict[str, Any]]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._loaded: list[asyncio.Event] = []
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="jupyter-dra-plan")
        self._inventory: Inventory | None = None  # touched by the worker thread only
        self._stale = True
        self._events: list[Mapping[str, Any]] = []
        self._all_claims = True

    async def start(self) -> None:
        """Begin watching; returns when each kind was listed once or was refused."""
        if not self._tasks:
            paths = {
                "DeviceClass": f"/apis/{GROUP}/v1/deviceclasses",
                "ResourceSlice": f"/apis/{GROUP}/v1/resourceslices",
                "ResourceClaim": f"/apis/{GROUP}/v1/resourceclaims",
            }
            for kind, path in paths.items():
                loaded = asyncio.Event()
                self._loaded.append(loaded)
                self._tasks.append(asyncio.create_task(self._follow(kind, path, loaded)))
        await asyncio.gather(*(one.wait() for one in self._loaded))

    async def stop(self) -> None:
        """End all watches and the worker."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        self._loaded.clear()
        self._worker.shutdown(wait=False, cancel_futures=True)

    async def ask(self, question: Callable[[Inventory], Any]) -> Any:
        """Run *question* on the current inventory in the worker thread."""
        await self.start()
        objects = [one for kind in self._objects.values() for one in kind.values()] if self._stale else None
        events, self._events, self._stale = self._events, [], False
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._worker, self._answer, question, objects, events, self._all_claims
        )

    @property
    def classes(self) -> list[str]:
        """Names of the DeviceClasses there are."""
        return sorted(self._objects.get("DeviceClass", {}))

    def claims_of(self, labels: Mapping[str, str]) -> list[dict[str, Any]]:
        """Visible claims that carry all *labels*."""
        return [
            claim
            for claim in self._objects.get("ResourceClaim", {}).values()
            if labels.items() <= (claim["metadata"].get("labels") or {}).items()
        ]

    def _answer(
        self,
        question: Callable[[Inventory], Any],
        objects: list[dict[str, Any]] | None,
        events: list[Mapping[str, Any]],
        all_claims: bool,
    ) -> Any:
        """In the worker thread: bring the inventory up to date, then ask it."""
        if objects is not None or self._inventory is None:
            visibility = {"slices": True, "claims": "all" if all_claims else "namespace"}
            self._inventory = Inventory.from_objects(objects or [], visibility=visibility)
        else:
            for event in events:
                self._inventory.apply(event)
        return question(self._inventory)

    async def _follow(self, kind: str, path: str, loaded: asyncio.Event) -> None:
        pause = _FIRST_PAUSE
        while True:
            try:
                version = await self._list(kind, path)
                loaded.set()
                pause = _FIRST_PAUSE
                await self._watch(kind, path, version)
                continue
            except client.ApiException as error:
                if error.status == 403 and kind == "ResourceClaim" and self._all_claims:
                    self._all_claims, self._stale = False, True
                    path = f"/apis/{GROUP}/v1/namespaces/{self._namespace}/resourceclaims"
                    continue
                self._log.warning("Cannot watch %s: HTTP %s", kind, error.status)
            except (TimeoutError, OSError, ValueError) as error:
                self._log.warning("Lost the watch of %s: %s", kind, type(error).__name__)
            loaded.set()
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def _request(self, path: str, query: list[tuple[str, str]]) -> Any:
        return await self._api.call_api(
            path,
            "GET",
            query_params=query,
            header_params={"Accept": "application/json"},
            auth_settings=["BearerToken"],
            _preload_content=False,
            _return_http_data_only=True,
            _request_timeout=_WATCH_SECONDS + 30,
        )

    async def _list(self, kind: str, path: str) -> str:
        answer = await self._request(path, [])
        raw = await answer.read()
        if answer.status != 200:
            raise client.ApiException(status=answer.status, reason=answer.reason)
        document = json.loads(raw)
        api_version = f"{GROUP}/v1"
        self._objects[kind] = {
            _key(item): {"apiVersion": api_version, "kind": kind, **item}
            for item in document.get("items") or []
        }
        self._stale = True
        return str(document["metadata"]["resourceVersion"])

    async def _watch(self, kind: str, path: str, version: str) -> None:
        query = [
            ("watch", "true"),
            ("allowWatchBookmarks", "true"),
            ("resourceVersion", version),
            ("timeoutSeconds", str(_WATCH_SECONDS)),
        ]
        answer = await self._request(path, query)
        if answer.status != 200:
            raise client.ApiException(status=answer.status, reason=answer.reason)
        try:
            buffer = b""
            async for chunk in answer.content.iter_any():
                *lines, buffer = (buffer + chunk).split(b"\n")
                for line in lines:
                    if line.strip() and not self._apply(kind, json.loads(line)):
                        return
        finally:
            answer.close()

    def _apply(self, kind: str, event: Mapping[str, Any]) -> bool:
        """Take one event in; false when the list must be read anew."""
        if event["type"] == "ERROR":
            return False
        if event["type"] == "BOOKMARK":
            return True
        item = event["object"]
        if event["type"] == "DELETED":
            self._objects[kind].pop(_key(item), None)
        else:
            self._objects[kind][_key(item)] = item
        if not self._stale:
            self._events.append({"type": event["type"], "object": item})
        return True


def _key(item: Mapping[str, Any]) -> str:
    metadata = item["metadata"]
    return f"{metadata.get('namespace', '')}/{metadata['name']}"
