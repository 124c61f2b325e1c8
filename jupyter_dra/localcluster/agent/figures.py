"""Made-up figures of simulated devices: plausible, marked as simulated, and absent where a device has none."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from jupyter_dra.localcluster.drivers import PreparedDevice
from jupyter_dra.model.quantity import Quantity

_CONTEXT_BYTES = 420 << 20


def write_figures(path: Path, devices: Iterable[PreparedDevice], resident: int, percent: int) -> None:
    """Write the file in which podside looks for figures, in one step.

    Args:
        resident: bytes of memory of the pod's processes.
        percent: their use of a processor.
    """
    figures = [simulated_figures(device, resident, percent) for device in devices]
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps({"simulated": True, "devices": figures}))
    draft.replace(path)


def simulated_figures(device: PreparedDevice, resident: int, percent: int) -> dict[str, Any]:
    """Return plausible figures: the processor use and memory of the pod, mirrored on the device.

    They are marked simulated, and absent (None) where the device states no memory, or is a network card.
    """
    total = device.capacity.get("memory") or device.capacity.get(f"{device.driver}/memory")
    size = Quantity.parse(total["value"]).bytes if total else 0
    known = size > 0 and device.driver != "dra.net"
    used = min(size * 9 // 10, _CONTEXT_BYTES + resident) if known else None
    return {
        "driver": device.driver,
        "pool": device.pool,
        "device": device.name,
        "uuid": device.text("uuid") or "",
        "name": device.text("productName") or device.text("model") or device.name,
        "simulated": True,
        "memory_used_bytes": used,
        "memory_total_bytes": size if known else None,
        "memory_of_kernel_bytes": used,
        "utilisation_percent": percent if known else None,
        "why_missing": None if known else "not-known",
    }
