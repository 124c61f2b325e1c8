"""``jupyter dra doctor``: what is wrong with this cluster for us, and the fix."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from .. import exits
from ..options import add_cluster, add_output
from ..output import clean, show


def configure(parser: argparse.ArgumentParser) -> None:
    add_cluster(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    report = asyncio.run(_examine(arguments))
    show(report, arguments.output, _in_words(report))
    return exits.DONE if report["good"] else exits.FINDINGS


async def _examine(arguments: argparse.Namespace) -> dict[str, Any]:
    from ...cluster import connect
    from ...doctor import examine

    async with await connect(arguments.context, arguments.kubeconfig, arguments.namespace) as client:
        report: dict[str, Any] = (await examine(client)).as_dict()
    return report


def _in_words(report: dict[str, Any]) -> str:
    lines = []
    for finding in report["findings"]:
        who = " (for your admin)" if finding["who"] == "admin" else ""
        lines.append(f"{finding['severity']}: {clean(finding['message'])} [{clean(finding['code'])}]")
        if finding["fix"]:
            lines.append(f"    → {clean(finding['fix'])}{who}")
    lines.append("Nothing to mend." if report["good"] else f"{len(report['findings'])} findings.")
    conformance = report["conformance"]
    if conformance["met"]:
        lines.append("The DRA part of Kubernetes AI Conformance is met.")
    else:
        lines.append(
            f"For Kubernetes AI Conformance is missing: {', '.join(map(clean, conformance['missing']))}."
        )
    return "\n".join(lines)
