"""``jupyter dra tiers``: what the cluster offers."""

from __future__ import annotations

import argparse

from .. import exits
from ..options import add_cluster, add_output
from ..output import free_text, show, table


def configure(parser: argparse.ArgumentParser) -> None:
    add_cluster(parser, offline=True)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    from ..surroundings import open_surroundings

    with open_surroundings(arguments) as around:
        document = around.tier_list()
    rows = [
        (
            tier["name"],
            tier["display_name"] or "",
            tier["device_kind"],
            ", ".join(size["label"] for size in tier["sizes"]) or "not stated",
            f"{free_text(tier['free'], tier['free_at_most'])} of {tier['devices']}",
            tier["nodes"],
            _price(tier["price"]),
            "" if tier["available"] else tier["why_not"] or "not available",
        )
        for tier in document["tiers"]
        if not tier["hidden"]
    ]
    head = ("TIER", "NAME", "KIND", "MEMORY", "FREE", "NODES", "PRICE", "NOTE")
    show(
        document, arguments.output, table(rows, head) if rows else "No tiers: the cluster has no DeviceClass."
    )
    return exits.DONE


def _price(price: dict[str, str] | None) -> str:
    return f"{price['amount']} {price['currency']}/{price['per']}" if price else ""
