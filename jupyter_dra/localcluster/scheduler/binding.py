"""Making a decision real: the claim's finalizer, allocation and reservation, then the pod's node."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from jupyter_dra.errors import DRAError
from jupyter_dra.localcluster.client import STRATEGIC_PATCH, ApiError, Client, Object
from jupyter_dra.localcluster.informer import Informer, key_of
from jupyter_dra.localcluster.kinds import CLAIMS, PODS
from jupyter_dra.localcluster.recorder import Recorder, now_text
from jupyter_dra.localcluster.scheduler.devices import consumer_of
from jupyter_dra.localcluster.scheduler.extended import ANNOTATION, PLACEHOLDER, ExtendedClaim

log = logging.getLogger(__name__)

FINALIZER = "resource.kubernetes.io/delete-protection"
BINDING_SECONDS = 600.0
_CONFLICT_TRIES = 5


class BindingFailed(Exception):
    """The pod has to be tried again; the text says why."""


class Binder:
    """Writes what the scheduler decided."""

    def __init__(self, client: Client, claims: Informer, recorder: Recorder) -> None:
        self._client = client
        self._claims = claims
        self._recorder = recorder

    async def allocate(
        self, pod: Object, claim: Object, allocation: Object, extended: ExtendedClaim | None = None
    ) -> Object:
        """Write finalizer, allocation and reservation of a claim (PreBind), created first if it is ``extended``.

        A claim that others wrote to meanwhile is read again: its owners, for instance, are set while it is allocated.

        Raises:
            BindingFailed: the claim is gone, or was allocated by somebody else.
            ApiError: the server refused; nothing is left but, at worst, a finalizer the claim controller takes away.
        """
        namespace, name = key_of(claim)
        if extended is not None and name == PLACEHOLDER:
            return await self._allocate_extended(pod, extended, allocation)
        for _ in range(_CONFLICT_TRIES):
            try:
                claim = await self._ensure_finalizer(claim)
                return await self._write_allocation(pod, claim, allocation)
            except ApiError as error:
                if not error.is_conflict:
                    raise
            claim = await self._again(claim)
        raise BindingFailed(f"resource claim {namespace}/{name} keeps changing")

    async def _ensure_finalizer(self, claim: Object) -> Object:
        present = claim["metadata"].get("finalizers") or ()
        if FINALIZER in present:
            return claim
        meta = {**claim["metadata"], "finalizers": [*present, FINALIZER]}
        answer = await self._client.replace(
            CLAIMS, {**claim, "metadata": meta}, namespace=claim["metadata"]["namespace"]
        )
        self._claims.learn(answer)
        return answer

    async def _again(self, claim: Object) -> Object:
        """The claim as it is now, where the decision about it still holds (kube-scheduler's ``bindClaim``)."""
        namespace, name = key_of(claim)
        now = await self._client.get(CLAIMS, name, namespace)
        if now["metadata"]["uid"] != claim["metadata"]["uid"] or now["metadata"].get("deletionTimestamp"):
            raise BindingFailed(f"claim {namespace}/{name} got deleted in the meantime")
        if (now.get("status") or {}).get("allocation"):
            raise BindingFailed(f"claim {namespace}/{name} got allocated elsewhere in the meantime")
        return now

    async def _write_allocation(self, pod: Object, claim: Object, allocation: Object) -> Object:
        allocation = {**allocation, "allocationTimestamp": now_text()}
        status = {**(claim.get("status") or {}), "allocation": allocation, "reservedFor": [consumer_of(pod)]}
        answer = await self._client.replace(
            CLAIMS,
            {**claim, "status": status},
            namespace=claim["metadata"]["namespace"],
            subresource="status",
        )
        self._claims.learn(answer)
        return answer

    async def _allocate_extended(self, pod: Object, extended: ExtendedClaim, allocation: Object) -> Object:
        namespace = pod["metadata"]["namespace"]
        made = await self._client.create(CLAIMS, extended.claim(pod, FINALIZER), namespace)
        written = await self._write_allocation(pod, made, allocation)
        status = {
            "resourceClaimName": made["metadata"]["name"],
            "requestMappings": list(extended.mappings),
        }
        await self._client.patch(
            PODS,
            pod["metadata"]["name"],
            {
                "metadata": {"uid": pod["metadata"]["uid"]},
                "status": {"extendedResourceClaimStatus": status},
            },
            namespace=namespace,
            subresource="status",
            content_type=STRATEGIC_PATCH,
        )
        return written

    async def discard_extended(self, pod: Object) -> None:
        """Remove the claims made for a pod's extended resources after a failed attempt; the next one makes its own."""
        for claim in self._claims.values():
            meta = claim["metadata"]
            owners = {owner.get("uid") for owner in meta.get("ownerReferences") or ()}
            if ANNOTATION in (meta.get("annotations") or {}) and pod["metadata"]["uid"] in owners:
                try:
                    await self.deallocate(claim)
                    await self._client.delete(CLAIMS, meta["name"], meta["namespace"], uid=meta["uid"])
                except DRAError as error:
                    log.info("Claim %s stays until its pod goes: %s", meta["name"], error)

    async def reserve(self, pod: Object, claim: Object) -> None:
        """Add the pod to the users of a claim that is allocated already.

        Raises:
            BindingFailed: the claim lost its allocation meanwhile.
            ApiError: the server refused.
        """
        namespace, name = key_of(claim)
        for _ in range(_CONFLICT_TRIES):
            status = claim.get("status") or {}
            reserved = status.get("reservedFor") or []
            if any(consumer.get("uid") == pod["metadata"]["uid"] for consumer in reserved):
                return
            if not status.get("allocation"):
                raise BindingFailed(f"resource claim {namespace}/{name} was deallocated meanwhile")
            body = {**claim, "status": {**status, "reservedFor": [*reserved, consumer_of(pod)]}}
            try:
                self._claims.learn(
                    await self._client.replace(CLAIMS, body, namespace=namespace, subresource="status")
                )
                return
            except ApiError as error:
                if not error.is_conflict:
                    raise
            claim = await self._client.get(CLAIMS, name, namespace)
        raise BindingFailed(f"resource claim {namespace}/{name} keeps changing")

    async def wait_for_conditions(self, pod: Object, claims: Sequence[Object]) -> None:
        """Wait until the binding conditions of all allocated devices hold (KEP-5007).

        Raises:
            BindingFailed: a failure condition holds, or ten minutes passed.
        """
        keys = [key_of(claim) for claim in claims if _conditions(claim["status"]["allocation"])]
        if not keys:
            return
        self._recorder.record(
            pod,
            "Normal",
            "BindingConditionsPending",
            f"Scheduling is waiting for resources to be ready: {keys[0][1]}",
        )
        changed = asyncio.Event()

        def notice(*_: object) -> None:
            changed.set()

        self._claims.on_change(notice)
        try:
            async with asyncio.timeout(BINDING_SECONDS):
                while not all(self._conditions_met(key) for key in keys):
                    changed.clear()
                    await changed.wait()
        except TimeoutError:
            raise BindingFailed(f"claim {keys[0][1]} binding timeout") from None
        finally:
            self._claims.off_change(notice)

    def _conditions_met(self, key: tuple[str, str]) -> bool:
        claim = self._claims.items.get(key)
        allocation = ((claim or {}).get("status") or {}).get("allocation")
        if claim is None or not allocation:
            raise BindingFailed(f"claim {key[1]} lost its allocation")
        present: dict[tuple[str, str, str], set[str]] = {}
        for device in claim["status"].get("devices") or ():
            held = {c["type"] for c in device.get("conditions") or () if c.get("status") == "True"}
            present[(device["driver"], device["pool"], device["device"])] = held
        for result in allocation["devices"].get("results") or ():
            held = present.get((result["driver"], result["pool"], result["device"]), set())
            if failed := held & set(result.get("bindingFailureConditions") or ()):
                raise BindingFailed(f"claim {key[1]} binding failed: {', '.join(sorted(failed))}")
            if not set(result.get("bindingConditions") or ()) <= held:
                return False
        return True

    async def deallocate(self, claim: Object) -> None:
        """Take an allocation back that nobody uses."""
        namespace, _ = key_of(claim)
        status = {
            key: value
            for key, value in (claim.get("status") or {}).items()
            if key not in ("allocation", "devices", "reservedFor")
        }
        self._claims.learn(
            await self._client.replace(
                CLAIMS, {**claim, "status": status}, namespace=namespace, subresource="status"
            )
        )

    async def bind(self, pod: Object, node: str) -> None:
        """Bind the pod to the node.

        Raises:
            ApiError: the pod is gone or bound already.
        """
        meta = pod["metadata"]
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": meta["name"], "namespace": meta["namespace"], "uid": meta["uid"]},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        await self._client.request("POST", PODS.path(meta["namespace"], meta["name"], "binding"), body=body)


def _conditions(allocation: Mapping[str, Any]) -> bool:
    results = (allocation.get("devices") or {}).get("results") or ()
    return any(result.get("bindingConditions") for result in results)
