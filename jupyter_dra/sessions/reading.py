"""Sessions as the cluster shows them: from labels and annotations, proven by seal, uid and our own record."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..claims import Requirement, labels
from ..errors import DRAError
from ..model.reading import json_object
from .charging import begun_at, charge_of_claim
from .endings import reason_of_pod
from .live import LiveKernel, LiveSession, Made
from .making import KERNEL_NOTE, Context
from .pods import MADE_CLAIM, secret_name
from .ports import KernelChoice
from .prices import Prices
from .progress import claim_name_of, devices_of
from .record import Lease, Step, epoch
from .seal import LAUNCH, LEASE, is_sealed, read_lease
from .sharing import shared_with

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Found:
    """A session read from the cluster.

    Attributes:
        mine: its labels name this user.
        proven: seal and uid (or launch text) agree with our key and our own record; only then it may be changed.
    """

    session: LiveSession
    mine: bool
    proven: bool


def group_by_session(objects: Iterable[Object]) -> dict[str, list[Object]]:
    """Objects by the session their label names."""
    found: dict[str, list[Object]] = {}
    for obj in objects:
        name = (obj["metadata"].get("labels") or {}).get(labels.SESSION)
        if name:
            found.setdefault(name, []).append(obj)
    return found


def read_session(ctx: Context, session_id: str, pods: list[Object], claim: Object | None) -> Found | None:
    """The session of these objects; None when neither pod nor claim is there."""
    pods = sorted(pods, key=lambda pod: pod["metadata"]["name"])
    head = pods[0] if pods else claim
    if head is None:
        return None
    meta = head["metadata"]
    notes, tags = meta.get("annotations") or {}, meta.get("labels") or {}
    mine = tags.get(labels.USER) == ctx.identity.user_label
    stored = ctx.store.read(session_id) or {}
    made_claim = notes.get(MADE_CLAIM) == "true"
    session = LiveSession(
        id=session_id,
        name=str(notes.get(labels.NAME) or session_id),
        namespace=str(meta.get("namespace")),
        user=str(notes.get(labels.USER) or tags.get(labels.USER) or ""),
        server=str(notes.get(labels.SERVER) or ""),
        requirement=_requirement(notes.get(labels.REQUIREMENT)),
        created_at=begun_at(head),
        lease=_lease(ctx, session_id, pods, stored),
        emit=lambda event: None,
        clock=ctx.clock,
        adopted=True,
    )
    session.claim_name = claim["metadata"]["name"] if claim is not None else None
    if session.claim_name is None and pods:
        session.claim_name = claim_name_of(pods[0])
    if made_claim and claim is not None and (claim["metadata"].get("labels") or {}).get(labels.SESSION):
        session.claim = Made("ResourceClaim", claim["metadata"]["name"], _nonce(claim), _uid(claim), True)
    for entry in (pods[0].get("spec") or {}).get("resourceClaims") or [] if pods else []:
        session.template = entry.get("resourceClaimTemplateName")
    session.history = [entry for entry in stored.get("history") or [] if isinstance(entry, dict)]
    session.kernels, session.spare = _placed(pods, stored)
    session.next_index = _next_index(stored)
    if claim is not None:
        session.charge = charge_of_claim(claim)
        session.devices = devices_of(claim, ctx.inventory.describe)
        session.simulated = any(device.facts.get("simulated") for device in session.devices)
    session.prices = Prices.from_dict(stored.get("prices"))
    session.pays_from = stored.get("pays_from")
    session.shared_with = shared_with(claim) if session.claim is not None else ()
    session.state = _state(pods, claim)
    if session.state == "releasing" and pods:
        session.ending, session.ending_at = reason_of_pod(pods[-1]), _over_since(pods[-1])
    session.ready_at = stored.get("ready_at") or _running_since(pods)
    session.steps.update(_steps(session, pods, claim))
    own = [*pods, *([claim] if session.claim is not None and claim is not None else [])]
    proven = mine and all(is_sealed(obj, ctx.identity.key) and _known(obj, stored) for obj in own)
    return Found(session, mine, proven)


def _known(obj: Object, stored: Mapping[str, Any]) -> bool:
    """Whether our own record knows this very object, by uid or by the launch text written before its creation."""
    uid, nonce = _uid(obj), _nonce(obj)
    if obj["kind"] == "ResourceClaim":
        claim = stored.get("claim") or {}
        return bool(uid and claim.get("uid") == uid) or bool(nonce and claim.get("nonce") == nonce)
    for kernel in stored.get("kernels") or []:
        if (uid and kernel.get("pod_uid") == uid) or (nonce and kernel.get("pod_nonce") == nonce):
            return True
    return False


def _uid(obj: Object) -> str:
    return str(obj["metadata"].get("uid") or "")


def _nonce(obj: Object) -> str:
    return str((obj["metadata"].get("annotations") or {}).get(LAUNCH) or "")


def _requirement(text: Any) -> Requirement:
    try:
        value = json.loads(text)
        return Requirement.from_dict(value)
    except (TypeError, ValueError, RecursionError, DRAError):
        return Requirement()


def _lease(ctx: Context, session_id: str, pods: list[Object], stored: Mapping[str, Any]) -> Lease:
    """Our own record first; else the sealed annotation (a label or an unsealed text proves nothing)."""
    ends, idle = None, None
    for pod in pods:
        text = (pod["metadata"].get("annotations") or {}).get(LEASE)
        read = read_lease(ctx.identity.key, session_id, text)
        if read is not None and (ends is None or read[0] > ends):
            ends, idle = read
    kept = stored.get("lease") or {}
    longest = kept.get("longest_until")
    if longest is None and pods:
        deadline = (pods[0].get("spec") or {}).get("activeDeadlineSeconds")
        began = epoch(pods[0]["metadata"].get("creationTimestamp"))
        longest = began + deadline if deadline and began else None
    if ends is None:
        ends, idle = kept.get("ends_at"), kept.get("idle_seconds")
    return Lease(ends, longest, idle, longest_idle=kept.get("longest_idle"))


def _placed(pods: list[Object], stored: Mapping[str, Any]) -> tuple[list[LiveKernel], list[LiveKernel]]:
    """Kernels, and pods of handovers without one: those that wait for another to go, and those that leave."""
    kernels: list[LiveKernel] = []
    spare: list[LiveKernel] = []
    living = {pod["metadata"]["name"] for pod in pods if _lives(pod)}
    replaced = {_replaces(pod) for pod in pods if _lives(pod)}
    for pod in pods:
        waits = _replaces(pod) in living
        left = pod["metadata"]["name"] in replaced and pod["metadata"]["name"] not in living
        (spare if waits or left else kernels).append(_kernel(pod, stored))
    return kernels, spare


def _next_index(stored: Mapping[str, Any]) -> int:
    """The first number of a pod that our record does not know: the Secret of one that was never made has its name."""
    numbers = [str(one.get("pod")).rpartition("-")[2] for one in stored.get("kernels") or []]
    return max((int(number) + 1 for number in numbers if number.isdecimal()), default=0)


def _lives(pod: Object) -> bool:
    over = (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded")
    return not over and not pod["metadata"].get("deletionTimestamp")


def _replaces(pod: Object) -> str | None:
    name = (pod["metadata"].get("annotations") or {}).get(labels.REPLACES)
    return str(name) if name else None


def successor_of(ctx: Context, session: LiveSession, kernel: LiveKernel) -> LiveKernel | None:
    """The kernel in the pod to which another process of this user moved it; None when there is none that is proven."""
    stored = ctx.store.read(session.id) or {}
    for pod in ctx.caches.pods(session.namespace):
        tags = pod["metadata"].get("labels") or {}
        ours = tags.get(labels.SESSION) == session.id and tags.get(labels.KERNEL_ID) == kernel.id
        if not ours or _replaces(pod) != kernel.pod_name or not _lives(pod):
            continue
        if is_sealed(pod, ctx.identity.key) and _known(pod, stored):
            return _kernel(pod, stored)
    return None


def _kernel(pod: Object, stored: Mapping[str, Any]) -> LiveKernel:
    meta = pod["metadata"]
    notes = meta.get("annotations") or {}
    told = json_object(notes.get(KERNEL_NOTE))
    choice = KernelChoice(
        name=str(told.get("name") or "python3"),
        display_name=str(told.get("display_name") or "Python 3"),
        interrupt_mode=str(told.get("interrupt_mode") or "message"),
    )
    containers = (pod.get("spec") or {}).get("containers") or [{}]
    ports = containers[0].get("ports") or [{}]
    amounts = (containers[0].get("resources") or {}).get("limits") or {}
    kernel = LiveKernel(
        id=str((meta.get("labels") or {}).get(labels.KERNEL_ID) or meta["name"]),
        choice=choice,
        pod_name=meta["name"],
        notebook=notes.get(labels.NOTEBOOK),
        image=str(containers[0].get("image") or ""),
        port=int(ports[0].get("containerPort") or 0),
        cwd=containers[0].get("workingDir"),
        cpu=amounts.get("cpu"),
        host_memory=amounts.get("memory"),
        replaces=_replaces(pod),
    )
    kernel.pod = Made("Pod", meta["name"], _nonce(pod), _uid(pod), True)
    for entry in stored.get("kernels") or []:
        if entry.get("pod") == meta["name"]:
            name, nonce = secret_name(meta["name"]), str(entry.get("secret_nonce") or "")
            kernel.secret = Made("Secret", name, nonce, entry.get("secret_uid"), True)
    phase = (pod.get("status") or {}).get("phase")
    kernel.state = {"Running": "idle", "Failed": "dead", "Succeeded": "dead"}.get(str(phase), "starting")
    return kernel


def _state(pods: list[Object], claim: Object | None) -> str:
    living = [pod for pod in pods if not pod["metadata"].get("deletionTimestamp")]
    ending = claim is not None and claim["metadata"].get("deletionTimestamp")
    phases = {str((pod.get("status") or {}).get("phase")) for pod in living}
    if ending or not living or phases <= {"Failed", "Succeeded"}:
        return "releasing"
    if "Running" in phases:
        return "running"
    allocated = ((claim or {}).get("status") or {}).get("allocation")
    return "starting" if allocated else "waiting"


def _running_since(pods: list[Object]) -> float | None:
    for pod in pods:
        states = (pod.get("status") or {}).get("containerStatuses") or [{}]
        running = (states[0].get("state") or {}).get("running") or {}
        if running.get("startedAt"):
            return epoch(running["startedAt"])
    return None


def _over_since(pod: Object) -> float | None:
    states = (pod.get("status") or {}).get("containerStatuses") or [{}]
    finished = ((states[0].get("state") or {}).get("terminated") or {}).get("finishedAt")
    return epoch(finished) or epoch(pod["metadata"].get("deletionTimestamp"))


def _steps(session: LiveSession, pods: list[Object], claim: Object | None) -> dict[str, Step]:
    """What the timestamps of the objects tell about the steps of a launch somebody else followed."""
    at: dict[str, float | None] = {"checked": session.created_at}
    if claim is not None:
        at["claim-created"] = epoch(claim["metadata"].get("creationTimestamp"))
    if pods:
        conditions = {
            str(c.get("type")): c
            for c in (pods[0].get("status") or {}).get("conditions") or []
            if c.get("status") == "True"
        }
        scheduled = epoch((conditions.get("PodScheduled") or {}).get("lastTransitionTime"))
        if session.devices:
            at["allocated"] = scheduled or session.created_at
        at["scheduled"] = scheduled
        running = _running_since(pods)
        at["image-pulled"] = at["kernel-starting"] = running
        at["connected"] = running
    steps: dict[str, Step] = {}
    before = session.created_at
    for code in session.steps:
        when = at.get(code)
        if when is None:
            break
        steps[code] = Step(code, "done", before, max(before, when))
        before = max(before, when)
    return steps
