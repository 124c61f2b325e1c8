"""The device side of scheduling: the allocator's view of the cluster, kept current, and what it decides for a pod.

Follows pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jupyter_dra.allocator import Attempt, ClusterState
from jupyter_dra.errors import AllocationError, BudgetExceeded
from jupyter_dra.localcluster.client import Object
from jupyter_dra.localcluster.informer import Informer, Key, key_of
from jupyter_dra.localcluster.scheduler import messages
from jupyter_dra.localcluster.scheduler.extended import PLACEHOLDER, ExtendedClaim, extended_claim
from jupyter_dra.model import NodeSelector

_MOST_CONSUMERS = 256
_FIRST_ALTERNATIVE = 8


class NotYet(Exception):
    """The pod is held back without a word: a claim of it does not exist yet, or is being deleted (PreEnqueue)."""


class Refused(Exception):
    """No node can help; the text is the reason (PreFilter)."""


class Fatal(Exception):
    """The whole attempt ends with an error (status Error in Filter)."""


@dataclass(frozen=True, slots=True)
class PodDevices:
    """A pod's claims at the moment of an attempt: those already allocated, and those to allocate."""

    allocated: tuple[Object, ...]
    wanted: tuple[Object, ...]
    attempt: Attempt | None
    extended: ExtendedClaim | None = None


class DeviceScheduling:
    """Knows slices, classes, rules, nodes and claims; in-flight allocations count as made."""

    def __init__(
        self, claims: Informer, slices: Informer, classes: Informer, rules: Informer, nodes: Informer
    ) -> None:
        self._claims = claims
        self._classes = classes
        self._state = ClusterState()
        self._in_flight: dict[Key, Object] = {}
        claims.on_change(self._claim_changed)
        slices.on_change(self._slice_changed)
        classes.on_change(self._class_changed)
        rules.on_change(self._rule_changed)
        nodes.on_change(self._node_changed)

    # -- decisions ----------------------------------------------------------------------------------------------

    def claims_of(self, pod: Object) -> list[Object]:
        """Return the pod's claims in its order.

        Raises:
            NotYet: one of them does not exist (yet).
        """
        found = []
        for name in claim_names(pod):
            claim = self._claims.get(name, pod["metadata"]["namespace"]) if name else None
            if claim is None:
                raise NotYet
            found.append(claim)
        return found

    def prepare(self, pod: Object) -> PodDevices:
        """Look at the pod's claims before any node.

        Raises:
            NotYet, Refused
        """
        allocated, wanted = [], []
        for claim in self.claims_of(pod):
            namespace, name = key_of(claim)
            reserved = (claim.get("status") or {}).get("reservedFor") or ()
            mine = any(consumer.get("uid") == pod["metadata"]["uid"] for consumer in reserved)
            if claim["metadata"].get("deletionTimestamp") and not mine:
                raise NotYet  # kube-scheduler holds such a pod in PreEnqueue, without a condition (seen with 1.37.2)
            if (claim.get("status") or {}).get("allocation"):
                if not mine and len(reserved) >= _MOST_CONSUMERS:
                    raise Refused("resourceclaim in use")
                allocated.append(claim)
            elif (namespace, name) in self._in_flight:
                raise Refused(f"resource claim {namespace}/{name} is in the process of being allocated")
            else:
                self._check_classes(claim)
                wanted.append(claim)
        extended = extended_claim(pod, self._classes.values())
        if extended is not None:
            wanted.append(extended.placeholder(pod))
        attempt = self._state.attempt(wanted) if wanted else None
        return PodDevices(tuple(allocated), tuple(wanted), attempt, extended)

    def _check_classes(self, claim: Object) -> None:
        for request in (claim["spec"].get("devices") or {}).get("requests") or ():
            alternatives = [
                (f"{request['name']}/{a['name']}", a) for a in request.get("firstAvailable") or ()
            ]
            for name, part in alternatives or [(request["name"], request.get("exactly") or {})]:
                wanted = part.get("deviceClassName")
                if wanted and wanted not in self._state.classes:
                    raise Refused(f"request {name}: device class {wanted} does not exist")

    def on_node(self, devices: PodDevices, node: Object) -> Sequence[Object] | str:
        """Return the allocations the wanted claims get on a node, or the reason why it does not fit.

        Raises:
            Fatal: the attempt ends for all nodes.
        """
        name, labels = node["metadata"]["name"], node["metadata"].get("labels") or {}
        for claim in devices.allocated:
            selector = NodeSelector.optional(claim["status"]["allocation"].get("nodeSelector"))
            if selector is not None and not selector.matches(labels, name):
                return messages.CLAIM_ELSEWHERE
        if devices.attempt is None:
            return ()
        try:
            found = devices.attempt.allocations(self._state.node(name), lambda: str(uuid.uuid4()))
        except AllocationError as error:
            if error.node_only:
                return error.message
            raise Fatal(f'running "DynamicResources" filter plugin: {_with_device(error)}') from error
        except BudgetExceeded:
            return messages.TIMED_OUT
        return messages.CANNOT_ALLOCATE if found is None else found

    @staticmethod
    def score(devices: PodDevices, allocations: Sequence[Object]) -> int:
        """Return how preferred the chosen alternatives are (KEP-4816): first 8, second 7, … summed over requests."""
        total = 0
        for claim, allocation in zip(devices.wanted, allocations, strict=True):
            chosen = {result["request"] for result in (allocation.get("devices") or {}).get("results") or ()}
            for request in claim["spec"]["devices"].get("requests") or ():
                for index, alternative in enumerate(request.get("firstAvailable") or ()):
                    if f"{request['name']}/{alternative['name']}" in chosen:
                        total += _FIRST_ALTERNATIVE - index
        return total

    # -- what is under way --------------------------------------------------------------------------------------

    def assume(self, pod: Object, claim: Object, allocation: Object) -> None:
        """Count an allocation as made while it is being written."""
        claim = _named_for(pod, claim)
        assumed = {**claim, "status": {**(claim.get("status") or {}), "allocation": allocation}}
        self._in_flight[key_of(claim)] = assumed
        self._state.set_claim(assumed)

    def settle(self, pod: Object, claim: Object) -> None:
        """End ``assume``: what the informer knows counts again."""
        key = key_of(_named_for(pod, claim))
        if self._in_flight.pop(key, None) is not None:
            present = self._claims.items.get(key)
            if present is None:
                self._state.remove_claim(_state_key(key))
            else:
                self._state.set_claim(present)

    # -- news ---------------------------------------------------------------------------------------------------

    def _claim_changed(self, kind: str, claim: Object, _before: Object | None) -> None:
        key = key_of(claim)
        if kind == "DELETED":
            self._state.remove_claim(_state_key(key))
        elif key in self._in_flight and not (claim.get("status") or {}).get("allocation"):
            return
        else:
            self._state.set_claim(claim)

    def _slice_changed(self, kind: str, item: Object, _before: Object | None) -> None:
        if kind == "DELETED":
            self._state.remove_slice(item["metadata"]["name"])
        else:
            self._state.set_slice(item)

    def _class_changed(self, kind: str, item: Object, _before: Object | None) -> None:
        if kind == "DELETED":
            self._state.remove_class(item["metadata"]["name"])
        else:
            self._state.set_class(item)

    def _rule_changed(self, kind: str, item: Object, _before: Object | None) -> None:
        if kind == "DELETED":
            self._state.remove_rule(item["metadata"]["name"])
        else:
            self._state.set_rule(item)

    def _node_changed(self, kind: str, item: Object, _before: Object | None) -> None:
        if kind == "DELETED":
            self._state.remove_node(item["metadata"]["name"])
        else:
            self._state.set_node(item["metadata"]["name"], item["metadata"].get("labels") or {})


def _named_for(pod: Object, claim: Object) -> Object:
    """Return the claim; one that does not exist yet gets a name that no other pod's has."""
    if claim["metadata"]["name"] != PLACEHOLDER:
        return claim
    return {**claim, "metadata": {**claim["metadata"], "name": f"{PLACEHOLDER} {pod['metadata']['uid']}"}}


def _with_device(error: AllocationError) -> str:
    """Return the error's text with the device on which a selector failed, as Kubernetes 1.37 writes it."""
    device = error.params.get("device")
    if error.kind != "cel-runtime" or device is None:
        return error.message
    return re.sub(
        r"(selector #\d+):", lambda match: f"{match[1]} on device {'/'.join(device)}:", error.message, count=1
    )


def claim_names(pod: Object) -> list[str | None]:
    """Return the names of the claims a pod needs; None stands for one that has not been generated yet."""
    generated = {
        status["name"]: status.get("resourceClaimName")
        for status in (pod.get("status") or {}).get("resourceClaimStatuses") or ()
    }
    names: list[str | None] = []
    for entry in pod["spec"].get("resourceClaims") or ():
        if entry.get("resourceClaimName"):
            names.append(entry["resourceClaimName"])
        elif entry["name"] not in generated:
            names.append(None)
        elif generated[entry["name"]]:
            names.append(generated[entry["name"]])
    return names


def all_claim_names(pod: Object) -> list[str]:
    """Return the names of all claims that exist for a pod, one for extended resources included."""
    extended = (pod.get("status") or {}).get("extendedResourceClaimStatus") or {}
    names = [name for name in claim_names(pod) if name]
    return [*names, *([extended["resourceClaimName"]] if extended.get("resourceClaimName") else [])]


def consumer_of(pod: Mapping[str, Any]) -> Object:
    """Return a pod's entry in ``reservedFor``."""
    return {"resource": "pods", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}


def _state_key(key: Key) -> str:
    return f"{key[0]}/{key[1]}" if key[0] else key[1]
