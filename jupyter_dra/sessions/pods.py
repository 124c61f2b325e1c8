"""The manifests of a kernel: its pod at level *restricted*, and its Secret. Pure."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..claims import labels, pod_claims
from ..errors import RefusedError
from .policy import SessionPolicy
from .ports import PodMaterials

CONTAINER = "kernel"
PODSIDE_DIR = "/jupyter-dra/podside"
RUN_DIR = "/run/jupyter-dra"
MADE_CLAIM = labels.PREFIX + "made-claim"


@dataclass(frozen=True, slots=True)
class PodRequest:
    """Everything a kernel pod is built from.

    Attributes:
        claim: name of the claim, or of the template with ``template``.
        labels, annotations: those of the session.
        cwd: working directory, only where node and server share files (the local cluster).
        deadline: seconds until the cluster itself ends the pod; None takes the longest lease.
    """

    name: str
    namespace: str
    claim: str
    image: str
    cpu: str
    host_memory: str
    materials: PodMaterials
    user_label: str
    template: bool = False
    volumes: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    deadline: int | None = None


def secret_name(pod_name: str) -> str:
    return f"{pod_name}-keys"


def build_secret(request: PodRequest) -> dict[str, Any]:
    """The pod's own Secret: what is mounted, and (prefixed ``private.``) what only we read."""
    data = {**request.materials.secret_data}
    data.update({f"private.{name}": value for name, value in request.materials.private_data.items()})
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": secret_name(request.name),
            "namespace": request.namespace,
            "labels": dict(request.labels),
            "annotations": dict(request.annotations),
        },
        "type": "Opaque",
        "immutable": True,
        "data": {name: base64.b64encode(value).decode() for name, value in data.items()},
    }


def read_secret(secret: Mapping[str, Any]) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """``(private, mounted)`` data of a Secret made by `build_secret`."""
    private: dict[str, bytes] = {}
    mounted: dict[str, bytes] = {}
    for name, text in (secret.get("data") or {}).items():
        value = base64.b64decode(text)
        if name.startswith("private."):
            private[name.removeprefix("private.")] = value
        else:
            mounted[name] = value
    return private, mounted


def build_pod(request: PodRequest, policy: SessionPolicy) -> dict[str, Any]:
    """The kernel pod; user text only ever becomes single values in it.

    Raises:
        RefusedError: ``policy`` for a volume that is not offered.
    """
    references = pod_claims(request.claim, template=request.template)
    volumes, mounts = _volumes(request, policy)
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "activeDeadlineSeconds": request.deadline or policy.longest_lease,
        "terminationGracePeriodSeconds": policy.grace,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": policy.run_as_user,
            "runAsGroup": policy.run_as_group,
            "fsGroup": policy.run_as_group,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "resourceClaims": references["resourceClaims"],
        "containers": [_container(request, mounts, references["claims"])],
        "volumes": volumes,
    }
    spec.update(_placement(policy))
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": request.name,
            "namespace": request.namespace,
            "labels": {
                **policy.pod_labels,
                **request.labels,
                labels.COMPONENT: labels.COMPONENT_KERNEL,
            },
            "annotations": {**policy.pod_annotations, **request.annotations},
        },
        "spec": spec,
    }


def _container(
    request: PodRequest, mounts: list[dict[str, Any]], claims: list[dict[str, Any]]
) -> dict[str, Any]:
    amounts = {"cpu": request.cpu, "memory": request.host_memory}
    container: dict[str, Any] = {
        "name": CONTAINER,
        "image": request.image,
        "command": list(request.materials.command),
        "env": [
            {"name": "POD_IP", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}},
            # An image that says "all" must not get devices nobody allocated; CDI sets its own (threat T32).
            {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"},
        ],
        "ports": [{"name": "podside", "containerPort": request.materials.port, "protocol": "TCP"}],
        "resources": {"requests": dict(amounts), "limits": dict(amounts), "claims": claims},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "runAsNonRoot": True,
        },
        "volumeMounts": mounts,
        "terminationMessagePath": f"{RUN_DIR}/termination-log",
        "terminationMessagePolicy": "File",
    }
    if request.cwd is not None:
        container["workingDir"] = request.cwd
    return container


def _placement(policy: SessionPolicy) -> dict[str, Any]:
    spec: dict[str, Any] = {}
    if policy.node_selector:
        spec["nodeSelector"] = dict(policy.node_selector)
    if policy.tolerations:
        spec["tolerations"] = [dict(entry) for entry in policy.tolerations]
    if policy.image_pull_secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in policy.image_pull_secrets]
    for field_name, value in (
        ("serviceAccountName", policy.service_account),
        ("priorityClassName", policy.priority_class),
        ("schedulerName", policy.scheduler_name),
    ):
        if value:
            spec[field_name] = value
    return spec


def _volumes(request: PodRequest, policy: SessionPolicy) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    mounted = sorted(request.materials.secret_data)
    secret = {
        "secretName": secret_name(request.name),
        "defaultMode": 0o400,
        "items": [{"key": name, "path": name} for name in mounted],
    }
    volumes: list[dict[str, Any]] = [
        {"name": "podside", "secret": secret},
        {"name": "run", "emptyDir": {"medium": "Memory", "sizeLimit": policy.run_folder}},
    ]
    mounts: list[dict[str, Any]] = [
        {"name": "podside", "mountPath": PODSIDE_DIR, "readOnly": True},
        {"name": "run", "mountPath": RUN_DIR},
    ]
    for name in request.volumes:
        offer = policy.volumes.get(name)
        if offer is None:
            known = ", ".join(sorted(policy.volumes)) or "none"
            raise RefusedError(
                f"There is no volume {name!r} on offer.",
                code="policy",
                path="volumes",
                next_step=f"Offered: {known}.",
            )
        label = f"user-{len(volumes) - 2}"
        volumes.append({"name": label, **_for_user(offer.source, request.user_label)})
        mounts.append({"name": label, "mountPath": offer.mount_path, "readOnly": offer.read_only})
    return volumes, mounts


def _for_user(value: Any, user: str) -> Any:
    """Replace ``{user}`` in the administrator's texts; the slug holds letters, digits and dashes only."""
    if isinstance(value, Mapping):
        return {key: _for_user(inner, user) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_for_user(inner, user) for inner in value]
    return value.replace("{user}", user) if isinstance(value, str) else value
