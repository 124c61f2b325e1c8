"""What people call a device: its kind, product, size as sold, and a short label."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["DeviceFacts", "facts_of_device", "short_product", "size_label"]

# Sizes cards are sold with, in decimal GB.
_SOLD = (5, 10, 11, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 141, 192, 256, 288)
_GB = 10**9
_IN_NAME = re.compile(r"(?<![0-9.])([0-9]{1,4})\s?GB", re.IGNORECASE)
_PRODUCT_KEYS = {
    "gpu.nvidia.com": ("productName",),
    "gpu.amd.com": ("productName",),
    "gpu.intel.com": ("model",),
    "gaudi.intel.com": ("model",),
    "gpu.example.com": ("model",),
    "tpu.google.com": ("tpuGen",),
}
_ANY_PRODUCT = ("productName", "model", "tpuGen", "product")
_NOISE = re.compile(
    r"\b(NVIDIA|Nvidia|AMD|Intel|Instinct|Tesla|GeForce|RTX(?= A)|SXM[0-9]*|PCIe?|OAM|HBM[0-9a-z]*|NVL|[0-9]+\s?GB)\b",
    re.IGNORECASE,
)
_PARTS = ("mig", "amdgpu-partition", "partition", "vgpu")


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """``memory_bytes`` None means not stated; ``size`` is the label people choose by."""

    device_kind: str
    product: str | None
    memory_bytes: int | None
    memory_published: str | None
    size: str | None
    label: str
    architecture: str | None
    profile: str | None
    # As people write it: 9.0.
    compute_capability: str | None


_SIGNS = {"EUR": "€", "USD": "$", "GBP": "£", "JPY": "¥"}


def size_label(memory_bytes: int | None, product: str | None = None) -> str | None:
    """A size for choosing, in GB as on the card; a floor: such a device always has that many bytes.

    >>> size_label(81559 << 20, "NVIDIA H100 80GB HBM3"), size_label(23034 << 20), size_label(4864 << 20)
    ('80 GB', '24 GB', '5 GB')
    """
    if not memory_bytes:
        return None
    named = _IN_NAME.search(product or "")
    if named and int(named[1]) * _GB <= memory_bytes:
        return f"{int(named[1])} GB"
    below = [size for size in _SOLD if size * _GB <= memory_bytes]
    if below and memory_bytes - below[-1] * _GB <= 0.1 * memory_bytes:
        return f"{below[-1]} GB"
    if memory_bytes >= _GB:
        return f"{memory_bytes // _GB} GB"
    return f"{memory_bytes >> 20} MiB"


def short_product(product: str | None) -> str | None:
    """A product's name without vendor, form factor and size.

    >>> short_product("NVIDIA A100-SXM4-80GB"), short_product("AMD_Instinct_MI300X_OAM"), short_product("Tesla T4")
    ('A100', 'MI300X', 'T4')
    """
    if not product:
        return None
    spaced = re.sub(r"[_\-]+", " ", product)
    words = _NOISE.sub(" ", spaced).split()
    return " ".join(words) if words and words != spaced.split() else product


_GENERATIONS = {
    (7, 0): "Volta",
    (7, 5): "Turing",
    (8, 0): "Ampere",
    (8, 9): "Ada Lovelace",
    (9, 0): "Hopper",
    (10, 0): "Blackwell",
}


def generation_from(capability: str) -> str | None:
    """NVIDIA's generation that begins with a range of compute capabilities; None where the range is another.

    >>> generation_from(">=8.0")
    'Ampere'
    """
    match = re.fullmatch(r">=\s*(\d+)(?:\.(\d+))?", capability.strip())
    return _GENERATIONS.get((int(match[1]), int(match[2] or 0))) if match else None


def with_article(label: str) -> str:
    """A label with the article English needs, by how its first word is spoken.

    >>> with_article("A100 40 GB"), with_article("T4 16 GB")
    ('an A100 40 GB', 'a T4 16 GB')
    """
    first = label.partition(" ")[0]
    spelled = re.match(r"[A-Z]{1,3}(\d|$)|[A-Z]{2}", first) is not None
    vowel = first[:1] in "AEFHILMNORSX8" if spelled else first[:1].lower() in "aeiou8"
    return f"{'an' if vowel else 'a'} {label}"


def price_label(price: Mapping[str, Any]) -> str:
    """``€2.90``; a currency without a common sign by its code: ``2.90 CHF``."""
    amount, currency = str(price["amount"]), str(price["currency"])
    sign = _SIGNS.get(currency)
    return f"{sign}{amount}" if sign else f"{amount} {currency}"


def facts_of_device(
    driver: str, attributes: Mapping[str, Any], capacity: Mapping[str, int], texts: Mapping[str, str]
) -> DeviceFacts:
    """Facts from plain attribute values and capacities in bytes; keys as in the slice."""

    def find(*names: str) -> Any:
        for name in names:
            for key in (name, f"{driver}/{name}"):
                if key in attributes:
                    return attributes[key]
        return None

    product = find(*_PRODUCT_KEYS.get(driver, _ANY_PRODUCT))
    product = product if isinstance(product, str) and product != "Unknown" else None
    memory_key = next((key for key in ("memory", f"{driver}/memory") if key in capacity), None)
    memory = capacity[memory_key] if memory_key else None
    kind = _kind(driver, find("type"), memory, attributes)
    profile = find("profile") or (find("partitionProfile") if kind == "part" else None)
    size = size_label(memory, None if kind == "part" else product)
    return DeviceFacts(
        device_kind=kind,
        product=product,
        memory_bytes=memory or None,
        memory_published=texts.get(memory_key) if memory_key else None,
        size=size,
        label=_label(kind, driver, product, size, profile, find("rdma", "dra.net/rdma")),
        architecture=_text(find("architecture", "family", "tpuGen")),
        profile=_text(profile),
        compute_capability=_level(find("cudaComputeCapability")),
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _level(value: Any) -> str | None:
    """Major and minor of a version."""
    parts = str(value).split(".") if value is not None else []
    return ".".join(parts[:2]) if len(parts) >= 2 and all(part.isdigit() for part in parts[:2]) else None


def _kind(driver: str, type_: Any, memory: int | None, attributes: Mapping[str, Any]) -> str:
    if type_ in _PARTS:
        return "part"
    if type_ == "vfio":
        return "other"
    if driver.startswith("tpu.") or "tpuGen" in attributes:
        return "tpu"
    if driver == "dra.cpu" or driver.startswith("cpu."):
        return "cpu"
    if driver == "dra.net" or driver.endswith(".dra.net") or any(k.endswith("ifName") for k in attributes):
        return "nic"
    if driver.startswith("gpu.") or type_ == "gpu" or memory:
        return "gpu"
    return "other"


def _label(kind: str, driver: str, product: str | None, size: str | None, profile: Any, rdma: Any) -> str:
    if kind == "nic":
        return "RDMA card" if rdma is True else "network card"
    if kind == "cpu":
        return "CPU"
    name = short_product(product)
    if kind == "tpu":
        return f"TPU {name}" if name else "TPU"
    if kind == "part":
        return (
            " ".join(part for part in (name, profile if isinstance(profile, str) else size) if part) or "part"
        )
    if name is None:
        name = "GPU" if kind == "gpu" else driver
    return f"{name} {size}" if size else name
