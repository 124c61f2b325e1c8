"""What is delivered is what was locked: no scripts at install, no code from elsewhere at run time (threat T49)."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FRONT = ROOT / "labextension"
SOURCES = [
    *(path for suffix in ("ts", "tsx", "css", "json") for path in (FRONT / "src").rglob(f"*.{suffix}")),
    *(FRONT / "style").rglob("*.css"),
    *(ROOT / "jupyter_dra" / "hub").glob("form.*"),
    *(ROOT / "jupyter_dra" / "widgets").glob("*.py"),
]
NAMES_NOT_ADDRESSES = ("http://www.w3.org/2000/svg", "https://events.jupyter-dra.dev/")
"""A namespace and the prefix of event schemas; neither is ever fetched."""

pytestmark = pytest.mark.threat("T49")


def test_packages_of_the_front_end_run_no_scripts_and_are_pinned_by_checksum() -> None:
    settings = yaml.safe_load((FRONT / ".yarnrc.yml").read_text())
    assert settings["enableScripts"] is False
    assert settings["enableTelemetry"] is False
    lock = yaml.safe_load((FRONT / "yarn.lock").read_text())
    packages = {name: entry for name, entry in lock.items() if name != "__metadata"}
    assert len(packages) > 100
    for name, entry in packages.items():
        local = "@workspace:" in entry["resolution"]
        assert local or "checksum" in entry or "conditions" in entry, name
        assert re.search(r"@(npm|workspace|patch):", entry["resolution"]), name
    assert json.loads((FRONT / "package.json").read_text())["private"] is True


def test_the_front_end_is_installed_from_the_lock_only() -> None:
    makefile = (ROOT / "Makefile").read_text()
    installs = re.findall(r"\$\(JLPM\) install.*", makefile)
    assert installs and all("--immutable" in line for line in installs)
    build = (ROOT / "tools" / "hatch_build.py").read_text()
    assert re.findall(r'\["install"[^]]*\]', build) == ['["install", "--immutable"]']


def test_nothing_that_runs_in_a_page_names_another_server() -> None:
    assert len(SOURCES) > 50
    for path in SOURCES:
        for address in re.findall(r"""https?://[^\s"'`)]+""", path.read_text()):
            assert address.startswith(NAMES_NOT_ADDRESSES), f"{path.relative_to(ROOT)}: {address}"


def test_widgets_ship_no_code_for_the_page() -> None:
    for path in (ROOT / "jupyter_dra" / "widgets").glob("*.py"):
        text = path.read_text()
        assert "_esm" not in text
        assert "HTML(" not in text.replace("_HTML(", ""), f"{path.name} would hand markup to the page"
