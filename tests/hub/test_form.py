"""The form's HTML: what is offered and preselected, and that nothing foreign is ever markup."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

import pytest

from jupyter_dra.errors import RequirementError
from jupyter_dra.hub.form import notes_only, render
from jupyter_dra.hub.markup import element, text
from jupyter_dra.hub.options import Rules, TierOffer, offers, options_from_form, read_image
from jupyter_dra.hub.prospects import Prospect, prospects
from jupyter_dra.planner import Inventory
from tests.planner.build import NVIDIA_CLASS, a100, device_class, h100, slice_of

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</style><script>alert(1)</script>",
    '" onmouseover="alert(1)',
    "' autofocus onfocus=alert(1) x='",
    "{{ 7*7 }}{% raw %}",
    "javascript:alert(1)",
    "<!--",
    "&lt;b&gt;",
    "\u202eevil\u0000",
    "__proto__",
]


class Page(HTMLParser):
    """Elements, attributes and texts of a page."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def inputs(self) -> dict[str | None, dict[str, str | None]]:
        return {attrs.get("value"): attrs for tag, attrs in self.elements if tag == "input"}

    def options(self, name: str) -> list[str | None]:
        """Values of the select of that name."""
        found: list[str | None] = []
        inside = False
        for tag, attrs in self.elements:
            if tag == "select":
                inside = attrs.get("name") == name
            elif tag == "option" and inside:
                found.append(attrs.get("value"))
        return found


def element_of(name: str, **changes: Any) -> dict[str, Any]:
    sizes = [
        {
            "label": label,
            "min_bytes": size * 10**9,
            "max_bytes": size * 10**9,
            "devices": 4,
            "free": free,
            "free_at_most": free,
        }
        for label, size, free in (("40 GB", 40, 0), ("80 GB", 80, 3))
    ]
    return {
        "name": name,
        "device_class": name,
        "display_name": None,
        "description": None,
        "hidden": False,
        "available": True,
        "why_not": None,
        "devices": 8,
        "free": 3,
        "free_at_most": 3,
        "exclusive_parts": False,
        "sizes": sizes,
        "products": [{"name": "NVIDIA H100", "devices": 8}],
        "price": {"amount": "2.90", "currency": "EUR", "per": "hour"},
        "most_on_one_node": 4,
        "limits": {"counts": None},
        "defaults": {},
        "groups": [],
        **changes,
    }


def rules(*entries: Any, elements: Any = None, groups: tuple[str, ...] = (), **more: Any) -> Rules:
    own = [TierOffer.from_config(one) for one in entries]
    found = elements or [element_of(one.name) for one in own]
    return Rules(offers(own, found, groups), **more)


def test_tiers_show_what_is_free_in_words() -> None:
    taken = {"free": 0, "free_at_most": 0}
    page = Page(
        render(
            rules(
                "a",
                "b",
                "c",
                elements=[element_of("a"), element_of("b", **taken), element_of("c", free=None)],
            )
        )
    )
    assert "3 of 8 free" in page.texts
    assert "all 8 taken" in page.texts
    assert "at most 3 of 8 free" in page.texts
    assert any("40 GB, 80 GB · H100 · €2.90 per hour" in one for one in page.texts)
    assert "CPU only" in page.texts


def test_a_tier_that_is_not_there_cannot_be_chosen_and_says_why() -> None:
    gone = element_of(
        "a", available=False, why_not="The class a does not exist on this cluster; there are: b."
    )
    page = Page(render(rules("a", elements=[gone])))
    assert "disabled" in page.inputs()["a"]
    assert any("does not exist on this cluster" in one for one in page.texts)


def test_numbers_are_those_the_admin_set() -> None:
    page = Page(
        render(
            rules(
                {"name": "a", "counts": [1]},
                {"name": "b", "counts": [1, 3]},
                {"name": "c", "counts": {"min": 1, "max": 16}},
                {"name": "d", "counts": "all"},
                "e",
            )
        )
    )
    assert page.options("dra-count--a") == []
    assert page.options("dra-count--b") == ["1", "3"]
    assert page.options("dra-count--c") == [str(one) for one in range(1, 17)]
    assert sum("more than any one node has" in one for one in page.texts) == 12
    assert page.options("dra-count--d") == []
    assert any("all devices of a node" in one for one in page.texts)
    assert page.options("dra-count--e") == ["1", "2", "3", "4"]


def test_counts_and_groups_written_on_a_class_hold_too() -> None:
    noted = [element_of("a", limits={"counts": [1, 2]}), element_of("b", groups=["vision"])]
    page = Page(render(rules("a", "b", elements=noted)))
    assert page.options("dra-count--a") == ["1", "2"]
    assert "b" not in page.inputs()
    assert "b" in Page(render(rules("a", "b", elements=noted, groups=("vision",)))).inputs()


def test_what_was_chosen_last_time_is_chosen_again() -> None:
    page = Page(render(rules("a", "b"), chosen={"tier": "b", "vram": "80GB", "count": "2"}))
    assert "checked" in page.inputs()["b"] and "checked" not in page.inputs()["none"]
    selected = {attrs["value"] for tag, attrs in page.elements if tag == "option" and "selected" in attrs}
    assert selected == {"80GB", "2"}


def two_sizes() -> list[dict[str, Any]]:
    """One class over two nodes with two cards of 40 GB and two of 80 GB."""
    small = slice_of("a100", [a100("gpu-0"), a100("gpu-1")])
    large = slice_of("h100", [h100("gpu-0"), h100("gpu-1")])
    return [device_class("gpu", NVIDIA_CLASS), small, large]


H100S = Prospect("fits", 8, 3, nodes=2, rooms=(2, 1), likely="H100 80 GB")


def verdict(*entries: Any, **now: Prospect) -> str:
    """What the form says of tier ``a``, of one floor of memory, before any script runs."""
    shown = rules(*entries or ("a",), elements=[element_of("a", most_on_one_node=8)])
    page = Page(render(shown, prospects={"a": {"": now.get("any", H100S)}}, chosen={"tier": "a"}))
    return "".join(
        page.texts[page.texts.index("How many" if entries else "Memory of the device, at least") :]
    )


def test_a_fitting_choice_names_its_devices_its_nodes_and_the_likely_one_without_a_script() -> None:
    assert "Fits now. 3 devices on 2 nodes, likely an H100 80 GB. The server holds it until" in verdict()
    single = Prospect("fits", 1, 1, nodes=1, rooms=(1,), likely="T4 16 GB")
    assert "Fits now. 1 device on 1 node, likely a T4 16 GB." in verdict(any=single)


def test_several_devices_are_judged_by_the_nodes_that_have_room_for_them() -> None:
    two = {"name": "a", "counts": [2, 4]}
    assert "Fits now. 1 node has 2 free devices, likely 2 × H100 80 GB. The server holds them" in verdict(two)
    elsewhere = Prospect("fits", 8, 3, nodes=2, rooms=(1, 2), likely="H100 80 GB")
    assert "Fits now. 1 node has 2 free devices. The server holds them" in verdict(two, any=elsewhere)
    scattered = Prospect("fits", 8, 3, nodes=3, rooms=(1, 1, 1), likely="H100 80 GB")
    assert "Too few on one node. 3 devices are free, but no node has more than 1. A server runs" in verdict(
        two, any=scattered
    )
    cut = Prospect("fits", 900, 300, nodes=300, rooms=(1,) * 50, whole=False, likely="H100 80 GB")
    assert "Fits now. There are nodes with 2 free devices. The server holds them" in verdict(two, any=cut)
    assert "Too few are free. 3 of 8 are free, 4 are asked for." in verdict({"name": "a", "counts": [4, 8]})
    assert "No node has more than 8 of these." in verdict(
        {"name": "a", "counts": [9, 16]}, any=Prospect("fits", 16, 16)
    )


def test_what_is_taken_hidden_or_unknown_is_not_promised() -> None:
    assert "All taken for now. 8 of 8 are in use." in verdict(any=Prospect("busy", 8, 0))
    unsure = Prospect("unknown", 8, 3, sure=False, nodes=2, rooms=(2, 1), likely="H100 80 GB")
    said = verdict(any=unsure)
    assert "At most 3 of 8 are free. The server waits for what it needs." in said and "likely" not in said
    assert "Not free together now." in verdict(any=Prospect("busy", 8, 3, nodes=1, rooms=(3,)))
    assert "Not known. What is free of a cannot be seen here" in verdict(any=Prospect("unknown", None))
    assert "Not possible here. No node has this" in verdict(any=Prospect("impossible", 0))


def test_the_script_finds_a_verdict_for_every_choice_the_page_offers() -> None:
    shown = rules("a", {"name": "b", "requirement": {"vram": "80GB"}}, {"name": "c", "counts": [2]})
    page = Page(render(shown, prospects={"a": {"": H100S, "40GB": H100S, "80GB": Prospect("impossible", 0)}}))
    data = json.loads(
        next(attrs["data-facts"] or "" for _, attrs in page.elements if attrs.get("data-facts"))
    )
    for name, tier in data["tiers"].items():
        floors = [""] if tier["settled"] else page.options("dra-vram")
        numbers = page.options(f"dra-count--{name}") or [str(tier["least"])]
        for floor in floors:
            for number in numbers:
                code, lead, rest = data["words"][tier["verdicts"][floor][number]]
                assert code in ("fits", "busy", "impossible", "none") and lead and isinstance(rest, str)
    assert data["words"][data["tiers"]["a"]["verdicts"]["80GB"]["1"]][2] == " No a has that memory."
    assert data["words"][data["none"]][1] == "No device."


def test_a_form_asks_one_plan_for_all_floors_that_shut_out_the_same_devices() -> None:
    inventory = Inventory.from_objects(two_sizes())
    asked = []
    outlook = inventory.outlook
    inventory.outlook = lambda wish, *more: asked.append(wish) or outlook(wish, *more)  # type: ignore[method-assign,func-returns-value]
    offered = offers(None, inventory.tiers(), ())
    found = prospects(inventory, offered, "default")
    assert [len(one) for one in found.values()] == [3]
    assert [wish.get("vram") for wish in asked] == [None, "80GB"]
    assert (
        found["gpu"]["40GB"]
        == found["gpu"][""]
        == Prospect("fits", 4, 4, nodes=2, rooms=(2, 2), likely="A100 40 GB")
    )
    assert found["gpu"]["80GB"].likely == "H100 80 GB" and found["gpu"]["80GB"].nodes == 1


def test_a_tier_that_gives_every_device_of_a_node_says_how_many_they_are() -> None:
    inventory = Inventory.from_objects(two_sizes())
    offered = offers([TierOffer.from_config({"name": "gpu", "counts": "all"})], inventory.tiers(), ())
    found = prospects(inventory, offered, "default")
    page = Page(render(Rules(offered), prospects=found, chosen={"tier": "gpu"}))
    assert any("4 devices on 2 nodes, likely 2 × A100 40 GB." in one for one in page.texts)


def test_what_a_tier_says_by_default_and_settles_is_in_its_verdict() -> None:
    inventory = Inventory.from_objects(two_sizes())
    entry = {"name": "gpu", "counts": [1, 2], "requirement": {"count": 2}}
    offered = offers(
        [TierOffer.from_config(entry)], [{**inventory.tiers()[0], "defaults": {"vram": "80GB"}}], ()
    )
    found = prospects(inventory, offered, "default")
    assert found["gpu"][""].likely == "H100 80 GB"
    page = Page(render(Rules(offered), prospects=found, chosen={"tier": "gpu"}))
    assert any("1 node has 2 free devices, likely 2 × H100 80 GB." in one for one in page.texts)


def test_no_tier_at_all_is_said() -> None:
    page = Page(render(Rules(allow_none=False)))
    assert any("No devices are offered to you here" in one for one in page.texts)


@pytest.mark.threat("T01")
@pytest.mark.parametrize("evil", HOSTILE)
def test_hostile_text_stays_text(evil: str) -> None:
    def page(word: str) -> Page:
        entry = {"name": word, "display_name": word, "description": word, "device_class": "x"}
        found = element_of(
            word,
            display_name=word,
            why_not=word,
            products=[{"name": word, "devices": 1}],
            price={"amount": word, "currency": word, "per": word},
            sizes=[{**one, "label": f"{word} {one['label']}"} for one in element_of("x")["sizes"]],
        )
        shown = rules(entry, elements=[found])
        now = {word: {"": Prospect("fits", 3, 3, nodes=1, rooms=(3,), likely=word)}}
        return Page(
            render(shown, prospects=now, chosen={"tier": word}, notes=[(word, word, word)])
            + notes_only([(word, word, word)])
        )

    shown, twin = page(evil), page("harmless")
    assert [tag for tag, _ in shown.elements] == [tag for tag, _ in twin.elements]
    assert [sorted(attrs) for _, attrs in shown.elements] == [sorted(attrs) for _, attrs in twin.elements]
    assert "".join(shown.texts).count(evil.replace("\u0000", "\ufffd")) >= 4 or "\u0000" in evil
    facts = next(attrs["data-facts"] for _, attrs in shown.elements if attrs.get("data-facts"))
    data = json.loads(facts or "")
    assert evil in data["words"][data["tiers"][evil]["verdicts"][""]["1"]][2]


@pytest.mark.threat("T01")
def test_the_writer_escapes_attributes_and_braces() -> None:
    assert element("a", text("<{x}>"), title="\"'<") == (
        '<a title="&quot;&#x27;&lt;">&lt;&#123;x&#125;&gt;</a>'
    )
    assert element("input", checked=True, disabled=False, value=None) == "<input checked>"


def test_a_posted_form_is_read_by_the_chosen_tier() -> None:
    posted = {
        "dra-tier": ["b"],
        "dra-vram": ["80GB"],
        "dra-count--a": ["1"],
        "dra-count--b": ["3"],
        "x": ["y"],
    }
    assert options_from_form(posted) == {"tier": "b", "vram": "80GB", "count": "3"}
    assert options_from_form({"dra-tier": ["none"], "dra-vram": ["80GB"], "dra-count--b": ["3"]}) == {
        "tier": "none"
    }
    assert options_from_form({"dra-tier": [b"a"], "dra-vram": [""]}) == {"tier": "a"}
    assert options_from_form({"dra-admin-access": ["1"]}) == {"admin_access": "1"}


def test_images_are_a_choice_only_where_there_are_several() -> None:
    images = ("cuda-notebook:2026.10", HOSTILE[0])
    page = Page(render(Rules(images=images), chosen={"image": HOSTILE[0]}))
    assert page.options("dra-image") == list(images)
    chosen = [attrs for tag, attrs in page.elements if tag == "option" and "selected" in attrs]
    assert [attrs["value"] for attrs in chosen] == [HOSTILE[0]]
    assert Page(render(Rules(images=images[:1]))).options("dra-image") == []


def test_an_image_is_taken_only_from_those_offered() -> None:
    options = options_from_form({"dra-tier": ["none"], "dra-image": ["cuda:1"]})
    assert read_image(options, ["cuda:1", "cuda:2"]) == ("cuda:1", {"tier": "none"})
    assert read_image({"tier": "none"}, ["cuda:1"]) == (None, {"tier": "none"})
    assert read_image(options, []) == (None, options)
    with pytest.raises(RequirementError, match="is not offered"):
        read_image({"image": "evil:1"}, ["cuda:1"])


def test_a_tier_without_a_free_device_says_that_one_can_wait() -> None:
    taken = {**element_of("gpu"), "free": 0, "free_at_most": 0}
    page = Page(render(Rules(tiers=(TierOffer("gpu", requirement={"tier": "gpu"}, facts=taken),))))
    assert any(text.endswith("you can wait") for text in page.texts)
