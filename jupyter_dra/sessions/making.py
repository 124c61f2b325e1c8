"""Creating a session's objects, so that whatever happens we know what to take back."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..claims import labels, names
from ..cluster import KubeClient, Reach, dropped_fields, ensure_created
from ..errors import DRAError
from .caches import Caches
from .identity import Identity
from .image_times import ImageTimes
from .inventory import InventoryFeed
from .live import LiveKernel, LiveSession, Made
from .pods import MADE_CLAIM, PodRequest, build_pod, build_secret, secret_name
from .policy import LOCAL_IMAGE, SessionPolicy
from .ports import PodRuntime
from .record import iso
from .seal import DIGEST, LAUNCH, LEASE, digest_of, lease_text, seal
from .store import SessionStore
from .usage import idle_since

log = logging.getLogger(__name__)

KERNEL_NOTE = labels.PREFIX + "kernel"


@dataclass(slots=True)
class Context:
    """What every part of the session service works with; one per cluster."""

    client: KubeClient
    caches: Caches
    identity: Identity
    policy: SessionPolicy
    runtime: PodRuntime
    store: SessionStore
    image_times: ImageTimes
    reach: Reach
    inventory: InventoryFeed
    clock: Callable[[], float]


def new_id(name: str) -> str:
    """A session id: slug of the name and a random suffix (threat T30)."""
    suffix = "".join(secrets.choice(names.SUFFIX_ALPHABET) for _ in range(names.SUFFIX_LENGTH))
    return names.session_id(name, suffix)


def default_image(ctx: Context) -> str:
    if ctx.policy.image is not None:
        return ctx.policy.image
    return LOCAL_IMAGE if ctx.client.choice.is_local else ctx.policy.fallback_image


def session_labels(ctx: Context, session: LiveSession) -> dict[str, str]:
    return {
        labels.MANAGED_BY: labels.MANAGED_BY_VALUE,
        labels.SESSION: session.id,
        labels.USER: ctx.identity.user_label,
        labels.SERVER: ctx.identity.server_label,
    }


def session_annotations(ctx: Context, session: LiveSession) -> dict[str, str]:
    return {
        labels.NAME: session.name,
        labels.USER: session.user,
        labels.SERVER: session.server,
        labels.REQUIREMENT: json.dumps(session.shown_requirement()),
        labels.CREATED: str(int(session.created_at)),
        MADE_CLAIM: "true" if session.made_by_us else "false",
    }


async def make_claim(ctx: Context, session: LiveSession) -> None:
    """Create the session's claim; ends the step claim-created and notes fields the server dropped."""
    manifest, made = session.manifest, session.claim
    assert manifest is not None and made is not None
    session.begin("claim-created", claim=made.name)
    meta = manifest.setdefault("metadata", {})
    meta.update(name=made.name, namespace=session.namespace)
    meta["labels"] = {**(meta.get("labels") or {}), **session_labels(ctx, session)}
    notes = {
        **session_annotations(ctx, session),
        labels.LEASE_ENDS: iso(session.lease.ends_at),
        LAUNCH: made.nonce,
    }
    meta["annotations"] = {**(meta.get("annotations") or {}), **notes}
    stored = await _create(ctx, session, made, seal(manifest, ctx.identity.key))
    lost = dropped_fields(manifest.get("spec"), stored.get("spec"), "spec")
    if lost:
        log.warning("The cluster dropped %s of claim %s", ", ".join(lost), made.name)
        session.lost_fields = tuple(lost)
    session.done("claim-created", claim=made.name)


async def make_pod(ctx: Context, session: LiveSession, kernel: LiveKernel, *, hold: bool = False) -> None:
    """Create the kernel's Secret and pod; the owners are set by `set_owners`."""
    policy, lease = ctx.policy, _lease_from_now(ctx, session)
    kernel.materials = ctx.runtime.materials(
        session_id=session.id,
        pod_name=kernel.pod_name,
        facts=pod_facts(session, kernel),
        kernel=kernel.choice,
        hold=hold,
        lease=lease,
        measure_cells=session.measure_cells,
    )
    kernel.credentials = kernel.materials.credentials
    kernel.port = kernel.materials.port
    kernel.secret = Made("Secret", secret_name(kernel.pod_name), secrets.token_hex(16))
    kernel.pod = Made("Pod", kernel.pod_name, secrets.token_hex(16))
    wish, notes = session.requirement, _pod_annotations(ctx, session, kernel)
    request = PodRequest(
        name=kernel.pod_name,
        namespace=session.namespace,
        claim=session.claim_name or session.template or "",
        template=session.claim_name is None,
        image=kernel.image,
        cpu=kernel.cpu or wish.cpu or policy.cpu,
        host_memory=kernel.host_memory or wish.host_memory or policy.host_memory,
        materials=kernel.materials,
        user_label=ctx.identity.user_label,
        volumes=wish.volumes,
        labels={**session_labels(ctx, session), labels.KERNEL_ID: kernel.id},
        annotations=notes,
        cwd=kernel.cwd if ctx.client.choice.is_local else None,
        deadline=min(policy.longest_lease, math.ceil(lease["longest_seconds"] or policy.longest_lease)),
    )
    secret, pod = build_secret(request), build_pod(request, policy)
    secret["metadata"]["annotations"] = {LAUNCH: kernel.secret.nonce, MADE_CLAIM: notes[MADE_CLAIM]}
    pod["metadata"]["annotations"][LAUNCH] = kernel.pod.nonce
    pod["metadata"]["annotations"][DIGEST] = digest_of(kernel.materials.secret_data)
    # Written before anything is sent: what proves these objects ours must survive a crash between the two.
    remember(ctx, session)
    await _create(ctx, session, kernel.secret, seal(secret, ctx.identity.key))
    await _create(ctx, session, kernel.pod, seal(pod, ctx.identity.key))


def _lease_from_now(ctx: Context, session: LiveSession) -> dict[str, Any]:
    """The lease as a new podside counts it: durations, since no clock has to agree with ours."""
    now, lease = ctx.clock(), session.lease
    return {
        "lease_seconds": max(1.0, (lease.ends_at or now) - now),
        "longest_seconds": max(1.0, (lease.longest_until or now) - now),
        "idle_limit_seconds": lease.idle_seconds,
        "idle_by": session.idle_by,
    }


def _pod_annotations(ctx: Context, session: LiveSession, kernel: LiveKernel) -> dict[str, str]:
    notes, choice = session_annotations(ctx, session), kernel.choice
    if kernel.notebook:
        notes[labels.NOTEBOOK] = kernel.notebook
    if kernel.replaces:
        notes[labels.REPLACES] = kernel.replaces
    shown = {
        "name": choice.name,
        "display_name": choice.display_name,
        "interrupt_mode": choice.interrupt_mode,
    }
    notes[KERNEL_NOTE] = json.dumps(shown)
    lease = session.lease
    notes[LEASE] = lease_text(
        ctx.identity.key,
        session.id,
        ends_at=lease.ends_at or ctx.clock(),
        idle_seconds=lease.idle_seconds,
    )
    return notes


async def set_owners(ctx: Context, session: LiveSession, kernel: LiveKernel) -> Mapping[str, Any] | None:
    """Make the pod own its Secret and the claim (several pods may own it), so that nothing outlives it.

    Returns the claim as it is now; None where we made none.
    """
    assert kernel.pod is not None and kernel.secret is not None and kernel.pod.uid is not None
    owner = {"apiVersion": "v1", "kind": "Pod", "name": kernel.pod_name, "uid": kernel.pod.uid}

    async def own(made: Made) -> Mapping[str, Any]:
        patch = {"metadata": {"uid": made.uid, "ownerReferences": [owner]}}
        # Strategic merge adds to the list by uid, so that other pods of the session stay owners.
        return await ctx.client.patch(made.kind, made.name, patch, session.namespace, type="strategic")

    targets = [kernel.secret, *([session.claim] if session.claim is not None else [])]
    _, *claims = await asyncio.gather(*(own(made) for made in targets))
    return claims[0] if claims else None


def pod_facts(session: LiveSession, kernel: LiveKernel) -> dict[str, Any]:
    """What the kernel may know about its session; no names of other people, no secrets."""
    return {
        "session": session.id,
        "name": session.name,
        "claim": session.claim_name,
        "namespace": session.namespace,
        "requirement": session.shown_requirement(),
        "kernel_id": kernel.id,
        "pod": kernel.pod_name,
        "image": kernel.image,
        "notebooks": sorted({k.notebook for k in session.kernels if k.notebook}),
        "kernels": len([k for k in session.kernels if not k.gone]),
        "simulated": session.simulated,
        "devices": [{**device.as_dict(), **device.facts} for device in session.devices],
    }


async def _create(ctx: Context, session: LiveSession, made: Made, obj: Mapping[str, Any]) -> dict[str, Any]:
    """Create one object; a cancellation meanwhile leaves the request running, to be taken back later."""

    async def send() -> dict[str, Any]:
        made.sent = True
        stored = await ensure_created(ctx.client, obj, proof=LAUNCH)
        made.uid = stored["metadata"]["uid"]
        return stored

    task = asyncio.create_task(send(), name=f"create {made.kind} {made.name}")
    session.creating.add(task)
    task.add_done_callback(session.creating.discard)
    return await asyncio.shield(task)


def _of_others(session: LiveSession, stored: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What the record knows of pods that other processes of this user made, or began to make before they died.

    Nothing else proves them: a record without them would leave them to nobody.
    """
    ours = {kernel.pod_name for kernel in session.placed} | session.returned
    return [entry for entry in stored.get("kernels") or [] if entry.get("pod") not in ours]


def _idle_note(ctx: Context, session: LiveSession, stored: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Since when the session is idle; what a process wrote that is connected to its kernels stays where we are not."""
    if not session.connected:
        return stored.get("idle")
    session.idle_noted, session.idle_noted_at = idle_since(session.kernels), ctx.clock()
    return {"since": session.idle_noted, "at": session.idle_noted_at}


def made_by_others(ctx: Context, session: LiveSession) -> list[Made]:
    """Pods and Secrets of the session that only the record knows of; some may never have been made."""
    found = []
    for entry in _of_others(session, ctx.store.read(session.id) or {}):
        pod = str(entry.get("pod"))
        for kind, name in (("Pod", pod), ("Secret", secret_name(pod))):
            if nonce := entry.get(f"{kind.lower()}_nonce"):
                found.append(Made(kind, name, str(nonce), entry.get(f"{kind.lower()}_uid"), sent=True))
    return found


def remember(ctx: Context, session: LiveSession, **more: Any) -> None:
    """Write our own record of the session (uids, nonces, owner, history): what proves its objects later."""
    kernels: list[Mapping[str, Any]] = [
        {
            "id": kernel.id,
            "pod": kernel.pod_name,
            "pod_uid": kernel.pod.uid if kernel.pod else None,
            "pod_nonce": kernel.pod.nonce if kernel.pod else None,
            "secret_uid": kernel.secret.uid if kernel.secret else None,
            "secret_nonce": kernel.secret.nonce if kernel.secret else None,
            "notebook": kernel.notebook,
            "over": kernel.reason.code if kernel.reason else None,
        }
        for kernel in session.placed
    ]
    stored = ctx.store.read(session.id) or {}
    kernels += _of_others(session, stored)
    claim = session.claim
    value: dict[str, Any] = {
        "v": 1,
        "id": session.id,
        "name": session.name,
        "context": ctx.client.context,
        "namespace": session.namespace,
        "user": session.user,
        "server": session.server,
        "created_at": session.created_at,
        "ready_at": session.ready_at,
        "wait_until": session.wait_until,
        "requirement": session.shown_requirement(),
        "claim": {
            "name": session.claim_name,
            "uid": claim.uid if claim else None,
            "nonce": claim.nonce if claim else None,
            "made_by_us": session.made_by_us,
            "template": session.template,
        },
        "kernels": kernels,
        "history": list(session.history),
        "lease": {
            "ends_at": session.lease.ends_at,
            "longest_until": session.lease.longest_until,
            "idle_seconds": session.lease.idle_seconds,
            "longest_idle": session.lease.longest_idle,
        },
        "prices": session.prices.as_dict(),
        "pays_from": session.pays_from,
        "idle": _idle_note(ctx, session, stored),
        **more,
    }
    try:
        ctx.store.write(session.id, value)
    except DRAError as error:
        log.warning("The session's record cannot be written: %s", error)
