"""The CEL selectors we write, one form per requirement field, and how to recognize them again.

Every form is total on devices that lack the attribute: one run-time error would end the pod's whole scheduling attempt
(dra.md c.3). Strings use ``has(x) && x.matches(…)``, because ``.orValue("").matches(…)`` is refused by the
API server's cost estimate. Memory uses ``compareTo(…) >= 0``: ``isGreaterThan`` is strict and shuts out a
card of exactly that size.

A *domain* is CEL text for the attribute domain: ``device.driver`` (any vendor) or a quoted driver name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..cel.literals import string_literal
from .comparisons import VersionCondition, parse_conditions, spell

ANY_DRIVER = "device.driver"

_PRODUCT_ATTRIBUTES: Mapping[str, tuple[str, ...]] = {
    "gpu.nvidia.com": ("productName",),
    "gpu.amd.com": ("productName",),
    "gpu.intel.com": ("model",),
    "gaudi.intel.com": ("model",),
    "gpu.example.com": ("model",),
    "tpu.google.com": ("tpuGen",),
}
_ANY_PRODUCT = ("productName", "model", "tpuGen")
_ARCHITECTURE_ATTRIBUTES: Mapping[str, tuple[str, ...]] = {
    "gpu.nvidia.com": ("architecture",),
    "gpu.amd.com": ("family",),
    "gpu.intel.com": ("family",),
    "tpu.google.com": ("tpuGen",),
}
_ANY_ARCHITECTURE = ("architecture", "family", "tpuGen")
_PROFILE_ATTRIBUTES: Mapping[str, tuple[str, ...]] = {
    "gpu.nvidia.com": ("profile",),
    "gpu.amd.com": ("partitionProfile",),
}
_ANY_PROFILE = ("profile", "partitionProfile")
_VERSION_FIELDS = {"compute_capability": "cudaComputeCapability", "driver_version": "driverVersion"}
SHAREABLE = "device.allowMultipleAllocations == true"

_ALTERNATIVE = re.compile(r"(?:[^\\|]|\\.)*", re.DOTALL)
_META = re.compile(r"([\\.+*?()|\[\]{}^$])")


def domain(driver: str | None) -> str:
    """CEL text of the attribute domain: the driver's own name when a tier fixes it, otherwise whatever driver it is."""
    return string_literal(driver) if driver else ANY_DRIVER


def memory_at_least(where: str, quantity: str) -> str:
    least = string_literal(quantity)
    return f'device.capacity[{where}].?memory.orValue(quantity("0")).compareTo(quantity({least})) >= 0'


def memory_at_most(where: str, quantity: str) -> str:
    """A device that states no memory, or none worth the name, is not "at most": unknown is not small."""
    memory = f"device.capacity[{where}].memory"
    return (
        f'has({memory}) && {memory}.compareTo(quantity("1")) >= 0'
        f" && {memory}.compareTo(quantity({string_literal(quantity)})) <= 0"
    )


def product(where: str, names: Iterable[str]) -> str:
    return _words(where, _attributes(where, _PRODUCT_ATTRIBUTES, _ANY_PRODUCT), names)


def architecture(where: str, names: Iterable[str]) -> str:
    return _words(where, _attributes(where, _ARCHITECTURE_ATTRIBUTES, _ANY_ARCHITECTURE), names)


def version(where: str, field: str, conditions: Iterable[VersionCondition]) -> str:
    """*field* is ``compute_capability`` or ``driver_version``."""
    attribute = f"device.attributes[{where}].{_VERSION_FIELDS[field]}"
    tests = [f"{attribute}.compareTo(semver({string_literal(c.version)})) {c.operator} 0" for c in conditions]
    return " && ".join([f"has({attribute})", *tests])


def profile(where: str, name: str) -> str:
    tests = [
        f'device.attributes[{where}].?{attribute}.orValue("") == {string_literal(name)}'
        for attribute in _attributes(where, _PROFILE_ATTRIBUTES, _ANY_PROFILE)
    ]
    return " || ".join(tests)


def _attributes(
    where: str, table: Mapping[str, tuple[str, ...]], otherwise: tuple[str, ...]
) -> tuple[str, ...]:
    return table.get(json.loads(where), otherwise) if where != ANY_DRIVER else otherwise


def _words(where: str, attributes: Iterable[str], names: Iterable[str]) -> str:
    escaped = [_META.sub(r"\\\1", name) for name in names]
    words = escaped[0] if len(escaped) == 1 else f"({'|'.join(escaped)})"
    pattern = string_literal(f"(?i)(^|[^a-z0-9]){words}([^a-z0-9]|$)")
    tests = []
    for attribute in attributes:
        value = f"device.attributes[{where}].{attribute}"
        tests.append(f"has({value}) && {value}.matches({pattern})")
    return " || ".join(tests) if len(tests) == 1 else " || ".join(f"({test})" for test in tests)


# Reading back: find the variable parts with a loose pattern, write the form again, accept only an exact repetition.

_DOMAIN = r'device\.(?:capacity|attributes)\[(device\.driver|"[^"\\]*")\]'
_STRING = r'("(?:[^"\\]|\\.)*")'


def read(expression: str) -> tuple[str, Any] | None:
    """The requirement field and value that *expression* was written from, or None for any other text.

    Returned fields: vram, max_vram, product, architecture, compute_capability, driver_version, profile, shareable.
    """
    text = expression.strip()
    if text == SHAREABLE:
        return "shareable", True
    found = re.search(_DOMAIN, text)
    if found is None:
        return None
    where = found[1]
    candidates = (*_read_memory(where, text), *_read_versions(where, text), *_read_words(where, text))
    return next(((field, value) for field, value, again in candidates if again == text), None)


def _unquoted(literal: str) -> str | None:
    try:
        value = json.loads(literal)
    except ValueError:
        return None
    return value if isinstance(value, str) else None


def _read_memory(where: str, text: str) -> Iterable[tuple[str, Any, str]]:
    for field, sign, write in (("vram", ">=", memory_at_least), ("max_vram", "<=", memory_at_most)):
        match = re.search(rf"quantity\({_STRING}\)\) {sign} 0\Z", text)
        quantity = _unquoted(match[1]) if match else None
        if quantity is not None:
            yield field, quantity, write(where, quantity)


def _read_versions(where: str, text: str) -> Iterable[tuple[str, Any, str]]:
    parts = re.findall(rf"semver\({_STRING}\)\) (>=|<=|==|!=|>|<) 0", text)
    if not parts:
        return
    conditions = tuple(VersionCondition(sign, _unquoted(literal) or "") for literal, sign in parts)
    for field in _VERSION_FIELDS:
        yield field, spell(conditions), version(where, field, conditions)


def _read_words(where: str, text: str) -> Iterable[tuple[str, Any, str]]:
    match = re.search(rf"== {_STRING}\Z", text)
    name = _unquoted(match[1]) if match else None
    if name is not None:
        yield "profile", name, profile(where, name)
    match = re.search(rf"\.matches\({_STRING}\)", text)
    pattern = _unquoted(match[1]) if match else None
    words = re.fullmatch(
        r"\(\?i\)\(\^\|\[\^a-z0-9\]\)(?:\((.*)\)|(.*))\(\[\^a-z0-9\]\|\$\)", pattern or "", re.DOTALL
    )
    if words is None:
        return
    names = [
        re.sub(r"\\(.)", r"\1", one, flags=re.DOTALL)
        for one in _ALTERNATIVE.findall(words[1] if words[1] is not None else words[2])
        if one
    ]
    yield "product", names, product(where, names)
    yield "architecture", names, architecture(where, names)


__all__ = [
    "ANY_DRIVER",
    "SHAREABLE",
    "architecture",
    "domain",
    "memory_at_least",
    "memory_at_most",
    "parse_conditions",
    "product",
    "profile",
    "read",
    "version",
]
