"""The card: sources, mismatch, and text from strangers."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from jupyter_dra.widgets.card import MIME, device_card, ending_note, usage_line
from jupyter_dra.widgets.held import blind_libraries, collect, older_drivers
from jupyter_dra.widgets.plain import element, size, visible

from .hostile import TEXTS, has_hidden, held

DEVICE = {
    "request": "gpu",
    "driver": "gpu.nvidia.com",
    "pool": "dgx-h100-0",
    "device": "gpu-3",
    "node": "dgx-h100-0",
    "product": "NVIDIA H100 80GB HBM3",
    "memory_published": "81559Mi",
    "attributes": {
        "gpu.nvidia.com/architecture": {"string": "Hopper"},
        "gpu.nvidia.com/uuid": {"string": "GPU-a"},
    },
    "capacity": {"gpu.nvidia.com/memory": {"value": "81559Mi"}},
}
FACTS = {"kind": "SessionFacts", "version": 1, "session": "bert-9d4fk", "name": "bert", "claim": "bert-9d4fk"}


def pod(folder: Path, **facts: Any) -> str:
    (folder / "session.json").write_text(json.dumps({**FACTS, **facts}))
    return str(folder)


class Elements(HTMLParser):
    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.extend(name for name, _value in attrs)


def test_the_card_shows_the_allocated_device_with_its_memory_and_source(tmp_path: Path) -> None:
    card = device_card(collect(pod(tmp_path, devices=[DEVICE]), str(tmp_path)))
    assert card.data["card"] == "device"
    assert card.data["version"] == 1
    assert "NVIDIA H100 80GB HBM3" in card.text
    assert "81559Mi  (told by the Jupyter server)" in card.text
    bundle, _metadata = card._repr_mimebundle_()
    assert set(bundle) == {MIME, "text/html", "text/plain"}
    json.dumps(bundle)


def test_a_drivers_metadata_file_is_the_second_source(tmp_path: Path) -> None:
    folder = tmp_path / "resourceclaims" / "bert-9d4fk" / "gpu"
    folder.mkdir(parents=True)
    device = {"driver": "gpu.nvidia.com", "pool": "dgx-h100-0", "name": "gpu-3"}
    body = {"requests": [{"name": "gpu", "devices": [{**device, "attributes": {"x/numaNode": {"int": 1}}}]}]}
    stream = [
        {"apiVersion": "metadata.resource.k8s.io/v9", "requests": "another world"},
        {"apiVersion": "metadata.resource.k8s.io/v1alpha1", **body},
    ]
    (folder / "gpu.nvidia.com-metadata.json").write_text(
        "\n".join(json.dumps(item) for item in stream) + "\n{broken"
    )
    with_both = collect(pod(tmp_path, devices=[DEVICE]), str(tmp_path))
    assert len(with_both["devices"]) == 1
    assert with_both["devices"][0]["sources"]["x/numaNode"] == "driver-file"
    assert with_both["devices"][0]["sources"]["gpu.nvidia.com/uuid"] == "session"
    (tmp_path / "session.json").unlink()
    alone = device_card(collect(str(tmp_path), str(tmp_path)))
    assert "NUMA node  1  (driver's file in the pod)" in alone.text


def test_two_requests_are_listed_under_their_names(tmp_path: Path) -> None:
    nic = {"request": "near-1", "driver": "dra.net", "pool": "n", "device": "mlx5_5", "product": "ConnectX-7"}
    card = device_card(collect(pod(tmp_path, devices=[DEVICE, nic]), str(tmp_path)))
    assert card.data["title"] == "NVIDIA H100 80GB HBM3 + ConnectX-7"
    assert card.text.index("near-1") > card.text.index("gpu.nvidia.com / dgx-h100-0 / gpu-3")


def test_what_session_and_driver_both_say_is_one_attribute_and_one_device(tmp_path: Path) -> None:
    """A driver's file names its own attributes without their domain."""
    folder = tmp_path / "resourceclaims" / "bert-9d4fk" / "gpu"
    folder.mkdir(parents=True)
    told = {"uuid": {"string": "GPU-a"}, "resource.kubernetes.io/numaNode": {"int": 1}}
    device = {"driver": "gpu.nvidia.com", "pool": "dgx-h100-0", "name": "gpu-3", "attributes": told}
    body = {"requests": [{"name": "gpu", "devices": [device]}]}
    (folder / "gpu.nvidia.com-metadata.json").write_text(
        json.dumps({"apiVersion": "metadata.resource.k8s.io/v1alpha1", **body})
    )
    seen = {"source": "nvml", "devices": [{"uuid": "GPU-a", "name": "x"}]}
    facts = collect(pod(tmp_path, devices=[DEVICE], seen=seen), str(tmp_path))
    assert "uuid" not in facts["devices"][0]["attributes"]
    assert "resource.kubernetes.io/numaNode" in facts["devices"][0]["attributes"]
    card = device_card(facts)
    assert card.data["card"] == "device"
    assert card.data["inside"] == {"sees": 1, "given": 1, "extra": None, "at": None}


@pytest.mark.threat("T32")
def test_a_device_that_was_not_given_is_warned_of(tmp_path: Path) -> None:
    ours, other = {"uuid": "GPU-a", "name": "x"}, {"uuid": "GPU-b", "name": "x"}
    seen = {"source": "nvml", "devices": [ours, other]}
    card = device_card(collect(pod(tmp_path, devices=[DEVICE], seen=seen), str(tmp_path)))
    assert card.data["card"] == "mismatch"
    assert "sees 2 devices but was given 1" in card.text
    assert "GPU-b" in card.text
    assert card.data["inside"]["extra"] == "GPU-b"
    seen = {"source": "nvml", "devices": [ours]}
    card = device_card(collect(pod(tmp_path, devices=[DEVICE], seen=seen), str(tmp_path)))
    assert card.data["card"] == "device"
    assert card.data["inside"] == {"sees": 1, "given": 1, "extra": None, "at": None}
    assert "sees 1 device, the same one" in card.text


def test_a_container_that_no_device_reached_is_told_from_one_that_lacks_some(tmp_path: Path) -> None:
    seen: dict[str, Any] = {"source": "nvml", "devices": []}
    card = device_card(collect(pod(tmp_path, devices=[DEVICE], seen=seen), str(tmp_path)))
    assert "No device reached the container: the claim is not on it." in card.data["notes"]
    seen["devices"] = [{"uuid": "GPU-b", "name": "x"}]
    card = device_card(collect(pod(tmp_path, devices=[DEVICE], seen=seen), str(tmp_path)))
    assert "This kernel was given GPU-a but does not see it." in card.data["notes"]


@pytest.mark.parametrize(("cuda", "blind"), [(None, True), ("13.0", False)])
def test_a_library_without_gpu_support_is_named(tmp_path: Path, cuda: str | None, blind: bool) -> None:
    torch = SimpleNamespace(version=SimpleNamespace(cuda=cuda, hip=None))
    facts = {
        **collect(pod(tmp_path, devices=[DEVICE]), str(tmp_path)),
        "blind": blind_libraries({"torch": torch}),
    }
    words = "The device is there, but torch was built without GPU support."
    assert (words in device_card(facts).data["notes"]) is blind
    assert blind_libraries({}) == []


def test_without_a_session_the_card_says_so_and_what_to_do(tmp_path: Path) -> None:
    card = device_card(collect(str(tmp_path), str(tmp_path)))
    assert card.data["card"] == "none"
    assert "no device" in card.text


@pytest.mark.threat("T01")
@pytest.mark.parametrize("text", TEXTS)
def test_hostile_text_adds_no_element_and_no_attribute(text: str) -> None:
    card, twin = device_card(held(text)), device_card(held("harmless"))
    page, expected = Elements(card.html), Elements(twin.html)
    assert page.tags == expected.tags
    assert set(page.attributes) <= {"class"}
    assert not {"script", "style", "link", "a", "img"} & set(page.tags)


@pytest.mark.threat("T02")
@pytest.mark.parametrize("text", TEXTS)
def test_hostile_text_is_shown_not_obeyed(text: str) -> None:
    card = device_card(held(text))
    assert not has_hidden(card.text)
    assert not has_hidden(card.html)
    assert len(card.text.splitlines()) == len(device_card(held("harmless")).text.splitlines())


def test_only_known_elements_can_be_built() -> None:
    for tag in ("script", "style", "a", "img", "iframe"):
        with pytest.raises(ValueError, match="not an allowed"):
            element(tag, "x")


def test_unknown_figures_are_said_to_be_unknown_never_zero() -> None:
    assert usage_line(None) is None
    missing = {"memory_used_bytes": None, "memory_total_bytes": None, "utilisation_percent": None}
    assert usage_line({**missing, "why_missing": "not-on-a-part"}) == "not available on a part of a card"
    zero = {"memory_used_bytes": 0, "memory_total_bytes": 1 << 30, "utilisation_percent": 0}
    assert usage_line(zero) == "0 B of 1 GiB used · 0 % busy"
    assert size(None) is None
    assert visible("a\x07b") == "a\\x07b"


def test_oversized_or_broken_facts_give_a_card_not_a_crash(tmp_path: Path) -> None:
    for content in ("", "{", "[" * 100_000, json.dumps({"kind": "SessionFacts", "devices": "x", "lease": 5})):
        (tmp_path / "session.json").write_text(content)
        assert device_card(collect(str(tmp_path), str(tmp_path))).data["card"] == "none"
    (tmp_path / "session.json").write_text(
        json.dumps({**FACTS, "devices": [{"attributes": {"a": 1}}, 7, None]})
    )
    assert device_card(collect(str(tmp_path), str(tmp_path))).text


@pytest.mark.parametrize(
    ("lease", "note"),
    [
        ({"ends_at": "2026-11-30T12:09:30Z"}, "This session ends in 9 min."),
        ({"ends_at": "2026-11-30T11:59:00Z"}, "This session ends in 0 min."),
        ({"ends_at": "2026-11-30T13:00:00Z"}, None),
        ({"idle_since": "2026-11-30T11:34:00Z", "idle_limit_seconds": 1800}, "Not used: given back in 4 min"),
        ({"idle_since": "2026-11-30T11:50:00Z", "idle_limit_seconds": 1800}, None),
        (
            {
                "idle_since": "2026-11-30T11:34:00Z",
                "idle_limit_seconds": 1800,
                "device_use": "unknown",
            },
            None,
        ),
        ({"ends_at": "soon"}, None),
        (None, None),
    ],
)
def test_the_end_is_warned_of_in_the_last_minutes(lease: dict[str, Any] | None, note: str | None) -> None:
    told = ending_note(lease, "2026-11-30T12:00:00Z")
    assert told is None if note is None else str(told).startswith(note)


def test_each_of_several_devices_shows_its_own_figures(tmp_path: Path) -> None:
    other = {
        **DEVICE,
        "device": "gpu-4",
        "attributes": {"gpu.nvidia.com/uuid": {"string": "GPU-b"}},
    }
    figures = {"memory_used_bytes": 9 << 30, "memory_total_bytes": 80 << 30, "utilisation_percent": 40}
    silent = {"uuid": "GPU-b", "why_missing": "not-permitted"}
    usage = {"devices": [{**figures, "uuid": "GPU-a", "why_missing": None}, silent]}

    def told(*devices: dict[str, Any]) -> list[dict[str, Any]]:
        folder = pod(tmp_path, devices=list(devices), usage=usage)
        cards: list[dict[str, Any]] = device_card(collect(folder, folder)).data["devices"]
        return cards

    uses = [
        fact["value"] for device in told(DEVICE, other) for fact in device["facts"] if fact["name"] == "Use"
    ]
    assert uses == ["9 GiB of 80 GiB used · 40 % busy", "not known: the driver does not permit it"]
    (one,) = told(DEVICE)
    assert all(fact["name"] != "Use" for fact in one["facts"])


@pytest.mark.parametrize(
    ("built", "served", "works", "note"),
    [
        ("13.0", "12.2.0", False, "torch wants a driver newer than 12.2. It was built for CUDA 13.0."),
        (
            "12.9",
            "12.2.0",
            False,
            "torch was built for CUDA 12.9, the driver serves 12.2: without a device it wants a newer driver.",
        ),
        ("12.9", "12.2.0", True, None),
        ("12.8", "13.0.0", False, None),
        (None, "12.2.0", False, None),
        ("13.0", "unknown", False, None),
    ],
)
def test_a_library_that_is_newer_than_the_driver_is_named_with_both_versions(
    built: str | None, served: str, works: bool, note: str | None
) -> None:
    torch = SimpleNamespace(
        version=SimpleNamespace(cuda=built, hip=None, xpu=None), cuda=SimpleNamespace(_initialized=works)
    )
    device = {"attributes": {"gpu.nvidia.com/cudaDriverVersion": {"version": served}}}
    told = older_drivers([device], {"torch": torch})
    card = device_card(
        {"devices": [{"name": "gpu-0", **device, "capacity": {}, "sources": {}}], "older_drivers": told}
    )
    notes = [one for one in card.data["notes"] if one.startswith("torch")]
    assert notes == ([note] if note else [])
