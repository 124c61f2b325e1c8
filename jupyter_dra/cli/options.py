"""Options several commands share."""

from __future__ import annotations

import argparse


def add_output(parser: argparse.ArgumentParser, *forms: str) -> None:
    parser.add_argument(
        "-o",
        "--output",
        choices=forms or ("table", "json", "yaml"),
        default=(forms or ("table",))[0],
        help="form of the answer (default: %(default)s)",
    )


def add_cluster(parser: argparse.ArgumentParser, *, offline: bool = False) -> None:
    """``--context``, ``--kubeconfig``, ``--namespace``; with *offline* also ``--inventory``."""
    group = parser.add_argument_group("where to look")
    group.add_argument("--context", metavar="NAME", help='a kubeconfig context; "local" is the local cluster')
    group.add_argument("--kubeconfig", metavar="FILE", help="another kubeconfig")
    group.add_argument("-n", "--namespace", metavar="NAME", help="namespace (default: the context's)")
    if offline:
        group.add_argument(
            "--inventory",
            nargs="+",
            metavar="FILE",
            help="look at YAML or JSON files of slices, classes, claims, pods, nodes instead of a cluster",
        )
