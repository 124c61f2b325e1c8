"""Widgets for notebooks: `DRAPicker` and `DeviceCard`; the card itself needs no ipywidgets."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .device import DeviceCard
    from .picker import DRAPicker

__all__ = ["DRAPicker", "DeviceCard"]

_HOMES = {"DRAPicker": "picker", "DeviceCard": "device"}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{home}", __name__), name)
