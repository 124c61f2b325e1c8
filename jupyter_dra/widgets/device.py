"""`DeviceCard`: what this kernel holds, as widgets that can be refreshed and laid out with others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets
from traitlets import Dict, Unicode

from . import held
from .card import device_card, facts_of, title_of, usage_line
from .plain import visible


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
            ipywidgets.Label(str(card.data["subtitle"])),
        ]
        for device in facts.get("devices") or []:
            rows.append(_facts(device, several=len(facts["devices"]) > 1))
        usage = usage_line(facts.get("usage"))
        if usage:
            rows.append(ipywidgets.Label(f"Use: {usage}"))
        rows.extend(ipywidgets.Label(note) for note in card.data["notes"])
        self.children = [*rows, self._again]


def _facts(device: Mapping[str, Any], *, several: bool) -> Any:
    cells: list[Any] = []
    if several:
        cells += [ipywidgets.Label(visible(device.get("request") or "")), ipywidgets.Label(title_of(device))]
    for fact in facts_of(device):
        cells += [ipywidgets.Label(fact["name"]), ipywidgets.Label(fact["value"])]
    layout = ipywidgets.Layout(grid_template_columns="max-content 1fr", grid_gap="0 16px")
    return ipywidgets.GridBox(cells, layout=layout)
