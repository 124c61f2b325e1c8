"""The planner's inventory, kept current by watches; begun when first used."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from ..cluster import KubeClient, WatchCache
from ..errors import DRAError
from .caches import Caches
from .device_facts import DeviceBook
from .inventory_thread import InventoryThread

if TYPE_CHECKING:
    from ..claims import Requirement
    from ..planner import Detail, Inventory, Wanted
    from .live import LiveSession

log = logging.getLogger(__name__)

T = TypeVar("T")
Json = Mapping[str, Any]

_WHAT = {"ResourceSlice": "slices", "ResourceClaim": "claims", "DeviceClass": "classes"}
_AGAIN = 1.0


class InventoryFeed:
    """Slices, classes, claims, nodes, taint rules and quota of one cluster, as one `Inventory` to be asked.

    What the rights do not allow is left out, and the inventory's visibility says so. The inventory lives in a
    thread of its own, because a plan on the loop of the watches and relays would hold the kernels' messages up;
    everything else here is used on that loop. `ask` may be awaited on any loop.

    Attributes:
        revision: grows with every change.
    """

    def __init__(
        self, client: KubeClient, caches: Caches, *, user: str | None = None, tiers: tuple[Json, ...] = ()
    ) -> None:
        self.client = client
        self.caches = caches
        self.user = user
        self.tiers = tiers
        self.rights: Mapping[str, bool] = {}
        # The API server's minor version, which decides what its scheduler looks at; empty: not known.
        self.version = ""
        self.revision = 0
        self._thread = InventoryThread()
        self._loaded = False
        self._sources: list[WatchCache] = []
        self._ends: list[Callable[[], None]] = []
        self._listeners: list[Callable[[dict[str, Any]], None]] = []
        self._lock = asyncio.Lock()
        self._verdicts: dict[str, tuple[float, int, dict[str, Any]]] = {}
        self._book = DeviceBook()

    @property
    def loaded(self) -> bool:
        return self._loaded

    @property
    def sees_slices(self) -> bool:
        """Whether a device that no slice publishes is really published by nobody."""
        return self._loaded and bool(self.rights.get("read_slices"))

    @property
    def visibility(self) -> dict[str, Any]:
        """What the user's rights let us see; ``claims`` is all, namespace or none."""
        if self.rights.get("read_all_claims"):
            claims = "all"
        else:
            claims = "namespace" if self.rights.get("read_claims") else "none"
        return {
            "slices": bool(self.rights.get("read_slices")),
            "classes": bool(self.rights.get("read_classes")),
            "claims": claims,
            "nodes": bool(self.rights.get("read_nodes")),
            "quota": bool(self.rights.get("read_quota")),
            "version": self.version,
            "namespaces": [self.client.namespace],
            "user": self.user,
        }

    async def load(self) -> None:
        """Load the inventory, on first use; raises ClusterError when nothing can be read."""
        async with self._lock:
            if not self._loaded:
                await self._load()

    async def ask(self, question: Callable[[Inventory], T]) -> T:
        """The answer of ``question(inventory)``, which sees all changes up to now and must not keep the inventory.

        Answered one after the other in a thread of their own; loaded before. A question that is cancelled before
        its turn costs nothing.
        """
        await self.load()
        return await self._thread.ask(question)

    async def _load(self) -> None:
        seen = self.visibility
        sources = []
        if seen["slices"]:
            sources.append(self.caches.get("ResourceSlice"))
        if seen["classes"]:
            sources.append(self.caches.get("DeviceClass"))
        if seen["claims"] != "none":
            sources.append(self.caches.claims(self.client.namespace))
        if seen["nodes"]:
            sources.append(self.caches.get("Node", slim=_slim_node))
        if seen["quota"]:
            sources.append(self.caches.get("ResourceQuota", self.client.namespace))
        if self.rights.get("read_rules"):
            sources.append(self.caches.get("DeviceTaintRule"))
        results = await asyncio.gather(*(source.ready() for source in sources), return_exceptions=True)
        for source, result in zip(sources, results, strict=True):
            if isinstance(result, DRAError) and source.kind in ("Node", "ResourceQuota", "DeviceTaintRule"):
                log.info("The inventory goes without %s: %s", source.kind, result)
            elif isinstance(result, BaseException):
                raise result
        objects = [obj for source in sources for obj in source]
        self._sources = sources
        self._ends = [source.subscribe(self._apply) for source in sources]
        try:
            await self._thread.load(objects, seen)
        except BaseException:
            self._unfollow()
            raise
        self._loaded = True
        self.revision += 1

    def _unfollow(self) -> None:
        for end in self._ends:
            end()
        self._ends.clear()

    def _apply(self, type: str, obj: dict[str, Any]) -> None:
        self._thread.apply(type, obj)
        self.revision += 1
        if obj["kind"] == "ResourceSlice":
            self._book.clear()
        what = _WHAT.get(obj["kind"])
        if what is not None:
            self._tell({"revision": self.revision, "changed": [what], "reset": False})

    def subscribe(self, listener: Callable[[dict[str, Any]], None]) -> Callable[[], None]:
        """Call ``listener`` with the contract's ``inventory/v1`` data on each change (not limited in rate)."""
        self._listeners.append(listener)

        def end() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return end

    def _tell(self, data: dict[str, Any]) -> None:
        for listener in list(self._listeners):
            try:
                listener(data)
            except Exception:
                log.exception("A subscriber of inventory events failed")

    def describe(self, driver: str, pool: str, device: str) -> tuple[str | None, Mapping[str, Any]]:
        """Label and facts (product, memory, attributes, capacity, simulated) of a device; unknown ones are empty."""
        if not self._loaded:
            return None, {}
        slices = (obj for source in self._sources if source.kind == "ResourceSlice" for obj in source)
        return self._book.describe(slices, driver, pool, device)

    async def tier_words(self, names: Iterable[str | None]) -> dict[str, dict[str, Any]]:
        """What the administrator says about these tiers; what may not be read is left out."""
        wanted = sorted({name for name in names if name})
        if not wanted or not self._tiers_seen:
            return {}
        return await self.ask(lambda inventory: inventory.tier_words(wanted, self.tiers))

    async def with_usual_counts(self, wish: Requirement) -> Requirement:
        """The requirement with its tiers' usual numbers where none was asked for, as far as tiers may be read."""
        if not self._tiers_seen:
            return wish
        return await self.ask(lambda inventory: inventory.with_usual_counts(wish, self.tiers))

    async def in_cluster_words(self, wish: Requirement) -> Requirement:
        """The requirement a claim is built from (`Inventory.in_cluster_words`), as far as tiers may be read."""
        if not self._tiers_seen:
            return wish
        return await self.ask(lambda inventory: inventory.in_cluster_words(wish, self.tiers))

    @property
    def _tiers_seen(self) -> bool:
        return bool(self.tiers or self.rights.get("read_classes"))

    async def learn_template(self, name: str, namespace: str) -> Json:
        """Read a claim template, which no watch of ours brings, for the planner too; raises NotFoundError."""
        await self.load()
        template: Json = await self.client.get("ResourceClaimTemplate", name, namespace)
        self._thread.apply("ADDED", dict(template))
        return template

    async def plan(
        self,
        x: Wanted,
        namespace: str | None = None,
        *,
        detail: Detail = "verdict",
        limits: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """A plan as dictionary, without ``context``; ``limits`` as for `Inventory.plan`."""
        where, tiers = namespace or self.client.namespace, self.tiers

        def plan(inventory: Inventory) -> dict[str, Any]:
            return dict(inventory.plan(x, where, detail, limits=limits, tiers=tiers).as_dict())

        return await self.ask(plan)

    async def verdict(self, session: LiveSession) -> dict[str, Any] | None:
        """The plan of a waiting session, with holders; None before the inventory is loaded.

        Planned anew at most once a second, and never for more than a twentieth of the time: a plan in Python
        slows the kernels' messages down.
        """
        if not self._loaded:
            return None
        again, revision, plan = self._verdicts.get(session.id, (0.0, -1, {}))
        started = time.monotonic()
        if plan and (revision == self.revision or started < again):
            return plan
        x = session.manifest if session.manifest is not None else session.requirement
        revision, took = self.revision, 0.0

        def judge(inventory: Inventory) -> dict[str, Any]:
            nonlocal took
            begun = time.monotonic()
            answer = dict(inventory.plan(x, session.namespace, "full", tiers=self.tiers).as_dict())
            took = time.monotonic() - begun
            return answer

        try:
            answer = await self.ask(judge)
        except DRAError as error:
            log.debug("No verdict for %s: %s", session.id, error)
            return None
        except Exception:
            log.exception("The planner failed on %s; it waits without a reason", session.id)
            return None
        self._verdicts[session.id] = (started + max(_AGAIN, 20 * took), revision, answer)
        return answer

    def forget(self, session_id: str) -> None:
        self._verdicts.pop(session_id, None)

    @staticmethod
    def next_change(plan: Mapping[str, Any]) -> dict[str, Any] | None:
        """The next moment at which a holder's lease ends; None when none is known."""
        ends = [holder["lease_ends"] for holder in plan.get("holders") or [] if holder.get("lease_ends")]
        return {"code": "lease-ends", "at": min(ends)} if ends else None

    def close(self) -> None:
        """End the thread and stop following changes."""
        self._unfollow()
        self._thread.close()


def _slim_node(node: dict[str, Any]) -> dict[str, Any]:
    meta = node["metadata"]
    kept = {key: meta[key] for key in ("name", "uid", "labels", "resourceVersion") if key in meta}
    status = node.get("status") or {}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": kept,
        "spec": node.get("spec") or {},
        "status": {key: status[key] for key in ("conditions", "capacity", "allocatable") if key in status},
    }
