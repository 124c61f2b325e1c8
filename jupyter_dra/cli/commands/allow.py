"""``jupyter dra allow``: consent that a notebook file may start on the tier it names."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from ...errors import InputError
from .. import exits
from ..output import clean, write


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("notebook", nargs="+", metavar="NOTEBOOK")


def run(arguments: argparse.Namespace) -> int:
    from ...kernels.consent import Consents, read_notebook
    from ...sessions.identity import data_folder

    consents = Consents(data_folder(os.environ, Path.home()))
    for path in arguments.notebook:
        facts = read_notebook(os.path.realpath(path))
        if facts is None:
            raise InputError(
                f"{path} is no notebook file.", code="file", path=path, next_step="Name an .ipynb file."
            )
        if facts.kernel_name is None:
            raise InputError(
                f"{path} names no kernel.",
                code="no-kernel",
                path=path,
                next_step="There is nothing to allow.",
            )
        consents.allow(facts.path, facts.kernel_name, facts.wish)
        write(f"{clean(path)} may start on kernel {clean(facts.kernel_name)}.")
    return exits.DONE
