"""The spawn form: tiers with what is free, memory, and the verdict. Built by one escaping writer; no script, no outside text as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from .options import FORM_PREFIX, NO_DEVICE, Rules, TierOffer

_STYLE = """
.dra-form { --bs-btn-bg: #c14d12; max-width: 48rem; margin: 0 auto 1rem; }
.dra-form fieldset { border: 0; padding: 0; margin: 0 0 1rem; }
.dra-form legend { font-size: 1rem; font-weight: 600; margin-bottom: .25rem; }
.dra-tier { display: flex; gap: .75rem; align-items: baseline; padding: .5rem .75rem; border: 1px solid #8886; border-bottom-width: 0; margin: 0; }
.dra-tier:last-child { border-bottom-width: 1px; }
.dra-tier:has(input:checked) { box-shadow: inset 4px 0 #1976d2; background: #1976d21c; }
.dra-tier b { display: block; font-weight: 600; }
.dra-tier small { opacity: .8; }
.dra-tier .dra-free { margin-inline-start: auto; white-space: nowrap; }
.dra-row { display: grid; grid-template-columns: repeat(auto-fit, minmax(12rem, 1fr)); gap: 1rem; }
.dra-note { border: 1px solid #8886; border-radius: .25rem; padding: .5rem .75rem; margin-bottom: 1rem; }
.btn-jupyter { --bs-btn-bg: #c14d12; }
"""


def element(tag: str, *children: str, **attributes: Any) -> str:
    """One element; attribute values are escaped, children are markup made here or by `text`."""
    shown = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(str(value), quote=True)}"'
        if value is not True
        else f" {name}"
        for name, value in attributes.items()
        if value is not None and value is not False
    )
    return f"<{tag}{shown}>" if tag == "input" else f"<{tag}{shown}>{''.join(children)}</{tag}>"


def text(value: object) -> str:
    """Foreign text as text."""
    return escape(str(value), quote=True)


def render(
    rules: Rules,
    tiers: Sequence[Mapping[str, Any]],
    *,
    chosen: Mapping[str, Any] | None = None,
    gone: str | None = None,
    holders_note: str | None = None,
) -> str:
    """The form's HTML.

    Args:
        tiers: elements of the contract's TierList, for the counts.
        chosen: what was chosen last time, as far as it still exists.
        gone: a remembered choice that is no longer offered.
        holders_note: one sentence about what the user holds already.
    """
    chosen = chosen or {}
    by_class = {tier["name"]: tier for tier in tiers}
    offers = (
        rules.tiers
        if rules.tiers is not None
        else tuple(_offer_of(tier) for tier in tiers if not tier["hidden"])
    )
    parts = [element("style", _STYLE)]
    if gone:
        notice = f"Your last choice, {element('b', text(gone))}, is no longer offered. Choose again."
        parts.append(element("div", notice, class_="dra-note", role="status"))
    if holders_note:
        parts.append(element("div", text(holders_note), class_="dra-note"))
    rows = []
    current = chosen.get("tier", NO_DEVICE if rules.allow_none else (offers[0].name if offers else NO_DEVICE))
    if rules.allow_none:
        rows.append(_row(NO_DEVICE, "CPU only", "No device. Starts at once.", "", current == NO_DEVICE))
    for offer in offers:
        facts = by_class.get(str(offer.requirement.get("tier", offer.name)))
        rows.append(_tier_row(offer, facts, current == offer.name))
    if not rows:
        parts.append(
            element("div", "No devices are offered. Ask your admin.", class_="dra-note", role="status")
        )
    parts.append(element("fieldset", element("legend", "Device"), *rows))
    parts.append(element("div", _memory(tiers, chosen), _count(offers, chosen), class_="dra-row"))
    return element("div", *parts, class_="dra-form")


def _offer_of(tier: Mapping[str, Any]) -> TierOffer:
    return TierOffer(name=tier["name"], display_name=tier["display_name"], requirement={"tier": tier["name"]})


def _tier_row(offer: TierOffer, facts: Mapping[str, Any] | None, checked: bool) -> str:
    name = offer.display_name or (facts or {}).get("display_name") or offer.name
    if facts is None or not facts["available"]:
        why = facts and facts["why_not"]
        return _row(offer.name, name, f"not available{f': {why}' if why else ''}", "", False, disabled=True)
    free, total = facts["free"], facts["devices"]
    if free == 0:
        count = f"all {total} taken · you can wait"
    elif free is not None:
        count = f"{free} of {total} free"
    else:
        count = (
            f"at most {facts['free_at_most']} of {total} free" if facts["free_at_most"] is not None else ""
        )
    details = [", ".join(size["label"] for size in facts["sizes"]) or "memory not stated"]
    details += [", ".join(one["name"] for one in facts["products"][:3])] if facts["products"] else []
    if facts["price"]:
        details.append(f"{facts['price']['amount']} {facts['price']['currency']} per {facts['price']['per']}")
    if offer.description or facts["description"]:
        details.append(offer.description or facts["description"])
    return _row(offer.name, name, " · ".join(details), count, checked)


def _row(value: str, name: str, details: str, free: str, checked: bool, disabled: bool = False) -> str:
    radio = element(
        "input",
        type="radio",
        name=f"{FORM_PREFIX}tier",
        value=value,
        checked=checked or None,
        disabled=disabled or None,
    )
    words = element("span", element("b", text(name)), element("small", text(details)))
    return element("label", radio, words, element("span", text(free), class_="dra-free"), class_="dra-tier")


def _memory(tiers: Iterable[Mapping[str, Any]], chosen: Mapping[str, Any]) -> str:
    labels = {
        size["label"]: size["min_bytes"] for tier in tiers if not tier["hidden"] for size in tier["sizes"]
    }
    options = [element("option", "any", value="")]
    for label in sorted(labels, key=lambda one: labels[one]):
        value = label.replace(" ", "")
        options.append(
            element(
                "option",
                text(f"{label} (as on the card)"),
                value=value,
                selected=(chosen.get("vram") == value) or None,
            )
        )
    select = element("select", *options, name=f"{FORM_PREFIX}vram", class_="form-control", id="dra-vram")
    return element("div", element("label", "Memory of the device, at least", for_="dra-vram"), select)


def _count(offers: Iterable[TierOffer], chosen: Mapping[str, Any]) -> str:
    numbers: set[int] = set()
    free_choice = False
    for offer in offers:
        if offer.counts is None:
            free_choice = True
        elif not isinstance(offer.counts, str):
            numbers.update(offer.counts)
    if free_choice:
        numbers.update(range(1, 9))
    if numbers <= {1}:
        return ""
    options = [element("option", "1 (or as the tier says)", value="")]
    options += [
        element(
            "option", str(number), value=number, selected=(str(chosen.get("count")) == str(number)) or None
        )
        for number in sorted(numbers)
        if number > 1
    ]
    select = element("select", *options, name=f"{FORM_PREFIX}count", class_="form-control", id="dra-count")
    return element("div", element("label", "How many", for_="dra-count"), select)
