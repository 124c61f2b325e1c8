"""`DeviceCard`: what this kernel holds, as widgets that can be refreshed and laid out with others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

import ipywidgets
from traitlets import Dict, Unicode

from . import held
from .card import device_card, facts_of, title_of, usage_line
from .plain import size, visible


class DeviceCard(ipywidgets.VBox):  # type: ignore[misc]
    """The device card; foreign text goes into plain labels only.

    Args:
        collect: where the facts come from; default: what can be read inside this kernel.

    Attributes:
        data: the card's JSON form (``card`` is device, mismatch or none).
        text: the card as plain text.
    """

    data = Dict(read_only=True)
    text = Unicode(read_only=True)

    def __init__(self, collect: Callable[[], Mapping[str, Any]] = held.collect, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.add_class("dra-device-card")
        self._collect = collect
        self._again = ipywidgets.Button(description="Read again", tooltip="Read the facts and figures again")
        self._again.on_click(lambda _button: self.refresh())
        self.refresh()

    def refresh(self) -> None:
        """Read everything again and show it."""
        facts = self._collect()
        card = device_card(facts)
        self.set_trait("data", card.data)
        self.set_trait("text", card.text)
        rows: list[Any] = [
            ipywidgets.Label(str(card.data["title"]), style={"font_weight": "bold"}),
            _named(ipywidgets.Label(str(card.data["subtitle"])), "dra-device-card-sub"),
            *_use(facts.get("usage")),
            *(_named(ipywidgets.Label(note), "dra-device-card-note") for note in card.data["notes"]),
        ]
        for device in facts.get("devices") or []:
            rows.append(_facts(device, several=len(facts["devices"]) > 1))
        self.children = [*rows, self._again]


def _named(widget: Any, name: str) -> Any:
    widget.add_class(name)
    return widget


def _use(usage: Any) -> list[Any]:
    """Memory and compute as bars, each with its figures; a sentence where there are none."""
    told: Mapping[str, Any] = usage if isinstance(usage, dict) else {}
    used, total, busy = (
        told.get(name) for name in ("memory_used_bytes", "memory_total_bytes", "utilisation_percent")
    )
    cells: list[Any] = []
    if _is_number(used) and _is_number(total) and total:
        words = f"{size(used)} of {size(total)} · {100 * used / total:.0f} %"
        cells += _meter("Memory", 100 * used / total, words)
    if _is_number(busy):
        cells += _meter("Compute", busy, f"{busy:.0f} %")
    if cells:
        layout = ipywidgets.Layout(grid_template_columns="max-content 1fr max-content", grid_gap="0 12px")
        return [_named(ipywidgets.GridBox(cells, layout=layout), "dra-device-card-meters")]
    line = usage_line(usage)
    return [ipywidgets.Label(f"Use: {line}")] if line else []


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _meter(name: str, percent: float, words: str) -> list[Any]:
    full = ipywidgets.Layout(width="100%")
    bar = ipywidgets.FloatProgress(value=min(100.0, max(0.0, percent)), min=0, max=100, layout=full)
    return [ipywidgets.Label(name), bar, ipywidgets.Label(words)]


def _facts(device: Mapping[str, Any], *, several: bool) -> Any:
    cells: list[Any] = []
    if several:
        cells += [ipywidgets.Label(visible(device.get("request") or "")), ipywidgets.Label(title_of(device))]
    for fact in facts_of(device):
        cells += [ipywidgets.Label(fact["name"]), ipywidgets.Label(fact["value"])]
    layout = ipywidgets.Layout(grid_template_columns="max-content 1fr", grid_gap="0 16px")
    return _named(ipywidgets.GridBox(cells, layout=layout), "dra-device-card-facts")
