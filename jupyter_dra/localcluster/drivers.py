"""The device drivers of a process-kubelet node: they publish slices and prepare claims through the API.

Simulated devices need no hardware; what is prepared for them is what a container can see of a device: environment and
the metadata files of KEP-5304. Devices of this machine (inventory ``host``) are handed out for real.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from jupyter_dra.errors import DRAError
from jupyter_dra.localcluster.client import ApiError, Client, Object
from jupyter_dra.localcluster.devicelocks import DeviceLocks
from jupyter_dra.localcluster.informer import Informer, key_of
from jupyter_dra.localcluster.inventories import Inventory
from jupyter_dra.localcluster.kinds import BY_KIND, CLAIMS, CLASSES, NAMESPACES, SLICES, TAINT_RULES, Resource
from jupyter_dra.localcluster.recorder import now_text

SIMULATED = "jupyter-dra.dev/simulated"
METADATA_VERSIONS = ("metadata.resource.k8s.io/v1alpha1", "metadata.resource.k8s.io/v1beta1")
DeviceKey = tuple[str, str, str]

log = logging.getLogger(__name__)


class PrepareError(DRAError):
    """A claim cannot be prepared (yet); the message is what the kubelet's event says."""

    code = "prepare-failed"


@dataclass(frozen=True, slots=True)
class PreparedDevice:
    """One allocated device of a pod: where it comes from in the pod's own words, and what it is.

    ``container`` is set for extended resources, where the scheduler says which container gets the device.
    """

    pod_claim: str
    claim: str
    template: bool
    request: str
    driver: str
    pool: str
    name: str
    simulated: bool
    attributes: Mapping[str, Any] = field(default_factory=dict)
    capacity: Mapping[str, Any] = field(default_factory=dict)
    network: Mapping[str, Any] | None = None
    container: str | None = None

    def text(self, name: str) -> str | None:
        return (self.attributes.get(name) or {}).get("string")


class DeviceDrivers:
    """All drivers of one inventory, on all nodes of one agent."""

    def __init__(self, client: Client, inventory: Inventory, locks: DeviceLocks | None = None) -> None:
        self._client = client
        self._inventory = inventory
        self._locks = locks
        self._names = inventory.drivers()
        self._devices: dict[DeviceKey, tuple[Mapping[str, Any], bool]] = {}
        for item in inventory.slices:
            spec = item["spec"]
            simulated = _is_simulated(item)
            for device in spec.get("devices") or ():
                self._devices.setdefault(
                    (spec["driver"], spec["pool"]["name"], device["name"]), (device, simulated)
                )
        self._claims: Informer | None = None
        self._answers: set[asyncio.Task[None]] = set()

    @property
    def names(self) -> set[str]:
        return self._names

    async def publish(self, node_uids: Mapping[str, str]) -> None:
        """Make the API server hold our slices: create missing, replace changed, remove what is no longer ours.

        Args:
            node_uids: node name → uid; a node's slices are owned by it, as kubelet plugins do.
        """
        present = {
            item["metadata"]["name"]: item for item in (await self._client.list(SLICES)).get("items") or ()
        }
        wanted = {item["metadata"]["name"]: _published(item, node_uids) for item in self._inventory.slices}
        stale = [
            name
            for name, item in present.items()
            if name not in wanted
            and item["spec"]["driver"] in self._names
            and item["spec"].get("nodeName") in node_uids
        ]
        await asyncio.gather(
            *(self._publish_one(item, present.get(name)) for name, item in wanted.items()),
            *(self._client.delete(SLICES, name) for name in stale),
        )

    async def _publish_one(self, item: Object, present: Object | None) -> None:
        if present is None:
            await self._client.create(SLICES, item)
        elif present["spec"] != item["spec"]:
            item["metadata"]["resourceVersion"] = present["metadata"]["resourceVersion"]
            await self._client.replace(SLICES, item)

    async def install(self, admin: Client) -> None:
        """Create what an admin's charts would, with an admin's rights: classes, rules, other objects of the inventory.

        What is there already stays as it is.
        """
        ordered = sorted(self._inventory.others, key=lambda item: item["kind"] != NAMESPACES.kind)
        await asyncio.gather(
            *(_create_absent(admin, CLASSES, item) for item in self._inventory.classes),
            *(_create_absent(admin, TAINT_RULES, item) for item in self._inventory.rules),
        )
        for item in ordered:
            resource = BY_KIND.get(item["kind"])
            if resource is not None:
                await _create_absent(admin, resource, item)

    async def prepare(self, pod: Object) -> tuple[PreparedDevice, ...]:
        """Check the pod's claims and prepare their devices; calling it again changes nothing.

        Follows pkg/kubelet/cm/dra/manager.go: the claim must be allocated and reserved for this very pod.

        Raises:
            PrepareError: not ready; ask again later.
        """
        found: list[PreparedDevice] = []
        for entry in pod["spec"].get("resourceClaims") or ():
            name = self._claim_name(pod, entry)
            if name is not None:
                claim = await self._client.find(CLAIMS, name, pod["metadata"]["namespace"])
                found += self._prepare_claim(pod, entry, name, claim)
        found += await self._prepare_extended(pod)
        if self._locks is not None:
            holder = f"pod {pod['metadata']['namespace']}/{pod['metadata']['name']}"
            for device in found:
                if not device.simulated and (uuid := device.text("uuid")):
                    self._locks.take(uuid, pod["metadata"]["uid"], holder)
        return tuple(found)

    async def _prepare_extended(self, pod: Object) -> list[PreparedDevice]:
        status = (pod.get("status") or {}).get("extendedResourceClaimStatus")
        if not status:
            return []
        name = status["resourceClaimName"]
        containers = {item["requestName"]: item["containerName"] for item in status["requestMappings"]}
        claim = await self._client.find(CLAIMS, name, pod["metadata"]["namespace"])
        entry = {"name": "", "resourceClaimName": name}
        devices = self._prepare_claim(pod, entry, name, claim)
        return [replace(device, container=containers.get(device.request, "")) for device in devices]

    def unprepare(self, pod_uid: str) -> None:
        """Give back what ``prepare`` took for this pod."""
        if self._locks is not None:
            self._locks.release(pod_uid)

    @staticmethod
    def _claim_name(pod: Object, entry: Mapping[str, Any]) -> str | None:
        if entry.get("resourceClaimName"):
            return str(entry["resourceClaimName"])
        for status in (pod.get("status") or {}).get("resourceClaimStatuses") or ():
            if status["name"] == entry["name"]:
                name: str | None = status.get("resourceClaimName")
                return name
        raise PrepareError(f"pod {_pod_text(pod)}: ResourceClaim not created yet")

    def _prepare_claim(
        self, pod: Object, entry: Mapping[str, Any], name: str, claim: Object | None
    ) -> list[PreparedDevice]:
        namespace, uid = pod["metadata"]["namespace"], pod["metadata"]["uid"]
        if claim is None:
            raise PrepareError(f'fetch ResourceClaim {namespace}/{name}: resourceclaims "{name}" not found')
        owner = [ref for ref in claim["metadata"].get("ownerReferences") or () if ref.get("controller")]
        template = "resourceClaimTemplateName" in entry
        if template and not any(ref.get("uid") == uid for ref in owner):
            raise PrepareError(f"claim {namespace}/{name} was not created for pod {_pod_text(pod)}")
        status = claim.get("status") or {}
        if not status.get("allocation"):
            raise PrepareError(f"claim {namespace}/{name} is not allocated")
        if not any(consumer.get("uid") == uid for consumer in status.get("reservedFor") or ()):
            raise PrepareError(
                f"pod {_pod_text(pod)} is not allowed to use resource claim {namespace}/{name}"
            )
        network = {_result_key(item): item.get("networkData") for item in status.get("devices") or ()}
        devices = []
        for result in (status["allocation"].get("devices") or {}).get("results") or ():
            if result["driver"] not in self._names:
                raise PrepareError(
                    f"NodePrepareResources failed for claim {namespace}/{name}: "
                    f"DRA driver {result['driver']} is not registered"
                )
            key = _result_key(result)
            device, simulated = self._devices.get(key, ({}, True))
            devices.append(
                PreparedDevice(
                    pod_claim=entry["name"],
                    claim=entry.get("resourceClaimName") or name,
                    template=template,
                    request=result["request"],
                    driver=result["driver"],
                    pool=result["pool"],
                    name=result["device"],
                    simulated=simulated,
                    attributes=device.get("attributes") or {},
                    capacity={**(device.get("capacity") or {}), **_consumed(result)},
                    network=network.get(key),
                )
            )
        return devices

    async def start_attaching(self) -> None:
        """Meet the binding conditions of our devices: a fabric that attaches at once.

        Does nothing when no device of the inventory has any.
        """
        if not any(device.get("bindingConditions") for device, _ in self._devices.values()):
            return
        self._claims = Informer(self._client, CLAIMS)
        self._claims.on_change(self._claim_changed)
        self._claims.start()

    async def stop(self) -> None:
        if self._claims is not None:
            await self._claims.stop()
        for task in self._answers:
            task.cancel()

    def _claim_changed(self, kind: str, claim: Object, _before: Object | None) -> None:
        status = claim.get("status") or {}
        results = ((status.get("allocation") or {}).get("devices") or {}).get("results") or ()
        present = {_result_key(item): item for item in status.get("devices") or ()}
        waiting = [
            result
            for result in results
            if result["driver"] in self._names
            and result.get("bindingConditions")
            and _result_key(result) not in present
        ]
        if kind != "DELETED" and waiting:
            task = asyncio.create_task(self._attach(claim, waiting))
            self._answers.add(task)
            task.add_done_callback(self._answers.discard)

    async def _attach(self, claim: Object, results: Sequence[Mapping[str, Any]]) -> None:
        namespace, name = key_of(claim)
        devices = [*((claim.get("status") or {}).get("devices") or ()), *map(_attached, results)]
        body = {**claim, "status": {**claim["status"], "devices": devices}}
        try:
            await self._client.replace(CLAIMS, body, namespace=namespace, subresource="status")
        except DRAError as error:
            log.info("Attaching devices of claim %s/%s: %s", namespace, name, error)


async def _create_absent(client: Client, resource: Resource, item: Object) -> None:
    namespace = (item["metadata"].get("namespace") or "default") if resource.namespaced else None
    try:
        await client.create(resource, item, namespace)
    except ApiError as error:
        if error.status != 409:
            log.warning("%s %s was refused: %s", item["kind"], item["metadata"]["name"], error)


def metadata_files(devices: Iterable[PreparedDevice], pod: Object) -> dict[str, bytes]:
    """Return the KEP-5304 files of a container (path below the metadata root → content).

    Each file is a stream of one object per version, oldest first.
    """
    grouped: dict[str, list[PreparedDevice]] = {}
    for device in devices:
        folder = (
            f"resourceclaimtemplates/{device.pod_claim}"
            if device.template
            else f"resourceclaims/{device.claim}"
        )
        request = device.request.split("/")[0]
        grouped.setdefault(f"{folder}/{request}/{device.driver}-metadata.json", []).append(device)
    return {path: _metadata_stream(members, pod) for path, members in grouped.items()}


def _metadata_stream(devices: Sequence[PreparedDevice], pod: Object) -> bytes:
    first = devices[0]
    body = {
        "metadata": {"name": first.claim, "namespace": pod["metadata"]["namespace"], "generation": 1},
        "podClaimName": first.pod_claim,
        "requests": [
            {
                "name": first.request.split("/")[0],
                "devices": [
                    {
                        "driver": device.driver,
                        "pool": device.pool,
                        "name": device.name,
                        "attributes": dict(device.attributes),
                        **({"networkData": dict(device.network)} if device.network else {}),
                    }
                    for device in devices
                ],
            }
        ],
    }
    objects = [{"apiVersion": version, "kind": "DeviceMetadata", **body} for version in METADATA_VERSIONS]
    return "".join(json.dumps(item, separators=(",", ":")) + "\n" for item in objects).encode()


def device_environment(devices: Sequence[PreparedDevice]) -> dict[str, str]:
    """Return the vendor variables of a container: only devices of this machine appear in them."""
    real = [uuid for device in devices if not device.simulated and (uuid := device.text("uuid"))]
    if real:
        return {"NVIDIA_VISIBLE_DEVICES": ",".join(real), "CUDA_VISIBLE_DEVICES": ",".join(real)}
    return {}


def container_devices(
    container: Mapping[str, Any], devices: Iterable[PreparedDevice]
) -> tuple[PreparedDevice, ...]:
    """Return the devices a container asks for with ``resources.claims``; one that names none gets none."""
    asked = (container.get("resources") or {}).get("claims") or ()

    def belongs(device: PreparedDevice) -> bool:
        if device.container is not None:
            return bool(device.container == container["name"])
        request = device.request.split("/")[0]
        return any(
            item["name"] == device.pod_claim and item.get("request") in (None, "", request) for item in asked
        )

    return tuple(filter(belongs, devices))


def write_metadata(folder: Path, files: Mapping[str, bytes]) -> None:
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
        target.write_bytes(content)


def _is_simulated(item: Mapping[str, Any]) -> bool:
    return bool((item["metadata"].get("annotations") or {}).get(SIMULATED, "true") != "false")


def _published(item: Object, node_uids: Mapping[str, str]) -> Object:
    meta = {
        "name": item["metadata"]["name"],
        "annotations": {
            **(item["metadata"].get("annotations") or {}),
            SIMULATED: "true" if _is_simulated(item) else "false",
        },
    }
    if item["metadata"].get("labels"):
        meta["labels"] = dict(item["metadata"]["labels"])
    node = item["spec"].get("nodeName")
    if node in node_uids:
        meta["ownerReferences"] = [
            {"apiVersion": "v1", "kind": "Node", "name": node, "uid": node_uids[node], "controller": True}
        ]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": meta,
        "spec": item["spec"],
    }


def _result_key(result: Mapping[str, Any]) -> DeviceKey:
    return result["driver"], result["pool"], result["device"]


def _consumed(result: Mapping[str, Any]) -> dict[str, Any]:
    return {name: {"value": amount} for name, amount in (result.get("consumedCapacity") or {}).items()}


def _pod_text(pod: Object) -> str:
    return f"{pod['metadata']['name']}({pod['metadata']['uid']})"


def _attached(result: Mapping[str, Any]) -> Object:
    moment = now_text()
    return {
        "driver": result["driver"],
        "pool": result["pool"],
        "device": result["device"],
        **({"shareID": result["shareID"]} if result.get("shareID") else {}),
        "conditions": [
            {
                "type": condition,
                "status": "True",
                "reason": "Simulated",
                "message": "attached at once",
                "lastTransitionTime": moment,
            }
            for condition in result["bindingConditions"]
        ],
    }
