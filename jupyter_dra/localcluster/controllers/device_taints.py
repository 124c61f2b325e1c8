"""Ending pods whose devices got a NoExecute taint. Follows pkg/controller/devicetainteviction."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from jupyter_dra.localcluster.client import Client, Object
from jupyter_dra.localcluster.controllers.claims import is_over
from jupyter_dra.localcluster.controllers.keyed import KeyedQueue
from jupyter_dra.localcluster.informer import Informer, Key, key_of
from jupyter_dra.localcluster.kinds import PODS, TAINT_RULES
from jupyter_dra.localcluster.pod_conditions import set_pod_condition
from jupyter_dra.localcluster.recorder import Recorder, now_text
from jupyter_dra.localcluster.scheduler.devices import all_claim_names
from jupyter_dra.model import DeviceID, DeviceTaint, DeviceTaintRule, Toleration

REASON = "DeletionByDeviceTaintManager"
MESSAGE = "Device Taint manager: deleting due to NoExecute taint"
_NEVER = float("inf")


class DeviceTaintController:
    """Watches taints of devices in use, from slices and rules, and deletes the pods that do not tolerate them."""

    def __init__(
        self,
        client: Client,
        pods: Informer,
        claims: Informer,
        slices: Informer,
        rules: Informer,
        recorder: Recorder,
    ) -> None:
        self._client = client
        self._pods, self._claims, self._slices, self._rules = pods, claims, slices, rules
        self._recorder = recorder
        self._taints: dict[DeviceID, tuple[DeviceTaint, ...]] = {}
        self._first_seen: dict[tuple[str, str, str], float] = {}
        self._evicted: dict[str, set[str]] = {}
        self._queue = KeyedQueue("device-taints", self._sync_pod)
        self._rule_queue = KeyedQueue("device-taint-rule", self._sync_rule)
        slices.on_change(self._world_changed)
        rules.on_change(self._world_changed)
        claims.on_change(self._claim_changed)
        pods.on_change(self._pod_changed)

    async def stop(self) -> None:
        await self._queue.stop()
        await self._rule_queue.stop()

    def _world_changed(self, kind: str, item: Object, before: Object | None) -> None:
        if item["kind"] == TAINT_RULES.kind:
            if kind != "DELETED" and (before is None or before["spec"] != item["spec"]):
                self._rule_queue.add(key_of(item))
        elif not _has_taints(item) and not _has_taints(before or {}):
            return
        self._taints = self._read_taints()
        for claim in self._claims.values():
            self._claim_changed("MODIFIED", claim, None)

    def _claim_changed(self, _kind: str, claim: Object, _before: Object | None) -> None:
        if not self._taints and not self._rules.items:
            return
        for consumer in (claim.get("status") or {}).get("reservedFor") or ():
            if consumer.get("resource") == "pods":
                self._queue.add((claim["metadata"]["namespace"], consumer["name"]))

    def _pod_changed(self, kind: str, pod: Object, _before: Object | None) -> None:
        if pod["spec"].get("resourceClaims") and (kind == "DELETED" or is_over(pod)):
            for rule in self._rules.values():
                self._rule_queue.add(key_of(rule))

    def _read_taints(self) -> dict[DeviceID, tuple[DeviceTaint, ...]]:
        rules = [DeviceTaintRule.from_dict(item) for item in self._rules.values()]
        found: dict[DeviceID, tuple[DeviceTaint, ...]] = {}
        for item in self._slices.values():
            spec = item["spec"]
            for device in spec.get("devices") or ():
                key = DeviceID(spec["driver"], spec["pool"]["name"], device["name"])
                taints = [DeviceTaint.from_dict(taint) for taint in device.get("taints") or ()]
                taints += [rule.taint for rule in rules if rule.selects(key)]
                evicting = tuple(taint for taint in taints if taint.effect == "NoExecute")
                if evicting:
                    found[key] = evicting
        return found

    def _results_of(self, pod: Object) -> Iterator[Mapping[str, Any]]:
        for name in all_claim_names(pod):
            claim = self._claims.get(name, pod["metadata"]["namespace"])
            status = (claim or {}).get("status") or {}
            users = {consumer.get("uid") for consumer in status.get("reservedFor") or ()}
            if pod["metadata"]["uid"] in users:
                yield from ((status.get("allocation") or {}).get("devices") or {}).get("results") or ()

    def _eviction_moment(self, pod: Object) -> float:
        moment = _NEVER
        for result in self._results_of(pod):
            key = DeviceID(result["driver"], result["pool"], result["device"])
            tolerations = [Toleration.from_dict(item) for item in result.get("tolerations") or ()]
            for taint in self._taints.get(key, ()):
                moment = min(moment, self._moment_of(key, taint, tolerations))
        return moment

    def _moment_of(self, device: DeviceID, taint: DeviceTaint, tolerations: list[Toleration]) -> float:
        added = self._first_seen.setdefault(("/".join(device), taint.key, taint.value), time.time())
        if taint.time_added:
            added = datetime.fromisoformat(taint.time_added).timestamp()
        fitting = [toleration for toleration in tolerations if toleration.tolerates(taint)]
        if not fitting:
            return added
        limits = [toleration.seconds for toleration in fitting if toleration.seconds is not None]
        return added + max(0, min(limits)) if limits else _NEVER

    async def _sync_pod(self, key: Key) -> None:
        pod = self._pods.items.get(key)
        if pod is None or is_over(pod) or pod["metadata"].get("deletionTimestamp"):
            return
        moment = self._eviction_moment(pod)
        if moment == _NEVER:
            return
        left = moment - time.time()
        if left > 0:
            self._queue.add_later(key, left)
            return
        meta = pod["metadata"]
        self._recorder.record(pod, "Normal", "DeviceTaintManagerEviction", "Marking for deletion")
        await set_pod_condition(self._client, pod, "DisruptionTarget", "True", reason=REASON, message=MESSAGE)
        rules = [DeviceTaintRule.from_dict(item) for item in self._rules.values()]
        causes = [rule.name for rule in rules if rule.taint.effect == "NoExecute" and self._is_hit(pod, rule)]
        await self._client.delete(PODS, meta["name"], meta["namespace"], uid=meta["uid"])
        for name in causes:
            self._evicted.setdefault(name, set()).add(meta["uid"])
        for rule in rules:
            self._rule_queue.add(("", rule.name))

    async def _sync_rule(self, key: Key) -> None:
        """Show in the rule's status how many pods still have to go."""
        item = self._rules.items.get(key)
        if item is None:
            return
        rule = DeviceTaintRule.from_dict(item)
        hit = [key_of(pod) for pod in self._pods.values() if not is_over(pod) and self._is_hit(pod, rule)]
        pending = len(hit)
        if rule.taint.effect != "NoExecute":
            return
        before = next(
            (
                c
                for c in (item.get("status") or {}).get("conditions") or ()
                if c["type"] == "EvictionInProgress"
            ),
            None,
        )
        if pending:
            spaces = len({key[0] for key in hit})
            text = f"{_count(pending, 'pod')} {'needs' if pending == 1 else 'need'} to be evicted in "
            text += f"{_count(spaces, 'namespace')}."
        else:
            text = (
                f"{_count(len(self._evicted.get(key[1], ())), 'pod')} evicted since starting the controller."
            )
        if before is not None and before.get("message") == text:
            return
        state = "True" if pending else "False"
        same = before is not None and before.get("status") == state
        condition = {
            "type": "EvictionInProgress",
            "status": state,
            "reason": "PodsPendingEviction" if pending else "Completed",
            "message": text,
            "observedGeneration": item["metadata"].get("generation", 1),
            "lastTransitionTime": before["lastTransitionTime"] if same and before else now_text(),
        }
        await self._client.patch(
            TAINT_RULES, key[1], {"status": {"conditions": [condition]}}, subresource="status"
        )

    def _is_hit(self, pod: Object, rule: DeviceTaintRule) -> bool:
        for result in self._results_of(pod):
            if rule.selects(DeviceID(result["driver"], result["pool"], result["device"])):
                tolerations = [Toleration.from_dict(item) for item in result.get("tolerations") or ()]
                if not any(toleration.tolerates(rule.taint) for toleration in tolerations):
                    return True
        return False


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _has_taints(item: Mapping[str, Any]) -> bool:
    return any(device.get("taints") for device in (item.get("spec") or {}).get("devices") or ())
