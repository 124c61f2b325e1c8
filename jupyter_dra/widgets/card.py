"""The card a notebook shows: one value as JSON for our renderer, as HTML and as text for everybody else.

Also laid out by podside in images that lack this package: standard library only, Python 3.8 and later.
"""

from __future__ import annotations

import calendar
import time
from typing import TYPE_CHECKING, Any

from .plain import Element, element, html_table, size, table, visible

if TYPE_CHECKING:
    from collections.abc import Mapping

LEASE_SOON, IDLE_SOON = 600, 300
"""Seconds before the end from which on it is said."""
MIME = "application/vnd.jupyter-dra.card+json"
VERSION = 1
# Last part of an attribute's name -> the word people read, in this order.
FACTS: Mapping[str, str] = {
    "architecture": "Generation",
    "tpuGen": "Generation",
    "profile": "Part",
    "topology": "Topology",
    "cudaComputeCapability": "Capability",
    "driverVersion": "Driver",
    "cudaDriverVersion": "CUDA",
    "pciBusID": "PCI address",
    "pcieRoot": "PCIe root",
    "numaNode": "NUMA node",
    "uuid": "UUID",
}
SOURCES = {
    "session": "told by the Jupyter server",
    "driver-file": "driver's file in the pod",
    "measured": "measured in the pod",
}
WHY_MISSING = {
    "no-library": "not known: no NVML in this image",
    "no-device": "not known: no device is visible here",
    "not-on-a-part": "not available on a part of a card",
    "not-permitted": "not known: the driver does not permit it",
}


class Card:
    """A displayable card; ``data`` is the JSON form (``version`` 1, ``card`` names its kind)."""

    def __init__(self, data: dict[str, Any], text: str, markup: Element) -> None:
        self.data = dict(data, version=VERSION)
        self.text = text
        self.html = markup.markup

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        bundle: dict[str, Any] = {MIME: self.data, "text/html": self.html, "text/plain": self.text}
        return bundle, {}

    def __repr__(self) -> str:
        return self.text


def value_of(entry: Any) -> str:
    """An attribute or capacity as one text: ``{"string": "Hopper"}`` is Hopper."""
    if isinstance(entry, dict):
        for name in ("string", "int", "bool", "version", "value"):
            if name in entry:
                return visible(entry[name], 200)
        for name in ("strings", "ints", "bools", "versions"):
            if isinstance(entry.get(name), list):
                return visible(", ".join(str(item) for item in entry[name][:16]), 200)
    return visible(entry, 200)


def title_of(device: Mapping[str, Any]) -> str:
    told = (
        device.get("product")
        or device.get("label")
        or _attribute(device, "productName")
        or device.get("name")
    )
    return visible(told or "a device", 120)


def _attribute(device: Mapping[str, Any], last: str) -> str | None:
    for name, entry in (device.get("attributes") or {}).items():
        if name.split("/")[-1] == last:
            return value_of(entry)
    return None


def facts_of(device: Mapping[str, Any]) -> list[dict[str, str]]:
    """Name, value and source of what people ask first about a device."""
    found: list[dict[str, str]] = []
    attributes, sources = device.get("attributes") or {}, device.get("sources") or {}
    where = (device.get("found_in") or ["session"])[0]
    told = size(device.get("memory_bytes"))
    for name, entry in (device.get("capacity") or {}).items():
        if name.split("/")[-1] == "memory":
            found.append({"name": "Memory", "value": value_of(entry), "source": sources.get(name, where)})
    if not found and device.get("memory_published"):
        published = visible(device["memory_published"], 40)
        found.append({"name": "Memory", "value": published, "source": where})
    if found and told:
        found[0]["value"] += f" · {told}"  # as published, and in the unit people compare
    for last, word in FACTS.items():
        for name, entry in attributes.items():
            if name.split("/")[-1] == last:
                found.append({"name": word, "value": value_of(entry), "source": sources.get(name, where)})
                break
    if device.get("share") is not None:
        found.append({"name": "Share", "value": value_of(device["share"]), "source": where})
    return found


def device_card(held: Mapping[str, Any]) -> Card:
    """The card of what a kernel holds (``held.collect()``): kinds ``device``, ``mismatch`` or ``none``."""
    devices: list[Mapping[str, Any]] = list(held.get("devices") or [])
    if not devices:
        return none_card(held)
    comparison = held.get("comparison")
    notes = notes_of(held, comparison)
    session = held.get("session") or {}
    title = " + ".join(title_of(device) for device in devices[:4]) + (" …" if len(devices) > 4 else "")
    places = " and ".join(visible(device.get("name"), 80) for device in devices[:8])
    parts = [session.get("name") or session.get("id"), _node(devices, session), places]
    subtitle = " · ".join(visible(part, 200) for part in parts if part)
    mismatch = bool(comparison and (comparison["extra"] or comparison["missing"]))
    data: dict[str, Any] = {
        "card": "mismatch" if mismatch else "device",
        "title": title,
        "subtitle": subtitle,
        "as_of": held.get("as_of"),
        "simulated": bool(session.get("simulated") or any(device.get("simulated") for device in devices)),
        "session": {
            name: session.get(name) for name in ("id", "name", "tier", "namespace", "node", "kernel_id")
        },
        "claim": held.get("claim"),
        "devices": [_told_device(device, devices, held.get("usage")) for device in devices],
        "usage": held.get("usage"),
        "lease": held.get("lease"),
        "inside": _inside(comparison, held.get("written_at")),
        "notes": notes,
        "sources": held.get("sources"),
    }
    return Card(data, _text(data, held), _html(data, held))


def _inside(comparison: Mapping[str, Any] | None, at: Any) -> dict[str, Any] | None:
    """What the kernel sees against what it was given; None where it cannot be told."""
    if not comparison:
        return None
    extra = comparison["extra"]
    counts = {"sees": comparison["sees"], "given": comparison["given"]}
    return {**counts, "extra": visible(extra[0], 60) if extra else None, "at": at}


def _told_device(device: Mapping[str, Any], devices: list[Mapping[str, Any]], usage: Any) -> dict[str, Any]:
    """A device with what people ask first; of several each with its own figures, of one they stand below."""
    facts = facts_of(device)
    figures = _figures_of(device, usage) if len(devices) > 1 else None
    if figures is not None:
        facts.append({"name": "Use", "value": figures, "source": "measured"})
    return dict(device, facts=facts, title=title_of(device))


def _figures_of(device: Mapping[str, Any], usage: Any) -> str | None:
    listed = usage.get("devices") if isinstance(usage, dict) else None
    uuid = _attribute(device, "uuid")
    for told in listed if isinstance(listed, list) else []:
        if not isinstance(told, dict):
            continue
        place = all(told.get(key) == device.get(key) for key in ("driver", "pool"))
        if (uuid and told.get("uuid") == uuid) or (place and told.get("device") == device.get("name")):
            return usage_line(told)
    return None


def _node(devices: list[Mapping[str, Any]], session: Mapping[str, Any]) -> str | None:
    return session.get("node") or next(
        (str(device["node"]) for device in devices if device.get("node")), None
    )


def notes_of(held: Mapping[str, Any], comparison: Mapping[str, Any] | None) -> list[str]:
    """Sentences a person should read: mismatch, simulation, where figures are missing."""
    notes: list[str] = []
    if comparison and comparison["extra"]:
        extra = ", ".join(visible(uuid, 60) for uuid in comparison["extra"][:4])
        notes.append(
            "This kernel sees {} devices but was given {}. The extra one ({}) may belong to someone else; "
            "do not use it.".format(comparison["sees"], comparison["given"], extra)
        )
    if comparison and comparison["given"] and not comparison["sees"]:
        notes.append("No device reached the container: the claim is not on it.")
    elif comparison and comparison["missing"]:
        missing = ", ".join(visible(uuid, 60) for uuid in comparison["missing"][:4])
        notes.append(f"This kernel was given {missing} but does not see it.")
    ending = ending_note(held.get("lease"), held.get("as_of"))
    if ending:
        notes.append(ending)
    if any(device.get("simulated") for device in held.get("devices") or []):
        notes.append("Simulated device: nothing computes on it.")
    else:
        for library in held.get("blind") or []:
            notes.append(f"The device is there, but {visible(library, 40)} was built without GPU support.")
        notes += [_older_driver(*map(str, told)) for told in held.get("older_drivers") or []]
    return notes


def _older_driver(library: str, built: str, served: str) -> str:
    """Beyond one major version it cannot work; within one it mostly does."""
    library, built, served = visible(library, 40), visible(built, 20), visible(served, 20)
    if built.split(".")[0] != served.split(".")[0]:
        return f"{library} wants a driver newer than {served}. It was built for CUDA {built}."
    known = f"{library} was built for CUDA {built}, the driver serves {served}"
    return f"{known}: without a device it wants a newer driver."


def none_card(held: Mapping[str, Any]) -> Card:
    data: dict[str, Any] = {
        "card": "none",
        "title": "This notebook has no device",
        "subtitle": "It runs where Jupyter runs."
        if not held.get("session")
        else "Its session holds no device.",
        "as_of": held.get("as_of"),
        "devices": [],
        "notes": [],
    }
    hint = "Get one: panel GPU sessions, or %dra launch --vram 16GB"
    markup = element(
        "section",
        element("h4", str(data["title"])),
        element("p", str(data["subtitle"]), name="dra-sub"),
        element("p", hint),
        name="dra-card",
    )
    return Card(data, "{}. {}\n{}".format(data["title"], data["subtitle"], hint), markup)


def usage_line(usage: Any) -> str | None:
    """``37.4 GiB of 79.6 GiB used · 87 % busy · as of …``; None where nothing was sampled."""
    if not isinstance(usage, dict):
        return None
    used, total = size(usage.get("memory_used_bytes")), size(usage.get("memory_total_bytes"))
    parts = [f"{used} of {total} used"] if used and total else []
    if usage.get("utilisation_percent") is not None:
        parts.append("{} % busy".format(visible(usage["utilisation_percent"], 8)))
    peak = size(usage.get("peak_bytes"))
    if peak:
        parts.append(f"peak {peak}")
    missing = usage.get("why_missing")
    if missing:
        parts.append(WHY_MISSING.get(str(missing), "not known"))
    if not parts:
        return None
    if usage.get("simulated"):
        parts.append("simulated")
    if usage.get("at"):
        parts.append("as of {}".format(visible(usage["at"], 30)))
    return " · ".join(parts)


def ending_note(lease: Any, as_of: Any) -> str | None:
    """The warning before the end: of the lease in the last ten minutes, of idling in the last five."""
    told, now = (lease if isinstance(lease, dict) else {}), _seconds(as_of)
    ends, idle, limit = (
        _seconds(told.get("ends_at")),
        _seconds(told.get("idle_since")),
        told.get("idle_limit_seconds"),
    )
    if now is None:
        return None
    if ends is not None and ends - now <= LEASE_SOON:
        minutes = max(0, int(ends - now) // 60)
        return f"This session ends in {minutes} min. Keep it: %dra extend, or the panel GPU sessions."
    kept = told.get("device_use") == "unknown"
    if idle is None or not isinstance(limit, (int, float)) or kept or idle + limit - now > IDLE_SOON:
        return None
    minutes = max(0, int(idle + limit - now) // 60)
    return f"Not used: given back in {minutes} min unless a cell runs."


def _seconds(moment: Any) -> float | None:
    """Epoch seconds of a moment as podside writes it; None for anything else."""
    try:
        return float(calendar.timegm(time.strptime(str(moment), "%Y-%m-%dT%H:%M:%SZ")))
    except ValueError:
        return None


def lease_line(lease: Any, as_of: Any) -> str | None:
    if not isinstance(lease, dict) or not lease.get("ends_at"):
        return None
    return "ends {} · as of {}".format(visible(lease["ends_at"], 30), visible(as_of, 30))


def _lines(data: Mapping[str, Any], held: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    lines: list[tuple[str, str, str]] = []
    claim = held.get("claim") or {}
    if claim.get("name"):
        lines.append(("Claim", visible(claim["name"], 120), SOURCES["session"]))
    usage, lease = usage_line(held.get("usage")), lease_line(held.get("lease"), held.get("as_of"))
    if usage:
        lines.append(("Use", usage, SOURCES["measured"]))
    if lease:
        lines.append(("Lease", lease, SOURCES["session"]))
    comparison = held.get("comparison")
    if comparison and not comparison["extra"] and not comparison["missing"]:
        sees = comparison["sees"]
        word = "sees 1 device, the same one" if sees == 1 else f"sees {sees} devices, the same ones"
        lines.append(("Inside", word, SOURCES["measured"]))
    return lines


def _device_rows(device: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    rows = [
        ("Request", visible(device.get("request") or "–", 80).replace("/", " → ", 1), ""),
        ("Device", " / ".join(visible(device.get(name), 120) for name in ("driver", "pool", "name")), ""),
    ]
    rows.extend((fact["name"], fact["value"], SOURCES.get(fact["source"], "")) for fact in device["facts"])
    return rows


def _text(data: Mapping[str, Any], held: Mapping[str, Any]) -> str:
    lines = [str(data["title"]), str(data["subtitle"])]
    for device in data["devices"]:
        if len(data["devices"]) > 1:
            lines.append("")
            lines.append(str(device["title"]))
        rows = [
            [name, value, f"({source})" if source else ""] for name, value, source in _device_rows(device)
        ]
        lines.append(_columns(rows))
    lines.append(_columns([[name, value, f"({source})"] for name, value, source in _lines(data, held)]))
    lines.extend("! " + note for note in data["notes"])
    return "\n".join(line for line in lines if line)


def _columns(rows: list[list[str]]) -> str:
    width = max([len(row[0]) for row in rows] or [0]) + 2
    return "\n".join(f"  {row[0].ljust(width)}{row[1]}  {row[2]}" for row in rows).rstrip()


def _html(data: Mapping[str, Any], held: Mapping[str, Any]) -> Element:
    def facts(rows: list[tuple[str, str, str]]) -> Element:
        cells: list[Element] = []
        for name, value, source in rows:
            told = element("span", f" ({source})", name="dra-sub") if source else None
            cells.append(element("dt", name))
            cells.append(element("dd", element("bdi", value), told))
        return element("dl", *cells, name="dra-facts")

    parts: list[Element] = [
        element("h4", element("bdi", str(data["title"]))),
        element("p", element("bdi", str(data["subtitle"])), name="dra-sub"),
    ]
    for device in data["devices"]:
        if len(data["devices"]) > 1:
            parts.append(element("p", element("b", element("bdi", str(device["title"])))))
        parts.append(facts(_device_rows(device)))
        parts.append(_all_attributes(device))
    lines = _lines(data, held)
    if lines:
        parts.append(facts(lines))
    parts.extend(element("p", note, name="dra-note") for note in data["notes"])
    return element("section", *parts, name="dra-card")


def _all_attributes(device: Mapping[str, Any]) -> Element:
    rows = [
        [visible(name, 120), value_of(entry), SOURCES.get(str(device["sources"].get(name)), "")]
        for group in ("attributes", "capacity")
        for name, entry in sorted(device[group].items())
    ]
    return element(
        "details",
        element("summary", f"All {len(rows)} attributes"),
        html_table(["Name", "Value", "Source"], rows),
    )


def list_card(kind: str, title: str, heads: list[str], rows: list[list[Any]], data: Any) -> Card:
    """A table as a card (tiers, devices, sessions); ``data`` is the contract's object and goes under its name."""
    empty = "Nothing to show."
    text = title + "\n" + (table(heads, rows) if rows else empty)
    body = html_table(heads, rows) if rows else element("p", empty)
    markup = element("section", element("h4", title), body, name="dra-card")
    return Card({"card": kind, "title": title, kind: data}, text, markup)
