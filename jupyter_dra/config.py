"""Settings that the server extension, the kernel provisioner and the hub share; the help text is the documentation."""

from __future__ import annotations

from typing import Any

from traitlets import Bool, Dict, Enum, Float, Integer, List, TraitError, Unicode, Union, validate
from traitlets.config import Configurable


class DRASettings(Configurable):
    """Which cluster, which tiers, and what a session may be."""

    context = Unicode(
        "",
        help="Kubeconfig context to use; 'local' is the local cluster. Empty: the cluster the server runs in, then "
        "KUBECONFIG, then the user's kubeconfig, then the running local cluster.",
    ).tag(config=True)
    kubeconfig = Unicode("", help="A kubeconfig file instead of KUBECONFIG or the user's own.").tag(
        config=True
    )
    namespace = Unicode("", help="Namespace of sessions; empty takes the context's.").tag(config=True)
    tiers = List(
        Dict(),
        help="The admin's own tiers: objects with name, device_class, display_name, description, requirement, limits.",
    ).tag(config=True)

    lease = Integer(4 * 3600, min=60, help="Seconds a session lives unless extended.").tag(config=True)
    longest_lease = Integer(
        12 * 3600, min=60, help="Seconds a session can be extended to; the pod's deadline, which cannot grow."
    ).tag(config=True)
    idle_timeout = Integer(
        1800, min=0, help="Seconds without use after which a device is given back; 0 switches it off."
    ).tag(config=True)
    longest_idle = Integer(
        None,
        allow_none=True,
        min=1,
        help="Seconds a user may raise the idle limit to; None leaves it to the lease.",
    ).tag(config=True)
    idle_by = Enum(
        ["device", "kernel"],
        "device",
        help="What ends an idle session: 'device': neither kernel nor device is in use, and where the device's use is "
        "not known the session is kept until its lease ends. 'kernel': there the kernel's activity alone decides.",
    ).tag(config=True)
    measure_cells = Bool(
        False, help="Measure each cell's device memory and time (as `%dra measure on` does in one notebook)."
    ).tag(config=True)
    wait = Integer(7200, min=0, help="Longest wait for a free device, in seconds.").tag(config=True)
    launch_timeout = Integer(
        600, min=5, help="Seconds from the reserved device to the running kernel before a launch is given up."
    ).tag(config=True)
    silence = Integer(
        30,
        min=1,
        help="Seconds a pod may say nothing, frozen or out of reach, before its kernel is shown as unreachable.",
    ).tag(config=True)
    cpu = Unicode("4", help="CPUs of a kernel pod unless asked otherwise.").tag(config=True)
    host_memory = Unicode("16Gi", help="Memory of a kernel pod unless asked otherwise.").tag(config=True)
    image = Unicode(
        "", help="Image of kernel pods; empty takes the local cluster's, or the built-in one."
    ).tag(config=True)
    images = Union(
        [List(Unicode())],
        default_value=None,
        allow_none=True,
        help="Patterns of images users may name, compared part by part; None allows any, [] only the default.",
    ).tag(config=True)
    volumes = Dict(
        help="Volumes users may name: {'home': {'mount_path': …, 'source': {…}, 'read_only': False, 'words': …}}."
    ).tag(config=True)
    max_sessions = Integer(100, min=1, help="Sessions of one user at a time.").tag(config=True)
    max_devices = Integer(
        None,
        allow_none=True,
        min=0,
        help="Devices of one user at a time; None leaves it to the namespace's quota.",
    ).tag(config=True)
    transport = Unicode("auto", help="How kernels are reached: auto, direct or port-forward.").tag(
        config=True
    )
    keep_on_stop = Bool(
        False,
        help="Whether sessions go on when the server is stopped; after a crash they do, until lease or idle limit.",
    ).tag(config=True)
    allow_claims = Bool(True, help="Whether users may name existing claims, templates and manifests.").tag(
        config=True
    )
    allow_where = Bool(True, help="Whether users may write CEL conditions of their own.").tag(config=True)
    allow_tolerate = Bool(True, help="Whether users may accept device taints.").tag(config=True)
    allow_config = Bool(True, help="Whether manifests may carry driver configuration.").tag(config=True)
    allow_sharing = Bool(
        False, help="Whether users may let other users of the same namespace join their sessions, by name."
    ).tag(config=True)
    queue = Unicode(
        "",
        help="Kueue's LocalQueue for kernel pods (label kueue.x-k8s.io/queue-name); it then decides when they start. "
        "`jupyter dra rbac queue` prints the right to read why a session waits.",
    ).tag(config=True)
    node_selector = Dict(help="Labels of the nodes kernel pods may run on.").tag(config=True)
    service_account = Unicode("", help="Service account of kernel pods; no token is mounted.").tag(
        config=True
    )
    plan_budget = Float(0.5, min=0.01, help="Seconds a plan may search before it answers 'unknown'.").tag(
        config=True
    )

    @validate("transport")
    def _check_transport(self, proposal: Any) -> str:
        value: str = proposal["value"]
        if value not in ("auto", "direct", "port-forward"):
            raise TraitError("transport is auto, direct or port-forward.")
        return value

    @validate("longest_lease")
    def _check_longest(self, proposal: Any) -> int:
        value: int = proposal["value"]
        return max(value, 60)

    def policy_values(self) -> dict[str, Any]:
        """The settings under the names of ``sessions.SessionPolicy``."""
        return {
            "lease": min(self.lease, self.longest_lease),
            "longest_lease": self.longest_lease,
            "idle": self.idle_timeout or None,
            "idle_by": self.idle_by,
            "longest_idle": self.longest_idle,
            "measure_cells": self.measure_cells,
            "wait": self.wait,
            "launch": self.launch_timeout,
            "silence": self.silence,
            "cpu": self.cpu,
            "host_memory": self.host_memory,
            "image": self.image or None,
            "images": None if self.images is None else tuple(self.images),
            "max_sessions": self.max_sessions,
            "max_devices": self.max_devices,
            "transport": self.transport,
            "node_selector": dict(self.node_selector),
            "pod_labels": {"kueue.x-k8s.io/queue-name": self.queue} if self.queue else {},
            "service_account": self.service_account or None,
            "allow_claims": self.allow_claims,
            "allow_where": self.allow_where,
            "allow_tolerate": self.allow_tolerate,
            "allow_config": self.allow_config,
            "keep_on_stop": self.keep_on_stop,
        }
