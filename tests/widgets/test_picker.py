"""The picker takes every field of the vocabulary, with or without a control of its own."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from jupyter_dra.claims import Requirement
from jupyter_dra.widgets import DRAPicker
from jupyter_dra.widgets.picker import FIELDS, MORE
from jupyter_dra.widgets.pickerform import PickerForm, memory_sizes, offered, tier_option
from jupyter_dra.widgets.verdicts import head_of, sentence_of


def test_every_requirement_field_can_be_given_by_code_and_shows_in_the_words() -> None:
    assert {*FIELDS, *MORE} == {one.name for one in fields(Requirement)} - {"claim", "name"}
    picker = DRAPicker(
        tier="high-memory-gpu", compute_capability=">=9.0", near=[{"tier": "rdma-nic"}], align="numaNode"
    )
    assert picker.requirement == Requirement(
        tier="high-memory-gpu", compute_capability=">=9.0", near=[{"tier": "rdma-nic"}], align="numaNode"
    )
    assert "--align numaNode" in picker._form.magic.value


def tier(name: str, *sizes: tuple[str, int, int], **more: Any) -> dict[str, Any]:
    listed = [
        {"label": label, "min_bytes": int(label.split()[0]) * 10**9, "devices": devices, "free": free}
        for label, devices, free in sizes
    ]
    devices, free = sum(one[1] for one in sizes), sum(one[2] for one in sizes)
    facts = {
        "display_name": name,
        "hidden": False,
        "device_kind": "gpu",
        "products": [{"name": "NVIDIA H100", "devices": devices}],
        "price": None,
    }
    return {
        "name": name,
        "sizes": listed,
        "devices": devices,
        "free": free,
        "free_at_most": free,
        **facts,
        **more,
    }


def test_a_tier_says_what_is_free_and_what_it_is() -> None:
    price = {"amount": "2.90", "currency": "EUR", "per": "hour"}
    assert (
        tier_option(tier("Large", ("80 GB", 12, 5), price=price))
        == "Large · 5 of 12 free\n80 GB · H100 · €2.90/h"
    )
    assert tier_option(tier("Large", ("80 GB", 12, 5), free=None)).startswith("Large · at most 5 of 12 free")
    parts = tier("Parts", ("5 GB", 14, 6), ("20 GB", 2, 1), exclusive_parts=True)
    assert tier_option(parts) == "Parts · up to 7 free\n5–20 GB · H100"


def test_named_tiers_stand_by_memory_parts_after_them_and_companions_not_at_all() -> None:
    tiers = [
        tier("slices", ("20 GB", 2, 1), device_kind="part"),
        tier("large", ("80 GB", 12, 5)),
        tier("gpu.nvidia.com", ("80 GB", 16, 6), display_name=None),
        tier("small", ("24 GB", 4, 3)),
        tier("cards", device_kind="nic"),
        tier("secret", ("80 GB", 1, 1), hidden=True),
    ]
    assert [one["name"] for one in offered(tiers)] == ["small", "large", "slices"]
    assert [one["name"] for one in offered(tiers[2:3])] == ["gpu.nvidia.com"]


def test_a_size_in_two_tiers_is_one_column_and_sizes_stand_in_order() -> None:
    tiers = [tier("a", ("80 GB", 12, 5)), tier("b", ("24 GB", 4, 3), ("80 GB", 4, 1))]
    assert memory_sizes(tiers) == [("24 GB", 4, 3), ("80 GB", 12, 5)]
    form = PickerForm()
    form.show_sizes(memory_sizes(tiers))
    assert [option for option, _ in form.size.options] == ["any", "24 GB", "80 GB"]
    assert [column.children[0].value for column in form.scale.children] == ["3", "5"]


def test_the_thumb_and_the_field_say_the_same_size() -> None:
    picker = DRAPicker(vram="80GB")
    picker._form.show_sizes([("24 GB", 4, 3), ("80 GB", 12, 5)])
    picker._show_size()
    assert picker._form.size.value == "80GB"
    picker._form.size.value = "24GB"
    assert picker.vram == "24GB"
    picker.vram = "30 GB"
    assert picker._form.size.value == "24GB"
    picker._form.size.value = ""
    assert picker.vram == ""


def test_the_request_stands_as_code_and_as_a_line() -> None:
    picker = DRAPicker(vram="80GB", compute_capability=">=9.0")
    assert picker._form.code.value == 'Requirement(vram="80GB", compute_capability=">=9.0")'
    assert picker._form.magic.value == "%dra launch --vram 80GB --compute-capability '>=9.0'"


def test_verdicts_have_the_words_of_the_panel() -> None:
    counts = {"matching": 8, "free": 6, "free_at_most": 6, "matching_nodes": 1}
    device = {"label": "A100 40 GB", "device": "gpu-1"}
    nodes = [{"name": "n", "likely": True, "devices": [device]}]
    fits = {"verdict": "fits", "counts": counts, "nodes": nodes}
    assert (
        head_of(fits) + " · " + sentence_of(fits) == "Fits now · 6 devices on 1 node. Likely A100 40 GB on n."
    )
    assert sentence_of({"verdict": "busy", "counts": counts}) == "8 devices would fit, none is free."
    hidden = {"verdict": "unknown", "counts": {**counts, "free": None, "free_at_most": 5}}
    assert sentence_of(hidden) == "8 devices match, at most 5 free. Launching tells."
    assert sentence_of({"verdict": "impossible"}) == "No node has this, even with everything free."
