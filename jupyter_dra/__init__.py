"""Accelerators in Jupyter through Kubernetes Dynamic Resource Allocation.

The public names below load on first use, so that ``import jupyter_dra`` costs next to nothing::

    from jupyter_dra import Requirement, build_claim
    build_claim(Requirement(tier="high-memory-gpu"), name="training")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .allocator import allocate
    from .cel import compile_selector
    from .checker import check
    from .claims import Requirement, build_claim
    from .planner import Inventory, plan
    from .sessions import Session
    from .widgets.held import held_devices

__all__ = [
    "Inventory",
    "Requirement",
    "Session",
    "__version__",
    "allocate",
    "build_claim",
    "check",
    "compile_selector",
    "held_devices",
    "plan",
]

_HOMES = {
    "Inventory": "planner",
    "Requirement": "claims",
    "Session": "sessions",
    "allocate": "allocator",
    "build_claim": "claims",
    "check": "checker",
    "compile_selector": "cel",
    "held_devices": "widgets.held",
    "plan": "planner",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


def load_ipython_extension(shell: Any) -> None:
    """Called by IPython for ``%load_ext jupyter_dra``."""
    from .magics import load_ipython_extension as load

    load(shell)


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    """Called by jupyter_server to find the extension application."""
    from .server import DRAExtension

    return [{"module": "jupyter_dra", "app": DRAExtension}]


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    """Called by ``jupyter labextension develop``."""
    return [{"src": "labextension", "dest": "jupyter-dra"}]
