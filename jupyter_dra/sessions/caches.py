"""The watches of one process: one per kind, namespace and selector, begun when first used."""

from __future__ import annotations

from typing import Any

from ..claims import labels
from ..cluster import KubeClient, WatchCache

OUR_PODS = f"{labels.MANAGED_BY}={labels.MANAGED_BY_VALUE},{labels.COMPONENT}={labels.COMPONENT_KERNEL}"
_EVENT_KINDS = frozenset({"Pod", "ResourceClaim"})


class Caches:
    """Gives out watch caches; the same question gives the same cache."""

    def __init__(self, client: KubeClient) -> None:
        self.client = client
        self._caches: dict[tuple[str, str | None, str | None, str | None], WatchCache] = {}
        self.all_claims = False
        """Whether claims are watched in all namespaces (set once rights are known)."""

    def get(
        self,
        kind: str,
        namespace: str | None = None,
        *,
        labels: str | None = None,
        fields: str | None = None,
        keep: Any = None,
        slim: Any = None,
        group: Any = None,
    ) -> WatchCache:
        """The started cache for this question; ``keep``, ``slim`` and ``group`` count at the first call only."""
        key = (kind, namespace, labels, fields)
        cache = self._caches.get(key)
        if cache is None:
            cache = WatchCache(
                self.client, kind, namespace, labels=labels, fields=fields, keep=keep, slim=slim, group=group
            )
            self._caches[key] = cache
        return cache.start()

    def pods(self, namespace: str) -> WatchCache:
        """Our kernel pods (every user's) in ``namespace``."""
        return self.get("Pod", namespace, labels=OUR_PODS)

    def claims(self, namespace: str) -> WatchCache:
        """Claims; one watch over all namespaces where rights allow it."""
        return self.get("ResourceClaim", "" if self.all_claims else namespace)

    def events(self, namespace: str) -> WatchCache:
        """Warnings and progress about pods and claims; of each object the newest hundred."""
        return self.get("Event", namespace, keep=_about_us, slim=_slim_event, group=about)

    @property
    def all(self) -> list[WatchCache]:
        return list(self._caches.values())

    async def close(self) -> None:
        for cache in self._caches.values():
            await cache.close()
        self._caches.clear()


def _about_us(event: dict[str, Any]) -> bool:
    return (event.get("involvedObject") or {}).get("kind") in _EVENT_KINDS


def about(event: dict[str, Any]) -> str:
    """The uid of the object an event is about."""
    return str((event.get("involvedObject") or {}).get("uid") or "")


def _slim_event(event: dict[str, Any]) -> dict[str, Any]:
    kept = ("kind", "apiVersion", "metadata", "involvedObject", "reason", "type", "count", "lastTimestamp")
    small = {key: event[key] for key in kept if key in event}
    return {**small, "message": str(event.get("message") or "")[:2000]}
