"""What a session's kernels use of their devices, told by their pods. Pure.

Figures are the pods' own word: shown to their owner, never used to lengthen anything (threat T16).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from .leasing import UNKNOWN, UNUSED, USED

Figures = Mapping[str, Any]


class Holder(Protocol):
    """A kernel of a session, as far as its use of the device goes."""

    @property
    def id(self) -> str: ...

    @property
    def gone(self) -> bool: ...

    @property
    def idle_since(self) -> float | None: ...

    @property
    def device_use(self) -> str: ...

    @property
    def usage(self) -> Figures | None: ...


def usage_of(kernels: Iterable[Holder]) -> dict[str, Any] | None:
    """The contract's ``usage``: the newest figures of the shared devices, and the part of each kernel.

    Every pod of a session sees the same devices, so their figures are not added up; a kernel's part is the memory of
    its own processes, None where the driver does not tell it. ``complete`` says that memory was measured all the time.
    """
    told = [(kernel, kernel.usage) for kernel in kernels if kernel.usage]
    if not told:
        return None
    newest = max((usage for _, usage in told), key=lambda usage: str(usage.get("at") or ""))
    shown = {key: value for key, value in newest.items() if key not in ("by_kernel", "cell")}
    peaks = [usage["peak_bytes"] for _, usage in told if usage.get("peak_bytes") is not None]
    return {
        **shown,
        "peak_bytes": max(peaks, default=None),
        "complete": all(bool(usage.get("complete")) for _, usage in told),
        "by_kernel": [_part(kernel, usage) for kernel, usage in told if not kernel.gone],
    }


def _part(kernel: Holder, usage: Figures) -> dict[str, Any]:
    own: Figures = next(iter(usage.get("by_kernel") or ()), {})
    return {
        "kernel": kernel.id,
        "memory_used_bytes": own.get("memory_used_bytes"),
        "cell": usage.get("cell"),
    }


def device_use(kernels: Iterable[Holder]) -> str:
    """Whether the session's devices are in use: one pod that saw use is enough, one that cannot tell spoils it."""
    verdicts = {kernel.device_use for kernel in kernels if not kernel.gone}
    if USED in verdicts:
        return USED
    return UNUSED if verdicts == {UNUSED} else UNKNOWN


def with_idle(holder: Mapping[str, Any], idle: Mapping[str, int]) -> dict[str, Any]:
    """A holder of a device with how long nothing uses it, where that is a session we look after."""
    return {**holder, "idle_seconds": idle.get(str(holder.get("session")), holder.get("idle_seconds"))}


def idle_since(kernels: Iterable[Holder]) -> float | None:
    """Since when no kernel of the session was in use; None while one is."""
    moments = [kernel.idle_since for kernel in kernels if not kernel.gone]
    known = [at for at in moments if at is not None]
    return max(known) if known and len(known) == len(moments) else None
