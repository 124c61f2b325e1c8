"""Claims made from templates, their reservations, and their end. Follows pkg/controller/resourceclaim/controller.go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jupyter_dra.localcluster.client import STRATEGIC_PATCH, ApiError, Client, Object
from jupyter_dra.localcluster.controllers.keyed import KeyedQueue
from jupyter_dra.localcluster.informer import Informer, Key, key_of
from jupyter_dra.localcluster.kinds import CLAIMS, PODS, TEMPLATES
from jupyter_dra.localcluster.recorder import Recorder
from jupyter_dra.localcluster.scheduler.binding import FINALIZER
from jupyter_dra.localcluster.scheduler.devices import all_claim_names, claim_names, consumer_of
from jupyter_dra.localcluster.scheduler.extended import ANNOTATION as EXTENDED

POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"


class ClaimController:
    """Creates generated claims, keeps ``reservedFor`` true, and frees what nobody uses."""

    def __init__(self, client: Client, pods: Informer, claims: Informer, recorder: Recorder) -> None:
        self._client = client
        self._pods = pods
        self._claims = claims
        self._recorder = recorder
        self._made: dict[tuple[str, str], str] = {}
        self._pod_queue = KeyedQueue("claims-of-pod", self._sync_pod)
        self._claim_queue = KeyedQueue("claim", self._sync_claim)
        pods.on_change(self._pod_changed)
        claims.on_change(self._claim_changed)

    async def stop(self) -> None:
        await self._pod_queue.stop()
        await self._claim_queue.stop()

    def template_changed(self, kind: str, template: Object, _before: Object | None) -> None:
        """A template appeared: pods that wait for it are looked at again."""
        if kind == "DELETED":
            return
        namespace, name = key_of(template)
        for pod in self._pods.values():
            entries = pod["spec"].get("resourceClaims") or ()
            if pod["metadata"]["namespace"] == namespace and any(
                entry.get("resourceClaimTemplateName") == name for entry in entries
            ):
                self._pod_queue.add(key_of(pod))

    def _pod_changed(self, kind: str, pod: Object, _before: Object | None) -> None:
        if not pod["spec"].get("resourceClaims") and not all_claim_names(pod):
            return
        if kind != "DELETED" and not is_over(pod):
            self._pod_queue.add(key_of(pod))
        namespace, uid = pod["metadata"]["namespace"], pod["metadata"]["uid"]
        if kind == "DELETED" or is_over(pod):
            self._made = {key: name for key, name in self._made.items() if key[0] != uid}
            for name in all_claim_names(pod):
                self._claim_queue.add((namespace, name))

    def _claim_changed(self, kind: str, claim: Object, before: Object | None) -> None:
        if kind != "DELETED":
            self._claim_queue.add(key_of(claim))
        namespace, name = key_of(claim)
        if kind == "DELETED" or (kind == "MODIFIED" and not _allocation(before or {}) and _allocation(claim)):
            for pod in self._pods.values():
                if pod["metadata"]["namespace"] == namespace and name in claim_names(pod):
                    self._pod_queue.add(key_of(pod))

    # -- pods ---------------------------------------------------------------------------------------------------

    async def _sync_pod(self, key: Key) -> None:
        pod = self._pods.items.get(key)
        if pod is None or is_over(pod) or pod["metadata"].get("deletionTimestamp"):
            return
        statuses = {
            item["name"]: item.get("resourceClaimName")
            for item in (pod.get("status") or {}).get("resourceClaimStatuses") or ()
        }
        fresh: dict[str, str] = {}
        for entry in pod["spec"].get("resourceClaims") or ():
            if entry.get("resourceClaimTemplateName") and not self._still_there(
                pod, statuses.get(entry["name"])
            ):
                try:
                    fresh[entry["name"]] = await self._generate(pod, entry)
                except ApiError as error:
                    self._recorder.record(
                        pod,
                        "Warning",
                        "FailedResourceClaimCreation",
                        f"PodResourceClaim {entry['name']}: {error.message}",
                    )
                    raise
        if fresh:
            entries = [
                {"name": name, "resourceClaimName": claim} for name, claim in {**statuses, **fresh}.items()
            ]
            await self._client.patch(
                PODS,
                pod["metadata"]["name"],
                {"metadata": {"uid": pod["metadata"]["uid"]}, "status": {"resourceClaimStatuses": entries}},
                namespace=pod["metadata"]["namespace"],
                subresource="status",
                content_type=STRATEGIC_PATCH,
            )
        if pod["spec"].get("nodeName"):
            await self._reserve_for_placed(pod)

    def _still_there(self, pod: Object, claim_name: str | None) -> bool:
        if claim_name is None:
            return False
        claim = self._claims.get(claim_name, pod["metadata"]["namespace"])
        return claim is not None or bool(pod["spec"].get("nodeName"))

    async def _generate(self, pod: Object, entry: Mapping[str, Any]) -> str:
        meta = pod["metadata"]
        known = self._made.get((meta["uid"], entry["name"])) or self._find_generated(pod, entry["name"])
        if known is not None:
            return known
        name = entry["resourceClaimTemplateName"]
        template = await self._client.find(TEMPLATES, name, meta["namespace"])
        if template is None:
            raise ApiError(
                404,
                "NotFound",
                f'resource claim template "{name}": resourceclaimtemplate.resource.k8s.io "{name}" not found',
            )
        try:
            made = await self._client.create(
                CLAIMS, generated_claim(pod, entry["name"], template), meta["namespace"]
            )
        except ApiError as error:
            raise ApiError(
                error.status, error.reason, f"create ResourceClaim : {error.message}", error.body
            ) from error
        self._made[(meta["uid"], entry["name"])] = made["metadata"]["name"]
        return str(made["metadata"]["name"])

    def _find_generated(self, pod: Object, entry_name: str) -> str | None:
        for claim in self._claims.values():
            meta = claim["metadata"]
            if (
                meta["namespace"] == pod["metadata"]["namespace"]
                and (meta.get("annotations") or {}).get(POD_CLAIM_NAME) == entry_name
                and controlled_by(claim, pod["metadata"]["uid"])
            ):
                return str(meta["name"])
        return None

    async def _reserve_for_placed(self, pod: Object) -> None:
        """Reserve allocated claims for a pod that was placed without the scheduler."""
        for name in claim_names(pod):
            claim = self._claims.get(name, pod["metadata"]["namespace"]) if name else None
            if claim is None or not _allocation(claim):
                continue
            reserved = claim["status"].get("reservedFor") or []
            if all(consumer.get("uid") != pod["metadata"]["uid"] for consumer in reserved):
                status = {**claim["status"], "reservedFor": [*reserved, consumer_of(pod)]}
                await self._write_status(claim, status)

    # -- claims -------------------------------------------------------------------------------------------------

    async def _sync_claim(self, key: Key) -> None:
        claim = self._claims.items.get(key)
        if claim is None:
            return
        status = claim.get("status") or {}
        reserved = status.get("reservedFor") or []
        valid = [consumer for consumer in reserved if await self._still_uses(claim, consumer)]
        if len(valid) < len(reserved):
            status = {**status, "reservedFor": valid}
            if not valid:
                status = _without_allocation(status)
            claim = await self._write_status(claim, status)
        elif not reserved and _allocation(claim) and claim["metadata"].get("deletionTimestamp"):
            claim = await self._write_status(claim, _without_allocation(status))
        if not (claim.get("status") or {}).get("reservedFor") and not _allocation(claim):
            claim = await self._drop_finalizer(claim)
        await self._delete_generated(claim)

    async def _still_uses(self, claim: Object, consumer: Mapping[str, Any]) -> bool:
        if consumer.get("resource") != "pods" or consumer.get("apiGroup"):
            return True
        namespace = claim["metadata"]["namespace"]
        pod = self._pods.get(consumer["name"], namespace)
        if pod is None or pod["metadata"]["uid"] != consumer["uid"]:
            # The cache may lag behind the reservation: ask before taking a device away.
            pod = await self._client.find(PODS, consumer["name"], namespace)
        return pod is not None and pod["metadata"]["uid"] == consumer["uid"] and not is_over(pod)

    async def _drop_finalizer(self, claim: Object) -> Object:
        finalizers = claim["metadata"].get("finalizers") or []
        if FINALIZER not in finalizers or not self._is_settled(claim):
            return claim
        meta = {**claim["metadata"], "finalizers": [item for item in finalizers if item != FINALIZER]}
        answer = await self._client.replace(
            CLAIMS, {**claim, "metadata": meta}, namespace=claim["metadata"]["namespace"]
        )
        if answer.get("kind") == "ResourceClaim":
            self._claims.learn(answer)
            return answer
        return claim

    def _is_settled(self, claim: Object) -> bool:
        """The scheduler sets the finalizer just before the allocation: leave it to a claim a pending pod waits for."""
        if claim["metadata"].get("deletionTimestamp"):
            return True
        namespace, name = key_of(claim)
        return not any(
            pod["metadata"]["namespace"] == namespace and name in claim_names(pod) and not is_over(pod)
            for pod in self._pods.values()
        )

    async def _delete_generated(self, claim: Object) -> None:
        meta = claim["metadata"]
        annotations = meta.get("annotations") or {}
        if meta.get("deletionTimestamp") or not {POD_CLAIM_NAME, EXTENDED} & annotations.keys():
            return
        owner = next((ref for ref in meta.get("ownerReferences") or () if ref.get("controller")), None)
        if owner is None or owner.get("kind") != "Pod":
            return
        pod = self._pods.get(owner["name"], meta["namespace"])
        if pod is not None and pod["metadata"]["uid"] == owner["uid"] and is_over(pod):
            await self._client.delete(CLAIMS, meta["name"], meta["namespace"], uid=meta["uid"])

    async def _write_status(self, claim: Object, status: Mapping[str, Any]) -> Object:
        answer = await self._client.replace(
            CLAIMS,
            {**claim, "status": dict(status)},
            namespace=claim["metadata"]["namespace"],
            subresource="status",
        )
        self._claims.learn(answer)
        return answer


def generated_claim(pod: Object, entry_name: str, template: Object) -> Object:
    """Return the claim that a pod's entry gets from a template."""
    spec = template["spec"]
    extra = spec.get("metadata") or {}
    return {
        "apiVersion": CLAIMS.group_version,
        "kind": CLAIMS.kind,
        "metadata": {
            "generateName": f"{pod['metadata']['name']}-{entry_name}-",
            "namespace": pod["metadata"]["namespace"],
            "labels": dict(extra.get("labels") or {}),
            "annotations": {**(extra.get("annotations") or {}), POD_CLAIM_NAME: entry_name},
            "ownerReferences": [
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "name": pod["metadata"]["name"],
                    "uid": pod["metadata"]["uid"],
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": spec["spec"],
    }


def controlled_by(item: Object, uid: str) -> bool:
    owners = item["metadata"].get("ownerReferences") or ()
    return any(owner.get("controller") and owner.get("uid") == uid for owner in owners)


def is_over(pod: Object) -> bool:
    """Tell whether a pod will never run (again): ended, or deleted before it had a node."""
    phase = (pod.get("status") or {}).get("phase")
    never = bool(pod["metadata"].get("deletionTimestamp")) and not pod["spec"].get("nodeName")
    return phase in ("Succeeded", "Failed") or never


def _allocation(claim: Mapping[str, Any]) -> Any:
    return (claim.get("status") or {}).get("allocation")


def _without_allocation(status: Mapping[str, Any]) -> Object:
    return {
        key: value for key, value in status.items() if key not in ("allocation", "devices", "reservedFor")
    }
