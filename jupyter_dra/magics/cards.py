"""The contract's documents as cards: tiers, devices, plans, sessions, claims, requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..planner.permission import refusal_words
from ..widgets.card import Card, list_card, usage_line
from ..widgets.plain import Element, code_block, element, size, table, visible, visible_lines
from ..widgets.verdicts import head_of, sentence_of


def free_text(free: int | None, at_most: int | None) -> str:
    """How many are free, and how that is known."""
    if free is not None:
        return str(free)
    return "not known" if at_most is None else f"at most {at_most}"


def tiers_card(document: Mapping[str, Any]) -> Card:
    rows = [
        [
            tier["name"],
            tier["display_name"],
            ", ".join(entry["label"] for entry in tier["sizes"]) or "not stated",
            f"{free_text(tier['free'], tier['free_at_most'])} of {tier['devices']}",
            tier["nodes"],
        ]
        for tier in document["tiers"]
        if not tier["hidden"]
    ]
    return list_card("tiers", "Tiers", ["Tier", "Name", "Memory", "Free", "Nodes"], rows, dict(document))


def devices_card(document: Mapping[str, Any]) -> Card:
    rows = [
        [
            ", ".join(device["nodes"][:3]) if device["nodes"] is not None else "every node",
            device["name"],
            device["product"] or device["label"],
            size(device["memory_bytes"]) or "not stated",
            device["state"],
        ]
        for device in document["devices"]
    ]
    return list_card(
        "devices", "Devices", ["Node", "Device", "Product", "Memory", "State"], rows, dict(document)
    )


def plan_card(document: Mapping[str, Any]) -> Card:
    """Verdict, why not, and what would help."""
    title = head_of(document)
    counts = document.get("counts") or {}
    free = free_text(counts.get("free"), counts.get("free_at_most"))
    where = (
        f"{free} of {counts.get('matching')} matching devices free, on {counts.get('matching_nodes')} nodes"
    )
    groups = [
        ("Not allowed", [sentence_of(document)] if refusal_words(document.get("launch") or {}) else []),
        ("Why", [entry["message"] for entry in document.get("reasons") or []]),
        ("What would help", [entry["message"] for entry in document.get("relaxations") or []]),
        ("Notes", [entry["message"] for entry in document.get("findings") or []]),
    ]
    lines, parts = [title, where], [element("h4", title), element("p", where, name="dra-sub")]
    for heading, messages in groups:
        if messages:
            lines.append(f"{heading}:")
            lines.extend(f"  {visible(message)}" for message in messages)
            parts.append(element("p", element("b", heading)))
            parts.append(element("ul", *[element("li", message) for message in messages]))
    data = {"card": "plan", "title": title, "plan": dict(document)}
    return Card(data, "\n".join(lines), element("section", *parts, name="dra-card"))


def sessions_card(document: Mapping[str, Any]) -> Card:
    rows = [session_row(session) for session in document["sessions"]]
    heads = ["Session", "State", "Device", "Node", "Notebooks"]
    return list_card("sessions", "Sessions", heads, rows, dict(document))


def own_session_card(facts: Mapping[str, Any]) -> Card:
    """The session of this kernel, as far as it knows without a cluster login."""
    session, devices = facts.get("session") or {}, facts.get("devices") or []
    row = [
        session.get("id"),
        facts.get("activity"),
        ", ".join(visible(device.get("label") or device.get("name"), 80) for device in devices[:4]),
        next((device["node"] for device in devices if device.get("node")), None),
        ", ".join(visible(name, 80) for name in session.get("notebooks") or []),
    ]
    heads = ["Session", "State", "Device", "Node", "Notebooks"]
    title = "This kernel's session (others: panel GPU sessions)"
    return list_card("sessions", title, heads, [row], {"kind": "SessionList", "version": 1, "sessions": []})


def session_row(session: Mapping[str, Any]) -> list[Any]:
    devices = session["devices"]
    return [
        session["id"],
        session["state"],
        ", ".join(visible(entry["label"] or entry["device"], 80) for entry in devices[:4]),
        devices[0]["node"] if devices else None,
        ", ".join(visible(kernel["notebook"], 80) for kernel in session["kernels"] if kernel["notebook"]),
    ]


def session_card(session: Mapping[str, Any]) -> Card:
    """One session as it stands now; why it ended, if it has."""
    ended = session.get("ended")
    lines = [["State", session["state"]], ["Claim", session["claim"]["name"]]]
    lines += [
        ["Device", f"{device['label'] or device['device']} · {device['node']} · {device['device']}"]
        for device in session["devices"]
    ]
    if session["lease"] and session["lease"]["ends_at"]:
        lines.append(["Ends", session["lease"]["ends_at"]])
    lines += _figures(session)
    if ended:
        lines.append(["Ended", f"{ended['code']}: {ended['message']} {ended.get('next') or ''}".strip()])
    text = "\n".join([visible(session["name"]) + " · " + visible(session["id"]), table(["", ""], lines)])
    markup = element(
        "section",
        element("h4", element("bdi", session["name"])),
        element("p", session["id"], name="dra-sub"),
        _facts(lines),
        name="dra-card",
    )
    kind = "ended" if ended else "session"
    return Card({"card": kind, "title": visible(session["name"]), "session": dict(session)}, text, markup)


def _figures(session: Mapping[str, Any]) -> list[list[Any]]:
    """Waiting, use, cost and the hint afterwards, as far as they are known."""
    wait, price, hint = session.get("wait"), session.get("price"), session.get("right_size")
    lines: list[list[Any]] = []
    if wait:
        queue = [f"queue {wait['queue']['name']}"] if wait.get("queue") else []
        lines.append(["Waits", "; ".join([*queue, *(reason["message"] for reason in wait["reasons"])])])
    use = usage_line(session.get("usage"))
    if use:
        lines.append(["Use", use])
    if price:
        spent, payer = f"{price['so_far']} {price['currency']} so far", price.get("counted_with")
        lines.append(["Cost", f"counted with {payer}" if payer else spent])
    if hint:
        lines.append(
            ["Hint", f"peak {size(hint['peak_bytes'])}: tier {hint['tier']} ({hint['label']}) would do"]
        )
    return lines


def claim_card(manifest: Mapping[str, Any], text: str) -> Card:
    """A claim's manifest; the text is the emitter's own YAML, shown as written."""
    markup = element("section", code_block(text), name="dra-card")
    return Card({"card": "claim", "title": "Claim", "claim": dict(manifest)}, visible_lines(text), markup)


def check_card(document: Mapping[str, Any]) -> Card:
    rows = [
        [
            entry["severity"],
            f"{entry['line']}:{entry['column']}",
            entry["path"],
            entry["message"],
            entry["fix"],
        ]
        for entry in document["findings"]
    ]
    title = "No findings" if not rows else f"{len(rows)} findings"
    card = list_card("check", title, ["", "Line", "Field", "What", "Fix"], rows, dict(document))
    fixed = document.get("fixed")
    if isinstance(fixed, str):
        card.text += "\n\n" + visible_lines(fixed)
        card.html += code_block(fixed).markup
    return card


def request_card(action: str, why: str, shell: str, **facts: Any) -> Card:
    """Something this kernel may not do itself: the front end can, after asking the person."""
    title = f"%dra {action} needs the cluster"
    markup = element(
        "section",
        element("h4", title),
        element("p", why),
        element("p", "From a terminal: ", element("code", shell)),
        name="dra-card",
    )
    text = f"{title}. {why}\nFrom a terminal: {visible(shell)}"
    return Card({"card": "request", "title": title, "action": action, "shell": shell, **facts}, text, markup)


def _facts(rows: list[list[Any]]) -> Element:
    cells: list[Element] = []
    for name, value in rows:
        cells += [
            element("dt", str(name)),
            element("dd", element("bdi", "–" if value is None else str(value))),
        ]
    return element("dl", *cells, name="dra-facts")
