"""The picker and the device card as widgets, in a process without any front end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import ipywidgets
import pytest

from jupyter_dra.planner import Inventory
from jupyter_dra.sessions.loop import BackgroundLoop
from jupyter_dra.widgets import DeviceCard, DRAPicker

from .hostile import TEXTS, has_hidden, held

T = TypeVar("T")


def tier(name: str, **words: str) -> dict[str, Any]:
    notes = {f"jupyter-dra.dev/{word.replace('_', '-')}": text for word, text in words.items()}
    return {"kind": "DeviceClass", "metadata": {"name": name, "annotations": notes}, "spec": {}}


class Feed:
    async def ask(self, question: Callable[[Inventory], T]) -> T:
        tiers = [
            tier("high-memory-gpu", display_name="High memory"),
            tier("tpu-v6e-node", display_name="TPU node", limits='{"counts": [8]}'),
            tier("secret", hidden="true"),
        ]
        return question(Inventory.from_objects(tiers))


class Record:
    id = "picked-9d4fk"
    state = "running"

    def as_dict(self) -> dict[str, Any]:
        return {"id": self.id, "state": self.state, "devices": [{"label": "H100 80 GB", "device": "gpu-0"}]}


class FakeSessions:
    """Answers like the session service, from memory."""

    def __init__(self, message: str = "8 taken") -> None:
        self.loop = BackgroundLoop("fake")
        self.asked: list[dict[str, Any]] = []
        self.launched: list[dict[str, Any]] = []
        self.waits: list[float | None] = []
        self.message = message

    async def inventory(self) -> Feed:
        return Feed()

    async def context(self) -> dict[str, Any]:
        return {"namespace": "team-a"}

    async def plan(self, wish: Any, *, detail: str) -> dict[str, Any]:
        self.asked.append(wish.as_dict())
        reasons = [{"message": self.message}]
        return {"verdict": "busy", "counts": {"matching": 8}, "reasons": reasons, "relaxations": []}

    async def launch(self, wish: Any, *, wait: float | None = None) -> Record:
        self.launched.append(wish.as_dict())
        self.waits.append(wait)
        return Record()

    async def ready(self, session_id: str) -> None:
        return None

    async def get(self, session_id: str) -> Record:
        return Record()


@pytest.fixture
def sessions() -> Iterator[FakeSessions]:
    made = FakeSessions()
    yield made
    made.loop.close()


def planned(picker: DRAPicker, sessions: FakeSessions) -> None:
    """Wait for the tiers and the plan of the newest change."""
    assert picker._filling is not None
    picker._filling.result(10)
    sessions.loop.call(_nothing())
    assert picker._planning is not None
    picker._planning.result(10)
    sessions.loop.call(_nothing())


async def _nothing() -> None:
    return None


def labels(widget: Any) -> list[str]:
    found = [widget.value] if isinstance(widget, ipywidgets.Label) else []
    for child in getattr(widget, "children", ()):
        found += labels(child)
    return found


def every(widget: Any) -> list[Any]:
    return [widget] + [inner for child in getattr(widget, "children", ()) for inner in every(child)]


def test_the_picker_plans_every_change_and_launches_what_it_shows(sessions: FakeSessions) -> None:
    picker = DRAPicker(sessions=sessions, vram="80GB")
    picker.architecture = ["Hopper"]
    picker._form.count.value = 2
    planned(picker, sessions)
    assert sessions.asked[-1] == {"vram": "80GB", "count": 2, "architecture": ["Hopper"]}
    assert picker.plan["verdict"] == "busy"
    assert picker._form.verdict.value == "All taken for now"
    assert "8 taken" in labels(picker)
    future = picker.launch()
    assert future is not None
    future.result(10)
    assert sessions.launched == [{"vram": "80GB", "count": 2, "architecture": ["Hopper"]}]
    assert sessions.waits == [7200]
    assert picker._form.launch.description == "Wait for a device"
    sessions.loop.call(_nothing())
    assert picker.session["id"] == "picked-9d4fk"


def test_a_tier_that_offers_only_eight_shows_eight_and_asks_for_no_number(sessions: FakeSessions) -> None:
    picker = DRAPicker(sessions=sessions, tier="tpu-v6e-node")
    planned(picker, sessions)
    assert (picker.count, picker._form.count.value) == (8, 8)
    assert picker.requirement.as_dict() == {"tier": "tpu-v6e-node"}
    assert "count: 8" in picker._form.claim.value
    picker.tier = ""
    assert (picker.count, picker._form.count.value) == (1, 1)

    picker._form.count.value = 2
    picker.tier = "tpu-v6e-node"
    assert picker.requirement.as_dict() == {"tier": "tpu-v6e-node", "count": 2}, "a number that is said stays"
    picker._remove("count")
    assert (picker.count, picker.requirement.as_dict()) == (8, {"tier": "tpu-v6e-node"})
    picker.count = 1
    assert picker.requirement.as_dict() == {"tier": "tpu-v6e-node", "count": 1}


def test_hidden_tiers_are_not_offered(sessions: FakeSessions) -> None:
    picker = DRAPicker(sessions=sessions)
    planned(picker, sessions)
    assert picker._form.tier.options == (
        ("Any GPU\nsmallest first", ""),
        ("High memory", "high-memory-gpu"),
        ("TPU node", "tpu-v6e-node"),
    )


def test_a_value_that_cannot_be_used_is_said_and_blocks_launch(sessions: FakeSessions) -> None:
    picker = DRAPicker(sessions=sessions)
    picker.vram = "eighty"
    assert "vram" in picker.message
    assert picker._form.launch.disabled
    picker.vram = "80GB"
    assert picker.message == ""


def test_without_a_cluster_login_the_picker_still_shows_claim_and_words() -> None:
    picker = DRAPicker(tier="high-memory-gpu", vram="80GB")
    assert "deviceClassName: high-memory-gpu" in picker._form.claim.value
    assert picker._form.magic.value.startswith("%dra launch --tier high-memory-gpu")
    assert picker._form.launch.disabled
    assert picker.launch() is None


@pytest.mark.threat("T01")
@pytest.mark.parametrize("text", TEXTS)
def test_foreign_text_is_plain_text_in_both_widgets(text: str, sessions: FakeSessions) -> None:
    sessions.message = text
    picker = DRAPicker(sessions=sessions, tier=text)
    if picker._planning is not None:
        planned(picker, sessions)
    card = DeviceCard(lambda: held(text))
    for widget in (*every(picker), *every(card)):
        assert not isinstance(widget, (ipywidgets.HTML, ipywidgets.HTMLMath))
    for shown in (*labels(picker), *labels(card), picker._form.claim.value, picker._form.magic.value):
        assert not has_hidden(shown)


def test_the_device_card_reads_again_on_demand() -> None:
    facts = held("harmless")
    card = DeviceCard(lambda: facts)
    assert card.data["card"] == "mismatch"
    facts["devices"] = []
    card.refresh()
    assert card.data["card"] == "none"


def test_the_device_card_draws_what_is_used_and_says_it_beside() -> None:
    facts = held("harmless")
    facts["usage"] = {
        "memory_used_bytes": 30 * 2**30,
        "memory_total_bytes": 80 * 2**30,
        "utilisation_percent": 47,
    }
    card = DeviceCard(lambda: facts)
    bars = [one.value for one in every(card) if isinstance(one, ipywidgets.FloatProgress)]
    assert bars == [37.5, 47.0]
    assert {"30 GiB of 80 GiB · 38 %", "47 %"} <= set(labels(card))
    facts["usage"] = {"why_missing": "no-library"}
    card.refresh()
    assert not any(isinstance(one, ipywidgets.FloatProgress) for one in every(card))
    assert any("no NVML in this image" in text for text in labels(card))
