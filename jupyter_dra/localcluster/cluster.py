"""Everything the API server consists of, put together once per process."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jupyter_dra.localcluster.admission import Admission
from jupyter_dra.localcluster.bootstrap import NAMESPACES, namespace_object, role_objects
from jupyter_dra.localcluster.certificates import kubelet_context
from jupyter_dra.localcluster.clock import Clock, SystemClock, parse_stamp
from jupyter_dra.localcluster.deletion import Deleter
from jupyter_dra.localcluster.faults import Faults
from jupyter_dra.localcluster.garbage import Collector
from jupyter_dra.localcluster.identity import AUTHENTICATED, MASTERS, Authenticator, User
from jupyter_dra.localcluster.quota import QuotaKeeper
from jupyter_dra.localcluster.rbac import Authorizer
from jupyter_dra.localcluster.resources import RBAC_GROUP, named
from jupyter_dra.localcluster.store import Event, Object, Store
from jupyter_dra.localcluster.watch import Watch
from jupyter_dra.localcluster.writes import WriteOptions, Writer

ADMIN = User("admin", "admin", (MASTERS, AUTHENTICATED))
_SYSTEM = User("system:apiserver", "", (MASTERS, AUTHENTICATED))
_NAMESPACES = named("namespaces")
_ACCOUNTS = named("serviceaccounts")
_EVENTS = named("events")

EVENT_SECONDS = 3600.0
EVENT_SWEEP_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Settings:
    """What a server is started with. ``host_names`` are the names a Host header may have."""

    pki: Path
    ca: bytes
    tokens: Iterable[tuple[str, User]]
    signing_key: bytes
    host_names: tuple[str, ...] = ("127.0.0.1", "localhost", "kubernetes.default.svc")


@dataclass(slots=True)
class Changes:
    """Tells listeners outside the store, such as the snapshot, that something changed."""

    listeners: list[Callable[[], None]] = field(default_factory=list)

    def notice(self, event: Event) -> None:
        for listener in self.listeners:
            listener()


class Cluster:
    """The state and the rules of one cluster; handlers hold a reference to it and nothing else."""

    def __init__(self, settings: Settings, store: Store, clock: Clock | None = None) -> None:
        self.settings = settings
        self.store = store
        self.clock = clock or SystemClock()
        self.authenticator = Authenticator(settings.tokens, settings.signing_key, self._account_uid)
        self.authorizer = Authorizer(store)
        self.faults = Faults()
        self.watches: set[Watch] = set()
        self.changes = Changes()
        self.quota = QuotaKeeper(store)
        self.writer = Writer(store, Admission(store, self.authorizer), self.quota, self.clock)
        self.deleter = Deleter(store, self.clock)
        self._kubelet_tls: ssl.SSLContext | None = None
        self.collector = Collector(store, self.deleter, self.writer, self.quota.refresh)

    def start(self) -> None:
        """Fill a new store and begin to follow changes; needs a running loop."""
        self.store.listeners += [self._follow, self.changes.notice]
        for name in NAMESPACES:
            if self.store.get(_NAMESPACES, "", name) is None:
                self.create(namespace_object(name))
        for value in role_objects():
            plural = "clusterroles" if value["kind"] == "ClusterRole" else "clusterrolebindings"
            if self.store.get(named(plural, RBAC_GROUP), "", value["metadata"]["name"]) is None:
                self.create(value)
        self.collector.schedule()
        self._expire_events()

    def _expire_events(self) -> None:
        """Events live for an hour, as on a real server."""
        oldest = self.clock.seconds() - EVENT_SECONDS
        for stored in self.store.objects(_EVENTS):
            if parse_stamp(stored.value["metadata"]["creationTimestamp"]) < oldest:
                self.store.remove(stored)
        asyncio.get_running_loop().call_later(EVENT_SWEEP_SECONDS, self._expire_events)

    def create(self, value: Object) -> None:
        """Create an object in the server's own name."""
        resource = next(
            r
            for r in self.store.collections
            if (r.api_version, r.kind) == (value["apiVersion"], value["kind"])
        )
        namespace = value["metadata"].get("namespace", "")
        self.writer.create(resource, namespace, value, WriteOptions(_SYSTEM, "Strict"))

    def _follow(self, event: Event) -> None:
        if event.stored.resource is _NAMESPACES and event.type == "ADDED":
            self._furnish(event.stored.key.name)
        elif (
            event.stored.resource is _ACCOUNTS
            and event.type == "DELETED"
            and event.stored.key.name == "default"
        ):
            self._restore_account(event.stored.key.namespace)
        self.quota.notice(event)
        self.collector.notice(event)

    def _furnish(self, namespace: str) -> None:
        """What every namespace starts with: its default account and the cluster's certificate."""
        self._restore_account(namespace)
        self.create(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {
                    "name": "kube-root-ca.crt",
                    "namespace": namespace,
                },
                "data": {"ca.crt": self.settings.ca.decode()},
            }
        )

    def _restore_account(self, namespace: str) -> None:
        found = self.store.get(_NAMESPACES, "", namespace)
        if found is not None and not found.value["metadata"].get("deletionTimestamp"):
            metadata: dict[str, Any] = {"name": "default", "namespace": namespace}
            self.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})

    def _account_uid(self, namespace: str, name: str) -> str | None:
        found = self.store.get(_ACCOUNTS, namespace, name)
        return found.uid if found else None

    def kubelet_tls(self) -> ssl.SSLContext:
        """With which kubelets are called; read from the files when first needed."""
        if self._kubelet_tls is None:
            self._kubelet_tls = kubelet_context(self.settings.pki)
        return self._kubelet_tls

    def drop_watches(self) -> None:
        for watch in tuple(self.watches):
            watch.end()
