"""%dra in a real IPython shell: in a pod without a login, and beside Jupyter with one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.testing.globalipapp import start_ipython

from jupyter_dra.claims import Requirement
from jupyter_dra.errors import NotFoundError
from jupyter_dra.magics.cluster_side import ClusterSide
from jupyter_dra.magics.commands import WORDS
from jupyter_dra.magics.magic import DRAMagics
from jupyter_dra.widgets.card import MIME, Card
from tests.widgets.hostile import TEXTS, has_hidden

DEVICE = {
    "request": "gpu",
    "driver": "d",
    "pool": "p",
    "device": "gpu-0",
    "product": "Example GPU",
    "label": "E 8 GB",
}
SESSION: dict[str, Any] = {
    "id": "bert-9d4fk",
    "name": "bert",
    "state": "running",
    "claim": {"name": "bert-9d4fk"},
    "devices": [{"label": "E 8 GB", "device": "gpu-0", "node": "n"}],
    "kernels": [{"notebook": "a.ipynb"}],
    "lease": {"ends_at": "2026-11-30T14:00:00Z"},
    "ended": None,
}


class FakeCluster(ClusterSide):
    """Stands for the user's own cluster login."""

    def __init__(self, text: str = "8 taken") -> None:
        super().__init__()
        self.text = text
        self.orders: list[Any] = []

    def tiers(self) -> dict[str, Any]:
        tier = {"name": self.text, "display_name": self.text, "sizes": [{"label": "8 GB"}], "hidden": False}
        return {"tiers": [{**tier, "free": None, "free_at_most": 5, "devices": 12, "nodes": 2}]}

    def devices(self, **where: Any) -> dict[str, Any]:
        self.orders.append(where)
        device = {
            "nodes": None,
            "name": self.text,
            "product": self.text,
            "memory_bytes": 8 << 30,
            "state": "free",
        }
        return {"devices": [device]}

    def plan(self, wanted: Any) -> dict[str, Any]:
        self.orders.append(wanted)
        counts = {"matching": 8, "matching_nodes": 1, "free": 0, "free_at_most": 0}
        return {"verdict": "busy", "counts": counts, "reasons": [{"message": self.text}]}

    def class_facts(self) -> None:
        return None

    def list(self) -> dict[str, Any]:
        return {"sessions": [{**SESSION, "id": self.text}]}

    def launch(
        self, requirement: Requirement, *, wait: float | None, say: Callable[[str], None], **options: Any
    ) -> dict[str, Any]:
        assert not options
        self.orders.append((requirement.as_dict(), wait))
        say("Device reserved")
        return SESSION

    def stop(self, session_id: str) -> dict[str, Any]:
        if session_id != SESSION["id"]:
            raise NotFoundError(f"There is no session {session_id!r}.")
        return {**SESSION, "state": "releasing", "ended": {"code": "stopped", "message": self.text}}

    def extend(self, session_id: str, seconds: float) -> dict[str, Any]:
        self.orders.append((session_id, seconds))
        return SESSION

    def attach(self, session_id: str) -> dict[str, Any]:
        return SESSION


@pytest.fixture(scope="module")
def shell() -> InteractiveShell:
    made: InteractiveShell = start_ipython() or InteractiveShell.instance()
    return made


@pytest.fixture
def outside(shell: InteractiveShell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    monkeypatch.setenv("JUPYTER_DRA_RUN_DIR", str(tmp_path))
    cluster = FakeCluster()
    shell.register_magics(DRAMagics(shell, cluster))
    return cluster


@pytest.fixture
def inside(shell: InteractiveShell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    facts = {"kind": "SessionFacts", "session": "bert-9d4fk", "name": "bert", "devices": [DEVICE]}
    (tmp_path / "session.json").write_text(json.dumps(facts))
    monkeypatch.setenv("JUPYTER_DRA_RUN_DIR", str(tmp_path))
    shell.register_magics(DRAMagics(shell, None))
    return tmp_path


def dra(shell: InteractiveShell, line: str = "") -> Any:
    result = shell.run_cell(f"%dra {line}".strip(), silent=False)
    if result.error_in_exec is not None:
        raise result.error_in_exec
    return result.result


def test_load_ext_registers_the_magic_and_imports_nothing_heavy() -> None:
    code = (
        "import sys, time\nfrom IPython.core.interactiveshell import InteractiveShell\n"
        "s = InteractiveShell.instance()\nbefore = set(sys.modules)\n"
        "s.run_line_magic('load_ext', 'jupyter_dra')\n"
        "new = set(sys.modules) - before\nassert 'dra' in s.magics_manager.magics['line']\n"
        "heavy = [m for m in ('kubernetes', 'aiohttp', 'ipywidgets', 're2', 'cryptography') if m in new]\n"
        "assert not heavy, heavy\n"
    )
    root = Path(__file__).resolve().parents[2]
    subprocess.run([sys.executable, "-c", code], check=True, cwd=root, capture_output=True, timeout=60)


def test_inside_the_pod_the_card_needs_no_login(shell: InteractiveShell, inside: Path) -> None:
    card = dra(shell)
    assert isinstance(card, Card)
    assert shell.display_formatter is not None
    data, _metadata = shell.display_formatter.format(card)
    assert data[MIME]["card"] == "device"
    assert "Example GPU" in data["text/html"]
    assert data["text/plain"].startswith("Example GPU")


@pytest.mark.parametrize("word", ["tiers", "devices", "plan", "launch", "attach", "extend", "stop"])
def test_inside_the_pod_words_that_need_the_cluster_become_a_request(
    shell: InteractiveShell, inside: Path, word: str
) -> None:
    card = dra(shell, word)
    assert card.data["card"] == "request"
    assert card.data["action"] == word
    assert "without a cluster login" in card.text
    assert f"jupyter dra {word}" in card.text and card.data["shell"].startswith(f"jupyter dra {word}")
    if word in ("attach", "extend", "stop"):
        assert card.data["session"] == "bert-9d4fk"


def test_inside_the_pod_sessions_shows_this_kernels_own(shell: InteractiveShell, inside: Path) -> None:
    card = dra(shell, "sessions")
    assert card.data["card"] == "sessions"
    assert "bert-9d4fk" in card.text
    assert "E 8 GB" in card.text


@pytest.mark.threat("T06")
def test_a_request_carries_device_fields_only(shell: InteractiveShell, inside: Path) -> None:
    card = dra(shell, "launch --vram 80GB --image evil/x --env A=b --cpu 64 --volumes home")
    assert card.data["requirement"] == {"vram": "80GB"}
    assert "evil" not in json.dumps(card.data)


def test_launch_says_its_steps_and_shows_the_session(
    shell: InteractiveShell, outside: FakeCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    card = dra(shell, "launch --vram 80GB --architecture Hopper --wait 10m")
    assert outside.orders == [({"vram": "80GB", "architecture": ["Hopper"]}, 600.0)]
    assert "Device reserved" in capsys.readouterr().out
    assert card.data["session"]["id"] == "bert-9d4fk"


def test_every_word_of_the_design_answers(
    shell: InteractiveShell, outside: FakeCluster, tmp_path: Path
) -> None:
    assert "5" in dra(shell, "tiers").text
    assert "every node" in dra(shell, "devices --tier x").text
    assert "All taken for now" in dra(shell, "plan --vram 80GB").text
    assert "bert-9d4fk" in dra(shell, "extend bert-9d4fk --by 2h").text
    assert "releasing" in dra(shell, "stop bert-9d4fk").text
    assert dra(shell, "attach bert-9d4fk").data["card"] == "session"
    assert "deviceClassName: big" in dra(shell, "claim --tier big").text
    manifest = tmp_path / "claim.yaml"
    manifest.write_text("kind: ResourceClaim\n")
    assert dra(shell, f"plan -f {manifest}").data["card"] == "plan"
    assert set(WORDS) >= {
        "tiers",
        "devices",
        "plan",
        "claim",
        "launch",
        "sessions",
        "attach",
        "extend",
        "stop",
        "ui",
    }


def test_mistakes_are_one_sentence_not_a_traceback(
    shell: InteractiveShell, outside: FakeCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    for line in (
        "nonsense",
        "stop other",
        "stop",
        "launch --vram eighty",
        "launch --what",
        "plan -f /nowhere",
        "'",
    ):
        result = shell.run_cell(f"%dra {line}")
        assert type(result.error_in_exec).__name__ == "UsageError", line
        assert "Traceback" not in capsys.readouterr().out


def test_help_lists_the_words(
    shell: InteractiveShell, outside: FakeCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    dra(shell, "help")
    dra(shell, "launch --help")
    out = capsys.readouterr().out
    assert "%dra stop" in out
    assert "--vram" in out


@pytest.mark.threat("T03")
@pytest.mark.parametrize(
    "words", ["launch --tier {canary.append(1)}", "launch --tier $canary", "{canary.append(1)}"]
)
@pytest.mark.parametrize("cell", ["%dra {}", "%%dra --in missing {}\n1"])
def test_nothing_in_the_line_is_evaluated(
    shell: InteractiveShell, outside: FakeCluster, words: str, cell: str
) -> None:
    canary: list[int] = []
    shell.user_ns["canary"] = canary
    shell.run_cell(cell.replace("{}", words))
    assert canary == []
    assert all("[]" not in json.dumps(order, default=str) for order in outside.orders)


@pytest.mark.threat("T02")
@pytest.mark.parametrize("text", TEXTS)
def test_hostile_text_from_the_cluster_is_shown_not_obeyed(
    shell: InteractiveShell, outside: FakeCluster, text: str
) -> None:
    outside.text = text
    for line in ("tiers", "devices", "plan", "sessions", "stop bert-9d4fk"):
        card = dra(shell, line)
        assert not has_hidden(card.text), line
        assert not has_hidden(card.html), line
        assert "<script" not in card.html
        assert "<img" not in card.html
