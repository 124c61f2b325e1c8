"""``python -m tests.controlplane.bench [launches] [allocators]``: side by side, on the real control plane."""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
from pathlib import Path

from jupyter_dra.kernels.folders import PrivateFolder
from tests.controlplane.build import CannotBuild, program
from tests.controlplane.lab import start_lab
from tests.controlplane.plane import USERS, ControlPlane
from tests.perf.measuring import Table

from . import allocators, launches

PARTS = ("launches", "allocators")


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; 1 where there is no control plane or a bar is missed."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("parts", nargs="*", default=PARTS, help=f"of {', '.join(PARTS)}")
    parts = parser.parse_args(arguments).parts
    try:
        program()
    except CannotBuild as reason:
        print(reason, file=sys.stderr)
        return 1
    table = Table()
    if "launches" in parts:
        with PrivateFolder(tempfile.gettempdir()) as folder, ControlPlane(users=USERS) as plane:
            lab = start_lab(plane, "dgx-h100")
            try:
                launches.measure(table, lab, Path(folder))
            finally:
                lab.stop()
    if "allocators" in parts:
        gc.disable()  # collecting while clusters are made would take longer than what is measured
        allocators.measure(table)
    return 1 if table.show() else 0


if __name__ == "__main__":
    sys.exit(main())
