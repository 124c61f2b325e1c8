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


def test_the_verdict_is_there_without_a_script() -> None:
    free = Page(render(rules("a"), chosen={"tier": "a"}))
    assert "Fits now." in free.texts and any("3 of 8 are free" in one for one in free.texts)
    few = rules({"name": "a", "counts": [4, 8]}, elements=[element_of("a", most_on_one_node=8)])
    assert any("4 are asked for" in one for one in Page(render(few, chosen={"tier": "a"})).texts)
    many = rules({"name": "a", "counts": [8, 9]})
    assert any("No node has more than 4" in one for one in Page(render(many, chosen={"tier": "a"})).texts)


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
        return Page(
            render(shown, chosen={"tier": word}, notes=[(word, word, word)])
            + notes_only([(word, word, word)])
        )

    shown, twin = page(evil), page("harmless")
    assert [tag for tag, _ in shown.elements] == [tag for tag, _ in twin.elements]
    assert [sorted(attrs) for _, attrs in shown.elements] == [sorted(attrs) for _, attrs in twin.elements]
    assert "".join(shown.texts).count(evil.replace("\u0000", "\ufffd")) >= 4 or "\u0000" in evil
    facts = next(attrs["data-facts"] for _, attrs in shown.elements if attrs.get("data-facts"))
    assert json.loads(facts or "")["tiers"][evil]["title"] == evil


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
