"""What the administrator and the defaults allow and choose; plain values, filled from configuration elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

HOUR = 3600


@dataclass(frozen=True, slots=True)
class VolumeOffer:
    """A volume the administrator offers under a name.

    ``source`` is one entry of a pod's ``volumes`` without its name; the text ``{user}`` as a whole word of a
    claim name is replaced by the user's slug. ``words`` say what it is.
    """

    mount_path: str
    source: Mapping[str, Any]
    read_only: bool = False
    words: str = ""


@dataclass(frozen=True, slots=True)
class SessionPolicy:
    """Defaults and limits of sessions; durations in seconds, sizes as Kubernetes quantities.

    Attributes:
        lease, longest_lease, idle: how long a session lives, may be extended to, may idle.
        idle_by: what calls a device idle whose use is not known: ``device`` keeps it until the lease ends, ``kernel``
            goes by the kernel's activity alone.
        longest_idle: what the idle limit may be raised to; None is without limit.
        measure_cells: measure each cell's memory and device time, not only the whole session's.
        wait: longest wait for a free device. launch: longest time from the device to a connected kernel.
        silence: how long a pod may say nothing before its kernel counts as unreachable.
        grace: the pod's termination grace period.
        image: kernel image; None takes ``jupyter-dra/kernel:local`` in the local cluster, else `fallback_image`.
        images: patterns of allowed images; None allows what the user types, an empty tuple only ``image``.
        max_sessions: sessions of one user at a time, starting and ending ones included.
        max_devices: devices of one user at a time; None leaves it to the namespace's quota.
        run_folder: size of the memory-backed folder (sockets, session.json); counts against host memory.
        transport: auto, direct or port-forward.
        run_as_user, run_as_group: numeric ids of the kernel; those of the Jupyter images.
        replace_lost: start a kernel whose pod is lost anew in another pod; else its session ends.
        allow_sharing: whether users may let other users of the namespace join their sessions.
        allow_claims, allow_where, allow_tolerate, allow_config: whether users may name claims or manifests, write
            CEL, tolerate taints, pass driver configuration.
        tiers: the administrator's own tier entries, see ``planner.admin_tiers``.
        pod_runtime: ``module:attribute`` of the class that makes pod materials.
        kernel_channel: ``module:attribute`` of what opens a `ports.KernelChannel` to a kernel.
    """

    lease: int = 4 * HOUR
    longest_lease: int = 12 * HOUR
    idle: int | None = HOUR // 2
    longest_idle: int | None = None
    idle_by: str = "device"
    measure_cells: bool = False
    wait: int = 2 * HOUR
    launch: int = 600
    silence: int = 30
    grace: int = 5
    cpu: str = "4"
    host_memory: str = "16Gi"
    image: str | None = None
    fallback_image: str = "quay.io/jupyter/minimal-notebook:python-3.12"
    images: tuple[str, ...] | None = None
    image_pull_secrets: tuple[str, ...] = ()
    max_sessions: int = 100
    max_devices: int | None = None
    run_folder: str = "64Mi"
    transport: str = "auto"
    run_as_user: int = 1000
    run_as_group: int = 100
    service_account: str | None = None
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, Any], ...] = ()
    priority_class: str | None = None
    scheduler_name: str | None = None
    pod_labels: Mapping[str, str] = field(default_factory=dict)
    pod_annotations: Mapping[str, str] = field(default_factory=dict)
    volumes: Mapping[str, VolumeOffer] = field(default_factory=dict)
    allow_claims: bool = True
    allow_where: bool = True
    allow_tolerate: bool = True
    allow_config: bool = True
    allow_sharing: bool = False
    tiers: tuple[Mapping[str, Any], ...] = ()
    history_seconds: int = 24 * HOUR
    keep_on_stop: bool = False
    replace_lost: bool = True
    pod_runtime: str = "jupyter_dra.kernels:KernelPods"
    kernel_channel: str = "jupyter_dra.kernels.channel:open_channel"


LOCAL_IMAGE = "jupyter-dra/kernel:local"
