"""The spawn form: tiers with what is free, memory, number, verdict. Foreign text stays text, in HTML and in data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from ..planner.naming import price_label, short_product
from .choices import Prospects, Verdicts, chosen_count, numbers, title
from .markup import element, text
from .options import FORM_PREFIX, NO_DEVICE, Rules, TierOffer
from .prospects import floors_of

_ICONS = {
    "fits": "M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1M4.5 8l2.5 2.5 4.5-5",
    "busy": "M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1M8 4v4l2.5 2",
    "impossible": "M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1M3.5 3.5l9 9",
    "none": "M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1M8 7.5v4M8 4.5v.5",
}


def render(
    rules: Rules,
    *,
    prospects: Prospects | None = None,
    chosen: Mapping[str, Any] | None = None,
    notes: Sequence[tuple[str, str, str]] = (),
) -> str:
    """The form's HTML.

    Args:
        prospects: what each tier has now, by floor of memory; a tier that is missing there gets no promise.
        chosen: what was chosen last time, as far as it still exists.
        notes: sentences above the form, each as words before, an emphasized name, words after.
    """
    chosen = chosen or {}
    parts = [element("style", _file("form.css") + _count_rules(rules.tiers))]
    parts += [_note("none", element("p", text(a), element("b", text(b)), text(c))) for a, b, c in notes]
    if not rules.tiers and not rules.allow_none:
        parts.append(_note("none", element("p", "No devices are offered to you here. Ask your admin.")))
        return element("div", *parts, class_="dra-form")
    current = str(chosen.get("tier") or _first(rules))
    rows = [_cpu_row(current)] if rules.allow_none else []
    rows += [_tier_row(number, one, current) for number, one in enumerate(rules.tiers)]
    parts.append(element("fieldset", element("legend", "Device"), element("div", *rows, class_="dra-tiers")))
    fields = [_memory(rules, chosen)] if "vram" in rules.user_fields else []
    if "count" in rules.user_fields:
        fields += [_count(number, one, chosen) for number, one in enumerate(rules.tiers)]
    if any(fields):
        parts.append(element("div", *fields, class_="dra-fields"))
    if len(rules.images) > 1:
        parts.append(_image(rules, chosen))
    table = Verdicts(rules, prospects or {})
    code, lead, rest = table.at(current, str(chosen.get("vram") or ""), chosen_count(rules, current, chosen))
    icons = "".join(_icon(name, class_=f"dra-{name}") for name in _ICONS)
    parts.append(
        element(
            "div",
            icons,
            element("p", element("strong", text(lead)), text(rest), role="status"),
            class_="dra-note dra-verdict",
            data_verdict=code,
        )
    )
    parts.append(element("script", _file("form.js")))
    return element("div", *parts, class_="dra-form", data_facts=json.dumps(table.as_dict()))


def notes_only(notes: Sequence[tuple[str, str, str]]) -> str:
    """The sentences alone, above a form that is not ours."""
    shown = [_note("none", element("p", text(a), element("b", text(b)), text(c))) for a, b, c in notes]
    return element("div", element("style", _file("form.css")), *shown, class_="dra-form")


def _file(name: str) -> str:
    return files("jupyter_dra.hub").joinpath(name).read_text(encoding="utf-8")


def _icon(name: str, **attributes: Any) -> str:
    path = element("path", d=_ICONS[name])
    return element(
        "svg",
        path,
        viewBox="0 0 16 16",
        fill="none",
        stroke="currentColor",
        stroke_width="1.5",
        stroke_linecap="round",
        aria_hidden="true",
        **attributes,
    )


def _note(icon: str, body: str) -> str:
    return element("div", _icon(icon), body, class_="dra-note")


def _first(rules: Rules) -> str:
    if rules.allow_none:
        return NO_DEVICE
    usable = [one for one in rules.tiers if _usable(one)]
    return usable[0].name if usable else ""


def _usable(offer: TierOffer) -> bool:
    return bool(offer.facts.get("available", "claim" in offer.requirement))


def _cpu_row(current: str) -> str:
    return _row("cpu", NO_DEVICE, "CPU only", "No device. Starts at once.", "", current == NO_DEVICE)


def _tier_row(number: int, offer: TierOffer, current: str) -> str:
    facts = offer.facts
    checked = current == offer.name
    if not _usable(offer):
        why = facts.get("why_not")
        words = f"not available: {why}" if why else "not available"
        return _row(str(number), offer.name, title(offer), words, "", False, disabled=True)
    details = []
    if facts:
        details.append(", ".join(size["label"] for size in facts["sizes"]) or "memory not stated")
        details.append(
            ", ".join(
                dict.fromkeys(short_product(one["name"]) or one["name"] for one in facts["products"][:3])
            )
        )
        if facts["price"]:
            price = facts["price"]
            details.append(f"{price_label(price)} per {price['per']}")
    details.append(offer.description or "")
    if facts and facts.get("free_at_most") == 0 and facts.get("devices"):
        details.append("you can wait")
    if offer.counts == "all":
        details.append("all devices of a node")
    words = " · ".join(one for one in details if one)
    return _row(str(number), offer.name, title(offer), words, _free_words(facts), checked)


def _free_words(facts: Mapping[str, Any]) -> str:
    total, free, at_most = facts.get("devices"), facts.get("free"), facts.get("free_at_most")
    if total is None or at_most is None:
        return ""
    if at_most == 0:
        return f"all {total} taken"
    up_to = "up to " if facts.get("exclusive_parts") else ""
    return f"{up_to}{free} of {total} free" if free is not None else f"at most {at_most} of {total} free"


def _row(
    key: str, value: str, name: str, details: str, free: str, checked: bool, *, disabled: bool = False
) -> str:
    radio = element(
        "input",
        type="radio",
        name=f"{FORM_PREFIX}tier",
        id=f"dra-tier-{key}",
        value=value,
        checked=checked,
        disabled=disabled,
        aria_describedby=f"dra-about-{key}",
    )
    words = element("span", element("b", text(name)), element("small", text(details)), class_="dra-words")
    about = element("span", text(free), class_="dra-free", id=f"dra-about-{key}")
    return element("label", radio, words, about, class_="dra-tier")


def _memory(rules: Rules, chosen: Mapping[str, Any]) -> str:
    """Sizes that exist among the offered tiers; each is a floor, named as on the card."""
    labels = floors_of(rules.tiers)
    if len(labels) < 2:
        return ""
    options = [element("option", "any", value="")]
    for label in labels:
        value = label.replace(" ", "")
        options.append(
            element(
                "option",
                text(f"{label} (as on the card)"),
                value=value,
                selected=chosen.get("vram") == value,
            )
        )
    select = element("select", *options, name=f"{FORM_PREFIX}vram", class_="form-select", id="dra-vram")
    return element("div", element("label", "Memory of the device, at least", for_="dra-vram"), select)


def _image(rules: Rules, chosen: Mapping[str, Any]) -> str:
    options = [
        element("option", text(image), value=image, selected=chosen.get("image") == image)
        for image in rules.images
    ]
    select = element("select", *options, name=f"{FORM_PREFIX}image", class_="form-select", id="dra-image")
    field = element("div", element("label", "Image", for_="dra-image"), select)
    return element("div", field, class_="dra-fields")


def _count(number: int, offer: TierOffer, chosen: Mapping[str, Any]) -> str:
    offered = numbers(offer)
    if not offered:
        return ""
    most = offer.facts.get("most_on_one_node")
    mine = str(chosen.get("count")) if chosen.get("tier") == offer.name else ""
    options = [
        element(
            "option",
            f"{one} (more than any one node has)" if most is not None and one > most else str(one),
            value=one,
            selected=mine == str(one),
        )
        for one in offered
    ]
    key = f"dra-count-{number}"
    select = element(
        "select", *options, name=f"{FORM_PREFIX}count--{offer.name}", class_="form-select", id=key
    )
    return element("div", element("label", "How many", for_=key), select, class_=f"dra-count {key}")


def _count_rules(offers: Sequence[TierOffer]) -> str:
    """Show the number field of the chosen tier, by its place in the list."""
    return "".join(
        f".dra-form:has(#dra-tier-{number}:checked) .dra-count-{number} {{ display: block; }}\n"
        for number in range(len(offers))
    )
