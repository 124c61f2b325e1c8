"""What a command looks at: files (``--inventory``), or a cluster through the session service."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import InputError
from ..model.reading import items, mapping

if TYPE_CHECKING:
    from ..claims import Requirement
    from ..planner import Inventory
    from ..sessions.service import Sessions

_MOST_BYTES = 256 << 20


class Around(Protocol):
    """The questions commands ask of either."""

    def ask(self, question: Callable[[Inventory], Any]) -> Any: ...

    def context(self) -> dict[str, Any]: ...

    def visible(self) -> dict[str, Any]: ...

    def idle(self) -> dict[str, int]: ...

    def limits(self, wanted: Any) -> dict[str, Any] | None: ...


class Answers:
    """The contract's documents, made from whatever is around."""

    def __init__(self, around: Around) -> None:
        self._around = around

    def tier_list(self) -> dict[str, Any]:
        """`TierList`."""
        context = self._around.context()
        namespace = context["namespace"] or "default"
        offer = self._around.ask(lambda inventory: inventory.offer(namespace=namespace))
        return {
            "kind": "TierList",
            "version": 1,
            "context": context,
            "visible": self._around.visible(),
            **offer,
        }

    def device_list(self, *, tier: str | None = None, node: str | None = None) -> dict[str, Any]:
        """`DeviceList`."""
        context = self._around.context()

        def look(inventory: Inventory) -> tuple[int, list[dict[str, Any]]]:
            return inventory.revision, inventory.devices(tier=tier, node=node)

        revision, devices = self._around.ask(look)
        for device in devices:
            device["holders"] = self._with_idle(device["holders"])
        return {
            "kind": "DeviceList",
            "version": 1,
            "context": context,
            "revision": revision,
            "visible": self._around.visible(),
            "devices": devices,
        }

    def plan(self, wanted: Any, *, all_nodes: bool = False) -> dict[str, Any]:
        """`Plan`."""
        context = self._around.context()
        namespace = context["namespace"] or "default"
        limits = self._around.limits(wanted)
        document: dict[str, Any] = self._around.ask(
            lambda inventory: inventory.plan(
                wanted, namespace=namespace, detail="full", all_nodes=all_nodes, limits=limits
            ).as_dict()
        )
        return {**document, "holders": self._with_idle(document["holders"]), "context": context}

    def _with_idle(self, holders: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if not holders:
            return holders
        from ..sessions.usage import with_idle

        return [with_idle(holder, self._idle) for holder in holders]

    @cached_property
    def _idle(self) -> dict[str, int]:
        return self._around.idle()

    def claim_for(self, wish: Requirement, *, template: bool) -> dict[str, Any]:
        """The claim that a launch of this requirement would make, or a template of it."""
        claim: dict[str, Any] = self._around.ask(
            lambda inventory: inventory.claim_for(wish, namespace=wish.namespace, template=template)
        )
        return claim

    def ask(self, question: Callable[[Inventory], Any]) -> Any:
        """Anything else."""
        return self._around.ask(question)


class FilesAround:
    """Objects in files; everything that is there is seen, everything else is unknown."""

    def __init__(self, paths: list[str], namespace: str | None) -> None:
        from ..planner import Inventory

        objects = [one for path in paths for one in load_objects(path)]
        given = {str(one.get("kind")) for one in _flat(objects)}
        self._visible = {"slices": True, "claims": "all" if "ResourceClaim" in given else "none"}
        self._inventory = Inventory.from_objects(objects, visibility={**self._visible, "claims": "all"})
        self._namespace = namespace or "default"
        self._name = ", ".join(Path(path).name for path in paths)

    def ask(self, question: Callable[[Inventory], Any]) -> Any:
        return question(self._inventory)

    def context(self) -> dict[str, Any]:
        return {
            "cluster": self._name,
            "namespace": self._namespace,
            "server_version": None,
            "as_of": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }

    def visible(self) -> dict[str, Any]:
        return dict(self._visible)

    def idle(self) -> dict[str, int]:
        return {}

    def limits(self, wanted: Any) -> dict[str, Any] | None:
        return None


class ClusterAround:
    """A live cluster, as far as this user's rights show it."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def ask(self, question: Callable[[Inventory], Any]) -> Any:
        async def asked() -> Any:
            feed = await self._sessions.inventory()
            return await self._sessions.loop.wrap(feed.ask(question))

        return asyncio.run(asked())

    def context(self) -> dict[str, Any]:
        return asyncio.run(self._sessions.context())

    def visible(self) -> dict[str, Any]:
        async def seen() -> dict[str, Any]:
            feed = await self._sessions.inventory()
            return {"slices": feed.visibility["slices"], "claims": feed.visibility["claims"]}

        return asyncio.run(seen())

    def idle(self) -> dict[str, int]:
        return asyncio.run(self._sessions.idle())

    def limits(self, wanted: Any) -> dict[str, Any] | None:
        return asyncio.run(self._sessions.limits(wanted))


@contextmanager
def open_surroundings(arguments: argparse.Namespace) -> Iterator[Answers]:
    """The files or the cluster that the command line names; closed afterwards."""
    if getattr(arguments, "inventory", None):
        yield Answers(FilesAround(arguments.inventory, arguments.namespace))
        return
    with open_sessions(arguments) as sessions:
        yield Answers(ClusterAround(sessions))


@contextmanager
def open_sessions(arguments: argparse.Namespace) -> Iterator[Sessions]:
    """The session service of the chosen cluster; sessions go on when the command ends."""
    from ..sessions.opening import Where
    from ..sessions.policy import SessionPolicy
    from ..sessions.service import Sessions

    where = Where(context=arguments.context, kubeconfig=arguments.kubeconfig, namespace=arguments.namespace)
    sessions = Sessions(where, policy=SessionPolicy(keep_on_stop=True))
    try:
        yield sessions
    finally:
        sessions.close(keep=True)


@contextmanager
def open_session(arguments: argparse.Namespace) -> Iterator[tuple[Sessions, str]]:
    """The session service, and the id of the session that the command line names."""
    from ..sessions.naming import session_id_of

    with open_sessions(arguments) as sessions:
        yield sessions, asyncio.run(session_id_of(sessions, arguments.session))


def read_text(path: str) -> str:
    """A file's text, or standard input for ``-``.

    Raises:
        InputError: no such file, no text, too large.
    """
    try:
        if path == "-":
            raw = sys.stdin.buffer.read(_MOST_BYTES + 1)
        else:
            with open(path, "rb") as file:
                raw = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise InputError(
            f"{path}: {error.strerror or error}.", code="file", path=path, next_step="Check the name."
        ) from error
    if len(raw) > _MOST_BYTES:
        raise InputError(
            f"{path} is larger than 256 MiB.",
            code="too-large",
            path=path,
            next_step="Split it into several files.",
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not UTF-8 text.",
            code="not-text",
            path=path,
            next_step="Give a YAML or JSON file; save it as UTF-8.",
        ) from error


def load_objects(path: str) -> list[dict[str, Any]]:
    """The objects of a YAML or JSON file, Lists kept as they are.

    Raises:
        InputError: the file cannot be read safely; the message has line and column.
    """
    from ..checker import documents

    found = documents(read_text(path), most_bytes=_MOST_BYTES)
    return [dict(one) for one in found if isinstance(one, Mapping)]


def read_claims(path: str) -> Any:
    """The claim a file asks for, or those of its pod; templates count as claims.

    A file may hold its surroundings too: with a pod, its claims are meant; else claims that are allocated already
    are taken for surroundings as long as others are there.
    """
    objects = list(_flat(load_objects(path)))
    claims = [one for one in objects if one.get("kind") in ("ResourceClaim", "ResourceClaimTemplate")]
    wanted = [one for one in claims if not mapping(one.get("status")).get("allocation")] or claims
    for pod in (one for one in objects if one.get("kind") == "Pod"):
        named = _claims_of(pod, claims)
        if any(one in wanted for one in named):
            wanted = named
            break
    claims = wanted
    if not claims:
        raise InputError(
            f"{path} holds no ResourceClaim.",
            code="no-claim",
            path=path,
            next_step="Give a claim or a template.",
        )
    return claims[0] if len(claims) == 1 else claims


def _claims_of(pod: Mapping[str, Any], claims: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The claims and templates of the file that a pod names."""
    kinds = {"resourceClaimName": "ResourceClaim", "resourceClaimTemplateName": "ResourceClaimTemplate"}
    namespace = mapping(pod.get("metadata")).get("namespace")
    found = []
    for entry in items(mapping(pod.get("spec")).get("resourceClaims")):
        for one in claims:
            metadata = mapping(one.get("metadata"))
            name = next((entry.get(field) for field, kind in kinds.items() if kind == one["kind"]), None)
            if name and metadata.get("name") == name and metadata.get("namespace") == namespace:
                found.append(one)
    return found


def _flat(objects: Any) -> Iterator[dict[str, Any]]:
    for one in objects:
        if isinstance(one, Mapping) and isinstance(one.get("items"), list):
            yield from _flat(one["items"])
        elif isinstance(one, Mapping):
            yield dict(one)
