"""A small catalog of published devices, to tell what a DeviceClass is for when no inventory is at hand.

Attributes and capacities are those the drivers publish (dra.md f.2 to f.4). The planner, which knows the
real inventory, never needs it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Specimen:
    """One device as its driver publishes it; ``kind`` is gpu, part, tpu, nic, cpu or other."""

    kind: str
    driver: str
    attributes: dict[str, Any] = field(default_factory=dict)
    memory: str | None = None

    def as_device(self) -> dict[str, Any]:
        """The plain dict that selectors are evaluated on."""
        attributes = {
            name: value if isinstance(value, dict) else {"string": value}
            for name, value in self.attributes.items()
        }
        capacity = {"memory": {"value": self.memory}} if self.memory else {}
        return {"driver": self.driver, "attributes": attributes, "capacity": capacity}


def _nvidia(product: str, architecture: str, capability: str, memory: str, **more: Any) -> Specimen:
    attributes: dict[str, Any] = {
        "type": "gpu",
        "uuid": "GPU-00000000-0000-0000-0000-000000000000",
        "productName": product,
        "brand": "Nvidia",
        "architecture": architecture,
        "cudaComputeCapability": {"version": capability},
        "driverVersion": {"version": "580.126.20"},
        "cudaDriverVersion": {"version": "13.0.0"},
        "resource.kubernetes.io/pcieRoot": "pci0000:15",
        "resource.kubernetes.io/pciBusID": "0000:18:00.0",
        "resource.kubernetes.io/numaNode": {"int": 0},
        **more,
    }
    return Specimen("part" if attributes["type"] == "mig" else "gpu", "gpu.nvidia.com", attributes, memory)


SPECIMENS: tuple[Specimen, ...] = (
    _nvidia("Tesla T4", "Turing", "7.5.0", "15360Mi"),
    _nvidia("NVIDIA L4", "Ada Lovelace", "8.9.0", "23034Mi"),
    _nvidia("NVIDIA A10", "Ampere", "8.6.0", "23028Mi"),
    _nvidia("NVIDIA A100-SXM4-40GB", "Ampere", "8.0.0", "40960Mi"),
    _nvidia("NVIDIA L40S", "Ada Lovelace", "8.9.0", "46068Mi"),
    _nvidia("NVIDIA A100-SXM4-80GB", "Ampere", "8.0.0", "81920Mi"),
    _nvidia("NVIDIA H100 80GB HBM3", "Hopper", "9.0.0", "81559Mi"),
    _nvidia("NVIDIA H200", "Hopper", "9.0.0", "143771Mi"),
    _nvidia("NVIDIA B200", "Blackwell", "10.0.0", "183359Mi"),
    _nvidia(
        "NVIDIA A100-SXM4-40GB", "Ampere", "8.0.0", "4864Mi", type="mig", profile="1g.5gb", parentUUID="GPU-0"
    ),
    _nvidia(
        "NVIDIA A100-SXM4-40GB",
        "Ampere",
        "8.0.0",
        "19968Mi",
        type="mig",
        profile="3g.20gb",
        parentUUID="GPU-0",
    ),
    _nvidia(
        "NVIDIA A100-SXM4-80GB",
        "Ampere",
        "8.0.0",
        "9856Mi",
        type="mig",
        profile="1g.10gb",
        parentUUID="GPU-0",
    ),
    Specimen("other", "gpu.nvidia.com", {"type": "vfio", "deviceID": "0x2330", "vendorID": "0x10de"}),
    Specimen(
        "gpu",
        "gpu.amd.com",
        {
            "type": "amdgpu",
            "productName": "AMD Instinct MI300X",
            "family": "AI",
            "driverVersion": {"version": "6.12.12"},
            "partitionProfile": "spx_nps1",
        },
        "196592Mi",
    ),
    Specimen(
        "part",
        "gpu.amd.com",
        {"type": "amdgpu-partition", "productName": "AMD Instinct MI300X", "partitionProfile": "cpx_nps4"},
        "24574Mi",
    ),
    Specimen(
        "gpu", "gpu.intel.com", {"model": "e211", "family": "Arc", "driver": "xe", "type": "gpu"}, "24480Mi"
    ),
    Specimen(
        "gpu",
        "gpu.example.com",
        {"model": "LATEST-GPU-MODEL", "driverVersion": {"version": "1.0.0"}, "index": {"int": 0}},
        "80Gi",
    ),
    Specimen("other", "gaudi.intel.com", {"model": "Gaudi2", "healthy": {"bool": True}}),
    Specimen("tpu", "tpu.google.com", {"tpuGen": "v6e", "accelerator": "tpu-v6e-slice", "topology": "2x4"}),
    Specimen("tpu", "tpu.google.com", {"tpuGen": "v5litepod", "accelerator": "tpu-v5-lite-podslice"}),
    Specimen(
        "nic",
        "dra.net",
        {"dra.net/ifName": "eth1", "dra.net/rdma": {"bool": True}, "dra.net/virtual": {"bool": False}},
    ),
    Specimen(
        "nic",
        "dra.net",
        {"dra.net/ifName": "eth2", "dra.net/rdma": {"bool": False}, "dra.net/virtual": {"bool": True}},
    ),
    Specimen("cpu", "dra.cpu", {"dra.cpu/socketID": {"int": 0}, "dra.cpu/numaNodeID": {"int": 0}}),
)
