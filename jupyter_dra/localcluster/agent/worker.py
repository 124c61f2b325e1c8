"""One pod on this machine, from the binding to the last status: a task per pod.

The order follows pkg/kubelet/kubelet.go: volumes, devices, init containers, containers; at the end the grace period,
the devices, the last status, and only then the deletion of the object.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from jupyter_dra.errors import ClusterError, ConflictError, DRAError
from jupyter_dra.localcluster.agent.container import Container, Outcome
from jupyter_dra.localcluster.agent.environment import (
    Place,
)
from jupyter_dra.localcluster.agent.launching import Launcher
from jupyter_dra.localcluster.agent.podstatus import pod_status
from jupyter_dra.localcluster.agent.reporting import StatusReporter
from jupyter_dra.localcluster.agent.surroundings import Surroundings
from jupyter_dra.localcluster.agent.volumes import Folders, is_projected, materialize, remove_tree
from jupyter_dra.localcluster.client import ApiError, Object
from jupyter_dra.localcluster.drivers import (
    PreparedDevice,
    PrepareError,
)
from jupyter_dra.localcluster.kinds import PODS
from jupyter_dra.localcluster.recorder import now_text

log = logging.getLogger(__name__)

_RETRY_FIRST, _RETRY_LONGEST = 0.05, 2.0
_TELL_AGAIN = 1.0
_FIRST_STATUS_AFTER = 0.05
_PROJECTED_REFRESH = 60.0
_DEADLINE_TEXT = "Pod was active on the node longer than the specified deadline"
_CALM_AFTER = 600.0


class PodWorker:
    """Runs one pod. ``update`` and ``vanish`` are called by the agent for news; ``run`` is the task."""

    def __init__(self, around: Surroundings, pod: Object, short_id: str) -> None:
        self.pod = pod
        self.uid: str = pod["metadata"]["uid"]
        self.devices: tuple[PreparedDevice, ...] = ()
        self.pod_ip = ""
        self._around = around
        self.folder = around.options.folder / self.uid
        self.memory_folder = around.options.memory_folder / short_id
        self._mark = f"{around.options.mark}{self.uid}"
        spec = pod["spec"]
        self.containers = [self._container(item) for item in spec["containers"]]
        self.initial = [self._container(item) for item in spec.get("initContainers") or ()]
        for container in self.containers if self.initial else ():
            container.waiting = ("PodInitializing", "")
        self._leaving = asyncio.Event()
        self._gone = asyncio.Event()
        self._evicted = asyncio.Event()
        self._changed = asyncio.Event()
        self._started_moment = time.time()
        self._started_at = now_text(self._started_moment)
        self._initialized = self._sandbox = self._ended = False
        self._reason = self._message = ""
        self.volumes: dict[str, Path] = {}
        self._side_tasks: set[asyncio.Task[None]] = set()
        self._lost = _ran_before(pod)
        self.reporter = StatusReporter(self, around.client, self._gone)
        self._launcher = Launcher(self, around)
        if pod["metadata"].get("deletionTimestamp"):
            self._leaving.set()

    def _container(self, spec: Object) -> Container:
        mark = f"{self._mark}/{spec['name']}"
        return Container(spec, self.uid, mark, self.folder / "logs", self._around.sweeper)

    @property
    def all_containers(self) -> list[Container]:
        return [*self.initial, *self.containers]

    @property
    def place(self) -> Place:
        return Place(self.pod, self.pod_ip, self._around.options.host_ip)

    def update(self, pod: Object) -> None:
        self.pod = pod
        self._changed.set()
        if pod["metadata"].get("deletionTimestamp"):
            self._leaving.set()

    def vanish(self) -> None:
        """The object is gone (force delete): end the processes at once."""
        self._gone.set()
        self._leaving.set()
        for container in self.all_containers:
            container.kill()

    def usage_file(self, container: Container) -> Path:
        """Return where the driver writes simulated figures for a container."""
        return Path(self.folder, "containers", container.name, "simulated-usage.json")

    def container(self, name: str) -> Container | None:
        return next((c for c in self.all_containers if c.name == name), None)

    async def run(self) -> None:
        """Run the pod to its end; never raises but for cancellation, which kills its processes."""
        main = asyncio.create_task(self._main(), name=f"pod-{self.pod['metadata']['name']}")
        leaving = asyncio.create_task(self._leaving.wait())
        evicted = asyncio.create_task(self._evicted.wait())
        try:
            await asyncio.wait({main, leaving, evicted}, return_when=asyncio.FIRST_COMPLETED)
            if not main.done():
                await self._stop_containers(main)
            elif not main.cancelled() and main.exception() is not None:
                self._fail("AgentError", str(main.exception()))
                log.error("Pod %s failed", self.pod["metadata"]["name"], exc_info=main.exception())
            self._ended = True
            self._finish_containers()
            self._around.drivers.unprepare(self.uid)
            if not self._gone.is_set():
                await self.reporter.write_until_stored()
            remove_tree(self.memory_folder)
            if not self._leaving.is_set():
                await self._leaving.wait()
            await self._delete_object()
        finally:
            tasks = [main, leaving, evicted, *self._side_tasks]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for container in self.all_containers:
                container.kill()
                container.close()
            if self.pod_ip:
                self._around.addresses.give_back(self.pod_ip)
            remove_tree(self.memory_folder)
            remove_tree(self.folder)

    # -- the way up ---------------------------------------------------------------------------------------------

    async def _main(self) -> None:
        if self._lost:
            self._lose_containers()
            if self._policy == "Never":
                return
        self._side(self.reporter.run())
        self._side(self._watch_deadline())
        for folder in (self.folder / "home", self.folder / "tmp", self.memory_folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.pod_ip = self._around.options.host_ip if self._host_network else self._around.addresses.take()
        await self._until_ready(self._mount_volumes, "FailedMount", "MountVolume.SetUp failed: ")
        await self._until_ready(
            self._prepare_devices, "FailedPrepareDynamicResources", "Failed to prepare dynamic resources: "
        )
        self._sandbox = True
        self._side(self._refresh_volumes())
        sidecars: list[asyncio.Task[None]] = []
        for container in self.initial:
            if container.spec.get("restartPolicy") == "Always":
                task = asyncio.create_task(self._run_container(container, "Always"))
                sidecars.append(task)
                await self._once_started(container, task)
                continue
            await self._run_container(container, "Never" if self._policy == "Never" else "OnFailure")
            if container.outcome is None or container.outcome.exit_code != 0:
                for task in sidecars:
                    task.cancel()
                return
        self._initialized = True
        for container in self.containers:
            container.waiting = ("ContainerCreating", "")
        try:
            await asyncio.gather(*(self._run_container(c, self._policy) for c in self.containers))
        finally:
            for task in sidecars:
                task.cancel()
            await asyncio.gather(*sidecars, return_exceptions=True)
            for container in self.initial:
                if container.running:
                    container.kill()
                    await container.wait()

    def _lose_containers(self) -> None:
        """An agent before us ran this pod and is gone, and its processes with it."""
        for container in self.containers:
            container.outcome = Outcome(
                exit_code=137,
                reason="ContainerStatusUnknown",
                message="The container could not be located when the pod was terminated",
                finished_at=time.time(),
            )

    @property
    def _policy(self) -> str:
        return str(self.pod["spec"].get("restartPolicy", "Always"))

    @property
    def _host_network(self) -> bool:
        return bool(self.pod["spec"].get("hostNetwork"))

    async def _until_ready(self, step: Callable[[], Awaitable[None]], reason: str, prefix: str) -> None:
        """Try a step until it works; what hinders it is told again every second, as the kubelet does at each sync."""
        delay, told, told_at = _RETRY_FIRST, "", 0.0
        while True:
            self._changed.clear()
            try:
                await step()
                return
            except ClusterError as error:
                log.debug("Pod %s waits for the API server: %s", self.pod["metadata"]["name"], error)
            except DRAError as error:
                if str(error) != told or time.monotonic() - told_at >= _TELL_AGAIN:
                    told, told_at = str(error), time.monotonic()
                    self.event("Warning", reason, prefix + told)
            try:
                async with asyncio.timeout(delay):
                    await self._changed.wait()
            except TimeoutError:
                delay = min(delay * 2, _RETRY_LONGEST)

    async def _mount_volumes(self) -> None:
        folders = Folders(self.folder / "volumes", self.memory_folder)
        volumes = self.pod["spec"].get("volumes") or ()
        made = await asyncio.gather(
            *(materialize(volume, self.place, folders, self._around) for volume in volumes)
        )
        self.volumes = {volume["name"]: folder for volume, folder in zip(volumes, made, strict=True)}

    async def _refresh_volumes(self) -> None:
        if not any(is_projected(volume) for volume in self.pod["spec"].get("volumes") or ()):
            return
        while True:
            await asyncio.sleep(_PROJECTED_REFRESH)
            try:
                await self._mount_volumes()
            except DRAError as error:
                log.debug("Volumes of %s stay as they are: %s", self.pod["metadata"]["name"], error)

    async def _prepare_devices(self) -> None:
        extended = (self.pod.get("status") or {}).get("extendedResourceClaimStatus")
        if self.pod["spec"].get("resourceClaims") or extended:
            try:
                self.devices = await self._around.drivers.prepare(self.pod)
            except (ConflictError, ApiError) as error:
                raise PrepareError(error.message) from error

    async def _once_started(self, container: Container, task: asyncio.Task[None]) -> None:
        while not container.running and not task.done():
            await asyncio.sleep(0.01)

    # -- containers ---------------------------------------------------------------------------------------------

    async def _run_container(self, container: Container, policy: str) -> None:
        delay = self._around.options.restart_first
        while True:
            began = time.monotonic()
            if await self._launcher.start(container):
                self.reporter.report()
                await container.wait()
            outcome = container.outcome
            again = policy == "Always" or (
                policy == "OnFailure" and outcome is not None and outcome.exit_code
            )
            if not again or self._leaving.is_set() or self._reason:
                return
            if time.monotonic() - began > _CALM_AFTER:
                delay = self._around.options.restart_first
            container.waiting = (
                "CrashLoopBackOff",
                f"back-off {delay:.0f}s restarting failed container={container.name} pod={self._pod_text()}",
            )
            self.event(
                "Warning",
                "BackOff",
                f"Back-off restarting failed container {container.name} in pod {self._pod_text()}",
            )
            self.reporter.report()
            await asyncio.sleep(delay)
            delay = min(delay * 2, self._around.options.restart_longest)
            container.waiting = ("ContainerCreating", "")

    # -- the way down -------------------------------------------------------------------------------------------

    async def _stop_containers(self, main: asyncio.Task[None]) -> None:
        running = [c for c in self.all_containers if c.running]
        if running and not self._gone.is_set():
            for container in running:
                self.event("Normal", "Killing", f"Stopping container {container.name}")
                container.terminate()
            await self._wait_out_grace(running)
        for container in running:
            container.kill()
        await asyncio.gather(*(_exited(c) for c in running))
        main.cancel()
        await asyncio.gather(main, return_exceptions=True)
        await asyncio.gather(*(c.wait() for c in running if c.outcome is None))

    async def _wait_out_grace(self, running: Sequence[Container]) -> None:
        """Wait until the containers ended, the grace period is over (it may be shortened), or the object is gone."""
        began = time.monotonic()
        everything = asyncio.ensure_future(_all_exited(running))
        gone: asyncio.Future[object] = asyncio.ensure_future(self._gone.wait())
        try:
            while not everything.done() and not gone.done():
                left = began + self._grace() - time.monotonic()
                if left <= 0:
                    return
                self._changed.clear()
                changed: asyncio.Future[object] = asyncio.ensure_future(self._changed.wait())
                await asyncio.wait(
                    {everything, gone, changed}, timeout=left, return_when=asyncio.FIRST_COMPLETED
                )
                changed.cancel()
        finally:
            everything.cancel()
            gone.cancel()

    def _grace(self) -> float:
        meta = self.pod["metadata"]
        seconds = meta.get("deletionGracePeriodSeconds")
        if seconds is None:
            seconds = self.pod["spec"].get("terminationGracePeriodSeconds", 30)
        return float(seconds)

    def _finish_containers(self) -> None:
        for container in self.all_containers:
            if container.waiting[0] == "CrashLoopBackOff":
                container.waiting = ("ContainerCreating", "")

    def _fail(self, reason: str, message: str) -> None:
        self._reason, self._message = reason, message

    def evict(self, reason: str, message: str) -> None:
        """End the pod for a reason of the node; its object stays, phase Failed."""
        self._fail(reason, message)
        self._evicted.set()

    async def _watch_deadline(self) -> None:
        while True:
            seconds = self.pod["spec"].get("activeDeadlineSeconds")
            self._changed.clear()
            if seconds is None:
                await self._changed.wait()
                continue
            left = self._start_moment() + float(seconds) - time.time()
            if left <= 0:
                self.event("Normal", "DeadlineExceeded", _DEADLINE_TEXT)
                self.evict("DeadlineExceeded", _DEADLINE_TEXT)
                return
            try:
                async with asyncio.timeout(left):
                    await self._changed.wait()
            except TimeoutError:
                continue

    def _start_moment(self) -> float:
        text = (self.pod.get("status") or {}).get("startTime")
        if not text or text == self._started_at:
            return self._started_moment
        return datetime.fromisoformat(text).timestamp()

    async def _delete_object(self) -> None:
        if self._gone.is_set():
            return
        meta = self.pod["metadata"]
        try:
            await self._around.client.delete(
                PODS, meta["name"], meta["namespace"], grace_seconds=0, uid=self.uid
            )
        except DRAError as error:
            log.info("Pod %s is not deleted yet: %s", meta["name"], error)

    # -- reporting ----------------------------------------------------------------------------------------------

    def status(self) -> Object:
        """Return the status as it is now."""
        return pod_status(
            self.pod,
            self.containers,
            self.initial,
            pod_ip=self.pod_ip,
            host_ip=self._around.options.host_ip,
            started_at=self._started_at,
            initialized=self._initialized,
            sandbox=self._sandbox,
            ended=self._ended,
            reason=self._reason,
            message=self._message,
        )

    def _side(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._side_tasks.add(task)
        task.add_done_callback(self._side_tasks.discard)

    def event(self, kind: str, reason: str, message: str) -> None:
        self._around.recorder.record(
            {**self.pod, "apiVersion": "v1", "kind": "Pod"},
            kind,
            reason,
            message,
            host=self.pod["spec"].get("nodeName"),
        )

    def _pod_text(self) -> str:
        meta = self.pod["metadata"]
        return f"{meta['name']}_{meta['namespace']}({self.uid})"


async def _all_exited(containers: Sequence[Container]) -> object:
    await asyncio.gather(*(_exited(container) for container in containers))
    return None


async def _exited(container: Container) -> None:
    if container.process is not None:
        await container.process.wait()


def _ran_before(pod: Object) -> bool:
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return any(item.get("containerID") for item in statuses)
