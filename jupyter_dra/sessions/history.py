"""Sessions that ended, as our own records tell them: shown to the next process of the user, for a day."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace
from typing import Any

from .making import Context
from .record import DeviceRecord, Ended, KernelRecord, Lease, SessionRecord, Step, epoch

Json = Mapping[str, Any]


def ended_sessions(ctx: Context, known: Container[str] = ()) -> list[SessionRecord]:
    """Those of this cluster and namespace that are not ``known`` otherwise and ended within the policy's history."""
    found = []
    for session_id in ctx.store.ids():
        if session_id not in known:
            record = ended_session(ctx, session_id)
            if record is not None:
                found.append(record)
    return found


def ended_session(ctx: Context, session_id: str) -> SessionRecord | None:
    """One ended session from our own record; None when it has not ended, too long ago, or elsewhere."""
    stored = ctx.store.read(session_id) or {}
    at = stored.get("ended_at")
    here = (stored.get("context"), stored.get("namespace")) == (ctx.client.context, ctx.client.namespace)
    if not here or not isinstance(at, int | float) or ctx.clock() - at > ctx.policy.history_seconds:
        return None
    try:
        return _record(session_id, stored)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None  # a record of another version, or one that somebody edited


def _record(session_id: str, stored: Json) -> SessionRecord:
    shown, ended, claim = stored.get("shown") or {}, stored.get("ended") or {}, stored.get("claim") or {}
    lease = shown.get("lease") or {}
    return SessionRecord(
        id=session_id,
        name=str(stored.get("name") or session_id),
        state="ended",
        namespace=str(stored["namespace"]),
        user=str(stored.get("user") or ""),
        server=str(stored.get("server") or ""),
        requirement=dict(stored.get("requirement") or {}),
        claim_name=claim.get("name"),
        made_by_us=bool(claim.get("made_by_us")),
        created_at=float(stored["created_at"]),
        revision=int(shown.get("revision") or 0),
        template=claim.get("template"),
        devices=tuple(_device(one) for one in shown.get("devices") or ()),
        kernels=tuple(_kernel(one) for one in shown.get("kernels") or ()),
        steps=tuple(_step(one) for one in shown.get("steps") or ()),
        lease=Lease(
            epoch(lease.get("ends_at")), epoch(lease.get("longest_until")), lease.get("idle_limit_seconds")
        ),
        usage=shown.get("usage"),
        price=shown.get("price"),
        right_size=shown.get("right_size"),
        ready_at=stored.get("ready_at"),
        ended=replace(Ended.from_dict(ended), at=float(stored["ended_at"])),
        simulated=bool(shown.get("simulated")),
        history=tuple(stored.get("history") or ()),
        image=shown.get("image"),
    )


def _device(value: Json) -> DeviceRecord:
    facts = {name: value[name] for name in ("device_kind", "memory_published") if value.get(name)}
    if value.get("profile"):
        facts["attributes"] = {"profile": {"string": str(value["profile"])}}
    return DeviceRecord(
        request=str(value["request"]),
        driver=str(value["driver"]),
        pool=str(value["pool"]),
        device=str(value["device"]),
        node=value.get("node"),
        label=value.get("label"),
        share=value.get("share"),
        predicted=value.get("predicted"),
        facts=facts,
        choice=value.get("choice"),
        conditions=tuple(value.get("conditions") or ()),
    )


def _kernel(value: Json) -> KernelRecord:
    return KernelRecord(
        id=str(value["id"]),
        name=str(value["name"]),
        pod=str(value["pod"]),
        notebook=value.get("notebook"),
        state="dead",
        last_activity=epoch(value.get("last_activity")),
        transport=value.get("transport"),
        image=value.get("image"),
        cpu=value.get("cpu"),
        host_memory=value.get("host_memory"),
    )


def _step(value: Json) -> Step:
    began, seconds = epoch(value.get("started_at")), value.get("seconds")
    ended = None if began is None or seconds is None else began + float(seconds)
    return Step(str(value["code"]), str(value["state"]), began, ended, value.get("params") or {})
