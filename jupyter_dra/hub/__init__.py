"""JupyterHub: servers with the device their user chose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .profiles import check_profiles
    from .spawner import DRASpawner

__all__ = ["DRASpawner", "check_profiles"]


def __getattr__(name: str) -> Any:
    if name == "DRASpawner":
        from .spawner import DRASpawner

        return DRASpawner
    if name == "check_profiles":
        from .profiles import check_profiles

        return check_profiles
    raise AttributeError(name)
