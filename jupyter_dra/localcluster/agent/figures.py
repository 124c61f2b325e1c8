"""Made-up figures of simulated devices: plausible, marked as simulated, and absent where a device has none."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jupyter_dra.localcluster.drivers import PreparedDevice
from jupyter_dra.model.quantity import Quantity

_CONTEXT_BYTES = 420 << 20
"""What a CUDA context takes on a real card before anything is put there."""
_WITHOUT_USE = frozenset({"dra.net", "dra.cpu"})


@dataclass(frozen=True, slots=True)
class Load:
    """What the processes of one pod, or of all pods on a device, do on their machine.

    Attributes:
        resident: bytes of their memory.
        percent: their use of a processor.
        holders: how many pods that is.
    """

    resident: int = 0
    percent: int = 0
    holders: int = 1

    def plus(self, other: Load) -> Load:
        return Load(
            self.resident + other.resident, self.percent + other.percent, self.holders + other.holders
        )


def write_figures(path: Path, figures: Iterable[dict[str, Any]]) -> None:
    """Write the file in which podside looks for figures, in one step."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps({"simulated": True, "devices": list(figures)}))
    draft.replace(path)


def simulated_figures(device: PreparedDevice, own: Load, whole: Load) -> dict[str, Any]:
    """Return plausible figures: processor use and memory of the pods that hold a device, mirrored on it.

    They are marked simulated. Memory is absent (None) where the device states none, use where it is no computing
    device of its own (a network card).

    Args:
        own: load of the pod the figures are for.
        whole: load of all pods that hold the device.
    """
    total = device.capacity.get("memory") or device.capacity.get(f"{device.driver}/memory")
    size = Quantity.parse(total["value"]).bytes if total else 0
    computes = device.driver not in _WITHOUT_USE
    known = size > 0 and computes

    def held(load: Load) -> int | None:
        return min(size * 9 // 10, load.holders * _CONTEXT_BYTES + load.resident) if known else None

    return {
        "driver": device.driver,
        "pool": device.pool,
        "device": device.name,
        "uuid": device.text("uuid") or "",
        "name": device.text("productName") or device.text("model") or device.name,
        "simulated": True,
        "memory_used_bytes": held(whole),
        "memory_total_bytes": size if known else None,
        "memory_of_kernel_bytes": held(own),
        "utilisation_percent": min(100, whole.percent) if computes else None,
        "why_missing": None if known else "not-known",
    }
