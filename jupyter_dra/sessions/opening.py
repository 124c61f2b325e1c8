"""Opening the way to a cluster for sessions: once, when first needed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from ..cluster import Reach, ServerVersion, Surroundings, connect, fetch_version, require_v1, rights
from .caches import Caches
from .identity import Identity, load_identity
from .image_times import ImageTimes
from .inventory import InventoryFeed
from .making import Context
from .policy import SessionPolicy
from .ports import PodRuntime
from .record import iso
from .store import SessionStore

_RIGHTS = (
    "read_slices",
    "read_classes",
    "read_claims",
    "read_all_claims",
    "read_nodes",
    "read_rules",
    "read_quota",
)

_PATIENCE = 5.0
"""Seconds after which a cluster that does not answer is called unreachable."""


@dataclass(frozen=True, slots=True)
class Where:
    """Which cluster a service works with; see `cluster.choose`."""

    context: str | None = None
    kubeconfig: str | None = None
    namespace: str | None = None
    setting: str | None = None
    surroundings: Surroundings | None = field(default=None, repr=False)


class Opening:
    """Makes the `Context` of one cluster on first use; every method runs on the service's loop."""

    def __init__(
        self,
        where: Where,
        policy: SessionPolicy,
        clock: Callable[[], float],
        identity: Identity | None = None,
        runtime: PodRuntime | None = None,
    ) -> None:
        self.where, self.policy, self.clock = where, policy, clock
        self._identity, self._runtime = identity, runtime
        self._opening: asyncio.Task[Context] | None = None
        self.current: Context | None = None
        self.version: ServerVersion | None = None

    async def context(self) -> Context:
        """The connection to the cluster; raises ClusterError (and tries again at the next call)."""
        if self.current is not None:
            return self.current
        if self._opening is None or self._opening.done():
            self._opening = asyncio.create_task(self._open(), name="open sessions")
        return await asyncio.shield(self._opening)

    async def _open(self) -> Context:
        where = self.where
        client = await connect(
            where.context,
            where.kubeconfig,
            where.namespace,
            setting=where.setting,
            surroundings=where.surroundings,
        )
        asking = (
            asyncio.create_task(fetch_version(client, timeout=_PATIENCE)),
            asyncio.create_task(rights(client, names=_RIGHTS, timeout=_PATIENCE)),
        )
        try:
            version, may = await asyncio.gather(*asking)
            require_v1(version)
            identity = self._identity if self._identity else await asyncio.to_thread(load_identity)
        except BaseException:
            for task in asking:
                task.cancel()
            # Whoever still asks would open the connection again that is closed here.
            await asyncio.gather(*asking, return_exceptions=True)
            await client.close()
            raise
        caches = Caches(client)
        caches.all_claims = may["read_all_claims"]
        feed = InventoryFeed(client, caches, user=identity.user, tiers=self.policy.tiers)
        feed.rights, feed.version = may, version.minor
        self.version = version
        self.current = Context(
            client=client,
            caches=caches,
            identity=identity,
            policy=self.policy,
            runtime=self._runtime or named(self.policy.pod_runtime)(),
            store=SessionStore(identity.folder),
            image_times=ImageTimes(identity.folder),
            reach=Reach(client, self.policy.transport),
            inventory=feed,
            clock=self.clock,
        )
        self.current.store.sweep(self.clock() - self.policy.history_seconds)
        return self.current

    def describe(self, ctx: Context, namespace: str | None = None) -> dict[str, Any]:
        """``cluster``, ``namespace``, ``server_version``, ``as_of`` as every answer carries them."""
        return {
            "cluster": ctx.client.cluster,
            "namespace": namespace or ctx.client.namespace,
            "server_version": self.version.minor if self.version else None,
            "as_of": iso(self.clock()),
        }

    async def close(self) -> None:
        """End watches and connections."""
        if self._opening is not None and not self._opening.done():
            self._opening.cancel()
            await asyncio.gather(self._opening, return_exceptions=True)
        ctx, self.current = self.current, None
        if ctx is not None:
            ctx.inventory.close()
            await ctx.caches.close()
            await ctx.client.close()


def named(spec: str) -> Any:
    """What a ``module:attribute`` text names."""
    module, _, attribute = spec.partition(":")
    return getattr(import_module(module), attribute)
