"""Session life: launch, steps, waiting, leases, sharing, ending; `ports` is what surfaces call."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .bridge import AsyncSession, Session
    from .handover import PodChange
    from .identity import Identity, load_identity
    from .loop import BackgroundLoop
    from .opening import Where
    from .policy import SessionPolicy, VolumeOffer
    from .ports import KernelChoice, KernelHandle, SessionEvent, SessionService
    from .record import SessionRecord
    from .service import Sessions

__all__ = [
    "AsyncSession",
    "BackgroundLoop",
    "Identity",
    "KernelChoice",
    "KernelHandle",
    "PodChange",
    "Session",
    "SessionEvent",
    "SessionPolicy",
    "SessionRecord",
    "SessionService",
    "Sessions",
    "VolumeOffer",
    "Where",
    "load_identity",
]

_HOMES = {
    "AsyncSession": "bridge",
    "BackgroundLoop": "loop",
    "Identity": "identity",
    "KernelChoice": "ports",
    "KernelHandle": "ports",
    "PodChange": "handover",
    "Session": "bridge",
    "SessionEvent": "ports",
    "SessionPolicy": "policy",
    "SessionRecord": "record",
    "SessionService": "ports",
    "Sessions": "service",
    "VolumeOffer": "policy",
    "Where": "opening",
    "load_identity": "identity",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{home}", __name__), name)
