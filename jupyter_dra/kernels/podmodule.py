"""``jupyter_dra`` for a kernel whose image lacks it: the device card and devices, nothing that needs the cluster.

podside lays this file out as ``jupyter_dra/__init__.py`` in a folder on PYTHONPATH. Where the image does have the
real package, this one steps aside on import. Standard library and IPython only, Python 3.8 and later.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
from typing import Any

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _real_package() -> Any:
    """The spec of an installed jupyter_dra elsewhere on the path, or None."""
    elsewhere = [entry for entry in sys.path if os.path.abspath(entry or ".") != _HERE]
    return importlib.machinery.PathFinder.find_spec(__name__, elsewhere)


def _step_aside(spec: Any) -> None:
    module = importlib.util.module_from_spec(spec)
    sys.modules[__name__] = module
    spec.loader.exec_module(module)


def held_devices() -> Any:
    """As in the real package: the devices this kernel was given."""
    from . import held  # type: ignore[attr-defined,unused-ignore]

    return held.held_devices()


def load_ipython_extension(shell: Any) -> None:
    """Called by IPython for ``%load_ext jupyter_dra``."""
    from IPython.core.magic import no_var_expand

    from . import held, measured  # type: ignore[attr-defined,unused-ignore]

    figures = measured.CellFigures(shell)

    @no_var_expand
    def dra(line: str) -> Any:
        """Show the device this kernel holds; ``measure on`` tells what each cell takes of it."""
        words = line.split()
        if words and words[0] == "measure":
            try:
                print(figures.switch(" ".join(words[1:])))
            except ValueError as error:
                print(error)
            return None
        if words and words[0] not in ("card", "sessions"):
            print(
                "%dra "
                + words[0]
                + " needs jupyter_dra in this image or a cluster login, and this kernel has "
                "neither. Use the panel GPU sessions, or: pip install jupyter-dra"
            )
            return None
        return held.card()

    shell.register_magic_function(dra, "line", "dra")


_SPEC = _real_package()
if _SPEC is not None and _SPEC.loader is not None:
    _step_aside(_SPEC)
