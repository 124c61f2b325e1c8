"""``%load_ext jupyter_dra`` and ``%dra``: the device card and the same verbs as every other face."""

from __future__ import annotations

from typing import Any

__all__ = ["load_ipython_extension"]


def load_ipython_extension(shell: Any) -> None:
    """Register ``%dra``; called by IPython for ``%load_ext jupyter_dra``."""
    from .magic import DRAMagics

    shell.register_magics(DRAMagics)
