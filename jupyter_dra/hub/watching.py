"""What the cluster offers, kept current by one list and watch per kind for the whole hub."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import aiohttp
from kubernetes_asyncio import client

from ..claims import labels
from ..errors import one_line
from ..model.releases import minor_release
from ..planner import Inventory
from .following import Follower, request

GROUP = "resource.k8s.io"
_ROOT = f"/apis/{GROUP}/v1"
_ALL_CLAIMS = f"{_ROOT}/resourceclaims"
#: Events kept for the worker between two questions; beyond that it reads the whole state anew.
_MOST_EVENTS = 5000
_CACHED_ANSWERS = 256


class ClusterView:
    """Classes, slices and claims as one `Inventory`, shared by all spawners of a hub.

    Where the hub may not list the claims of all namespaces it sees those of the namespaces it works in, and the
    inventory is told so. Started on first use, see `following`. Used on the hub's loop only; plans run in one worker
    thread.
    """

    def __init__(self, api_client: Any, log: logging.Logger | None = None) -> None:
        self._api = api_client
        self._log = log or logging.getLogger(__name__)
        self._objects: dict[str, dict[str, dict[str, Any]]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._followers: dict[str, Follower] = {}
        self._namespaces: set[str] = set()
        self._changed = asyncio.Event()
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="jupyter-dra-plan")
        self._inventory: Inventory | None = None  # touched by the worker thread only
        self._stale = True
        self._events: list[Mapping[str, Any]] = []
        self._answers: dict[str, asyncio.Future[Any]] = {}
        self._release: str | None = None
        self.all_claims = True
        #: Kinds that cannot be read now, with the reason.
        self.trouble: dict[str, str] = {}
        #: Counts the changes seen.
        self.revision = 0

    async def start(self, namespace: str) -> None:
        """Begin watching, for *namespace* too; returns when each kind was listed once or was refused."""
        self._namespaces.add(namespace)
        self._follow("DeviceClass", f"{_ROOT}/deviceclasses")
        self._follow("ResourceSlice", f"{_ROOT}/resourceslices")
        if self.all_claims:
            self._follow("ResourceClaim", _ALL_CLAIMS, refused=self._narrow)
        else:
            self._follow_claims_of(namespace)
        asking = self._tasks.get("release")
        if asking is None or (asking.done() and self._release is None):
            asking = self._tasks["release"] = asyncio.create_task(self._ask_release())
        waited: set[str] = set()
        # A right that is missing brings other paths: those are waited for too.
        while missing := set(self._followers) - waited:
            await asyncio.gather(*(self._followers[path].loaded.wait() for path in missing))
            waited |= missing
        await asyncio.shield(asking)

    async def stop(self) -> None:
        """End all watches and the worker."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        self._tasks.clear()
        self._followers.clear()
        self._worker.shutdown(wait=False, cancel_futures=True)

    async def ask(
        self, question: Callable[[Inventory], Any], namespace: str, *, key: str | None = None
    ) -> Any:
        """Run *question* on the current inventory in the worker thread.

        Args:
            namespace: whose claims must have been read.
            key: names the question; as long as nothing changes, everybody who asks it gets the one answer.
        """
        await self.start(namespace)
        if key is None:
            return await self._run(question)
        if key not in self._answers:
            if len(self._answers) >= _CACHED_ANSWERS:
                self._answers.clear()
            self._answers[key] = asyncio.ensure_future(self._run(question))
        answer = self._answers[key]
        try:
            return await asyncio.shield(answer)
        except Exception:
            if self._answers.get(key) is answer:
                del self._answers[key]  # the next one asks again
            raise

    async def change(self, seconds: float) -> None:
        """Return at the next change, or after *seconds*."""
        try:
            await asyncio.wait_for(self._changed.wait(), seconds)
        except TimeoutError:
            pass

    def claims(self) -> list[dict[str, Any]]:
        """The claims of all namespaces the hub works in."""
        return [
            claim
            for claim in self._objects.get("ResourceClaim", {}).values()
            if claim["metadata"].get("namespace") in self._namespaces
        ]

    def claim(self, namespace: str, name: str) -> dict[str, Any] | None:
        """One claim, as last seen."""
        return self._objects.get("ResourceClaim", {}).get(f"{namespace}/{name}")

    def class_title(self, name: str) -> str | None:
        """The display name of a DeviceClass."""
        found = self._objects.get("DeviceClass", {}).get(f"/{name}") or {}
        title = ((found.get("metadata") or {}).get("annotations") or {}).get(labels.DISPLAY_NAME)
        return str(title) if title else None

    def _run(self, question: Callable[[Inventory], Any]) -> asyncio.Future[Any]:
        whole = [one for kind in self._objects.values() for one in kind.values()] if self._stale else None
        events, self._events, self._stale = self._events, [], False
        visible = {
            "slices": "ResourceSlice" not in self.trouble,
            "claims": "all" if self.all_claims else "namespace",
            "namespaces": sorted(self._namespaces),
            "version": self._release or "",
        }
        loop = asyncio.get_running_loop()
        return loop.run_in_executor(self._worker, self._answer, question, whole, events, visible)

    def _answer(
        self,
        question: Callable[[Inventory], Any],
        whole: list[dict[str, Any]] | None,
        events: list[Mapping[str, Any]],
        visible: Mapping[str, Any],
    ) -> Any:
        """In the worker thread: bring the inventory up to date, then ask it."""
        try:
            if whole is not None or self._inventory is None:
                # The hub itself is nobody's "you": its plans are read by many people.
                self._inventory = Inventory.from_objects(whole or [], visibility={**visible, "user": ""})
            for event in events:
                self._inventory.apply(event)
        except Exception:
            self._stale = True  # half of it was taken in: the next question begins anew
            raise
        return question(self._inventory)

    def _note(self) -> None:
        self.revision += 1
        self._answers.clear()
        self._changed.set()
        self._changed.clear()

    # Watching

    def _follow_claims_of(self, namespace: str) -> None:
        self._follow("ResourceClaim", f"{_ROOT}/namespaces/{namespace}/resourceclaims")

    def _follow(self, kind: str, path: str, *, refused: Callable[[], None] | None = None) -> None:
        if path not in self._followers:
            follower = Follower(self._api, kind, path, self, self._log, refused=refused)
            self._followers[path] = follower
            self._tasks[path] = asyncio.create_task(follower.run(), name=f"hub watch {path}")

    async def _ask_release(self) -> None:
        """Which Kubernetes this is: it decides what its scheduler looks at. Not told, the newest is assumed."""
        try:
            answer = await request(self._api, "/version", [], 10)
            told = json.loads(await answer.read())
        except (client.ApiException, ValueError) as error:
            self._release = ""
            self._log.warning("The cluster does not say which Kubernetes it is: %s", error)
            return
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            self._log.warning("The cluster is asked again which Kubernetes it is: %s", error)
            return
        self._release = minor_release(str(told.get("gitVersion") or ""))
        self._stale = True
        self._answers.clear()

    def _narrow(self) -> None:
        """No right to see the claims of all namespaces: watch those we work in."""
        self._log.info("May not list claims of all namespaces: free counts are upper bounds.")
        self.all_claims, self._stale = False, True
        for namespace in self._namespaces:
            self._follow_claims_of(namespace)
        self._followers[_ALL_CLAIMS].loaded.set()

    def troubled(self, kind: str, reason: str | None) -> None:
        """Called by a `Follower`."""
        if self.trouble.get(kind) == reason:
            return
        if reason is None:
            del self.trouble[kind]
            self._log.info("Can watch %s again.", kind)
        else:
            self.trouble[kind] = reason
            self._log.warning("Cannot watch %s: %s", kind, one_line(reason))
        self._stale = True
        self._note()

    def listed(self, kind: str, path: str, items: Sequence[Mapping[str, Any]]) -> None:
        """Called by a `Follower`."""
        found = self._objects.setdefault(kind, {})
        prefix = f"{path.split('/')[5]}/" if "/namespaces/" in path else ""
        for key in [key for key in found if key.startswith(prefix)]:
            del found[key]
        for item in items:
            found[_key(item)] = {"apiVersion": f"{GROUP}/v1", "kind": kind, **item}
        self._stale = True
        self._note()

    def changed(self, kind: str, event: Mapping[str, Any]) -> None:
        """Called by a `Follower`."""
        item = event["object"]
        if event["type"] == "DELETED":
            self._objects[kind].pop(_key(item), None)
        else:
            self._objects[kind][_key(item)] = item
        if len(self._events) >= _MOST_EVENTS:
            self._stale, self._events = True, []
        if not self._stale:
            self._events.append({"type": event["type"], "object": item})
        self._note()


def _key(item: Mapping[str, Any]) -> str:
    metadata = item["metadata"]
    return f"{metadata.get('namespace', '')}/{metadata['name']}"
