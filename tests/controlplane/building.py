"""Random requirements: the claim of each is accepted by the real API server and read back without a loss."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from jupyter_dra.claims import ClassFacts, Requirement, build_claim, build_template
from jupyter_dra.errors import RequirementError

from .judging import url
from .plane import ControlPlane

Object = dict[str, Any]
NAMESPACE = "default"
_TIERS = ("gpu.nvidia.com", "high-memory-gpu", "mig.nvidia.com", "gpu.amd.com", "rdma-nic", "tpu", "a" * 63)
_SIZES = ("10GB", "24GB", "40GB", "80GB", "80Gi", "22.5Gi", "192GB", "4864Mi", "1", "0.5GB")
_NAMES = (
    "A100",
    "H100",
    "L4",
    "MI300X",
    "NVIDIA H100 80GB HBM3",
    "a.b*c",
    'quo"te',
    "back\\slash",
    "é",
    "(x|y)",
    "x" * 60,
)
_VERSIONS = (">=8.0", "<9", ">=7.5,<8.9", "==9.0.0", "!=8.0", ">=580.126.20", ">8", ">=550,<600")
_WHERE = (
    "device.driver == 'gpu.nvidia.com'",
    'device.attributes["gpu.nvidia.com"].?type.orValue("") == "gpu"',
    "device.attributes.all(d, d.endsWith('.com') || d == 'x')",
)
_FACTS = (
    ClassFacts("gpu.nvidia.com", ("gpu.nvidia.com",), "gpu", 16 << 30, 192 << 30),
    ClassFacts("high-memory-gpu", ("gpu.nvidia.com",), "gpu", 80 << 30, 192 << 30),
    ClassFacts("mig.nvidia.com", ("gpu.nvidia.com",), "part", 4 << 30, 80 << 30),
    ClassFacts("gpu.amd.com", ("gpu.amd.com",), "gpu", 64 << 30, 192 << 30),
    ClassFacts("rdma-nic", ("dra.net",), "nic"),
    ClassFacts("tpu", ("tpu.google.com",), "tpu"),
)


@dataclass
class Acceptance:
    """How many claims were accepted (dry run, and for real) and read back equal; ``problems`` in a line each."""

    asked: int = 0
    accepted: int = 0
    created: int = 0
    equal: int = 0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"  {self.accepted} of {self.asked} accepted; {self.equal} of {self.asked} read back equal"
            f" ({self.created} created for real)"
        )


def requirement(rnd: Random) -> dict[str, Any]:
    """A random requirement in its JSON form; nearly every field occurs."""
    wish: dict[str, Any] = _device(rnd)
    if rnd.random() < 0.25:
        wish["near"] = [{"tier": "rdma-nic"}, {"tier": "tpu", "count": 2}][: rnd.randint(1, 2)]
        wish["align"] = rnd.choice(("pcieRoot", "numaNode", "dra.net/numaNode"))
    elif rnd.random() < 0.2:
        wish["align"] = "resource.kubernetes.io/pcieRoot"
    if rnd.random() < 0.15:
        wish["spread"] = rnd.choice(("gpu.nvidia.com/uuid", "resource.kubernetes.io/numaNode"))
    if rnd.random() < 0.25:
        wish["or_else"] = [_device(rnd) for _ in range(rnd.randint(1, 4))]
    return wish


def _device(rnd: Random) -> dict[str, Any]:
    wish: dict[str, Any] = {}
    offers: tuple[tuple[float, str, Any], ...] = (
        (0.85, "tier", rnd.choice(_TIERS)),
        (0.4, "vram", rnd.choice(_SIZES)),
        (0.1, "max_vram", "256GB"),
        (0.4, "count", rnd.choice((1, 2, 8, 32, "all"))),
        (0.3, "product", rnd.sample(_NAMES, rnd.randint(1, 3))),
        (
            0.3,
            "architecture",
            rnd.sample(("Hopper", "Ampere", "AI", "Ada Lovelace", 'x"y'), rnd.randint(1, 3)),
        ),
        (0.25, "compute_capability", rnd.choice(_VERSIONS)),
        (0.2, "driver_version", rnd.choice(_VERSIONS)),
        (0.2, "where", rnd.sample(_WHERE, rnd.randint(1, 3))),
        (0.2, "tolerate", rnd.sample(("maintenance", "a=b", "x=y:NoSchedule"), rnd.randint(1, 2))),
        (0.2, "share", rnd.choice(_SHARES)),
    )
    for chance, name, value in offers:
        if rnd.random() < chance:
            wish[name] = value
    return wish


_SHARES: tuple[dict[str, Any], ...] = (
    {"profile": "1g.5gb"},
    {"memory": "10G"},
    {"strategy": "mps", "thread_percentage": 50, "memory_limit": "10GB"},
    {"strategy": "time-slicing", "interval": "long"},
    {"strategy": "mps"},
)


def compare(plane: ControlPlane, rnd: Random, count: int, real: int = 60) -> Acceptance:
    """Build ``count`` claims; every one is asked of the server, ``real`` of them are created and read again."""
    outcome = Acceptance()
    while outcome.asked < count:
        wish = requirement(rnd)
        name = f"built-{outcome.asked}"
        try:
            meant = Requirement.from_dict(wish)
            facts = _FACTS if rnd.random() < 0.7 or not meant.tier else None
            build = build_template if rnd.random() < 0.2 else build_claim
            built = build(meant, name=name, classes=facts)
        except RequirementError:
            continue  # combinations that a person cannot ask for
        outcome.asked += 1
        once = outcome.created < real and rnd.random() < 0.3
        path = url(built["kind"], namespace=NAMESPACE)
        flags = "fieldValidation=Strict" if once else "fieldValidation=Strict&dryRun=All"
        status, answer = plane.call("POST", f"{path}?{flags}", built)
        if status != 201:
            outcome.problems.append(f"{wish}: {answer.get('message')}")
            continue
        outcome.accepted += 1
        if once:
            outcome.created += 1
            answer = plane.get(f"{path}/{name}")
            plane.call("DELETE", f"{path}/{name}")
        lost = list(missing(built["spec"], answer["spec"], "spec"))
        outcome.equal += not lost
        outcome.problems += [f"{wish}: {one} was not kept" for one in lost]
    return outcome


def missing(sent: Any, kept: Any, place: str) -> list[str]:
    """What of ``sent`` does not stand in ``kept``; defaults that the server adds are no loss."""
    if isinstance(sent, dict):
        if not isinstance(kept, dict):
            return [place]
        return [one for key in sent for one in missing(sent[key], kept.get(key), f"{place}.{key}")]
    if isinstance(sent, list):
        if not isinstance(kept, list) or len(sent) != len(kept):
            return [place]
        return [one for n, item in enumerate(sent) for one in missing(item, kept[n], f"{place}[{n}]")]
    return [] if sent == kept else [f"{place} ({sent!r} became {kept!r})"]
