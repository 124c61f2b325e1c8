"""Sessions that nobody keeps any more: their kernels ended or never came, their objects are still there. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..claims import labels
from .chart import Chart
from .findings import Finding

_SHOWN = 5
_FIX = (
    "The owner's next Jupyter server gives them back by itself; else `jupyter dra sessions --orphans` lists them and "
    "`jupyter dra stop ID --force` ends them."
)


def left_behind(chart: Chart) -> Iterator[Finding]:
    """Sessions of the namespace whose pods are all over, and claims of ours that no pod uses."""
    pods: dict[str, list[Mapping[str, Any]]] = {}
    for pod in chart.pods or []:
        name = (pod["metadata"].get("labels") or {}).get(labels.SESSION)
        if name:
            pods.setdefault(str(name), []).append(pod)
    over = {name for name, members in pods.items() if all(map(_is_over, members))}
    holding = set()
    for claim in chart.claims or []:
        name = (claim["metadata"].get("labels") or {}).get(labels.SESSION)
        if not name or claim["metadata"].get("namespace") != chart.namespace or chart.pods is None:
            continue
        if name not in pods and not claim["metadata"].get("deletionTimestamp"):
            over.add(str(name))
        if name in over and (claim.get("status") or {}).get("allocation"):
            holding.add(str(name))
    if not over:
        return
    names = ", ".join(sorted(over)[:_SHOWN]) + (" …" if len(over) > _SHOWN else "")
    devices = f" {len(holding)} of them still hold devices." if holding else ""
    yield Finding(
        "left-behind",
        "warning" if holding else "hint",
        "sessions",
        f"{len(over)} sessions in {chart.namespace} were left behind: {names}.{devices}",
        _FIX,
        "you",
    )


def _is_over(pod: Mapping[str, Any]) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
