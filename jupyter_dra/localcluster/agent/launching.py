"""From a container's spec to its process: variables, mounts, image, program."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from jupyter_dra.errors import ClusterError, InputError
from jupyter_dra.localcluster.agent.container import Container, working_folder
from jupyter_dra.localcluster.agent.environment import (
    MissingSource,
    Place,
    base_environment,
    container_environment,
    expanded_argv,
)
from jupyter_dra.localcluster.agent.figures import Load, simulated_figures, write_figures
from jupyter_dra.localcluster.agent.images import Image
from jupyter_dra.localcluster.agent.paths import METADATA_ROOT, PRIVATE_ROOTS, TERMINATION_LOG, PathMap
from jupyter_dra.localcluster.agent.reporting import StatusReporter
from jupyter_dra.localcluster.agent.surroundings import Surroundings
from jupyter_dra.localcluster.client import ApiError, Object
from jupyter_dra.localcluster.drivers import (
    PreparedDevice,
    container_devices,
    device_environment,
    metadata_files,
    write_metadata,
)

log = logging.getLogger(__name__)

_CONFIG_RETRY_SECONDS = 1.0
_PULL_RETRY_FIRST = 0.05
_RUN_ROOT = "/run/jupyter-dra"


class PodInProgress(Protocol):
    """What a launch needs of its pod."""

    pod: Object
    devices: tuple[PreparedDevice, ...]
    volumes: dict[str, Path]
    folder: Path
    memory_folder: Path

    @property
    def place(self) -> Place: ...

    @property
    def reporter(self) -> StatusReporter: ...

    def usage_file(self, container: Container) -> Path: ...

    def event(self, kind: str, reason: str, message: str) -> None: ...


class Launcher:
    """Starts the containers of one pod."""

    def __init__(self, pod: PodInProgress, around: Surroundings) -> None:
        self._pod = pod
        self._around = around

    async def start(self, container: Container) -> bool:
        """Start a container's process; waits for what it needs. False when it cannot be executed."""
        env, paths = await self._wait_for_environment(container)
        image = await self._wait_for_image(container, env)
        spec = container.spec
        command, args = expanded_argv(spec, env)
        argv = [*command, *args] if command else [*image.command, *args]
        argv = [paths.rewrite(part) for part in argv]
        env = self._whole_environment(container, image, env, paths)
        folder = working_folder(spec, paths.rewrite(spec.get("workingDir") or ""), self._default_folder())
        container.message_file = Path(paths.rewrite(spec.get("terminationMessagePath") or TERMINATION_LOG))
        program = image.executable(argv[0], env["PATH"])
        self._pod.event("Normal", "Created", f"Container created: {container.name}")
        try:
            if program is None:
                container.open_log()
                raise FileNotFoundError(f'exec: "{argv[0]}": executable file not found in $PATH')
            container.start(program, argv, env, folder)
        except (OSError, ValueError) as error:
            text = f"failed to create containerd task: failed to start container process: {error}"
            container.fail_to_start(text)
            self._pod.event("Warning", "Failed", f"Error: {text}")
            self._pod.reporter.report()
            return False
        self._pod.event("Normal", "Started", f"Container started: {container.name}")
        return True

    def _whole_environment(
        self, container: Container, image: Image, env: Mapping[str, str], paths: PathMap
    ) -> dict[str, str]:
        pod = self._pod.pod
        base = base_environment(
            search_path=image.search_path(),
            home=str(self._pod.folder / "home"),
            temporary=str(self._pod.folder / "tmp"),
            host=str(pod["spec"].get("hostname") or pod["metadata"]["name"]),
        )
        # What the driver says comes last, as edits of a CDI device do: a pod cannot ask for more than it was given.
        devices = device_environment(container_devices(container.spec, self._pod.devices))
        return {name: paths.rewrite(value) for name, value in {**base, **env, **devices}.items()}

    # -- variables and mounts -----------------------------------------------------------------------------------

    async def _wait_for_environment(self, container: Container) -> tuple[dict[str, str], PathMap]:
        while True:
            try:
                return await self._environment(container)
            except (ClusterError, ApiError) as error:
                log.debug("The variables of %s wait for the API server: %s", container.name, error)
                await asyncio.sleep(_CONFIG_RETRY_SECONDS)
            except (MissingSource, InputError) as error:
                container.waiting = ("CreateContainerConfigError", error.message)
                self._pod.event("Warning", "Failed", f"Error: {error.message}")
                self._pod.reporter.report()
                await asyncio.sleep(_CONFIG_RETRY_SECONDS)

    async def _environment(self, container: Container) -> tuple[dict[str, str], PathMap]:
        env = await container_environment(container.spec, self._pod.place, self._around)
        devices = container_devices(container.spec, self._pod.devices)
        mounts = self._mounts(container, devices)
        if devices:
            env.setdefault("JUPYTER_DRA_DEVICE_ATTRIBUTES", str(mounts[METADATA_ROOT]))
            simulated = [device for device in devices if device.simulated]
            if simulated:
                usage = self._pod.usage_file(container)
                env.setdefault("JUPYTER_DRA_SIMULATED_USAGE", str(usage))
                write_figures(usage, [simulated_figures(one, Load(), Load()) for one in simulated])
            if len(simulated) < len(devices) and (libraries := os.environ.get("LD_LIBRARY_PATH")):
                # Where this machine keeps the driver's libraries.
                env.setdefault("LD_LIBRARY_PATH", libraries)
        return env, PathMap(mounts)

    def _mounts(self, container: Container, devices: Sequence[PreparedDevice]) -> dict[str, Path]:
        own = self._pod.folder / "containers" / container.name
        mounts: dict[str, Path] = {}
        for root in PRIVATE_ROOTS:
            target = own / root.strip("/").replace("/", "-")
            if root == _RUN_ROOT:
                target = self._pod.memory_folder / "run"
            target.mkdir(mode=0o700, parents=True, exist_ok=True)
            mounts[root] = target
        mounts[TERMINATION_LOG] = own / "termination-log"
        write_metadata(mounts[METADATA_ROOT], metadata_files(devices, self._pod.pod))
        for mount in container.spec.get("volumeMounts") or ():
            target = self._pod.volumes[mount["name"]]
            if mount.get("subPath"):
                target = _inside(target, mount["subPath"])
            mounts[mount["mountPath"].rstrip("/")] = target
        return mounts

    def _default_folder(self) -> Path:
        return self._around.options.workdir or self._pod.folder / "home"

    # -- images -------------------------------------------------------------------------------------------------

    async def _wait_for_image(self, container: Container, env: Mapping[str, str]) -> Image:
        name = container.spec.get("image", "")
        delay = _PULL_RETRY_FIRST
        while True:
            try:
                image = self._around.options.images.resolve(name, env)
                if image is not None:
                    break
                self._tell_missing(
                    container, name, f'rpc error: code = NotFound desc = image "{name}" not found'
                )
            except InputError as error:
                container.waiting = ("InvalidImageName", error.message)
                self._pod.event("Warning", "InspectFailed", error.message)
            self._pod.reporter.report()
            await asyncio.sleep(delay)
            delay = min(delay * 2 + 1, self._around.options.restart_longest)
        if self._around.options.pull_seconds:
            self._pod.event("Normal", "Pulling", f'Pulling image "{name}"')
            await asyncio.sleep(self._around.options.pull_seconds)
        self._pod.event("Normal", "Pulled", f'Container image "{name}" already present on machine')
        return image

    def _tell_missing(self, container: Container, image: str, failure: str) -> None:
        event = self._pod.event
        if container.waiting[0] in ("ErrImagePull", "ImagePullBackOff"):
            text = f'Back-off pulling image "{image}": ErrImagePull: {failure}'
            container.waiting = ("ImagePullBackOff", text)
            event("Normal", "BackOff", f'Back-off pulling image "{image}"')
            event("Warning", "Failed", "Error: ImagePullBackOff")
        else:
            container.waiting = ("ErrImagePull", failure)
            event("Normal", "Pulling", f'Pulling image "{image}"')
            event("Warning", "Failed", f'Failed to pull image "{image}": {failure}')
            event("Warning", "Failed", "Error: ErrImagePull")


def _inside(folder: Path, relative: str) -> Path:
    """Return a path below a volume; it may not lead out of it by ``..`` or an absolute path."""
    target = Path(os.path.normpath(folder / relative))
    if relative.startswith("/") or not target.is_relative_to(folder):
        raise InputError(f"subPath {relative!r} must stay inside the volume")
    return target
