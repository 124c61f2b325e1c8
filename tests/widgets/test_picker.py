"""The picker takes every field of the vocabulary, with or without a control of its own."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from jupyter_dra.claims import Requirement
from jupyter_dra.widgets import DRAPicker
from jupyter_dra.widgets.card import MIME
from jupyter_dra.widgets.picker import FIELDS, MORE
from jupyter_dra.widgets.pickerchips import chips
from jupyter_dra.widgets.pickerform import PickerForm
from jupyter_dra.widgets.pickertiers import (
    Column,
    Limits,
    any_option,
    memory_columns,
    offered,
    price_of,
    signs,
    tier_option,
)
from jupyter_dra.widgets.verdicts import head_of, sentence_of


def test_every_requirement_field_can_be_given_by_code_and_shows_in_the_words() -> None:
    assert {*FIELDS, *MORE} == {one.name for one in fields(Requirement) if one.init} - {"claim", "name"}
    picker = DRAPicker(
        tier="high-memory-gpu", compute_capability=">=9.0", near=[{"tier": "rdma-nic"}], align="numaNode"
    )
    assert picker.requirement == Requirement(
        tier="high-memory-gpu", compute_capability=">=9.0", near=[{"tier": "rdma-nic"}], align="numaNode"
    )
    assert "--align numaNode" in picker._form.magic.value


def tier(name: str, *sizes: tuple[str, int, int], **more: Any) -> dict[str, Any]:
    listed = [
        {
            "label": label,
            "min_bytes": int(label.split()[0]) * 10**9,
            "max_bytes": int(label.split()[0]) * 10**9,
            "devices": devices,
            "free": free,
        }
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


def test_a_tier_without_the_asked_memory_says_so() -> None:
    assert tier_option(tier("Small", ("24 GB", 4, 3)), Limits.of("40GB", "")).endswith("too small")
    assert tier_option(tier("Large", ("80 GB", 4, 3)), Limits.of("", "40 GB")).endswith("too large")
    assert Limits.of("eighty", "") == Limits()


def test_signs_tell_what_fits_what_is_free_taken_and_out_of_service() -> None:
    row = tier("Any", ("24 GB", 4, 3), ("80 GB", 4, 2), out_of_service=1)
    assert signs(row, Limits.of("40GB", "")) == [
        ("fits", "▮▮"),
        ("free", "▯▯▯"),
        ("taken", "▪▪"),
        ("out", "×"),
    ]
    assert signs({**row, "exclusive_parts": True}, Limits()) == []
    many = signs(tier("Many", ("80 GB", 400, 100)), Limits())
    assert [(look, len(text)) for look, text in many] == [("fits", 5), ("taken", 15)]


def test_any_gpu_says_how_many_are_free_of_all() -> None:
    assert any_option(tier("", ("24 GB", 18, 9))) == "Any GPU · 9 of 18 free\nsmallest first"
    assert any_option(None) == "Any GPU\nsmallest first"


def test_a_size_in_two_tiers_is_one_column_and_sizes_stand_in_order() -> None:
    tiers = [tier("a", ("80 GB", 12, 5)), tier("b", ("24 GB", 4, 3), ("80 GB", 4, 1))]
    columns = memory_columns(tiers, Limits.of("40GB", ""))
    assert columns == [Column("24 GB", 4, 3, fits=False), Column("80 GB", 12, 5)]
    form = PickerForm()
    form.show_columns(columns)
    assert [option for option, _ in form.size.options] == ["any", "24 GB", "80 GB"]
    assert [column.children[0].value for column in form.scale.children[1:]] == ["3", "5"]
    assert ["dra-mod-unfit" in column._dom_classes for column in form.scale.children[1:]] == [True, False]


def test_the_thumb_and_the_field_say_the_same_size() -> None:
    picker = DRAPicker(vram="80GB")
    picker._form.show_columns([Column("24 GB", 4, 3), Column("80 GB", 12, 5)])
    picker._show_size()
    assert picker._form.size.value == "80GB"
    picker._form.size.value = "24GB"
    assert picker.vram == "24GB"
    picker.vram = "30 GB"
    assert picker._form.size.value == "24GB"
    picker._form.size.value = ""
    assert picker.vram == ""


def test_each_further_condition_is_a_chip_that_a_press_removes() -> None:
    picker = DRAPicker(
        vram="80GB", count=2, compute_capability=">=8.0", near=[{"tier": "rdma-nic"}], align="numaNode"
    )
    assert [button.description for button in picker._form.chips.children] == [
        "2 devices ✕",
        "Ampere or newer ✕",
        "rdma-nic, same NUMA node ✕",
        "+ condition",
    ]
    picker._form.chips.children[2].click()
    assert picker.near is None and picker.align is None
    picker._form.chips.children[1].click()
    assert picker.requirement == Requirement(vram="80GB", count=2)
    picker._form.chips.children[-1].click()
    assert picker._form.more.selected_index == 0


def test_conditions_are_named_as_people_say_them() -> None:
    wish = Requirement(
        product=["H100", "A100"],
        where=["true", "true"],
        share={"profile": "2g.10gb"},
        tolerate=[{"key": "x"}],
    )
    assert [words for _field, words in chips(wish)] == [
        "H100, A100",
        "2 own conditions",
        "part 2g.10gb",
        "marked devices accepted",
    ]


def test_the_price_is_that_of_what_is_likely_taken() -> None:
    price = {"amount": "1.10", "currency": "EUR", "per": "hour"}
    tiers = [
        tier("medium", ("40 GB", 2, 1), device_class="medium-gpu", price=price),
        tier("free", ("80 GB", 1, 1)),
    ]
    request = {"name": "gpu", "firstAvailable": [{"name": "1", "deviceClassName": "medium-gpu"}]}
    node = {"likely": True, "devices": [{"request": "gpu/1"}]}
    plan = {"requirement": {}, "nodes": [node], "claim": {"spec": {"devices": {"requests": [request]}}}}
    assert price_of(plan, tiers) == "€1.10/h"
    assert price_of({"requirement": {"tier": "free"}, "nodes": []}, tiers) == ""


def test_the_request_stands_as_code_and_as_a_line() -> None:
    picker = DRAPicker(vram="80GB", compute_capability=">=9.0")
    assert picker._form.code.value == ('Requirement(\n    vram="80GB",\n    compute_capability=">=9.0",\n)')
    assert picker._form.magic.value == "%dra launch --vram 80GB --compute-capability '>=9.0'"


def test_verdicts_have_the_words_of_the_panel() -> None:
    counts = {"matching": 8, "free": 6, "free_at_most": 6, "matching_nodes": 1}
    device = {"label": "A100 40 GB", "device": "gpu-1"}
    nodes = [{"name": "n", "likely": True, "devices": [device]}]
    fits = {"verdict": "fits", "counts": counts, "nodes": nodes}
    assert (
        head_of(fits) + " · " + sentence_of(fits)
        == "Fits now · 6 devices on 1 node. Likely an A100 40 GB on n."
    )
    assert sentence_of({"verdict": "busy", "counts": counts}) == "8 devices would fit, none is free."
    hidden = {"verdict": "unknown", "counts": {**counts, "free": None, "free_at_most": 5}}
    assert sentence_of(hidden) == "8 devices match, at most 5 free. Launching tells."
    assert sentence_of({"verdict": "impossible"}) == "No node has this, even with everything free."


def request_of(picker: DRAPicker) -> dict[str, Any]:
    """What the page is offered to launch."""
    (output,) = picker._form.page.outputs
    assert output["data"]["text/plain"] == ""
    found: dict[str, Any] = output["data"][MIME]
    return found


def test_the_page_is_offered_the_request_with_its_code_and_the_verdict_of_its_plan() -> None:
    picker = DRAPicker(vram="40GB", image="evil:1", env={"TOKEN": "x"})
    asked = request_of(picker)
    assert asked["requirement"] == {"vram": "40GB"} and asked["verdict"] is None
    assert asked["code"].startswith("Requirement(") and 'vram="40GB"' in asked["code"]
    picker._show_plan({"verdict": "busy", "counts": {"matching": 2}, "nodes": []})
    assert request_of(picker)["verdict"] == "busy"
    picker.vram = "forty"
    assert request_of(picker)["verdict"] == "invalid" and request_of(picker)["requirement"] == {}


def test_a_plan_that_is_not_allowed_says_so_before_what_is_free_and_blocks_launch() -> None:
    picker = DRAPicker(vram="40GB")
    counts = {"matching": 2, "free": 2, "free_at_most": 2, "matching_nodes": 1}
    params = {
        "quota": "gpus",
        "resource": "x.deviceclass.resource.k8s.io/devices",
        "hard": 2,
        "used": 2,
        "asked": 1,
    }
    refused = {"can": "no", "code": "quota", "params": params}
    picker._show_plan({"verdict": "fits", "counts": counts, "nodes": [], "launch": refused})
    assert picker._form.verdict.value == "Your team's limit is reached"
    assert picker._form.body.value.startswith("Quota gpus allows 2 x.deviceclass")
    assert picker._form.launch.disabled
    params = {"message": "1 device of tpu is not offered.", "next": "Ask for 8."}
    picker._show_plan(
        {
            "verdict": "fits",
            "counts": counts,
            "nodes": [],
            "launch": {**refused, "code": "policy", "params": params},
        }
    )
    assert picker._form.verdict.value == "Not allowed for you"
    assert picker._form.body.value == "1 device of tpu is not offered. Ask for 8."
