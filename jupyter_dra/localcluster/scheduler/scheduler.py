"""The scheduling loop: which pod is tried when, on which node it lands, what it is told otherwise."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from jupyter_dra.errors import DRAError
from jupyter_dra.localcluster.client import Client, Object
from jupyter_dra.localcluster.informer import Informer
from jupyter_dra.localcluster.pod_conditions import set_pod_condition
from jupyter_dra.localcluster.recorder import Recorder
from jupyter_dra.localcluster.scheduler import messages
from jupyter_dra.localcluster.scheduler.binding import Binder, BindingFailed
from jupyter_dra.localcluster.scheduler.devices import DeviceScheduling, Fatal, NotYet, PodDevices, Refused
from jupyter_dra.localcluster.scheduler.fit import NodeUse, pod_requests, why_not

log = logging.getLogger(__name__)

NAME = "default-scheduler"
_BACKOFF_FIRST, _BACKOFF_LONGEST = 0.02, 2.0
_ENOUGH_NODES = 100


@dataclass(slots=True)
class _Waiting:
    """A pod in the queue: when it may be tried next, and whether something changed since the last try."""

    pod: Object
    not_before: float = 0.0
    tries: int = 0
    ready: bool = True


@dataclass(frozen=True, slots=True)
class _Choice:
    node: str
    allocations: tuple[Object, ...] = field(default=())


class Scheduler:
    """Schedules the pods of ``default-scheduler``, in the order they came.

    A pod that did not fit is tried again when something changes that may help it: a device or a place became free, a
    slice, class, rule, node or claim appeared.
    """

    def __init__(self, client: Client, informers: dict[str, Informer], recorder: Recorder) -> None:
        self._client = client
        self._pods = informers["pods"]
        self._nodes = informers["nodes"]
        self._recorder = recorder
        self._devices = DeviceScheduling(
            informers["claims"], informers["slices"], informers["classes"], informers["rules"], self._nodes
        )
        self._binder = Binder(client, informers["claims"], recorder)
        self._queue: dict[str, _Waiting] = {}
        self._use: dict[str, NodeUse] = {}
        self._placed: dict[str, str] = {}
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._bindings: set[asyncio.Task[None]] = set()
        self._pods.on_change(self._pod_changed)
        informers["claims"].on_change(self._claim_changed)
        for name in ("slices", "classes", "rules", "nodes"):
            informers[name].on_change(self._world_changed)

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="scheduler")

    async def stop(self) -> None:
        tasks = [task for task in (self._task, *self._bindings) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # -- the queue ----------------------------------------------------------------------------------------------

    def _pod_changed(self, kind: str, pod: Object, _before: Object | None) -> None:
        uid = pod["metadata"]["uid"]
        node = pod["spec"].get("nodeName")
        over = kind == "DELETED" or (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
        if over or (pod["metadata"].get("deletionTimestamp") and not node):
            self._queue.pop(uid, None)
            if over and self._placed.pop(uid, ""):
                self._release(uid)
                self._world_changed()
            return
        if node:
            self._queue.pop(uid, None)
            self._place(uid, node, pod)
        elif pod["spec"].get("schedulerName", NAME) == NAME and uid not in self._placed:
            waiting = self._queue.get(uid)
            if waiting is None:
                self._queue[uid] = _Waiting(pod)
            else:
                changed = _asks(waiting.pod) != _asks(pod)
                waiting.pod, waiting.ready = pod, waiting.ready or changed
                if changed:
                    waiting.not_before = 0.0
            self._wake.set()

    def _claim_changed(self, kind: str, claim: Object, before: Object | None) -> None:
        was, now = (before or {}).get("status") or {}, claim.get("status") or {}
        freed = was.get("allocation") and not now.get("allocation")
        fewer = len(was.get("reservedFor") or ()) > len(now.get("reservedFor") or ())
        allocated = now.get("allocation") and not was.get("allocation")
        if kind != "MODIFIED" or freed or fewer or allocated:
            self._world_changed()

    def _world_changed(self, *_: object) -> None:
        for waiting in self._queue.values():
            waiting.ready = True
        self._wake.set()

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            now = time.monotonic()
            ready = [w for w in self._queue.values() if w.ready and w.not_before <= now]
            for waiting in sorted(ready, key=lambda w: -(w.pod["spec"].get("priority") or 0)):
                uid = waiting.pod["metadata"]["uid"]
                if self._queue.get(uid) is waiting:
                    waiting.ready = False
                    try:
                        await self._schedule(uid, waiting)
                    except DRAError as error:
                        log.info("Pod %s is tried again: %s", waiting.pod["metadata"]["name"], error)
                        self._later(waiting)
                    except Exception:
                        log.exception("Scheduling pod %s failed", waiting.pod["metadata"]["name"])
                        self._later(waiting)
            soon = [w.not_before for w in self._queue.values() if w.ready]
            timeout = max(0.0, min(soon) - time.monotonic()) if soon else None
            try:
                async with asyncio.timeout(timeout):
                    await self._wake.wait()
            except TimeoutError:
                continue

    def _later(self, waiting: _Waiting, *, ready: bool = True) -> None:
        waiting.tries += 1
        waiting.not_before = time.monotonic() + min(_BACKOFF_FIRST * 2**waiting.tries, _BACKOFF_LONGEST)
        waiting.ready = waiting.ready or ready

    # -- one attempt --------------------------------------------------------------------------------------------

    async def _schedule(self, uid: str, waiting: _Waiting) -> None:
        pod = waiting.pod
        if pod["spec"].get("schedulingGates"):
            return
        try:
            devices = self._devices.prepare(pod)
            choice = self._choose(pod, devices)
        except NotYet:
            return
        except Refused as refusal:
            reasons = {node["metadata"]["name"]: [str(refusal)] for node in self._nodes.values()}
            self._later(waiting, ready=False)
            await self._tell(pod, "Unschedulable", messages.unschedulable(reasons, before=str(refusal)))
            return
        except Fatal as fatal:
            self._later(waiting, ready=False)
            await self._tell(pod, "SchedulerError", str(fatal))
            return
        if isinstance(choice, str):
            self._later(waiting, ready=False)
            await self._free_useless(devices, choice)
            await self._tell(pod, "Unschedulable", choice)
            return
        del self._queue[uid]
        self._place(uid, choice.node, pod)
        for claim, allocation in zip(devices.wanted, choice.allocations, strict=True):
            self._devices.assume(pod, claim, allocation)
        task = asyncio.create_task(self._bind(uid, waiting, devices, choice))
        self._bindings.add(task)
        task.add_done_callback(self._bindings.discard)

    def _choose(self, pod: Object, devices: PodDevices) -> _Choice | str:
        requests = pod_requests(pod)
        if devices.extended is not None:
            requests = {key: n for key, n in requests.items() if key not in devices.extended.resources}
        reasons: dict[str, list[str]] = {}
        best: tuple[tuple[int, int, str], _Choice] | None = None
        found = 0
        for node in sorted(self._nodes.values(), key=lambda item: item["metadata"]["name"]):
            name = node["metadata"]["name"]
            use = self._use.get(name) or NodeUse()
            against = why_not(pod, node, use, requests)
            if against:
                reasons[name] = against
                continue
            allocations = self._devices.on_node(devices, node)
            if isinstance(allocations, str):
                reasons[name] = [allocations]
                continue
            rank = (-self._devices.score(devices, allocations), len(use.pods), name)
            if best is None or rank < best[0]:
                best = (rank, _Choice(name, tuple(allocations)))
            found += 1
            if found >= _ENOUGH_NODES:
                break
        return best[1] if best is not None else messages.unschedulable(reasons)

    async def _free_useless(self, devices: PodDevices, message: str) -> None:
        """Take back allocations that only stand in the way: allocated for nobody, on a node the pod cannot use."""
        if messages.CLAIM_ELSEWHERE not in message:
            return
        for claim in devices.allocated:
            if not claim["status"].get("reservedFor"):
                await self._binder.deallocate(claim)

    async def _bind(self, uid: str, waiting: _Waiting, devices: PodDevices, choice: _Choice) -> None:
        pod = waiting.pod
        try:
            written = await asyncio.gather(
                *(
                    self._binder.allocate(pod, claim, allocation, devices.extended)
                    for claim, allocation in zip(devices.wanted, choice.allocations, strict=True)
                ),
            )
            for claim in devices.allocated:
                await self._binder.reserve(pod, claim)
            await self._binder.wait_for_conditions(pod, written)
            order = time.time_ns()  # the node may act on the binding before its answer is here
            await self._binder.bind(pod, choice.node)
        except (DRAError, BindingFailed) as error:
            log.info("Pod %s is not bound: %s", pod["metadata"]["name"], error)
            self._placed.pop(uid, None)
            self._release(uid)
            self._later(waiting)
            if uid in {item["metadata"]["uid"] for item in self._pods.values()}:
                self._queue[uid] = waiting
                self._recorder.record(pod, "Warning", "FailedScheduling", str(error))
            if devices.extended is not None:
                await self._binder.discard_extended(pod)
            self._world_changed()
        else:
            where = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
            text = f"Successfully assigned {where} to {choice.node}"
            self._recorder.record(pod, "Normal", "Scheduled", text, order=order)
        finally:
            for claim in devices.wanted:
                self._devices.settle(pod, claim)

    async def _tell(self, pod: Object, reason: str, message: str) -> None:
        conditions: Sequence[Object] = (pod.get("status") or {}).get("conditions") or ()
        before = next((c for c in conditions if c["type"] == "PodScheduled"), None)
        self._recorder.record(pod, "Warning", "FailedScheduling", message)
        if before is not None and (before.get("reason"), before.get("message")) == (reason, message):
            return
        since = (
            {"lastTransitionTime": before["lastTransitionTime"]}
            if before and before.get("status") == "False"
            else {}
        )
        await set_pod_condition(
            self._client,
            pod,
            "PodScheduled",
            "False",
            reason=reason,
            message=message,
            lastProbeTime=None,
            **since,
        )

    # -- who is where -------------------------------------------------------------------------------------------

    def _place(self, uid: str, node: str, pod: Object) -> None:
        if self._placed.get(uid) != node:
            self._placed[uid] = node
            self._use.setdefault(node, NodeUse()).add(uid, pod_requests(pod))

    def _release(self, uid: str) -> None:
        for use in self._use.values():
            use.remove(uid)


def _asks(pod: Object) -> tuple[object, ...]:
    """What a change must touch to make a new try worthwhile."""
    status = pod.get("status") or {}
    return (pod["spec"], status.get("resourceClaimStatuses"))
