"""A cluster's state in a file: written shortly after each change, read when it starts again.

The file holds tokens and the authority's key, so only its owner may read it.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jupyter_dra.errors import InputError
from jupyter_dra.localcluster.certificates import Pair, write_private
from jupyter_dra.localcluster.cluster import Cluster

log = logging.getLogger(__name__)

VERSION = 1
WRITE_DELAY = 0.5
_LEFT_OUT = ("Event", "Lease")


@dataclass(frozen=True, slots=True)
class Kept:
    """What outlives a restart: credentials, objects and the revision they had."""

    authority: Pair
    admin_token: str
    signing_key: bytes
    revision: int = 1
    objects: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def fresh(cls, authority: Pair, admin_token: str, signing_key: bytes) -> Kept:
        return cls(authority, admin_token, signing_key)


def read_state(path: Path) -> Kept | None:
    """The kept state, or None if there is no file yet; raises InputError for a file that is not ours."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        value = json.loads(content)
        if value["kind"] != "LocalClusterState" or value["version"] != VERSION:
            raise ValueError("it is of another kind or version")
        secret = value["credentials"]
        return Kept(
            authority=Pair(secret["ca_certificate"].encode(), secret["ca_key"].encode()),
            admin_token=secret["admin_token"],
            signing_key=base64.b64decode(secret["signing_key"]),
            revision=int(value["revision"]),
            objects=list(value["objects"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path.name} is no state of a local cluster: {error}",
            code="state-file",
            next_step="Give another file, or remove this one to start empty.",
        ) from None


class Keeper:
    """Writes the state after changes, at most every half second, and once at the end."""

    def __init__(self, cluster: Cluster, path: Path, kept: Kept) -> None:
        self._cluster = cluster
        self._path = path
        self._kept = kept
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._cluster.changes.listeners.append(self._notice)
        self.write()

    def _notice(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(WRITE_DELAY, self._due)

    def _due(self) -> None:
        self._timer = None
        try:
            self.write()
        except OSError as error:
            log.error("the state could not be written to %s: %s", self._path, error)

    def write(self) -> None:
        kept = self._kept
        objects = [
            stored.whole
            for stored in self._cluster.store.everything()
            if stored.resource.kind not in _LEFT_OUT
        ]
        head = {
            "kind": "LocalClusterState",
            "version": VERSION,
            "revision": self._cluster.store.revision,
            "credentials": {
                "ca_certificate": kept.authority.certificate.decode(),
                "ca_key": kept.authority.key.decode(),
                "admin_token": kept.admin_token,
                "signing_key": base64.b64encode(kept.signing_key).decode(),
            },
        }
        body = json.dumps(head).encode()[:-1] + b',"objects":[' + b",".join(objects) + b"]}"
        write_private(self._path, body)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._due()
