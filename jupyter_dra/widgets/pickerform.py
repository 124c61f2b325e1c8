"""The picker's look: tiers, memory and further wishes on the left, verdict, code and launch on the right.

Core widgets only, so that it works in every front end; class names let JupyterLab's panel style it like itself. Only
the page can copy, and move its notebook to another kernel: where our extension draws cards, one takes the place of
code and launch button. Foreign text goes into labels and options, which show text and never markup.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ipywidgets
from ipywidgets import Layout

from .card import MIME, VERSION
from .pickertiers import ANY, Column

_WIDE = Layout(width="100%")
_COLUMN = Layout(flex="1 1 300px", min_width="0")
# Drawn only where our style lines them up with the rows; elsewhere the words of the rows say the same.
_OURS = Layout(display="none")
FACES = ("fits", "busy", "impossible", "invalid", "unknown")
_BAR, _LEAST = 40, 8


class PickerForm:
    """The widgets of one picker and their places."""

    def __init__(self) -> None:
        self.tier = ipywidgets.RadioButtons(options=[(ANY, "")], layout=_WIDE)
        self.signs = ipywidgets.VBox(layout=_OURS)
        self.vram = _text("at least", "any")
        self.most = _text("at most", "any")
        self.scale = ipywidgets.HBox()
        self.size = ipywidgets.SelectionSlider(
            options=[("any", "")], description="", readout=False, layout=Layout(width="auto")
        )
        self.chips = ipywidgets.HBox(layout=Layout(flex_flow="row wrap"))
        self.count = ipywidgets.BoundedIntText(1, min=1, max=32, description="How many", layout=_WIDE)
        self.product = _text("Product", "H100, A100")
        self.family = _text("Generation", "Hopper")
        self.more = ipywidgets.Accordion(
            [ipywidgets.VBox([self.count, self.product, self.family])], titles=("More",), selected_index=None
        )
        self.verdict = ipywidgets.Label("", style={"font_weight": "bold"})
        self.price = ipywidgets.Label("")
        self.body = ipywidgets.Label("")
        self.why = ipywidgets.VBox()
        self.code = ipywidgets.Textarea(disabled=True, rows=4, layout=_WIDE)
        self.claim = ipywidgets.Textarea(disabled=True, layout=Layout(width="100%", height="12em"))
        self.magic = ipywidgets.Text(disabled=True, layout=_WIDE)
        self.launch = ipywidgets.Button(description="Launch", button_style="primary", layout=_WIDE)
        self.page = ipywidgets.Output()
        self.state = ipywidgets.Label("")
        self._code_head = _head("As code")
        for plain in (self._code_head, self.code, self.launch):
            plain.add_class("dra-picker-plain")
        for widget, name in (
            (self.tier, "dra-picker-tiers"),
            (self.signs, "dra-picker-signs"),
            (self.scale, "dra-picker-scale"),
            (self.size, "dra-picker-thumb"),
            (self.chips, "dra-picker-chips"),
            (self.verdict, "dra-picker-verdict"),
            (self.price, "dra-picker-price"),
            (self.body, "dra-picker-body"),
            (self.code, "dra-picker-code"),
            (self.claim, "dra-picker-code"),
            (self.page, "dra-picker-page"),
        ):
            widget.add_class(name)

    def root(self) -> ipywidgets.Box:
        """Two columns, one below the other where there is little room."""
        memory = ipywidgets.HBox([self.vram, self.most], layout=Layout(flex_flow="row wrap"))
        left = ipywidgets.VBox(
            [
                _head("Tier"),
                _named(ipywidgets.Box([self.tier, self.signs], layout=_WIDE), "dra-picker-rows"),
                _head("Memory of each device"),
                memory,
                self.scale,
                self.size,
                self.chips,
                self.more,
            ],
            layout=_COLUMN,
        )
        details = ipywidgets.Accordion(
            [self.claim, self.magic], titles=("Claim", "As a line of %dra"), selected_index=None
        )
        head = ipywidgets.HBox([self.verdict, self.price], layout=Layout(justify_content="space-between"))
        right = ipywidgets.VBox(
            [
                ipywidgets.VBox([head, self.body]),
                self.why,
                self._code_head,
                self.code,
                self.launch,
                self.page,
                self.state,
                details,
            ],
            layout=_COLUMN,
        )
        columns = ipywidgets.Box([left, right], layout=Layout(flex_flow="row wrap", width="100%"))
        return _named(columns, "dra-picker-columns")

    def show_signs(self, rows: Sequence[Sequence[tuple[str, str]]]) -> None:
        """One line of signs per tier, in the order of the list."""
        self.signs.children = [_sign_row(row) for row in rows]

    def show_columns(self, columns: Sequence[Column]) -> None:
        """One column per size that exists: how many are free above it, its size below, and a slider under all."""
        most = max([column.devices for column in columns] or [1])
        blank = ipywidgets.Label("", layout=Layout(flex="1 1 0"))
        self.scale.children = [blank, *(_size_column(column, most) for column in columns)]
        options = [("any", ""), *[(column.label, column.label.replace(" ", "")) for column in columns]]
        if list(self.size.options) != options:
            self.size.options = options
        # The thumb stands under the middle of its column.
        self.size.layout.margin = f"0 {50 / len(options):.2f}%"

    def show_chips(self, chips: Sequence[tuple[str, str]], remove: Callable[[str], None]) -> None:
        """The further conditions; a press removes one, the last chip opens the fields for more."""
        buttons = []
        for field, words in chips:
            button = _chip(f"{words} ✕", f"Remove: {words}")
            button.on_click(lambda _button, field=field: remove(field))
            buttons.append(button)
        add = _chip("+ condition", "More conditions")
        add.on_click(lambda _button: setattr(self.more, "selected_index", 0))
        self.chips.children = [*buttons, add]

    def show_request(self, wish: Mapping[str, Any], verdict: str | None) -> None:
        """What the page may launch for its notebook, after asking; front ends that draw no cards show nothing."""
        data = {
            "card": "request",
            "version": VERSION,
            "action": "launch",
            "compact": True,
            "requirement": dict(wish),
            "verdict": verdict,
            "code": self.code.value,
        }
        bundle = {MIME: data, "text/plain": ""}
        self.page.outputs = ({"output_type": "display_data", "data": bundle, "metadata": {}},)

    def show_face(self, verdict: str) -> None:
        """The icon beside the verdict, in JupyterLab."""
        for face in FACES:
            self.verdict.remove_class(f"dra-mod-{face}")
        if verdict in FACES:
            self.verdict.add_class(f"dra-mod-{verdict}")


def _named(box: ipywidgets.Box, name: str) -> ipywidgets.Box:
    box.add_class(name)
    return box


def _text(description: str, placeholder: str) -> ipywidgets.Text:
    layout = Layout(width="100%", max_width="16em")
    return ipywidgets.Text(
        description=description, placeholder=placeholder, layout=layout, continuous_update=False
    )


def _head(words: str) -> ipywidgets.Label:
    return ipywidgets.Label(words, style={"font_weight": "bold"})


def _chip(words: str, tooltip: str) -> ipywidgets.Button:
    button = ipywidgets.Button(description=words, tooltip=tooltip, layout=Layout(width="auto"))
    button.add_class("dra-picker-chip")
    return button


def _sign_row(row: Sequence[tuple[str, str]]) -> ipywidgets.HBox:
    labels = []
    for look, text in row:
        label = ipywidgets.Label(text)
        label.add_class(f"dra-mod-{look}")
        labels.append(label)
    return ipywidgets.HBox(labels)


def _size_column(column: Column, most: int) -> ipywidgets.VBox:
    height = _LEAST + round(_BAR * column.devices / most)
    bar = ipywidgets.IntProgress(
        value=column.free,
        min=0,
        max=max(1, column.devices),
        orientation="vertical",
        layout=Layout(height=f"{height}px", width="20px"),
    )
    bar.tooltip = f"{column.label}: {column.free:,} of {column.devices:,} free"
    box = ipywidgets.VBox(
        [ipywidgets.Label(f"{column.free:,}"), bar, ipywidgets.Label(column.label.removesuffix(" GB"))],
        layout=Layout(align_items="center", flex="1 1 0", justify_content="flex-end"),
    )
    box.add_class("dra-picker-size")
    if column.exclusive:
        box.add_class("dra-mod-exclusive")
    if not column.fits:
        box.add_class("dra-mod-unfit")
    return box
