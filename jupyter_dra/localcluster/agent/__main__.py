"""``python -m jupyter_dra.localcluster.agent``: the process kubelet as a program of its own.

It prints one JSON line when its nodes are Ready and ends its pods on SIGTERM, when its standard input closes (with
``--lifeline``), and, through the guard, when it is killed.
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from pathlib import Path

from jupyter_dra.localcluster.agent.guard import start_guard, tell_guard


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if os.name == "posix" and os.geteuid() == 0 and not options.allow_root:
        print(
            "The node agent runs pods with its own rights, so not as root; --allow-root overrides.",
            file=sys.stderr,
        )
        return 2
    options.mark = options.mark or secrets.token_hex(4)
    guard = start_guard(f"{options.mark}/")
    from jupyter_dra.localcluster.agent.service import serve  # after the fork: the guard stays small

    return serve(options, lambda folder: tell_guard(guard, folder))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="jupyter-dra-agent", description=__doc__)
    parser.add_argument(
        "--kubeconfig", required=True, type=Path, help="how to reach the API server; waited for"
    )
    parser.add_argument("--context", help="context of the kubeconfig (default: its current one)")
    parser.add_argument("--inventory", action="append", default=[], help="packaged name, YAML file, or host")
    parser.add_argument("--dir", required=True, type=Path, help="folder of the pods' files (0700)")
    parser.add_argument("--tls-cert", required=True, type=Path, help="certificate of the kubelet port")
    parser.add_argument("--tls-key", required=True, type=Path, help="its key")
    parser.add_argument(
        "--client-ca", required=True, type=Path, help="CA of the API server's client certificate"
    )
    parser.add_argument("--listen", default="127.0.0.1", help="address of the kubelet port")
    parser.add_argument("--port", type=int, default=0, help="kubelet port (default: any)")
    parser.add_argument("--workdir", type=Path, help="where containers start")
    parser.add_argument(
        "--missing-image", action="append", default=[], help="glob of images that fail to pull"
    )
    parser.add_argument("--pull-seconds", type=float, default=0.0, help="how long a pull takes")
    parser.add_argument("--mark", help="mark in the environment of the pods' processes")
    parser.add_argument(
        "--install-kubeconfig",
        type=Path,
        help="an admin's kubeconfig; the inventory's classes are created with it",
    )
    parser.add_argument("--lifeline", action="store_true", help="end when standard input closes")
    parser.add_argument("--lease-seconds", type=float, default=10.0, help="how often node leases are renewed")
    parser.add_argument(
        "--wait-seconds", type=float, default=30.0, help="how long to wait for the kubeconfig"
    )
    parser.add_argument("--lease-duration", type=int, default=40, help="seconds a node lease is valid")
    parser.add_argument("--allow-root", action="store_true", help="run as root, pods too")
    return parser


if __name__ == "__main__":
    sys.exit(main())
