"""``jupyter dra devices``: every device with its memory, state and holder."""

from __future__ import annotations

import argparse
from typing import Any

from .. import exits
from ..options import add_cluster, add_output
from ..output import show, table


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tier", metavar="NAME", help="only devices of this tier")
    parser.add_argument("--node", metavar="NAME", help="only devices of this node")
    add_cluster(parser, offline=True)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    from ..surroundings import open_surroundings

    with open_surroundings(arguments) as around:
        document = around.device_list(tier=arguments.tier, node=arguments.node)
    rows = [
        (
            ", ".join(device["nodes"]) if device["nodes"] is not None else "every node",
            device["name"],
            device["driver"],
            device["product"] or device["label"],
            _memory(device),
            device["state"],
            _holders(device["holders"]),
            "simulated" if device["simulated"] else "",
        )
        for device in document["devices"]
    ]
    head = ("NODE", "DEVICE", "DRIVER", "PRODUCT", "MEMORY", "STATE", "HOLDER", "NOTE")
    show(document, arguments.output, table(rows, head) if rows else "No devices published.")
    return exits.DONE


def _holders(holders: list[dict[str, Any]]) -> str:
    named = [f"{one['namespace']}/{one['claim']}" for one in holders[:2] if one.get("claim")]
    more = len(holders) - len(named)
    return ", ".join([*named, *([f"and {more} more"] if more > 0 and named else [])])


def _memory(device: dict[str, Any]) -> str | None:
    """The size as on the card, as in the list of tiers."""
    from ...planner.naming import size_label

    return size_label(device["memory_bytes"], device["product"])
