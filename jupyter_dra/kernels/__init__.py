"""Kernel pods: what runs in them, how we reach them, and the provisioner that Jupyter calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .relay import Relay
    from .runtime import KernelPods

__all__ = ["KernelPods", "Relay"]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    home = {"KernelPods": "runtime", "Relay": "relay"}.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{home}", __name__), name)
