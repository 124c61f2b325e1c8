"""``jupyter dra local``: the local cluster."""

from __future__ import annotations

import argparse

from .. import exits
from ..options import add_output
from ..output import clean, show


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="up|down|status")
    up = actions.add_parser("up", help="start it, or say that it runs")
    up.add_argument(
        "--devices",
        nargs="+",
        default=[],
        metavar="NAME|FILE",
        help="inventories: packaged names (default, dgx-h100, l4, tpu, …), YAML files, or host for this machine's GPUs",
    )
    up.add_argument(
        "--missing-image", action="append", default=[], metavar="GLOB", help="images that fail to pull"
    )
    up.add_argument("--state", metavar="FILE", help="keep the cluster's objects in this file over restarts")
    up.add_argument("--workdir", metavar="DIR", help="working directory of the pods (default: here)")
    up.add_argument("--allow-root", action="store_true", help="run as root, pods included")
    down = actions.add_parser("down", help="stop it; nothing stays")
    status = actions.add_parser("status", help="what runs; exit status 1 when nothing does")
    for action in (up, down, status):
        action.add_argument("--name", default="default", help="which local cluster (default: default)")
        add_output(action)


def run(arguments: argparse.Namespace) -> int:
    from ...localcluster import lifecycle

    if arguments.action == "up":
        options = lifecycle.UpOptions(
            name=arguments.name,
            devices=tuple(arguments.devices),
            missing_images=tuple(arguments.missing_image),
            state_file=arguments.state,
            workdir=arguments.workdir,
            allow_root=arguments.allow_root,
        )
        status = lifecycle.up(options)
    elif arguments.action == "down":
        stopped = lifecycle.down(arguments.name)
        show(
            {
                "kind": "LocalCluster",
                "version": 1,
                "running": False,
                "name": arguments.name,
                "stopped": stopped,
            },
            arguments.output,
            f"Local cluster {clean(arguments.name)} stopped." if stopped else "No local cluster runs.",
        )
        return exits.DONE if stopped else exits.FINDINGS
    else:
        status = lifecycle.status(arguments.name)
    show(status, arguments.output, _in_words(status))
    return exits.DONE if status["running"] else exits.FINDINGS


def _in_words(status: dict[str, object]) -> str:
    if not status["running"]:
        return "No local cluster runs. Start one: jupyter dra local up"
    simulated = ", simulated" if status["simulated"] else ""
    named = "" if status["name"] == "default" else f" --name {clean(status['name'])}"
    nodes = "node" if status["nodes"] == 1 else "nodes"
    size = f"{status['devices']} devices on {status['nodes']} {nodes}"
    version = f"Kubernetes {clean(status['kubernetes_version'])}, pid {status['pid']}"
    return "\n".join(
        (
            f"Local cluster {clean(status['name'])}: {size}{simulated}.",
            f"  API server  {clean(status['server'])} ({version})",
            f"  kubectl     kubectl --kubeconfig {clean(status['kubeconfig'])} get resourceslices",
            f"  stop it     jupyter dra local down{named}",
        )
    )
