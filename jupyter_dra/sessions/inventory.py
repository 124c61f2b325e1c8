"""The planner's inventory, kept current by watches; begun when first used."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..cluster import KubeClient, WatchCache
from ..errors import DRAError
from .caches import Caches

if TYPE_CHECKING:
    from ..planner import Inventory
    from .live import LiveSession

log = logging.getLogger(__name__)

Json = Mapping[str, Any]

SIMULATED = "jupyter-dra.dev/simulated"
_WHAT = {"ResourceSlice": "slices", "ResourceClaim": "claims", "DeviceClass": "classes"}
_AGAIN = 1.0


class InventoryFeed:
    """Slices, classes, claims, nodes, taint rules and quota of one cluster, as one `Inventory`.

    What the rights do not allow is left out, and the inventory's visibility says so.

    Attributes:
        revision: grows with every applied change.
    """

    def __init__(
        self, client: KubeClient, caches: Caches, *, user: str | None = None, tiers: tuple[Json, ...] = ()
    ) -> None:
        self.client = client
        self.caches = caches
        self.user = user
        self.tiers = tiers
        self.rights: Mapping[str, bool] = {}
        self.revision = 0
        self._inventory: Inventory | None = None
        self._sources: list[WatchCache] = []
        self._ends: list[Callable[[], None]] = []
        self._listeners: list[Callable[[dict[str, Any]], None]] = []
        self._lock = asyncio.Lock()
        self._verdicts: dict[str, tuple[float, int, dict[str, Any]]] = {}
        self._devices: dict[tuple[str, str, str], tuple[str | None, Mapping[str, Any]]] = {}

    @property
    def loaded(self) -> bool:
        return self._inventory is not None

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
            "namespaces": [self.client.namespace],
            "user": self.user,
        }

    async def inventory(self) -> Inventory:
        """The inventory, loaded on first use; raises ClusterError when nothing can be read."""
        async with self._lock:
            if self._inventory is None:
                await self._load()
        assert self._inventory is not None
        return self._inventory

    async def _load(self) -> None:
        from ..planner import Inventory

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
        self._inventory = Inventory.from_objects(objects, visibility=seen)
        self._sources = sources
        self._ends = [source.subscribe(self._apply) for source in sources]
        self.revision += 1

    def _apply(self, type: str, obj: dict[str, Any]) -> None:
        if self._inventory is None:
            return
        self._inventory.apply({"type": type, "object": obj})
        self.revision += 1
        if obj["kind"] == "ResourceSlice":
            self._devices.clear()
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
        key = (driver, pool, device)
        if self._inventory is None:
            return None, {}
        if key not in self._devices:
            self._devices[key] = self._look_up(key)
        return self._devices[key]

    def _look_up(self, key: tuple[str, str, str]) -> tuple[str | None, Mapping[str, Any]]:
        assert self._inventory is not None
        for row in self._inventory.devices():
            if (row["driver"], row["pool"], row["name"]) == key:
                kept = (
                    "product",
                    "memory_bytes",
                    "memory_published",
                    "attributes",
                    "capacity",
                    "device_kind",
                )
                facts = {name: row.get(name) for name in kept}
                simulated = bool(row.get("simulated")) or self._is_simulated(key[0], key[1])
                return row.get("label"), {**facts, "simulated": simulated}
        return None, {}

    def _is_simulated(self, driver: str, pool: str) -> bool:
        """Whether the local cluster marked the slices of this pool as made up."""
        for source in self._sources:
            for obj in source if source.kind == "ResourceSlice" else ():
                spec = obj["spec"]
                if spec.get("driver") == driver and (spec.get("pool") or {}).get("name") == pool:
                    notes = obj["metadata"].get("annotations") or {}
                    return bool(notes.get(SIMULATED) == "true")
        return False

    async def learn_template(self, name: str, namespace: str) -> None:
        """Give the planner a claim template, which no watch of ours brings; raises NotFoundError."""
        inventory = await self.inventory()
        template = await self.client.get("ResourceClaimTemplate", name, namespace)
        inventory.apply({"type": "ADDED", "object": template})

    async def plan(self, x: Any, namespace: str | None = None, *, detail: str = "verdict") -> dict[str, Any]:
        """A plan as dictionary, without ``context``."""
        inventory = await self.inventory()
        plan = inventory.plan(x, namespace or self.client.namespace, detail, tiers=self.tiers)
        return dict(plan.as_dict())

    def verdict(self, session: LiveSession) -> dict[str, Any] | None:
        """The plan of a waiting session, with holders; None before the inventory is loaded.

        Planned anew at most once a second, and never for more than a twentieth of the time: a plan in Python
        slows the kernels' messages down.
        """
        if self._inventory is None:
            return None
        again, revision, plan = self._verdicts.get(session.id, (0.0, -1, {}))
        started = time.monotonic()
        if plan and (revision == self.revision or started < again):
            return plan
        x = session.manifest if session.manifest is not None else session.requirement
        try:
            answer = self._inventory.plan(x, session.namespace, "full", tiers=self.tiers).as_dict()
        except DRAError as error:
            log.debug("No verdict for %s: %s", session.id, error)
            return None
        except Exception:
            log.exception("The planner failed on %s; it waits without a reason", session.id)
            return None
        took = time.monotonic() - started
        self._verdicts[session.id] = (started + max(_AGAIN, 20 * took), self.revision, dict(answer))
        return dict(answer)

    def forget(self, session_id: str) -> None:
        self._verdicts.pop(session_id, None)

    @staticmethod
    def next_change(plan: Mapping[str, Any]) -> dict[str, Any] | None:
        """The next moment at which a holder's lease ends; None when none is known."""
        ends = [holder["lease_ends"] for holder in plan.get("holders") or [] if holder.get("lease_ends")]
        return {"code": "lease-ends", "at": min(ends)} if ends else None

    def close(self) -> None:
        for end in self._ends:
            end()
        self._ends.clear()


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
