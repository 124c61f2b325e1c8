"""The picker's look: tiers, memory and further wishes on the left, verdict, code and launch on the right.

Core widgets only, so that it works in every front end; class names let JupyterLab's panel style it like itself. Foreign
text goes into labels and options, which show text and never markup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ipywidgets
from ipywidgets import Layout

from ..planner.naming import price_label, short_product
from .plain import visible

ANY = "Any GPU"
_WIDE = Layout(width="100%")
_COLUMN = Layout(flex="1 1 300px", min_width="0")


# Kinds that are chosen for themselves, in the order of the list; companions such as network cards are not.
_KINDS = ("gpu", "part", "tpu", "other")


def offered(tiers: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """What the list shows: named tiers where there are any, whole devices by memory first, then parts, then others."""
    shown = [tier for tier in tiers if not tier["hidden"] and tier["device_kind"] in _KINDS]
    named = [tier for tier in shown if tier["display_name"]]

    def place(tier: Mapping[str, Any]) -> tuple[int, int]:
        sizes = [size["min_bytes"] for size in tier.get("sizes") or []]
        return _KINDS.index(tier["device_kind"]), max(sizes or [0])

    return sorted(named or shown, key=place)


def _product(name: str) -> str:
    return visible(short_product(name) or name, 40)


def tier_option(tier: Mapping[str, Any]) -> str:
    """Two lines: the name with what is free, then what it is. Front ends without our style show them as one."""
    facts = [
        _sizes(tier),
        ", ".join(dict.fromkeys(_product(one["name"]) for one in (tier.get("products") or [])[:3])),
        _price(tier.get("price")),
    ]
    name = visible(tier["display_name"] or tier["name"], 60)
    free = free_words(tier)
    first = f"{name} · {free}" if free else name
    second = " · ".join(fact for fact in facts if fact)
    return f"{first}\n{second}" if second else first


def free_words(tier: Mapping[str, Any]) -> str:
    """How many are free, and how that is known; nothing where it is not."""
    total, free, most = tier.get("devices"), tier.get("free"), tier.get("free_at_most")
    if not total or most is None:
        return ""
    if tier.get("exclusive_parts"):
        return f"up to {most:,} free"
    return f"{free:,} of {total:,} free" if free is not None else f"at most {most:,} of {total:,} free"


def _sizes(tier: Mapping[str, Any]) -> str:
    labels = [visible(size["label"], 20) for size in tier.get("sizes") or []]
    if len(labels) < 2:
        return labels[0] if labels else ""
    return f"{labels[0].removesuffix(' GB')}–{labels[-1]}"


def _price(price: Mapping[str, Any] | None) -> str:
    return f"{visible(price_label(price), 20)}/h" if price else ""


def memory_sizes(tiers: Sequence[Mapping[str, Any]]) -> list[tuple[str, int, int]]:
    """Label, number and free of each size that exists, smallest first; a size in two tiers counts once."""
    found: dict[str, tuple[int, int, int]] = {}
    for tier in tiers:
        for size in tier.get("sizes") or []:
            free = size["free_at_most"] if size.get("free") is None else size["free"]
            row = (size["min_bytes"], size["devices"], free or 0)
            found[size["label"]] = max(row, found.get(size["label"], row), key=lambda one: one[1])
    ordered = sorted(found.items(), key=lambda one: one[1][0])
    return [(visible(label, 20), devices, free) for label, (_, devices, free) in ordered]


class PickerForm:
    """The widgets of one picker and their places."""

    def __init__(self) -> None:
        self.tier = ipywidgets.RadioButtons(options=[(ANY, "")], layout=_WIDE)
        self.vram = _text("at least", "any")
        self.most = _text("at most", "any")
        self.scale = ipywidgets.HBox()
        self.size = ipywidgets.SelectionSlider(
            options=[("any", "")], description="", readout=False, layout=_WIDE
        )
        self.count = ipywidgets.BoundedIntText(1, min=1, max=32, description="How many", layout=_WIDE)
        self.product = _text("Product", "H100, A100")
        self.family = _text("Generation", "Hopper")
        self.verdict = ipywidgets.Label("", style={"font_weight": "bold"})
        self.body = ipywidgets.Label("")
        self.why = ipywidgets.VBox()
        self.code = ipywidgets.Textarea(disabled=True, rows=4, layout=_WIDE)
        self.claim = ipywidgets.Textarea(disabled=True, layout=Layout(width="100%", height="12em"))
        self.magic = ipywidgets.Text(disabled=True, layout=_WIDE)
        self.launch = ipywidgets.Button(description="Launch", button_style="primary", layout=_WIDE)
        self.state = ipywidgets.Label("")
        for widget, name in (
            (self.tier, "dra-picker-tiers"),
            (self.scale, "dra-picker-scale"),
            (self.code, "dra-picker-code"),
            (self.claim, "dra-picker-code"),
            (self.body, "dra-picker-body"),
        ):
            widget.add_class(name)
        self.size.add_class("dra-picker-thumb")

    def root(self) -> ipywidgets.Box:
        """Two columns, one below the other where there is little room."""
        more = ipywidgets.Accordion(
            [ipywidgets.VBox([self.count, self.product, self.family])], titles=("More",), selected_index=None
        )
        memory = ipywidgets.HBox([self.vram, self.most], layout=Layout(flex_flow="row wrap"))
        left = ipywidgets.VBox(
            [_head("Tier"), self.tier, _head("Memory of each device"), memory, self.scale, self.size, more],
            layout=_COLUMN,
        )
        details = ipywidgets.Accordion(
            [self.claim, self.magic], titles=("Claim", "As a line of %dra"), selected_index=None
        )
        right = ipywidgets.VBox(
            [
                ipywidgets.VBox([self.verdict, self.body]),
                self.why,
                _head("As code"),
                self.code,
                self.launch,
                self.state,
                details,
            ],
            layout=_COLUMN,
        )
        box = ipywidgets.Box([left, right], layout=Layout(flex_flow="row wrap", width="100%"))
        box.add_class("dra-picker-columns")
        return box

    def show_sizes(self, sizes: Sequence[tuple[str, int, int]]) -> None:
        """One column per size that exists: how many are free above it, its size below, and a slider under all."""
        most = max([devices for _, devices, _ in sizes] or [1])
        self.scale.children = [_size_column(label, devices, free, most) for label, devices, free in sizes]
        self.size.options = [("any", ""), *[(label, label.replace(" ", "")) for label, _, _ in sizes]]


def _text(description: str, placeholder: str) -> ipywidgets.Text:
    layout = Layout(width="100%", max_width="16em")
    return ipywidgets.Text(
        description=description, placeholder=placeholder, layout=layout, continuous_update=False
    )


def _head(words: str) -> ipywidgets.Label:
    return ipywidgets.Label(words, style={"font_weight": "bold"})


def _size_column(label: str, devices: int, free: int, most: int) -> ipywidgets.VBox:
    bar = ipywidgets.IntProgress(
        value=free, min=0, max=most, orientation="vertical", layout=Layout(height="48px", width="24px")
    )
    bar.tooltip = f"{label}: {free:,} of {devices:,} free"
    column = ipywidgets.VBox(
        [ipywidgets.Label(f"{free:,}"), bar, ipywidgets.Label(label.removesuffix(" GB"))],
        layout=Layout(align_items="center", flex="1 1 0"),
    )
    column.add_class("dra-picker-size")
    return column
