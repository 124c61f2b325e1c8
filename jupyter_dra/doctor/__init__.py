"""What is wrong with a cluster for this product, and how to mend it."""

from __future__ import annotations

from ..cluster import KubeClient
from .chart import Chart, draw
from .examinations import ALL, conformance
from .findings import Finding, Report, in_order

__all__ = ["Chart", "Finding", "Report", "diagnose", "examine"]


async def examine(client: KubeClient) -> Report:
    """Look at a cluster as this user; raises ClusterError only when it cannot be reached."""
    return diagnose(await draw(client))


def diagnose(chart: Chart) -> Report:
    """The report on what was seen. Pure."""
    findings = [finding for examination in ALL for finding in examination(chart)]
    facts = {
        "server_version": chart.version.git,
        "namespace": chart.namespace,
        "slices": None if chart.slices is None else len(chart.slices),
        "classes": None if chart.classes is None else len(chart.classes),
    }
    return Report(in_order(findings), conformance(chart), facts)
