"""``jupyter dra kernelspec``: kernels per tier that every front end shows."""

from __future__ import annotations

import argparse
import sys

from ...claims.arguments import add_requirement_arguments, requirement_from_arguments
from .. import exits
from ..options import add_output
from ..output import clean, show, table


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="install|list|remove")
    install = actions.add_parser("install", help="make a kernel for a tier or a requirement")
    add_requirement_arguments(install, session=True)
    install.add_argument("--display-name", metavar="TEXT", help="what front ends show")
    install.add_argument("--kernel-name", metavar="NAME", help="folder name (default: dra-<tier>)")
    install.add_argument(
        "--context", metavar="NAME", help="kubeconfig context the kernel uses; local is the local cluster"
    )
    install.add_argument("--wait", metavar="TIME", help="wait so long for a free device")
    install.add_argument(
        "--sys-prefix", action="store_true", help="into this Python environment, not the user's folder"
    )
    install.add_argument("--replace", action="store_true", help="overwrite one of ours")
    listing = actions.add_parser("list", help="the kernels made by this command")
    remove = actions.add_parser("remove", help="remove kernels by name or tier")
    remove.add_argument("name", nargs="+")
    for action in (install, listing, remove):
        add_output(action)


def run(arguments: argparse.Namespace) -> int:
    from ...kernels import kernelspecs

    if arguments.action == "install":
        made = kernelspecs.install(
            requirement_from_arguments(arguments),
            display_name=arguments.display_name,
            name=arguments.kernel_name,
            context=arguments.context,
            wait_for_device=arguments.wait,
            user=not arguments.sys_prefix,
            prefix=sys.prefix if arguments.sys_prefix else None,
            replace=arguments.replace,
        )
        show(
            made.as_dict(),
            arguments.output,
            f"Kernel {clean(made.name)} ({clean(made.display_name)}) installed.",
        )
        return exits.DONE
    if arguments.action == "remove":
        gone = [kernelspecs.remove(name) for name in arguments.name]
        words = "\n".join(f"Kernel {clean(one.name)} removed." for one in gone)
        show(
            {"kind": "KernelspecList", "version": 1, "removed": [one.as_dict() for one in gone]},
            arguments.output,
            words,
        )
        return exits.DONE
    found = kernelspecs.installed()
    rows = [(one.name, one.display_name, one.tier or "any GPU", one.folder) for one in found]
    document = {"kind": "KernelspecList", "version": 1, "kernelspecs": [one.as_dict() for one in found]}
    words = (
        table(rows, ("NAME", "SHOWN AS", "TIER", "FOLDER")) if rows else "No kernels per tier are installed."
    )
    show(document, arguments.output, words)
    return exits.DONE
