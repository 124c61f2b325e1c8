"""The words of a requirement and what may be given for each: names for programs, types for type checkers.

`Requirement` brings every value into one form; these are the forms it accepts. None always means the default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from .requirement import Requirement

Names = str | Sequence[str] | None
"""One name or several."""
Memory = str | int | None
"""``80GB``, ``80Gi``, or bytes."""
Duration = str | float | None
"""``4h``, ``1h30m``, or seconds."""


class DeviceFields(TypedDict, total=False):
    """What one device must be; an alternative or a companion names these."""

    tier: str | None
    vram: Memory
    max_vram: Memory
    count: int | Literal["all"] | None
    product: Names
    architecture: Names
    compute_capability: str | None
    driver_version: str | None
    where: Names
    share: Mapping[str, Any] | None
    tolerate: str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]] | None


class TogetherFields(TypedDict, total=False):
    """What holds for all devices together; a text stands for the tier of that name."""

    near: Requirement | str | Mapping[str, Any] | Sequence[Requirement | str | Mapping[str, Any]] | None
    align: str | None
    spread: str | None
    or_else: str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]] | None


class SurroundingFields(TypedDict, total=False):
    """The session around the devices, less its kernel."""

    image: str | None
    cpu: str | float | None
    host_memory: Memory
    env: Mapping[str, str] | None
    namespace: str | None
    lease: Duration
    idle_timeout: Duration
    name: str | None
    volumes: Names


class LaunchFields(DeviceFields, TogetherFields, SurroundingFields, total=False):
    """Everything one may ask for where the kernel is chosen apart, as when launching from a program."""

    claim: str | Mapping[str, Any] | None


class RequirementFields(LaunchFields, total=False):
    """Everything one may ask for: the keyword arguments of `Requirement`."""

    kernel: str | None


DEVICE_FIELDS = tuple(DeviceFields.__annotations__)
TOGETHER_FIELDS = tuple(TogetherFields.__annotations__)
SESSION_FIELDS = ("kernel", *SurroundingFields.__annotations__)
WISH_FIELDS = (*DEVICE_FIELDS, *TOGETHER_FIELDS)
"""What a notebook's metadata may wish for: devices only, never image, env, volumes or namespace."""
