"""What the server part answers for 5,000 nodes with 8 devices each: ``python -m tests.perf.page_data FOLDER``.

Writes ``tiers``, ``plan``, ``devices`` and ``change`` (one device taken since) as JSON, and prints a line of JSON with
sizes in bytes and times in milliseconds of processor time.
"""

from __future__ import annotations

import gzip
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

from jupyter_dra.planner import DevicePicture, Inventory
from jupyter_dra.server.compact import compact_devices
from tests.planner.build import NVIDIA_CLASS, device_class, gpu, held, slice_of

Json = dict[str, Any]
# Product, memory, architecture, nodes, how many of a hundred devices are taken.
KINDS = (
    ("NVIDIA H200", "143771Mi", "Hopper", 240, 88),
    ("NVIDIA H100 80GB HBM3", "81559Mi", "Hopper", 1760, 92),
    ("NVIDIA A100-SXM4-80GB", "81920Mi", "Ampere", 1200, 80),
    ("NVIDIA L4", "23034Mi", "Ada Lovelace", 900, 60),
    ("Tesla T4", "15360Mi", "Turing", 900, 50),
)
SIZES = ("16G", "24G", "80G", "141G")
TAINT = {"taints": [{"key": "gpu.nvidia.com/xid", "value": "79", "effect": "NoSchedule"}]}
CONTEXT = {
    "cluster": "large",
    "namespace": "team-1",
    "server_version": "1.37",
    "as_of": "2026-11-30T12:03:04Z",
}
VISIBLE = {"slices": True, "claims": "all"}


def objects() -> Iterator[Json]:
    """The cluster: every node full of one product, claims of eight devices and of one, some devices marked."""
    rnd = Random(7)
    yield device_class("any-gpu", NVIDIA_CLASS, display_name="Any GPU of the house")
    for size in SIZES:
        least = f'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("{size}")) >= 0'
        yield device_class(f"gpu-{size.lower()}", NVIDIA_CLASS, least, display_name=f"At least {size}B")
    for product, memory, architecture, nodes, taken in KINDS:
        for number in range(nodes):
            name = f"{product.split()[-1].lower()}-{number:04}"
            marked = rnd.randrange(8) if rnd.random() < 0.08 else None
            devices = [
                gpu(f"gpu-{index}", product, memory, architecture, extra=TAINT if index == marked else {})
                for index in range(8)
            ]
            yield slice_of(name, devices)
            yield from holders(rnd, name, taken, marked)


def holders(rnd: Random, node: str, taken: int, marked: int | None) -> Iterator[Json]:
    team = f"team-{rnd.randrange(40)}"
    places = [("gpu.nvidia.com", node, f"gpu-{index}") for index in range(8) if index != marked]
    if rnd.randrange(100) < taken // 2:
        yield held(f"train-{node}", *places, namespace=team)
        return
    for place in places:
        if rnd.randrange(100) < taken // 2:
            yield held(f"nb-{node}-{place[2]}", place, namespace=team)


def main() -> int:
    folder = Path(sys.argv[1])
    figures: dict[str, float] = {}

    def timed(name: str, run: Callable[[], Any]) -> Any:
        began = time.process_time()
        found = run()
        figures[name] = round(1000 * (time.process_time() - began), 1)
        return found

    inventory = Inventory.from_objects(objects(), {"claims": "all", "user": "ada", "namespaces": ["team-1"]})
    picture = DevicePicture()
    tiers = timed("tiers_ms", inventory.tiers)
    plan = timed("plan_ms", lambda: inventory.plan({"vram": "80GB"}, detail="full").as_dict())
    timed("picture_ms", lambda: picture.update(inventory))
    devices = timed("columns_ms", lambda: compact_devices(picture))
    at = picture.revision
    free = next(row for row in picture.rows() if row.state == "free" and row.label.startswith("H100"))
    claim = held("late", (free.driver, free.pool, free.name), namespace="team-1")
    inventory.apply({"type": "ADDED", "object": claim})
    timed("change_ms", lambda: picture.update(inventory))
    change = compact_devices(picture, at)
    documents = {
        "tiers": {"kind": "TierList", "version": 1, "context": CONTEXT, "visible": VISIBLE, **listed(tiers)},
        "plan": {**plan, "context": CONTEXT},
        "devices": {**devices, "context": CONTEXT, "visible": VISIBLE},
        "change": {**change, "context": CONTEXT, "visible": VISIBLE},
    }
    for name, document in documents.items():
        body = json.dumps(document, separators=(",", ":")).encode()
        (folder / f"{name}.json").write_bytes(body)
        figures[f"{name}_bytes"] = len(body)
        figures[f"{name}_packed"] = len(gzip.compress(body, 1))
    print(json.dumps({"devices": len(picture), "changed": f"{free.node}/{free.name}", **figures}))
    return 0


def listed(tiers: list[Json]) -> Json:
    return {"tiers": tiers, "devices": sum(8 * kind[3] for kind in KINDS), "nodes": 5000}


if __name__ == "__main__":
    sys.exit(main())
